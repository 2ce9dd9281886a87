"""Graphs of the study: real ones where they are given, else synthetic ones of the same size and degree distribution."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Graph:
    """A data set by its published sizes. `features` stored entries in all, 0: dense."""

    name: str
    nodes: int
    width: int
    edges: int
    features: int
    classes: int


GRAPHS = {
    g.name: g
    for g in [
        Graph("cora", 2708, 1433, 5278, 49216, 7),
        Graph("citeseer", 3312, 3703, 4536, 105165, 6),
        Graph("cora_ml", 2995, 2879, 8158, 151171, 7),
        Graph("dblp", 17716, 1639, 52867, 94000, 4),
        Graph("collab", 235868, 128, 967632, 0, 8),
        Graph("mag", 736389, 128, 5416271, 0, 8),
    ]
}


def read_matrix(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    """Rows, columns and values of a MatrixMarket file with coordinates; a symmetric one in full."""
    with path.open() as file:
        header = file.readline().split()
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        rows, columns, _ = map(int, line.split())
        entries = np.loadtxt(file, ndmin=2)
    i, j = entries[:, 0].astype(np.int64) - 1, entries[:, 1].astype(np.int64) - 1
    values = entries[:, 2] if entries.shape[1] > 2 else np.ones(len(i))
    if "symmetric" in header:
        off = i != j
        i, j, values = np.r_[i, j[off]], np.r_[j, i[off]], np.r_[values, values[off]]
    return i, j, values, (rows, columns)


def power_law_edges(graph: Graph, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both directions of distinct edges whose degrees fall off as those of citation graphs do (exponent 2.7)."""
    weights = (np.arange(graph.nodes) + 10.0) ** (-1 / 1.7)
    random.shuffle(weights)
    share = np.cumsum(weights / weights.sum())
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < graph.edges:
        missing = graph.edges - len(keys)
        a, b = (np.searchsorted(share, random.random(missing + missing // 4 + 16)) for _ in range(2))
        a, b = np.minimum(a, b), np.maximum(a, b)
        fresh = (a * graph.nodes + b)[a != b]
        keys = np.unique(np.r_[keys, fresh])
        if len(keys) > graph.edges:
            keys = random.choice(keys, graph.edges, replace=False)
    a, b = keys // graph.nodes, keys % graph.nodes
    return np.r_[a, b], np.r_[b, a]


def synthetic_features(graph: Graph, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Words of each node: frequent words are in many."""
    popularity = (np.arange(graph.width) + 5.0) ** -0.8
    random.shuffle(popularity)
    share = np.cumsum(popularity / popularity.sum())
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < graph.features:
        missing = graph.features - len(keys)
        i = random.integers(0, graph.nodes, missing)
        j = np.searchsorted(share, random.random(missing))
        keys = np.unique(np.r_[keys, i * graph.width + j])
    return keys // graph.width, keys % graph.width


def save_csr(path: Path, i: np.ndarray, j: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> None:
    """The arrays that SciPy saves."""
    order = np.lexsort((j, i))
    indptr = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(i, minlength=shape[0]), out=indptr[1:])
    np.savez(
        path,
        format=np.array(b"csr"),
        shape=np.array(shape),
        indices=j[order].astype(np.int32),
        indptr=indptr,
        data=values[order],
    )


def prepare(graph: Graph, source: Path | None, folder: Path) -> bool:
    """Writes A (normalised, with self loops) and X to a folder; whether they are real."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(graph.nodes)
    real = source is not None and (source / f"{graph.name}_adj.mtx").exists()
    if real:
        i, j, _, _ = read_matrix(source / f"{graph.name}_adj.mtx")
        fi, fj, values, _ = read_matrix(source / f"{graph.name}_feat.mtx")
    else:
        i, j = power_law_edges(graph, random)
        fi = fj = values = None
        if graph.features:
            fi, fj = synthetic_features(graph, random)
            values = random.random(len(fi)) + 0.1
    n = graph.nodes
    loops = np.arange(n)
    i, j = np.r_[i, loops], np.r_[j, loops]
    degree = np.bincount(i, minlength=n).astype(float)
    save_csr(folder / "A.npz", i, j, 1 / np.sqrt(degree[i] * degree[j]), (n, n))
    if fi is not None:
        save_csr(folder / "X.npz", fi, fj, values, (n, graph.width))
    return real


def rows_of(path: Path, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    """Some rows of a matrix that `save_csr` wrote, numbered anew."""
    with np.load(path) as stored:
        indptr, indices, values, shape = (stored[key] for key in ["indptr", "indices", "data", "shape"])
    counts = np.diff(indptr)[rows]
    at = np.concatenate([np.arange(indptr[row], indptr[row + 1]) for row in rows])
    return np.repeat(np.arange(len(rows)), counts), indices[at], values[at], (len(rows), int(shape[1]))


def sample_rows(source: Path, folder: Path, rows: int) -> dict[str, Path]:
    """Files of S, some rows of a graph's A, and of Xr, those rows of X where it has a file."""
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(source / "A.npz") as stored:
        nodes = int(stored["shape"][0])
    kept = np.sort(np.random.default_rng(rows).choice(nodes, rows, replace=False))
    files = {part: folder / f"{part}.npz" for part in ["S", "Xr"]}
    for name, part in [("A", "S"), ("X", "Xr")]:
        if (source / f"{name}.npz").exists():
            save_csr(files[part], *rows_of(source / f"{name}.npz", kept))
    return files


def bigbird_mask(tokens: int, block: int, random_blocks: int, folder: Path) -> float:
    """Which tokens attend to which: a window of three blocks, the first block globally, and a few at random."""
    folder.mkdir(parents=True, exist_ok=True)
    count = tokens // block
    random = np.random.default_rng(block)
    mask = np.zeros((count, count), dtype=bool)
    for row in range(count):
        mask[row, max(0, row - 1) : row + 2] = True
        others = np.flatnonzero(~mask[row] & (np.arange(count) != 0))
        if row:
            mask[row, random.permutation(others)[:random_blocks]] = True
    mask[0, :] = mask[:, 0] = True
    full = np.kron(mask, np.ones((block, block), dtype=bool))
    i, j = np.nonzero(full)
    save_csr(folder / "M.npz", i, j, np.ones(len(i)), (tokens, tokens))
    return float(mask.mean())
