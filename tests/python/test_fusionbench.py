"""FusionBench: what it makes of a ledger, its report, its command line, and one model measured from end to end."""

import json

import pytest
from fusionbench import cli, ledger, measure, worker
from fusionbench.backend import Settings
from fusionbench.models import named
from fusionbench.report import html
from fusionbench.summary import summary


def edge(producer, consumer, decision="fused", **more):
    (p, p_op), (c, c_op) = producer, consumer
    base = {"producer": p, "producer_op": p_op, "consumer": c, "consumer_op": c_op, "decision": decision}
    return base | {"rule": "", "reason": "", "bytes": 0, "us": 0} | more


def kernel(name, kind, ops, outputs):
    return {"name": name, "kind": kind, "schedule": kind, "ops": ops, "outputs": outputs}


SEGMENT = {
    "summary": {"fused_bytes": 10, "unfused_bytes": 40},
    "kernels": [
        kernel("k0", "pointwise", ["a", "b", "c"], ["c"]),
        kernel("k1", "reduce", ["d", "e"], ["e"]),
        kernel("k2", "library", ["f", "g"], ["g"]),
        kernel("k3", "contract", ["h", "i", "j"], ["j"]),
        kernel("k4", "pointwise", ["m"], ["m"]),
    ],
    "edges": [
        edge(("a", "full"), ("b", "mul")),
        edge(("b", "mul"), ("c", "add")),
        edge(("c", "add"), ("d", "exp"), "cut", rule="own-kernel", reason="because", bytes=8),
        edge(("d", "exp"), ("e", "reduce")),
        edge(("f", "matmul"), ("g", "add")),
        edge(("h", "matmul"), ("i", "exp")),
        edge(("i", "exp"), ("j", "matmul")),
    ],
}
GRAPH = {
    "kernels": 5,
    "steps": 2,
    "segments": [SEGMENT],
    "calls": [{"node": "x", "op": "aten.inv", "reason": "no lowering", "bytes": 5}],
}


def test_fusions_are_told_by_type():
    facts = ledger.facts([GRAPH])
    assert facts["fusions"] == dict.fromkeys(ledger.TYPES, 1)
    assert facts["intermediates_never_materialised"] == 1 + 1 + 1 + 2
    assert (facts["bytes_moved"], facts["bytes_moved_unfused"]) == (15, 45)
    assert facts["run_by_aten"] == {"aten.inv": 1}


def test_the_slowest_step_comes_with_its_decision():
    timings = [
        [("k0", 900, 0), ("k1", 5000, 0), ("aten.inv", 800, 0)],
        [("k0", 950, 0), ("k1", 4000, 0), ("aten.inv", 9, 0)],
    ]
    worst = ledger.slowest([(GRAPH, timings)])
    assert (worst["step"], worst["us"]) == ("k1", 4.0)
    assert "add -> exp cut by own-kernel: because" in worst["why"]
    assert ledger.slowest([(GRAPH, [[("aten.inv", 1, 0)]])])["why"] == "ATen runs it: no lowering"


def document():
    cells = {"eager": {"latency_ms": 2.0}, "fast": {"latency_ms": 1.0, "speedup": 2.0}, "bad": {"error_text": "<died>"}}
    slow = {"latency_ms": 4.0, "speedup": 0.5, "slowest": {"step": "k1", "us": 9.0, "why": "a & b"}}
    rows = [
        {"model": "one", "about": "", "backends": cells},
        {"model": "two", "about": "", "backends": {"eager": {"latency_ms": 2.0}, "fast": slow, "bad": {}}},
        {"model": "three", "about": "", "backends": {"eager": {}, "fast": {}, "bad": {}}, "error": "no such thing"},
    ]
    settings = {"size": "tiny", "train": False, "freeze": False, "threads": 1, "backends": ["eager", "fast", "bad"]}
    machine = {"cpu": "x", "cores": 1, "python": "3", "torch": "2"}
    return {"schema": 1, "interrupted": False, "settings": settings, "machine": machine, "rows": rows}


def test_summary_and_report():
    doc = document()
    doc["summary"] = summary(doc["rows"], doc["settings"]["backends"])
    assert doc["summary"]["fast"]["ran"] == 2
    assert doc["summary"]["fast"]["speedup"] == pytest.approx(1.0)
    assert doc["summary"]["fast"]["slower_than_eager"] == ["two"]
    assert doc["summary"]["bad"]["failed"] == 3
    page = html(doc)
    assert "&lt;died&gt;" in page and "a &amp; b" in page and "no such thing" in page
    assert "http" not in page, "the page needs something from outside"


def test_report_of_earlier_figures(tmp_path, capsys):
    (tmp_path / "in.json").write_text(json.dumps(document()))
    assert cli.main(["report", str(tmp_path / "in.json"), "--html", str(tmp_path / "out.html")]) == 1
    assert "slower than eager" in capsys.readouterr().out
    assert (tmp_path / "out.html").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "--backends", "eager,tokamac"], "there is no back end 'tokamac'; there are eager"),
        (["run", "--models", "nobody"], "no model matches 'nobody'; there are resnet"),
        (["run", "--models", "("], "no regular expression"),
        (["run", "--json", "/no/such/folder/x.json"], "does not exist"),
        (["report", "/no/such/file"], "cannot be read"),
    ],
)
def test_wrong_arguments_are_explained(arguments, words, capsys):
    assert cli.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_one_model_from_end_to_end(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    settings = Settings("tiny", seconds=0.05)
    (row,) = measure.rows([named("llama_decode")], ["eager", "tokamak"], settings, lambda text: None)
    assert "error" not in row and all("error_text" not in c for c in row["backends"].values()), row
    eager, ours = row["backends"]["eager"], row["backends"]["tokamak"]
    assert eager["calls"] > ours["kernels"] > 0
    assert 0 < ours["error"] < 1e-5 and 0 < eager["error"] < 1e-5
    assert ours["intermediates_never_materialised"] > 0
    assert ours["compile_cold_s"] > 0 and ours["compile_warm_s"] > 0
    assert ours["latency_ms"] > 0 and ours["peak_bytes"] >= 0


def test_a_failing_model_is_a_row(monkeypatch):
    class Children:
        def ask(self, task, *arguments):
            if task == "inspect" and "tokamak" in arguments:
                raise measure.Failed("its process was ended by SIGSEGV")
            return {"latency": {"eager": {"latency_ms": 1.0}}}.get(task, {"seconds": 1.0, "facts": {}})

    monkeypatch.setattr(measure, "Children", Children)
    (row,) = measure.rows([named("bert")], ["eager", "tokamak"], Settings("tiny"), lambda text: None)
    assert "SIGSEGV" in row["backends"]["tokamak"]["error_text"]
    assert row["backends"]["eager"]["latency_ms"] == 1.0


def test_the_slowest_step_of_a_real_plan():
    settings = Settings("tiny", seconds=0.01)
    job = worker.Job("llama_decode", worker.BACKENDS["tokamak"](settings), settings)
    worst = job.backend.slowest(job.module, job.call)
    assert worst["us"] > 0 and worst["step"] and worst["why"]
