#!/usr/bin/env python3
"""`tokamak sim` from outside: programs under every profile, reports, published trends, bad input."""

import json
import tempfile
import unittest
from pathlib import Path

from test_cli import EXAMPLES, SANITIZED, Case, tokamak


class Simulator(Case):
    GCN = EXAMPLES / "sparse" / "gcn.ein"
    SIZES = ("--random", "0", "--dims", "N=30,F=12")

    def regions(self, example: str, schedule: str, *sizes: str) -> dict[str, int]:
        """The cycles of every region."""
        file = EXAMPLES / "sparse" / f"{example}.ein"
        out = json.loads(self.ok("sim", file, "--schedule", schedule, "--random", "0", *sizes, "--json"))
        self.assertTrue(out["values_checked"])
        return {graph["graph"]: graph["cycles"] for graph in out["graphs"]}

    def test_programs_under_every_profile(self) -> None:
        for profile in ["comal", "comal-hbm", "hw"]:
            machine = ("--config", "rda") if profile == "hw" else ()
            text = self.ok("sim", self.GCN, *self.SIZES, "--profile", profile, *machine, "--json")
            out = json.loads(text)
            for key in ["cycles", "tokens", "seconds", "peak_memory"]:
                self.assertGreater(out[key], 0, key)
            self.assertTrue(out["values_checked"])
            self.assertEqual(out["values_against"], "dense program")
            self.assertEqual(out["cycles"], sum(graph["cycles"] for graph in out["graphs"]))
        self.assertIn("critical path", self.ok("sim", self.GCN, *self.SIZES))

    def test_pages_and_traces(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page, trace = Path(folder) / "gcn.html", Path(folder) / "gcn.json"
            self.ok("sim", self.GCN, *self.SIZES, "--html", page, "--trace", trace, "--window", "100:300")
            self.assertIn("Timeline", page.read_text())
            slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
            self.assertTrue(slices)
            self.assertTrue(all(e["ts"] >= 100 and e["ts"] + e["dur"] <= 300 for e in slices))

    def test_a_window_behind_the_end_is_said_to_be_empty(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "gcn.json"
            done = tokamak("sim", self.GCN, *self.SIZES, "--trace", trace, "--window", "9000000:9000001")
            self.assertEqual(done.returncode, 0)
            self.assertIn("the trace is empty: its window begins at cycle 9000000", done.stderr.decode())
        for window in ["5:2", "-5:2", "1:2:3", "a:b", ":", "3"]:
            self.refused("T0801", "sim", self.GCN, *self.SIZES, "--trace", "x.json", f"--window={window}")

    def test_results_do_not_depend_on_threads(self) -> None:
        sizes = ("--random", "0", "--dims", "N=1500,F=300", "--density", "0.05", "--schedule", "unfused")
        runs = [json.loads(self.ok("sim", self.GCN, *sizes, "--threads", n, "--json")) for n in (1, 3)]
        for key in ["cycles", "tokens", "operations", "worst_difference"]:
            self.assertEqual(runs[0][key], runs[1][key], key)

    def test_published_trends(self) -> None:
        sizes = ("--dims", "N=150,F=60", "--density", "0.05")
        for model in ["gcn", "graphsage"]:
            cycles = {s: sum(self.regions(model, s, *sizes).values()) for s in ["unfused", "rows", "layers", "full"]}
            self.assertLess(min(cycles["rows"], cycles["layers"]), cycles["unfused"], model)
            self.assertGreater(cycles["full"], cycles["unfused"], model)
        sizes = ("--dims", "S=64,D=32,H=2,E=16,F=64", "--density", "0.2")
        unfused, fused = (self.regions("bigbird", schedule, *sizes) for schedule in ["unfused", "layers"])
        attention = sum(unfused[region] for region in ["P", "m", "Ex", "z", "O"])
        self.assertLess(fused["O"], 0.6 * attention)  # all of the attention is one region there

    def test_full_fusion_wins_on_attention_whatever_the_mask_is_stored_as(self) -> None:
        for model, sizes in [("attention", "H=2,S=48,E=16"), ("block_attention", "S=64,E=16")]:
            levels = ["unfused", "layers", "full", "auto"]
            cycles = {s: sum(self.regions(model, s, "--dims", sizes, "--density", "0.2").values()) for s in levels}
            self.assertLess(cycles["full"], 0.7 * cycles["unfused"], model)
            self.assertLessEqual(cycles["auto"], 1.05 * min(cycles.values()), model)

    def test_memory_is_that_of_the_tensors_and_little_more(self) -> None:
        sizes = ("--random", "0", "--dims", "N=200,F=60", "--density", "0.08", "--schedule", "full")
        out = json.loads(self.ok("sim", self.GCN, *sizes, "--json"))
        self.assertGreater(out["tokens"], 30e6)  # half a gigabyte, if streams were held
        self.assertGreater(out["base_memory"], 0)
        allowed = 100e6 if SANITIZED else 20e6  # a sanitizer keeps shadows, and freed memory back
        self.assertLess(out["peak_memory"] - out["base_memory"] - out["tensor_memory"], allowed)
        if not SANITIZED:  # all of the process: LLVM is not in it
            self.assertLess(out["peak_memory"] - out["tensor_memory"], 64e6)

    def test_bad_input_is_refused(self) -> None:
        self.refused("T0801", "sim", self.GCN, *self.SIZES, "--profile", "fast")
        self.refused("T0801", "sim", self.GCN, *self.SIZES, "--trace", "x.json")
        self.refused("T0932", "sim", self.GCN)
        self.refused("T0802", "sim", "/nowhere/graph.bin")
        self.refused("T0980", "sim", self.GCN, *self.SIZES, "--profile", "hw", "--config", "huge")
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "machine.json"
            config.write_text('{"fifo_depth": 1, "dram": {"channels": 0}}')
            self.refused("T0980", "sim", self.GCN, *self.SIZES, "--profile", "hw", "--config", config)
            config.write_text(self.ok("sim", "--print-config"))
            self.assertIn('"rda"', self.ok("sim", "--print-config", "--config", "rda"))
            config.write_text('{"fifo_depth": 2}')
            text = self.refused("T0981", "sim", self.GCN, *self.SIZES, "--profile", "hw", "--config", config)
            self.assertRegex(text, r"node \d+ .* waits for room in %")
            graph = Path(folder) / "cut.stream"
            graph.write_text("stream @cut {\n  tensor @B[4] dense\n  %r = root @B\n")
            self.assertIn("cut.stream:4:1", self.refused("T0940", "sim", graph))
            graph.write_text(
                "stream @two {\n  tensor @B[4] dense\n  output @x[4] dense\n  %r = root @B\n"
                "  %c, %s = scan @B 0 %r\n  %v = array @B %s\n  write_level @x 0 %c\n"
                "  write_values @x %v\n}\n"
            )
            self.refused("T0952", "sim", graph)  # no tensors beside it
            (Path(folder) / "graph.bin").write_bytes(b"\x0a\xff\xff")
            self.refused("T0950", "sim", Path(folder) / "graph.bin")


if __name__ == "__main__":
    unittest.main()
