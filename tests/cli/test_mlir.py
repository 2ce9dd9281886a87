#!/usr/bin/env python3
"""The command line on MLIR text, where the component that reads it was built."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from test_cli import EXAMPLES, TOKAMAK, Case

HAS_MLIR = (Path(TOKAMAK).parent / "libtokamak_mlir.so").exists()


@unittest.skipUnless(HAS_MLIR, "built without MLIR")
class Mlir(Case):
    GCN = EXAMPLES / "sparse" / "gcn.mlir"
    SIZES = ("--random", "0", "--dims", "arg0_0=20,arg0_1=20")

    def test_runs_like_a_program_in_the_notation(self) -> None:
        for schedule in ["auto", "unfused", "full"]:
            text = self.ok("sparse", "run", self.GCN, *self.SIZES, "--schedule", schedule)
            self.assertIn("values agree with the dense program", text)
        self.assertIn("table ", self.ok("sparse", "explain", self.GCN, *self.SIZES))
        self.assertIn("input arg0[", self.ok("sparse", "compile", self.GCN, "--emit", "ein"))

    def test_bad_input_is_refused_with_a_place(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "bad.mlir"
            whole = self.GCN.read_bytes()
            file.write_bytes(whole[: len(whole) // 2])
            self.assertRegex(self.refused("T0851", "sparse", "run", file), r"bad\.mlir:\d+:\d+")
            file.write_bytes(b"// \xff\n" + whole)
            self.assertIn("bad.mlir:1:4", self.refused("T0851", "sparse", "compile", file))
            file.write_text(
                'func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = "foo.bar"(%a) : '
                "(tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
            )
            self.assertIn("bad.mlir:2:8", self.refused("T0852", "sparse", "explain", file))

    def test_without_the_component_it_says_what_is_missing(self) -> None:
        done = subprocess.run(
            [TOKAMAK, "sparse", "compile", self.GCN],
            capture_output=True,
            check=False,
            env={**os.environ, "TOKAMAK_MLIR": "/nowhere/libtokamak_mlir.so"},
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"libmlir-19-dev", done.stderr)


if __name__ == "__main__":
    unittest.main()
