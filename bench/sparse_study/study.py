#!/usr/bin/env python3
"""Regenerates docs/sparse-study.md:  study.py [--graphs DIR] [--only cora,cora_ml] [--folder build/sparse-study]

Every answer of the command line is kept in the folder, so a study that was ended goes on where it was. Graphs are read
from --graphs (NAME_adj.mtx and NAME_feat.mtx); those that are not there are made up, with the same size and degree
distribution.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

import calls
import page
import steps

ROOT = Path(__file__).resolve().parent.parent.parent

READING = """
What differs from the published numbers is the compiler. Here iteration is factored, so that a fused region does not run
every operation over every loop, and products are associated as the estimate says (X W before A; FuseFlow's programs do
(A X) W). That takes most of the work out of the unfused program, so less is left for partial fusion to gain, and fusing
a layer as the paper cuts it, the product X W inside the sum over neighbours, computes X W again for every edge. The cut
that pays is another: X W alone, then everything that shares a row. The search finds it without being told. Full fusion
loses on graphs for the published reason: the first layer is computed again for every path of two edges.
"""


def conditions(study: steps.Study, graphs: list[str], rows: dict) -> str:
    real = [g for g in graphs if study.real.get(g)]
    made = [g for g in graphs if not study.real.get(g)]
    left = [g for g in steps.GRAPHS if g not in graphs]
    done = study.calls
    runs = "one run" if done.runs == 1 else f"{done.runs} runs"
    columns = [row for name, row in rows.items() if name.split()[1] in ("cora", "cora_ml")]
    seconds = sum(cell["seconds"] for row in columns for cell in row.values() if "seconds" in cell)
    cores = len(os.sched_getaffinity(0))
    return (
        f"Conditions: {cores} cores ({platform.machine()}); {runs} of {done.seconds / 60:.1f} minutes in all, "
        f"as many calls at a time as cores, at most {done.memory:.1f} GB of memory together; the calls of Cora and "
        f"Cora_ML, searches included, {seconds / 60:.1f} minutes in all. "
        f"Real data: {', '.join(real) or 'none'}. Synthetic, of the published size and with degrees that fall off "
        f"with exponent 2.7: {', '.join(made) or 'none'}. GCN and GraphSAGE: two layers, hidden size 16, adjacency "
        "normalised with self loops, features sparse where the data are (dense at Collab and MAG size). Weights are "
        "random. Attention: a mask of blocks (window of three, the first globally, two or three at random), head size "
        "64. One lane unless said. Operations and bytes are the cost model's where the simulator did not count them."
        + (f" Left out of this copy with --only: {', '.join(left)}." if left else "")
        + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=Path, help="folder with NAME_adj.mtx and NAME_feat.mtx")
    parser.add_argument("--only", default=",".join(steps.GRAPHS), help="graphs, separated by commas")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sparse-study")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "sparse-study.md")
    options = parser.parse_args()
    graphs = options.only.split(",")
    if unknown := [g for g in graphs if g not in steps.GRAPHS]:
        parser.error(f"unknown graphs: {', '.join(unknown)}; known are {', '.join(steps.GRAPHS)}")
    if options.graphs and not options.graphs.is_dir():
        parser.error(f"{options.graphs} is no folder")
    study = steps.Study(options.folder, options.graphs)
    try:
        with study.calls:
            results = calls.settled(
                {
                    "transformer": steps.transformer(study),  # the longest first
                    "granularity": steps.granularity(study, graphs),
                    "exhaustive": steps.exhaustive(study),
                    "autoencoder": steps.autoencoder(study),
                    "parallel": steps.parallel(study),
                    "blocks": steps.blocks(study),
                    "orders": steps.orders(study),
                }
            )
    except KeyboardInterrupt:
        print("study: ended; the same command goes on from here", file=sys.stderr)
        return 130
    pictures = options.page.parent / "pictures"
    pictures.mkdir(exist_ok=True)
    page.write(
        options.page, pictures, {**results, "reading": READING}, conditions(study, graphs, results["granularity"])
    )
    print(f"study: {options.page} is written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
