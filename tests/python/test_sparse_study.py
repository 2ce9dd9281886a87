"""The study's calls are kept, so that an ended study goes on; samples hold the rows that they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

STUDY = Path(__file__).resolve().parent.parent.parent / "bench" / "sparse_study"


@pytest.fixture(autouse=True)
def study_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDY))
    yield
    for name in ["calls", "graphs", "page", "plots"]:
        sys.modules.pop(name, None)


@pytest.fixture
def program(tmp_path):
    """A command line that notes how often it was asked, and refuses what it is told to."""
    path = tmp_path / "program"
    refuse = '[ "$1" = bad ] && echo "error T1" >&2 && exit 2'
    path.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/asked\n{refuse}\necho 7\n')
    path.chmod(0o755)
    return path


def test_answers_are_kept_and_asked_for_once(program, tmp_path):
    from calls import Calls, settled

    def study() -> tuple[dict, Calls]:
        with Calls(str(program), tmp_path / "answers.json") as calls:
            words = ["one", "two", "bad"]
            steps = {word: calls.later(calls.call, word, word, [word]) for word in words}
            return settled({"steps": steps, "later": lambda: steps["one"].result()}), calls

    found, calls = study()
    assert found["steps"]["one"]["answer"] == found["later"]["answer"] == 7
    assert found["steps"]["bad"]["refused"] == "error T1"
    assert calls.runs == 1 and calls.seconds > 0
    again, calls = study()
    assert again == found
    assert calls.runs == 1, "nothing was asked again"
    assert sorted((tmp_path / "asked").read_text().split()) == ["bad", "one", "two"]


def test_an_ended_study_keeps_what_it_has(program, tmp_path):
    from calls import Calls

    with pytest.raises(KeyboardInterrupt), Calls(str(program), tmp_path / "answers.json") as calls:
        calls.call("one", "one", ["one"])
        raise KeyboardInterrupt
    with Calls(str(program), tmp_path / "answers.json") as calls:
        assert calls.answers["one"]["answer"] == 7
        calls.call("two", "two", ["two"])
    assert calls.runs == 2


def test_sampled_rows_are_rows_of_the_graph(tmp_path):
    from graphs import sample_rows, save_csr

    dense = np.arange(30.0).reshape(6, 5) * (np.arange(30).reshape(6, 5) % 2)
    i, j = np.nonzero(dense)
    save_csr(tmp_path / "A.npz", i, j, dense[i, j], (6, 5))
    files = sample_rows(tmp_path, tmp_path / "sample", 3)
    assert files["S"].exists() and not files["Xr"].exists()
    kept = np.sort(np.random.default_rng(3).choice(6, 3, replace=False))
    with np.load(files["S"]) as stored:
        rows = np.zeros(tuple(stored["shape"]))
        for row in range(3):
            part = slice(stored["indptr"][row], stored["indptr"][row + 1])
            rows[row, stored["indices"][part]] = stored["data"][part]
    assert np.array_equal(rows, dense[kept])


def test_pictures_leave_out_what_is_not_there():
    from plots import bars

    drawn = bars("t", {"a": {"x": 10.0, "y": None}, "b": {"x": None, "y": None}}, {"x": "red", "y": "blue"})
    assert drawn.count("<title>") == 1 and "a: 10" in drawn and drawn.endswith("</svg>\n")


def test_the_page_says_what_is_simulated_sampled_or_refused(tmp_path):
    import page

    def cell(cycles: float, **more: object) -> dict:
        metrics = {"operations": 2 * cycles, "bytes": 4 * cycles, "cycles": cycles}
        return {"counted": {**metrics, "tokens": cycles}, "simulated": metrics, "best": metrics, **more}

    answer = {"cycles": 90.0, "simulated": 3, "choices": 40, "confirmed": 0, "regions": [{"fused": ["Y"]}]}
    search = {"seconds": 1.0, "answer": answer}
    levels = {"unfused": cell(200), "partial": cell(100), "layers": cell(150)}
    rows = {
        "gcn cora": {**levels, "full": cell(4000, sampled=cell(4004)["best"], rows=20), "search": search},
        "gcn mag": {**levels, "full": cell(9e12, simulated=None, sampled=cell(9e12)["best"], rows=20)},
    }
    results = {
        "granularity": rows,
        "transformer": {"attention": {"unfused": cell(200), "layers": cell(150), "full": {"refused": "T0971"}}},
        "autoencoder": levels,
        "exhaustive": {"gcn": {"search": search, "exhaustive": search}},
        "parallel": {"h x 1": cell(100), "h x 2": cell(50)},
        "blocks": {"by element": search},
        "orders": {"inner": cell(100)},
        "reading": "why",
    }
    page.write(tmp_path / "study.md", tmp_path, results, "conditions")
    text = (tmp_path / "study.md").read_text()
    assert "9 T ~" in text and "cannot run" in text and "2.00x" in text
    assert "| gcn cora | 20 | 4 k | 4 k | 0.10% |" in text
    assert len(list(tmp_path.glob("*.svg"))) == 5
