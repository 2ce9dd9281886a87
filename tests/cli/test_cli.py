#!/usr/bin/env python3
"""The command line from outside: what it prints, writes and answers to bad input.

TOKAMAK names the program; CTest sets it.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
TOKAMAK = os.environ.get("TOKAMAK", str(ROOT / "build" / "bin" / "tokamak"))


CACHE = tempfile.TemporaryDirectory()
SANITIZED = bool(os.environ.get("TOKAMAK_SANITIZE"))  # set by CTest in builds with a sanitizer, which take their time
TIMEOUT = 1500 if SANITIZED else 300


def tokamak(*arguments: object, stdin: bytes | None = None) -> subprocess.CompletedProcess:
    command = [TOKAMAK, *map(str, arguments)]
    environment = {**os.environ, "TOKAMAK_CACHE_DIR": CACHE.name}
    return subprocess.run(command, capture_output=True, input=stdin, timeout=TIMEOUT, check=False, env=environment)


def small_dims(example: Path) -> list[str]:
    """--dims for the symbols of an example, each with another small size."""
    symbols = sorted(set(re.findall(r"\b[A-Z]\b", " ".join(re.findall(r"\[(.*?)\]", example.read_text())))))
    return ["--dims", ",".join(f"{name}={3 + i}" for i, name in enumerate(symbols))] if symbols else []


class Case(unittest.TestCase):
    def ok(self, *arguments: object, **options: object) -> str:
        done = tokamak(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout.decode()

    def refused(self, code: str, *arguments: object, **options: object) -> str:
        """Exit code 2 and a diagnostic of this code on stderr."""
        done = tokamak(*arguments, **options)
        text = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 2, text)
        self.assertIn(f"error {code}", text)
        return text


class Gpu(Case):
    def test_kernels_for_a_gpu_are_shown_without_one(self) -> None:
        arguments = ["explain", EXAMPLES / "softmax.tk", "--device", "cuda"]
        for arch in ["sm_80", "sm_90a"]:
            text = self.ok(*arguments, "--arch", arch, "--emit", "cuda")
            self.assertIn('extern "C" __global__ void __launch_bounds__', text)
            self.assertIn("// grid ", text)
        self.assertIn("kernel @", self.ok(*arguments, "--arch", "sm_90a", "--kernels"))
        self.refused("T0523", *arguments, "--arch", "sm_10")

    def test_what_is_missing_is_said(self) -> None:
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        for command in ["run", "bench"]:
            text = self.refused(
                "T0610", command, EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=8", "--device", "cuda"
            )
            self.assertIn("libcuda.so.1", text)


class Help(Case):
    def test_every_command_teaches_by_example(self) -> None:
        section = self.ok("--help").split("Subcommands:")[1].split("\n\n")[0]
        commands = [line.split()[0] for line in section.splitlines()[1:]]
        self.assertIn("run", commands)
        for command in commands:
            text = self.ok(command, "--help")
            self.assertIn("Examples:", text, command)
            self.assertIn(f"tokamak {command}", text)

    def test_version(self) -> None:
        self.assertRegex(self.ok("--version"), r"^tokamak \d+\.\d+\.\d+\n$")


class BadInput(Case):
    def test_who_names_no_command_is_shown_them(self) -> None:
        for arguments, known in [([], "explain"), (["sparse"], "compile"), (["cache"], "clear")]:
            done = tokamak(*arguments)
            self.assertEqual((done.returncode, done.stderr), (2, b""))
            self.assertIn(known, done.stdout.decode())

    def test_usage(self) -> None:
        self.refused("T0801", "run")
        self.refused("T0801", "run", EXAMPLES / "gelu.tk", "--nonsense")
        self.refused("T0801", "run", EXAMPLES / "gelu.tk", "--device", "abacus")
        for seed in ["yes", "-1", "1.5", "99999999999999999999999"]:
            self.refused("T0801", "run", EXAMPLES / "gelu.tk", "--random", seed)
        self.refused("T0801", "frobnicate")

    def test_slips_of_the_pen(self) -> None:
        for arguments, said in [
            (["rn"], "tokamak has no command rn\n  hint: did you mean run?"),
            (["rnu"], "tokamak has no command rnu\n  hint: did you mean run?"),
            (["frobnicate"], "tokamak has no command frobnicate\n  hint: see tokamak --help"),
            (["sparse", "explan"], "tokamak sparse has no command explan\n  hint: did you mean explain?"),
            (["--versoin"], "tokamak has no option --versoin\n  hint: did you mean --version?"),
            (["run", "x.tk", "--chek"], "tokamak run has no option --chek\n  hint: did you mean --check?"),
            (["sparse", "run", "x.ein", "--nonsense"], "option --nonsense\n  hint: see tokamak sparse run --help"),
            (["run", "x.tk", "y.tk"], "not expected: y.tk"),
        ]:
            self.assertIn(said, self.refused("T0801", *arguments))

    def test_options_may_stand_before_the_file(self) -> None:
        self.ok("run", "--dims", "N=8", "--random", 0, EXAMPLES / "gelu.tk")
        self.ok("opt", "--passes", "decompose,cse", EXAMPLES / "softmax.tk")
        self.ok("sparse", "run", "--random", 0, "--dims", "N=3,M=4", EXAMPLES / "sparse" / "spmv.ein")
        self.ok("sparse", "run", EXAMPLES / "sparse" / "spmv.ein", "--random", 0, "--dims", "N=3", "--dims", "M=4")

    def test_repro_compares_on_the_device_that_is_named(self) -> None:
        self.assertIn("@gelu on cpu N=8:", self.ok("repro", EXAMPLES / "gelu.tk", "--dims", "N=8"))
        self.assertIn("@gelu on interp", self.ok("repro", EXAMPLES / "gelu.tk", "--dims", "N=8", "--device", "interp"))

    def test_devices_that_a_command_does_not_have(self) -> None:
        gelu, softmax = EXAMPLES / "gelu.tk", EXAMPLES / "softmax.tk"
        self.assertIn("--device cpu", self.refused("T0801", "bench", gelu, "--dims", "N=8", "--device", "interp"))
        self.assertIn("--device cpu", self.refused("T0801", "explain", softmax, "--device", "interp"))
        self.assertIn("--device cuda", self.refused("T0801", "explain", softmax, "--emit", "cuda"))
        self.assertIn("--device cuda", self.refused("T0801", "explain", softmax, "--arch", "sm_90a"))
        if not os.path.exists("/dev/nvidiactl"):
            self.assertIn("--arch sm_90a", self.refused("T0610", "explain", softmax, "--device", "cuda"))

    def test_files(self) -> None:
        self.refused("T0802", "opt", "no/such/file.tk")
        self.refused("T0802", "opt", ROOT)

    def test_dims(self) -> None:
        gelu = EXAMPLES / "gelu.tk"
        for dims in ["N", "N=", "=3", "N=-1", "N=1x", "N=1,,M=2", "N=1,N=2", "N=1,M=2", "N=99999999999999999999"]:
            self.refused("T0804", "run", gelu, "--random", 0, "--dims", dims)
        self.assertIn("--dims N=", self.refused("T0804", "run", gelu, "--random", 0))
        self.refused("T0806", "run", gelu, "--random", 0, "--dims", "N=1000000000000000")

    def test_a_dimension_that_only_a_product_shows(self) -> None:
        program = b"graph @a(%x: f32[M], %y: f32[M*N]) { %0 = neg %y : f32[M*N] return %0 }"
        for device in ("cpu", "interp"):
            text = self.ok("run", "-", "--device", device, "--random", 1, "--dims", "M=3,N=2", stdin=program)
            self.assertIn("f32[6]", text)
            self.ok("run", "-", "--device", device, "--random", 1, "--dims", "M=0,N=2", "--check", stdin=program)

    def test_inputs(self) -> None:
        gelu = EXAMPLES / "gelu.tk"
        self.assertIn("--input x=", self.refused("T0807", "run", gelu))
        self.refused("T0807", "run", gelu, "--input", "y=y.npy")
        self.refused("T0807", "run", gelu, "--input", "x")
        self.refused("T0301", "run", gelu, "--input", "x=missing.npy")
        with tempfile.TemporaryDirectory() as folder:
            wrong = Path(folder) / "wrong.npy"
            np.save(wrong, np.zeros((2, 3), np.float32))
            self.refused("T0312", "run", gelu, "--input", f"x={wrong}")
            np.save(wrong, np.zeros(3, np.float64))
            text = self.refused("T0311", "run", gelu, "--input", f"x={wrong}")
            self.assertIn("wrong.npy: error T0311: input %x is f32, the file has f64", text)
            self.assertIn("array.astype(numpy.float32)", text)
            wrong.write_bytes(b"not an array")
            self.refused("T0302", "run", gelu, "--input", f"x={wrong}")

    def test_arrays_of_other_programs(self) -> None:
        """Orders and byte orders that numpy writes are read; dtypes that the language lacks are refused."""
        with tempfile.TemporaryDirectory() as folder:
            program, array = Path(folder) / "same.tk", Path(folder) / "x.npy"
            program.write_text("graph @same(%x: f32[2, 3]) {\n  return %x\n}\n")
            numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
            for device in ["cpu", "interp"]:
                for written in [numbers, np.asfortranarray(numbers), numbers.astype(">f4")]:
                    np.save(array, written)
                    self.ok("run", program, "--input", f"x={array}", "--device", device, "--output", folder)
                    np.testing.assert_array_equal(np.load(Path(folder) / "out0.npy"), numbers)
            for dtype in ["c8", "u4", "U4", "M8[s]", "f4,f4"]:
                np.save(array, np.zeros((2, 3), dtype))
                self.refused("T0303", "run", program, "--input", f"x={array}")
            np.save(array, np.array([[None] * 3] * 2, object), allow_pickle=True)
            self.refused("T0303", "run", program, "--input", f"x={array}")

    def test_an_array_cut_anywhere(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            array = Path(folder) / "x.npy"
            np.save(array, np.arange(6, dtype=np.float32))
            whole = array.read_bytes()
            for end in [*range(12), *range(12, len(whole), 13), len(whole) - 1]:
                array.write_bytes(whole[:end])
                done = tokamak("run", EXAMPLES / "gelu.tk", "--input", f"x={array}", "--device", "interp", "--json")
                self.assertEqual(done.returncode, 2, f"cut at byte {end}")
                self.assertRegex(json.loads(done.stdout)["error"]["code"], "T030[24]", f"cut at byte {end}")

    def test_hostile_programs(self) -> None:
        """Depth, length and size: a diagnostic or a result, never a crash."""
        head, tail = b"graph @g(%x: f32[", b"]) {\n  return %x\n}\n"
        for code, extent in {
            "T0104": b"(" * 50000 + b"M" + b")" * 50000,
            "T0105": b"*".join([b"(A + B + C + D)"] * 30),
            "T0206": b", ".join([b"1"] * 50000),
            "T0101": b"\xff\xfe",
        }.items():
            self.refused(code, "opt", "-", stdin=head + extent + tail)
        self.refused("T0104", "opt", "-", stdin=head + b"-" * 50000 + b"1" + tail)
        self.refused("T0105", "opt", "-", stdin=head + b"9" * 50000 + tail)
        self.ok("opt", "-", stdin=head + b"+".join([b"M"] * 5000) + tail)
        self.ok("opt", "-", stdin=b"graph @" + b"a" * 1000000 + b"(%x: f32[M" + tail)

    def test_sizes_beyond_everything(self) -> None:
        """Products of sizes that overflow, and huge sizes beside empty ones: refused or nothing, and at once."""
        for statement in ["exp %x : f32[M, N]", "reshape %x : f32[M*N]", "reduce %x {kind = sum, axes = [1]} : f32[M]"]:
            program = f"graph @g(%x: f32[M, N]) {{\n  %0 = {statement}\n  return %0\n}}\n".encode()
            for device in ["cpu", "interp"]:
                arguments = ["run", "-", "--random", 0, "--device", device, "--json", "--dims"]
                for dims in ["M=4611686018427387904,N=4", "M=3037000500,N=3037000500", "M=9223372036854775807,N=2"]:
                    done = tokamak(*arguments, dims, stdin=program)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertEqual(json.loads(done.stdout)["error"]["code"], "T0806")
                done = tokamak(*arguments, "M=0,N=9223372036854775807", stdin=program)
                self.assertIn(done.returncode, [0, 2], done.stderr)

    def test_sizes_that_do_not_fit_say_where(self) -> None:
        square = b"graph @g(%x: f32[N]) {\n  %y = broadcast %x {axes = [1]} : f32[N, N]\n  return %y\n}"
        self.assertIn(":2:", self.refused("T0806", "run", "-", "--random", 0, "--dims", "N=2000000", stdin=square))
        beyond = (
            b"graph @g(%x: f32[N], %m: f32[M]) {\n  %y = slice %x {start = [3], stride = [1]} : f32[M]\n  return %y\n}"
        )
        self.assertIn(":2:", self.refused("T0604", "run", "-", "--random", 0, "--dims", "N=4,M=3", stdin=beyond))

    def test_places_that_cannot_be_written(self) -> None:
        run = ["run", EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=100000", "--device", "interp"]
        for place in ["/proc/nowhere", "/dev/null/below", EXAMPLES / "gelu.tk"]:
            self.refused("T0803", *run, "--output", place)
        if "TSAN_OPTIONS" not in os.environ:  # the thread sanitizer keeps its own tables in files
            self.refuses_a_full_disk(run)
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [TOKAMAK, *map(str, run)], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False
            )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"error T0803", done.stderr)

    def refuses_a_full_disk(self, run: list) -> None:
        with tempfile.TemporaryDirectory() as folder:
            limited = ["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", TOKAMAK, *map(str, run), "--output", folder]
            done = subprocess.run(limited, capture_output=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"error T0305", done.stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_json_errors(self) -> None:
        done = tokamak("run", EXAMPLES / "gelu.tk", "--json")
        self.assertEqual(done.returncode, 2)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["code"], "T0807")
        self.assertEqual((error["line"], error["column"]), (4, 13))
        self.assertTrue(error["hint"])

    def test_faulty_programs(self) -> None:
        """Each file of tests/errors is named after the code it earns."""
        for path in sorted((ROOT / "tests" / "errors").glob("T*.tk")):
            with self.subTest(path.name):
                text = self.refused(path.name[:5], "opt", path)
                self.assertRegex(text, r"\.tk:\d+:\d+: error")

    def test_a_program_cut_anywhere(self) -> None:
        text = (EXAMPLES / "transformer_block.tk").read_bytes().rstrip()
        for end in range(0, len(text), 61):
            done = tokamak("opt", "-", stdin=text[:end])
            self.assertEqual(done.returncode, 2, f"cut at byte {end}: {done.stderr.decode()}")
            self.assertIn(b"error T0", done.stderr)


class Opt(Case):
    def test_lists_passes(self) -> None:
        names = self.ok("opt", "--list").split()
        self.assertIn("decompose", names)
        self.assertEqual(names, sorted(names))

    def test_final_graph_parses_back(self) -> None:
        for example in sorted(EXAMPLES.glob("*.tk")):
            with self.subTest(example.name):
                text = self.ok("opt", example, "--quiet")
                self.assertNotIn("softmax %", text)
                again = self.ok("opt", "-", "--passes", "dce", "--quiet", stdin=text.encode())
                self.assertEqual(again, text)

    def test_prints_between_named_passes(self) -> None:
        text = self.ok("opt", EXAMPLES / "softmax.tk", "--passes", "decompose,cse")
        self.assertLess(text.index("// as written"), text.index("// after decompose"))
        self.assertLess(text.index("// after decompose"), text.index("// after cse"))
        self.refused("T0805", "opt", EXAMPLES / "softmax.tk", "--passes", "decompose,nonsense")
        nothing = tokamak("opt", EXAMPLES / "softmax.tk", "--passes", "decompose,nonsense").stdout
        self.assertEqual(nothing, b"", "names are checked before anything is printed")
        for name in self.ok("opt", "--list").split():
            self.assertNotIn("_", name, "passes are named alike")


class Run(Case):
    def test_interp_computes_softmax(self) -> None:
        rng = np.random.default_rng(1)
        scores = rng.standard_normal((7, 512)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/scores.npy", scores)
            text = self.ok(
                "run", EXAMPLES / "softmax.tk", "--device", "interp", "--input", f"scores={folder}/scores.npy",
                "--output", f"{folder}/out", "--json",
            )  # fmt: skip
            answer = json.loads(text)
            self.assertEqual(answer["dims"], {"M": 7})
            self.assertEqual(answer["outputs"][0]["shape"], [7, 512])
            result = np.load(answer["outputs"][0]["file"])
        wide = np.exp(0.125 * scores.astype(np.float64))
        np.testing.assert_allclose(result, wide / wide.sum(1, keepdims=True), rtol=1e-6)

    def test_random_is_reproducible(self) -> None:
        arguments = ["run", EXAMPLES / "gelu.tk", "--device", "interp", "--dims", "N=100", "--json"]
        first, again, other = (json.loads(self.ok(*arguments, "--random", seed))["outputs"][0] for seed in (1, 1, 2))
        self.assertEqual(first["checksum"], again["checksum"])
        self.assertNotEqual(first["checksum"], other["checksum"])

    def test_empty_tensors(self) -> None:
        answer = json.loads(self.ok("run", EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=0", "--json"))
        self.assertEqual(answer["outputs"][0]["shape"], [0])

    def test_every_example_computes_what_the_reference_evaluator_does(self) -> None:
        for example in sorted(EXAMPLES.glob("*.tk")):
            with self.subTest(example.name):
                answer = json.loads(self.ok("run", example, "--random", 0, *small_dims(example), "--check", "--json"))
                self.assertGreater(answer["kernels"], 0)
                for output in answer["outputs"]:
                    self.assertTrue(output["check"]["close"])
                    self.assertEqual(output["nan"], 0, "a comparison of NaN with NaN says nothing")

    def test_unfused_gives_the_same(self) -> None:
        arguments = ["run", EXAMPLES / "layer_norm.tk", "--random", 0, "--dims", "M=5", "--check", "--json"]
        fused, unfused = json.loads(self.ok(*arguments)), json.loads(self.ok(*arguments, "--no-fuse"))
        self.assertLess(fused["kernels"], unfused["kernels"])

    def test_damaged_and_unwritable_caches_cost_no_result(self) -> None:
        arguments = ["run", EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=8", "--json"]
        expected = json.loads(self.ok(*arguments))["outputs"]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernels.db").write_bytes(b"this is no database" * 1000)
            for place in [folder, "/proc/nowhere"]:
                environment = {**os.environ, "TOKAMAK_CACHE_DIR": place}
                command = [TOKAMAK, *map(str, arguments)]
                done = subprocess.run(command, capture_output=True, timeout=120, check=False, env=environment)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["outputs"], expected)
                self.assertEqual(done.stderr.count(b"warning"), 1, done.stderr)


class Explain(Case):
    BLOCK = EXAMPLES / "transformer_block.tk"

    def test_table_and_brief(self) -> None:
        table = self.ok("explain", self.BLOCK, "--dims", "S=64")
        self.assertIn("sizes S=64", table)
        self.assertIn("%projected -> %after_attention", table)
        brief = self.ok("explain", self.BLOCK, "--dims", "S=64", "--brief")
        self.assertTrue(table.startswith(brief))
        self.assertNotIn("->", brief)

    def test_json_covers_every_edge_of_the_planned_graph(self) -> None:
        plan = json.loads(self.ok("explain", self.BLOCK, "--json"))
        self.assertEqual(plan["dims"], {"S": 1024})
        self.assertLess(plan["summary"]["kernels"], plan["summary"]["ops_planned"])
        self.assertLess(plan["summary"]["fused_bytes"], plan["summary"]["unfused_bytes"])
        for edge in plan["edges"]:
            self.assertIn(edge["decision"], ["fused", "replicated", "aliased", "library", "cut"])
            self.assertTrue(edge["rule"])
        ops = {op for kernel in plan["kernels"] for op in kernel["ops"]}
        self.assertIn("%out", ops)

    def test_kernels_and_measured_times(self) -> None:
        arguments = ["explain", EXAMPLES / "softmax.tk", "--dims", "M=64", "--kernels", "--measure", "--json"]
        plan = json.loads(self.ok(*arguments))
        self.assertEqual(len(plan["kernels"]), 1)
        self.assertIn("kernel @", plan["kernels"][0]["kernel"])
        self.assertGreater(plan["kernels"][0]["measured_us"], 0)

    def test_page_and_drawing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page, drawing = Path(folder) / "plan.html", Path(folder) / "plan.svg"
            self.ok("explain", self.BLOCK, "--html", page, "--svg", drawing, "--brief")
            self.assertIn("</html>", page.read_text())
            ElementTree.parse(drawing)
        self.refused("T0803", "explain", self.BLOCK, "--html", "/no/such/folder/plan.html")

    def test_sizes_beyond_counting(self) -> None:
        softmax = EXAMPLES / "softmax.tk"
        self.assertIn("softmax.tk:", self.refused("T0806", "explain", softmax, "--dims", "M=9223372036854775807"))
        self.assertIn("PB", self.ok("explain", softmax, "--dims", "M=1000000000000", "--brief"))
        self.ok("explain", softmax, "--dims", "M=0")

    def test_refuses_a_dimension_that_is_not_there(self) -> None:
        self.assertIn("its dimensions are S", self.refused("T0804", "explain", self.BLOCK, "--dims", "T=4"))


class Bench(Case):
    def test_measures(self) -> None:
        answer = json.loads(self.ok("bench", EXAMPLES / "gelu.tk", "--dims", "N=4096", "--seconds", "0.01", "--json"))
        self.assertEqual(answer["bytes"], 2 * 4 * 4096)
        self.assertEqual(answer["limit"], "copy")
        self.assertGreater(answer["fraction"], 0)
        self.assertIn("of a copy", self.ok("bench", EXAMPLES / "gelu.tk", "--dims", "N=4096", "--seconds", "0.01"))


class Kinds(Case):
    def test_programs_of_the_other_kind_are_sent_to_their_command(self) -> None:
        sparse, dense = EXAMPLES / "sparse" / "spmm.ein", EXAMPLES / "gelu.tk"
        for command in ["run", "explain", "bench"]:
            self.assertIn("`tokamak sparse run` takes those", self.refused("T0808", command, sparse))
        for command in [["sparse", "run"], ["sim"], ["sweep"]]:
            self.assertIn("`tokamak run` takes those", self.refused("T0808", *command, dense))
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "k.ein"
            program.write_text("graph = 2.0\n")  # a tensor's name
            self.ok("sparse", "run", program, "--random", 0)
            program.write_text("// nothing\n")
            self.refused("T0102", "run", program)

    def test_sizes_below_zero_are_named(self) -> None:
        self.assertIn("`N=-3` is below zero", self.refused("T0804", "run", EXAMPLES / "gelu.tk", "--dims", "N=-3"))

    def test_a_result_that_cannot_be_written_is_no_search(self) -> None:
        for path in ["/nowhere/best", "/"]:
            self.refused("T0803", "sweep", EXAMPLES / "sparse" / "spmm.ein", "--random", 0, "-o", path)


class Cache(Case):
    def test_lists_and_clears(self) -> None:
        self.ok("cache", "clear")
        self.assertEqual(json.loads(self.ok("cache", "list", "--json")), [])
        self.ok("run", EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=8")
        self.ok("run", EXAMPLES / "gelu.tk", "--random", 0, "--dims", "N=9")
        entries = json.loads(self.ok("cache", "list", "--json"))
        self.assertEqual(len(entries), 1, "one kernel serves both sizes")
        self.assertEqual(json.loads(self.ok("cache", "stats", "--json"))["entries"], 1)
        self.assertIn("dropped 1 kernel", self.ok("cache", "clear"))
        bare = tokamak("cache")
        self.assertEqual(bare.returncode, 2)
        self.assertIn("Usage: tokamak cache", bare.stdout.decode())
        self.assertIn("tokamak cache has no command clean", self.refused("T0801", "cache", "clean"))

    def test_asking_begins_no_cache(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "none"
            self.assertIn(f"{place}/kernels.db is not there yet", self.ok("cache", "stats", "--folder", place))
            self.assertFalse(json.loads(self.ok("cache", "stats", "--folder", place, "--json"))["on_disk"])
            self.assertIn("empty", self.ok("cache", "list", "--folder", place))
            self.assertIn("nothing to clear", self.ok("cache", "clear", "--folder", place))
            self.assertFalse(place.exists())

    def test_a_cache_that_cannot_be_cleared_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernels.db").mkdir()
            self.assertIn("not cleared", self.refused("T0803", "cache", "clear", "--folder", folder))
        self.refused("T0801", "cache", "clear", "--folder", "")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernels.db").write_text("no database at all" * 100)
            self.assertIn("dropped 0", self.ok("cache", "clear", "--folder", folder))  # moved aside


if __name__ == "__main__":
    unittest.main()
