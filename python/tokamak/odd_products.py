"""Products of halves on a GPU whose rows are no multiples of 16 bytes, such as logits of a vocabulary of 50257.

cuBLAS is several times slower where rows of the result begin anywhere. But rows that are eight apart begin alike: with
50257 columns the rows 0, 8, 16, ... are a matrix with a pitch of 8 * 50257, a multiple of 16 bytes, and so are the rows
1, 9, 17, ... from their seventh column on. So the product is one of eight such matrices side by side (a batch), and two
narrow edges that begin anywhere. Nothing is padded or copied, and the result lies as eager's does.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import torch
from torch.fx import GraphModule, Node

from .decompositions import HALVES
from .importer.dims import hint_of
from .rewriting import call

aten = torch.ops.aten
UNIT = 8  # elements of 16 bytes
LEAST = 1 << 31  # multiplications below which more launches are not worth it
LEAST_ROWS, LEAST_INNER, LEAST_COLUMNS = 128, 256, 1024
SHARED_BYTES = 32 << 20  # of the second operand, which every matrix of a batch reads: it stays in the second cache
TILE = (128, 256)  # rows and columns of a result that a multiprocessor computes at a time


@dataclasses.dataclass(frozen=True)
class Matrices:
    """Where the matrices of a batch begin, and the elements from one of them, and of its rows, to the next."""

    start: int
    batch: int
    row: int

    def of(self, x: torch.Tensor, batches: int, rows: int, columns: int) -> torch.Tensor:
        place = x.storage_offset() + self.start
        return x.as_strided((batches, rows, columns), (self.batch, self.row, 1), place)


@dataclasses.dataclass(frozen=True)
class Piece:
    """A batch of products c = a * b'; rows of b are columns of the result."""

    batches: int
    rows: int
    columns: int
    a: Matrices
    b: Matrices
    c: Matrices


def cuts(batches: int, rows: int, inner: int, width: int, processors: int) -> int:
    """Into how many pieces to cut the columns: what a batch shares is cached, few multiprocessors wait at its end."""
    least = -(-width * inner * 2 // SHARED_BYTES)

    def rounds(count: int) -> int:
        tiles = batches * -(-rows // TILE[0]) * -(-width // (count * TILE[1]))
        return count * -(-tiles // processors)

    return min(range(least, least + 4), key=rounds)


@functools.lru_cache(256)
def pieces(rows: int, inner: int, columns: int, a_pitch: int, b_pitch: int, processors: int = 132) -> tuple[Piece, ...]:
    """The whole product. Later pieces write some elements again; the last one is the edges, the two of them a batch."""
    period = UNIT // math.gcd(columns, UNIT)  # rows this far apart begin alike
    step = -columns % UNIT  # so many columns later than the row before, a row begins alike too
    reach = step * (period - 1)
    width = (columns - reach) // UNIT * UNIT
    together = rows // period
    count = cuts(period, together, inner, width, processors)
    chunk = -(-width // (count * UNIT)) * UNIT
    out = []
    for first in range(0, width, chunk):
        b = Matrices(first * b_pitch, step * b_pitch, b_pitch)
        c = Matrices(first, columns + step, period * columns)
        wide = min(chunk, width - first)
        out.append(Piece(period, together, wide, Matrices(0, a_pitch, period * a_pitch), b, c))
    if done := rows % period and together * period:
        a, c = Matrices(done * a_pitch, 0, a_pitch), Matrices(done * columns, 0, columns)
        out.append(Piece(1, rows - done, columns, a, Matrices(0, 0, b_pitch), c))
    edge = -(-max(reach, columns - width) // UNIT) * UNIT
    last = columns - edge
    b, c = Matrices(0, last * b_pitch, b_pitch), Matrices(0, last, columns)
    out.append(Piece(2, rows, edge, Matrices(0, 0, a_pitch), b, c))
    return tuple(out)


def odd_product(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """mm(x, w), or addmm(bias, x, w)."""
    if not pays(x, w) or not aligned(w.t()):
        return torch.mm(x, w) if bias is None else torch.addmm(bias, x, w)
    if not aligned(x):
        x = x.clone(memory_format=torch.contiguous_format)
    out = torch.empty((x.shape[0], w.shape[1]), dtype=x.dtype, device=x.device)
    write_pieces(x, w.t(), bias, out)
    return out


def write_pieces(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor) -> None:
    (rows, inner), columns = x.shape, w.shape[0]
    if bias is not None:
        out.copy_(bias)
    *most, edges = pieces(rows, inner, columns, x.stride(0), w.stride(0), processors_of(x.device))
    for piece in most:
        write(piece, x, w, bias is not None, out)
    if bias is not None:  # what is there already must not be added twice
        for side in (slice(0, edges.columns), slice(columns - edges.columns, None)):
            out[:, side] = bias.expand(rows, columns)[:, side]
    write(edges, x, w, bias is not None, out)


@functools.cache
def processors_of(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def write(piece: Piece, x: torch.Tensor, w: torch.Tensor, add: bool, out: torch.Tensor) -> None:
    a = piece.a.of(x, piece.batches, piece.rows, x.shape[1])
    b = piece.b.of(w, piece.batches, piece.columns, x.shape[1]).mT
    c = piece.c.of(out, piece.batches, piece.rows, piece.columns)
    if add:
        c.baddbmm_(a, b)
    else:
        torch.bmm(a, b, out=c)


def pays(x: torch.Tensor, w: torch.Tensor) -> bool:
    """By likely sizes only, where they are symbols: `odd_product` looks again."""
    (rows, inner), columns = map(hint_of, x.shape), hint_of(w.shape[1])
    enough = rows >= LEAST_ROWS and inner >= LEAST_INNER and columns >= LEAST_COLUMNS
    odd = columns % UNIT != 0 and inner % UNIT == 0
    return odd and enough and rows * inner * columns >= LEAST


def aligned(x: torch.Tensor) -> bool:
    """Whether all rows of a matrix begin at multiples of 16 bytes."""
    return x.stride(1) == 1 and x.stride(0) % UNIT == 0 and x.stride(0) >= x.shape[1] and x.data_ptr() % 16 == 0


def split_products(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in list(module.graph.nodes):
        if node.op == "call_function" and node.target in (aten.mm.default, aten.addmm.default) and fits(node):
            split(module, node)


def fits(node: Node) -> bool:
    x, w = (n.meta["val"] for n in node.args[-2:])
    sizes = (w.shape[0], w.shape[1], *w.stride())  # any of the first operand's
    known = all(isinstance(n, int) for n in sizes)
    return w.dtype in HALVES and w.device.type == "cuda" and not node.kwargs and known and pays(x, w)


def split(module: GraphModule, node: Node) -> None:
    graph = module.graph
    *bias, x, w = node.args
    with graph.inserting_before(node):
        if w.meta["val"].stride(0) != 1:  # its columns begin anywhere: transposed they do not
            turned = call(graph, aten.permute.default, w, [1, 0])
            dense = call(graph, aten.clone.default, turned, memory_format=torch.contiguous_format)
            w = call(graph, aten.permute.default, dense, [1, 0])
        product = graph.call_function(odd_product, (x, w, *bias))
        product.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(product)
    graph.erase_node(node)
