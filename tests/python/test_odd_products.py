"""Products whose rows are no multiples of 16 bytes, in pieces that are."""

import math

import pytest
import torch
from tokamak.importer.graph import Importer
from tokamak.lowering import registry
from tokamak.odd_products import LEAST, UNIT, odd_product, pays, pieces, split_products, write_pieces
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

SIZES = [(2048, 768, 50257), (128, 256, 65537), *((rows, 16, 1024 + odd) for rows in (131, 136) for odd in range(1, 8))]


@pytest.mark.parametrize("rows, inner, columns", SIZES)
def test_all_but_the_edges_begins_at_multiples_of_16_bytes(rows, inner, columns):
    *most, edges = pieces(rows, inner, columns, inner, inner)
    for piece in most[: len(most) - bool(piece_of_rest(rows, columns))]:
        for matrices in (piece.a, piece.b, piece.c):
            assert matrices.start % UNIT == 0 and matrices.batch % UNIT == 0 and matrices.row % UNIT == 0
        assert piece.columns % UNIT == 0
    assert edges.columns <= 64 and edges.batches == 2


def piece_of_rest(rows, columns):
    period = UNIT if columns % 2 else 4 if columns % 4 else 2
    return rows % period


@pytest.mark.parametrize("rows, inner, columns", SIZES[:2])
def test_pieces_share_what_the_second_cache_holds(rows, inner, columns):
    *most, _ = pieces(rows, inner, columns, inner, inner)
    assert all(piece.columns * inner * 2 <= 32 << 20 for piece in most) and len(most) < 6


def test_pieces_leave_few_multiprocessors_waiting():
    *most, _ = pieces(2048, 768, 50257, 768, 768, 132)
    rounds = [8 * 2 * -(-piece.columns // 256) / 132 for piece in most]
    assert sum(map(math.ceil, rounds)) == 24  # as few as one product of all columns takes


@pytest.mark.parametrize("rows, inner, columns", SIZES[2:])
@pytest.mark.parametrize("with_bias", [False, True])
def test_pieces_are_the_product(rows, inner, columns, with_bias):
    x, w, bias = torch.randn(rows, inner), torch.randn(columns, inner), torch.randn(columns) if with_bias else None
    out = torch.full((rows, columns), torch.nan)
    write_pieces(x, w, bias, out)
    torch.testing.assert_close(out, x @ w.t() + (0 if bias is None else bias), rtol=1e-5, atol=1e-5)


def test_operands_with_gaps_between_their_rows():
    x, w = torch.randn(144, 24)[8:, :16], torch.randn(1033, 32)[3:, 8:24]
    out = torch.full((136, 1030), torch.nan)
    write_pieces(x, w, None, out)
    torch.testing.assert_close(out, x @ w.t(), rtol=1e-5, atol=1e-5)


def test_a_product_that_is_small_or_even_is_left_whole():
    big = LEAST // (256 * 1025) + 1
    x, w = torch.empty(big, 256, device="meta"), torch.empty(256, 1025, device="meta")
    assert pays(x, w)
    assert not pays(x[: big // 2], w) and not pays(x, w[:, :1024]) and not pays(x[:, :255], w[:255])
    a, b, bias = torch.randn(4, 6), torch.randn(6, 5), torch.randn(5)
    torch.testing.assert_close(odd_product(a, b), a @ b)
    torch.testing.assert_close(odd_product(a, b, bias), a @ b + bias)


def test_a_large_one_runs_in_pieces():
    x, w = torch.randn(1024, 512), torch.randn(4099, 512)
    product = odd_product(x.t().contiguous().t(), w.t())
    assert product.stride() == (4099, 1)
    torch.testing.assert_close(product, x @ w.t(), rtol=1e-4, atol=1e-4)


def imported(function, *tensors):
    """What becomes of a function of these shapes, transposed where they say so."""
    registry.table()
    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda", dtype=torch.bfloat16) for shape, _ in tensors]
        inputs = [x.t() if turned else x for x, (_, turned) in zip(inputs, tensors, strict=True)]
        module = make_fx(lambda *xs: (function(*xs),), tracing_mode="fake")(*inputs)
    split_products(module)
    importer = Importer(module, "forward")
    importer.run()
    return importer


def test_the_product_of_a_graph_is_called_in_pieces():
    importer = imported(lambda x, w: torch.ops.aten.mm(x, w).relu(), ((512, 512), False), ((8193, 512), True))
    assert [(r.op, r.reason) for r in importer.refusals] == [("odd_product", "cuBLAS serves it, through ATen")]
    assert list(importer.segments) == [1]  # nothing is copied before it
    assert [step[1] for step in importer.after[0]] == [odd_product]


def test_a_matrix_whose_columns_begin_anywhere_is_transposed_first():
    importer = imported(
        lambda x, w, b: torch.ops.aten.addmm(b, x, w), ((512, 512), False), ((512, 8193), False), ((8193,), False)
    )
    assert [r.op for r in importer.refusals] == ["odd_product"]
    assert "bf16[8193, 512]" in importer.segments[0].graph.text()
    assert importer.writes[0][0][1] == [1, 0]  # as torch sees it: 512 x 8193, columns side by side
