#!/usr/bin/env python3
"""Writes the inputs of a graph network, for `tokamak sparse run examples/sparse/gcn.ein --data FOLDER --random 0`.

python examples/sparse/graph_files.py FOLDER EDGES.npy FEATURES.npy

EDGES are 2 x E numbers of nodes, from and to, FEATURES one row a node: what libraries of graph data sets hold of Cora.
FOLDER gets A.mtx, in which a node is its own neighbour too and entries are divided by the square roots of both degrees,
and X.mtx.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy


def neighbours(edges: numpy.ndarray, nodes: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Rows, columns and values of the normalised graph; an edge counts once, in both directions."""
    loops = numpy.arange(nodes)
    ends = numpy.concatenate([edges, edges[::-1], [loops, loops]], axis=1)
    rows, columns = numpy.unique(ends, axis=1)
    roots = numpy.sqrt(numpy.bincount(rows, minlength=nodes))
    return rows, columns, 1 / (roots[rows] * roots[columns])


def write(path: Path, shape: tuple[int, int], rows, columns, values) -> None:
    with path.open("w") as out:
        out.write(f"%%MatrixMarket matrix coordinate real general\n{shape[0]} {shape[1]} {len(values)}\n")
        numpy.savetxt(out, numpy.stack([rows + 1, columns + 1, values], axis=1), fmt=["%d", "%d", "%.9g"])


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    folder, edges, features = Path(sys.argv[1]), numpy.load(sys.argv[2]), numpy.load(sys.argv[3])
    if features.ndim != 2 or features.dtype.kind not in "biuf" or not numpy.isfinite(features).all():
        raise ValueError(f"{sys.argv[3]}: features are one row of numbers a node")
    nodes = len(features)
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{sys.argv[2]}: edges are 2 x E whole numbers")
    if edges.size and not 0 <= edges.min() <= edges.max() < nodes:
        raise ValueError(f"{sys.argv[2]}: edges are numbers of {nodes} nodes, from 0")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "A.mtx", (nodes, nodes), *neighbours(edges, nodes))
    rows, columns = features.nonzero()
    write(folder / "X.mtx", features.shape, rows, columns, features[rows, columns])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, EOFError, ValueError) as error:
        print(f"graph_files.py: {error}", file=sys.stderr)
        sys.exit(2)
