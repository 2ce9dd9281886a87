#!/usr/bin/env python3
"""`tokamak sparse` and `tokamak sweep` from outside: programs, formats, searches that go on, bad input."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from test_cli import EXAMPLES, TOKAMAK, Case


class Sparse(Case):
    GCN = EXAMPLES / "sparse" / "gcn.ein"
    SIZES = ("--random", "0", "--dims", "N=30,F=12")

    def test_every_schedule_agrees_with_the_dense_program(self) -> None:
        for schedule in ["auto", "unfused", "rows", "layers", "full"]:
            text = self.ok("sparse", "run", self.GCN, *self.SIZES, "--schedule", schedule)
            self.assertIn("values agree with the dense program", text)

    def test_json_and_outputs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = json.loads(self.ok("sparse", "run", self.GCN, *self.SIZES, "--json", "--output", folder))
            self.assertTrue(out["values_checked"] and out["agrees"])
            self.assertEqual(out["outputs"][0]["shape"], [30, 7])
            values = np.load(Path(folder) / "Y.npy")
            np.testing.assert_allclose(values.sum(axis=1), np.ones(30), rtol=1e-5)

    def test_inputs_are_named_one_by_one(self) -> None:
        spmv = EXAMPLES / "sparse" / "spmv.ein"
        with tempfile.TemporaryDirectory() as folder:
            matrix, vector = Path(folder) / "some.mtx", Path(folder) / "other.npy"
            matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2\n2 3 5\n")
            np.save(vector, np.array([1.0, 10.0, 100.0]))
            named = ("--input", f"A={matrix}", "--input", f"x={vector}")
            self.ok("sparse", "run", spmv, *named, "--output", folder)
            np.testing.assert_allclose(np.load(Path(folder) / "y.npy"), [2.0, 500.0])
            self.assertIn("cycles", self.ok("sim", spmv, *named))
            self.ok("sparse", "run", spmv, "--input", f"A={matrix}", "--random", "0")
            for wrong in ["A", f"B={matrix}", "=x"]:
                self.assertIn("its inputs are A, x", self.refused("T0807", "sparse", "run", spmv, "--input", wrong))
            self.refused("T0807", "sparse", "run", spmv, *named[:2], *named[:2])
            self.refused("T0904", "sparse", "run", spmv, "--input", f"A={folder}/none.mtx", "--random", "0")

    def test_files_of_a_graph_are_made_from_arrays(self) -> None:
        script = EXAMPLES / "sparse" / "graph_files.py"
        with tempfile.TemporaryDirectory() as folder:
            edges, features, cora = Path(folder) / "edges.npy", Path(folder) / "features.npy", Path(folder) / "graph"
            np.save(edges, np.array([[0, 1, 1, 4, 2], [1, 0, 2, 4, 1]]))  # 0 - 1 - 2, 3 alone, 4 its own neighbour
            np.save(features, np.eye(5, 3, dtype=np.float32))
            make = [sys.executable, script, cora, edges, features]
            subprocess.run(make, check=True)
            entries = np.loadtxt(cora / "A.mtx", skiprows=2)
            a = np.zeros((5, 5))
            a[entries[:, 0].astype(int) - 1, entries[:, 1].astype(int) - 1] = entries[:, 2]
            half, sixth = 1 / 2, 6**-0.5
            np.testing.assert_allclose(np.diag(a), [half, 1 / 3, half, 1, 1])
            np.testing.assert_allclose([a[0, 1], a[1, 0], a[1, 2], a[2, 1]], sixth, rtol=1e-6)
            self.assertEqual(np.count_nonzero(a), 9)
            text = self.ok("sparse", "run", self.GCN, "--data", cora, "--random", "0")
            self.assertIn("values agree with the dense program", text)

            def refused(words: str) -> None:
                wrong = subprocess.run(make, capture_output=True, text=True)
                self.assertEqual(wrong.returncode, 2)
                self.assertIn(words, wrong.stderr)
                self.assertNotIn("Traceback", wrong.stderr)

            for bad, words in [([[0], [5]], "numbers of 5 nodes"), ([[0.0], [1.0]], "whole"), ([0, 1], "2 x E")]:
                np.save(edges, np.array(bad))
                refused(words)
            edges.write_bytes(b"")
            refused("graph_files.py: ")
            edges.unlink()
            refused("No such file")
            np.save(edges, np.zeros((2, 0), dtype=int))
            np.save(features, np.full((5, 3), np.nan))
            refused("features are")
            np.save(features, np.eye(5, 3))
            subprocess.run(make, check=True)  # no edges: every node alone
            self.assertEqual(len(np.loadtxt(cora / "A.mtx", skiprows=2)), 5)
            cora.joinpath("A.mtx").unlink()
            cora.joinpath("A.mtx").mkdir()
            refused("A.mtx")

    def test_a_list_of_entries_is_as_large_as_its_program(self) -> None:
        spmv = EXAMPLES / "sparse" / "spmv.ein"
        with tempfile.TemporaryDirectory() as folder:
            matrix, vector = Path(folder) / "A.tns", Path(folder) / "x.npy"
            np.save(vector, np.array([1.0, 10.0, 100.0]))
            matrix.write_text("2 1 2.5\n")  # row 3 and columns 2 and 3 are empty
            run = ("sparse", "run", spmv, "--data", folder, "--output", folder, "--dims")
            self.ok(*run, "N=3")
            np.testing.assert_allclose(np.load(Path(folder) / "y.npy"), [0.0, 2.5, 0.0])
            matrix.write_text("# none\n")
            self.ok(*run, "N=2")
            np.testing.assert_allclose(np.load(Path(folder) / "y.npy"), [0.0, 0.0])
            self.assertIn("dimension N is not known", self.refused("T0933", "sparse", "run", spmv, "--data", folder))
            matrix.write_text("2 4 2.5\n")
            self.refused("T0933", *run, "N=3")
            matrix.write_text("1 2 1 2.5\n")
            self.assertIn("A.tns:1", self.refused("T0906", *run, "N=3"))

    def test_what_was_written_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for stage, name in [("table", "t.txt"), ("svg", "pictures"), ("sam", "sam")]:
                path = Path(folder) / name
                done = subprocess.run(
                    [TOKAMAK, "sparse", "compile", self.GCN, *self.SIZES, "--emit", stage, "-o", path],
                    capture_output=True,
                    check=True,
                )
                self.assertEqual(done.stdout, b"")
                self.assertIn(f"wrote {path}", done.stderr.decode())

    def test_graphs_leave_as_exchange_files_and_come_back(self) -> None:
        for model, sizes in [("attention", "H=2,S=12,E=4"), ("softmax", "N=12,M=9"), ("layer_norm", "N=12,M=9")]:
            with tempfile.TemporaryDirectory() as folder:
                program = EXAMPLES / "sparse" / f"{model}.ein"
                options = ("--schedule", "full", "--random", "1", "--dims", sizes)
                self.ok("sparse", "compile", program, *options, "--emit", "sam", "-o", folder)
                for graph in Path(folder).glob("*/graph.bin"):
                    out = json.loads(self.ok("sim", graph, "--json"))
                    self.assertTrue(out["values_checked"])

    def test_stages_are_written(self) -> None:
        sizes = ("--dims", "N=30,M=20")
        softmax = EXAMPLES / "sparse" / "softmax.ein"
        self.assertIn("table P order", self.ok("sparse", "compile", softmax, *sizes, "--schedule", "full"))
        stream = self.ok("sparse", "compile", softmax, *sizes, "--schedule", "full", "--emit", "stream")
        self.assertIn("stream @P", stream)
        svg = self.ok("sparse", "compile", softmax, *sizes, "--schedule", "full", "--emit", "svg")
        ElementTree.fromstring(svg)
        explained = self.ok("sparse", "explain", softmax, *sizes, "--schedule", "full")
        for part in ["before fusion:", "after fusion:", "rules:", "estimate:"]:
            self.assertIn(part, explained)
        self.assertEqual(len(json.loads(self.ok("sparse", "explain", softmax, *sizes, "--json"))["regions"]), 4)

    def test_a_schedule_reproduces_what_was_chosen(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chosen.schedule"
            self.ok("sparse", "compile", self.GCN, *self.SIZES, "--schedule", "auto", "--emit", "schedule", "-o", path)
            self.assertIn("fuse {", path.read_text())
            self.assertIn("agree", self.ok("sparse", "run", self.GCN, *self.SIZES, "--schedule", path))

    def test_files_of_other_programs(self) -> None:
        a = np.where(np.arange(30).reshape(6, 5) % 3 == 0, np.arange(30.0).reshape(6, 5) + 1, 0)
        columns, rows = np.nonzero(a.T)
        arrays = {"indices": rows, "indptr": np.searchsorted(columns, np.arange(6)), "data": a[rows, columns]}
        with tempfile.TemporaryDirectory() as folder:  # as SciPy saves a matrix of columns
            np.savez(Path(folder) / "A.npz", format=np.array(b"csc"), shape=np.array(a.shape), **arrays)
            np.save(Path(folder) / "x.npy", np.arange(5.0))
            spmv = EXAMPLES / "sparse" / "spmv.ein"
            self.ok("sparse", "run", spmv, "--data", folder, "--output", folder)
            np.testing.assert_allclose(np.load(Path(folder) / "y.npy"), a @ np.arange(5.0), rtol=1e-6)

    def test_bad_input_is_refused_with_a_place(self) -> None:
        spmv = EXAMPLES / "sparse" / "spmv.ein"
        self.refused("T0932", "sparse", "run", spmv)
        self.refused("T0976", "sparse", "run", spmv, "--schedule", "none")
        for filled_in in [(), ("--random", "0", "--dims", "N=3,M=4")]:
            text = self.refused("T0904", "sparse", "run", spmv, "--data", "/nowhere", *filled_in)
            self.assertIn("/nowhere: error T0904: the folder cannot be read: No such file", text)
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder)
            np.save(data / "x.npy", np.ones(3))
            cases = {
                "T0906": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n",
                "T0902": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n1 1 2\n",
                "T0933": "%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 1\n",
            }
            for code, text in cases.items():
                (data / "A.mtx").write_text(text)
                self.refused(code, "sparse", "run", spmv, "--data", folder)
            (data / "A.mtx").unlink()
            np.save(data / "A.npy", np.full((3, 3), np.nan))
            self.refused("T0905", "sparse", "run", spmv, "--data", folder)
            program = data / "bad.ein"
            program.write_text("dim N\ninput A[N, N]: csr\noutput y[N]\ny[i] = A[i, j] * z[j]\n")
            self.assertIn("bad.ein:4:18", self.refused("T0929", "sparse", "run", program))


class Sweep(Case):
    GCN = EXAMPLES / "sparse" / "gcn.ein"
    SIZES = ("--random", "0", "--dims", "N=60,F=20", "--orders", "6")

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.database = ("--database", Path(self.folder.name) / "sweep.db")

    def test_the_best_schedule_reproduces_what_was_found(self) -> None:
        best = Path(self.folder.name) / "best.schedule"
        found = json.loads(self.ok("sweep", self.GCN, *self.SIZES, *self.database, "-o", best, "--json"))
        self.assertLessEqual(found["simulated"], found["choices"] // 10)
        self.assertTrue(found["values_checked"] and found["complete"] and not found["left_out"])
        run = self.ok("sparse", "run", self.GCN, *self.SIZES[:4], "--schedule", best)
        self.assertIn("values agree with the dense program", run)
        check = json.loads(
            self.ok("sparse", "explain", self.GCN, *self.SIZES[:4], "--schedule", best, "--check", "--json")
        )
        self.assertEqual(sum(region["simulated"]["cycles"] for region in check), found["cycles"])
        for schedule in ["unfused", "layers", "full", "rows"]:
            other = json.loads(
                self.ok("sparse", "explain", self.GCN, *self.SIZES[:4], "--schedule", schedule, "--check", "--json")
            )
            self.assertLessEqual(found["cycles"], sum(region["simulated"]["cycles"] for region in other), schedule)
        again = json.loads(self.ok("sweep", self.GCN, *self.SIZES, *self.database, "--json"))
        self.assertEqual((again["fresh"], again["cycles"]), (0, found["cycles"]))

    def test_a_killed_sweep_goes_on(self) -> None:
        arguments = ["sweep", self.GCN, "--random", "0", "--dims", "N=150,F=40", "--exhaustive", "--json"]
        whole = ["--database", Path(self.folder.name) / "whole.db"]
        expected = json.loads(self.ok(*arguments, *whole))
        for how in [signal.SIGKILL, signal.SIGINT]:
            database = Path(self.folder.name) / f"{how.name}.db"
            command = [TOKAMAK, *map(str, arguments), "--database", str(database)]
            started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while self.kept(database) < 5 and started.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            started.send_signal(how)
            started.wait(60)
            kept = self.kept(database)
            self.assertGreaterEqual(kept, 5)
            resumed = json.loads(self.ok(*arguments, "--database", database))
            self.assertEqual(resumed["schedule"], expected["schedule"])
            self.assertEqual(resumed["cycles"], expected["cycles"])
            self.assertEqual(resumed["fresh"] + kept, expected["fresh"])

    def kept(self, database: Path) -> int:
        try:
            with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
                return connection.execute("SELECT count(*) FROM measurements").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    def test_limits_lanes_and_the_front(self) -> None:
        plain = json.loads(self.ok("sweep", self.GCN, *self.SIZES, *self.database, "--json"))
        lanes = json.loads(self.ok("sweep", self.GCN, *self.SIZES, *self.database, "--parallel", "1,4", "--json"))
        self.assertLess(lanes["cycles"], plain["cycles"])
        self.assertIn("parallel", lanes["schedule"])
        for found in [plain, lanes]:
            cycles = [point["cycles"] for point in found["front"]]
            areas = [point["area"] for point in found["front"]]
            self.assertEqual(cycles, sorted(cycles))
            self.assertEqual(areas, sorted(areas, reverse=True))
        limited = json.loads(
            self.ok("sweep", self.GCN, *self.SIZES, *self.database, "--parallel", "1,4", "--max-area", 40, "--json")
        )
        self.assertTrue(all(region["blocks"] <= 40 for region in limited["regions"]))
        self.refused("T0992", "sweep", self.GCN, *self.SIZES, *self.database, "--max-area", 3)

    def test_block_sizes(self) -> None:
        spmm = Path(self.folder.name) / "spmm.ein"
        spmm.write_text((EXAMPLES / "sparse" / "spmv.ein").read_text())
        sizes = ("--random", "0", "--density", "0.9", "--dims", "N=16,M=16", *self.database)
        self.assertIn("best:", self.ok("sweep", spmm, *sizes, "--blocks", "4,8"))
        blocked = Path(self.folder.name) / "blocked.schedule"
        blocked.write_text("schedule blocked { block A 4, 8 }\n")
        self.assertIn("agree", self.ok("sparse", "run", spmm, *sizes[:6], "--schedule", blocked))
        blocked.write_text("schedule blocked { block x 4, 8 }\n")
        self.refused("T0974", "sparse", "run", spmm, *sizes[:6], "--schedule", blocked)

    def test_bad_options_are_refused(self) -> None:
        self.refused("T0932", "sweep", self.GCN)
        self.refused("T0801", "sweep", self.GCN, *self.SIZES, *self.database, "--profile", "fast")
        self.refused("T0801", "sweep", self.GCN, *self.SIZES, *self.database, "--config", "rda")
        self.refused("T0801", "sweep", self.GCN, *self.SIZES, *self.database, "--parallel", "0")
        self.refused("T0801", "sweep", self.GCN, *self.SIZES, *self.database, "--share", "2")
        self.refused("T0991", "sweep", self.GCN, *self.SIZES, "--database", self.GCN)
        self.refused("T0994", "sweep", self.GCN, *self.SIZES, *self.database, "--worker", stdin=b"0123456789abcdef\n")
        self.refused("T0932", "sparse", "explain", self.GCN, "--dims", "N=30,F=12", "--check")

    def test_a_python_that_cannot_drive_a_cluster(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            python = Path(folder) / "python"
            python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')  # without packages
            python.chmod(0o755)
            for name, said in [(python, "No module named 'tokamak'"), (Path(folder) / "none", "cannot start")]:
                done = subprocess.run(
                    [TOKAMAK, "sweep", self.GCN, *self.SIZES, "--scheduler", "tcp://127.0.0.1:9"],
                    capture_output=True,
                    check=False,
                    env={**os.environ, "TOKAMAK_PYTHON": str(name)},
                )
                self.assertEqual(done.returncode, 2)
                self.assertIn("error T0993", done.stderr.decode())
                self.assertIn(said, done.stderr.decode())

    def test_the_cost_model_is_compared_with_simulation(self) -> None:
        text = self.ok("sparse", "explain", self.GCN, *self.SIZES[:4], "--schedule", "layers", "--check")
        self.assertIn("cost model and simulation", text)
        self.assertIn("counted in", text)

    def test_what_was_simulated_for_a_check_is_kept(self) -> None:
        check = ["sparse", "explain", self.GCN, *self.SIZES[:4], "--schedule", "layers", "--check", "--json"]
        first, again = (self.ok(*check, *self.database) for _ in range(2))
        self.assertEqual(first, again)  # the seconds too: nothing was simulated again
        text = Path(self.folder.name) / "text.db"
        text.write_text("no database, but long enough to be taken for one\n" * 40)
        self.refused("T0991", *check, "--database", text)


if __name__ == "__main__":
    unittest.main()
