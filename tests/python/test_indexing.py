"""Reads and writes at indices against eager: tensors beside and apart from each other, repeated and negative indices,
masks, every reduction of scatter, and indices out of range."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import compare, numbers
from tokamak.backend import recording
from torch.utils.checkpoint import checkpoint


def positions(*shape: int, size: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, size, shape, generator=torch.Generator().manual_seed(seed))


READS = {
    "rows": lambda x, i: (x[i], x[i - 4], x[i[0]]),
    "columns": lambda x, i: (x[:, i], x[..., i], x[:, :, i[0]]),
    "together": lambda x, i: (x[i, i], x[:, i, i - 1], x[i[:, None], i[None]]),
    "apart": lambda x, i: (x[i, :, i], x[i[0], :, i], x[None, i[0], 1]),
    "index_select": lambda x, i: (x.index_select(1, i[0]), x.index_select(-1, i.flatten())),
    "gather": lambda x, i: (x.gather(0, i[:, :, None]), x.gather(2, i[:, :, None].expand(-1, -1, 2))),
    "take": lambda x, i: (x.take(i), x.take(i[0, 0] - 4), torch.take_along_dim(x, i[:, :, None], 1)),
    "embedding": lambda x, i: F.embedding(i, x[0]),
    "list": lambda x, i: (x[[0, -1]], x[:, [1, 1], [2, 0]]),
    "i32": lambda x, i: x[i.int()],
}
WRITES = {
    "index_put": lambda x, y, i: (x.index_put((i[0],), y[:3]), x.index_put((i[:1], i[1:2]), y[0, 0])),
    "one value": lambda x, y, i: x.index_put((i,), y[0, 0, 0]),
    "apart": lambda x, y, i: x.index_put((i[0], None, i[1]), y[0, :3, :1].expand(3, 5)),
    "accumulate": lambda x, y, i: x.index_put((i[0],), y[:3], accumulate=True),
    "scatter": lambda x, y, i: (x.scatter(0, i[:, :, None], y), x.scatter(1, i[:, :, None], 2)),
    "scatter_add": lambda x, y, i: x.scatter_add(0, i[:, :, None].expand(-1, -1, 5), y),
    "index_add": lambda x, y, i: x.index_add(0, i[0], y[:3]),
    "index_fill": lambda x, y, i: (x.index_fill(1, i[0], 3), x.index_copy(0, i[0, :1], y[:1])),
    "masks": lambda x, y, i: (x.masked_fill(y > 0, 1), torch.where(y > 0, x, y), x.index_put((y > 0,), x[0, 0, 0])),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool], ids=str)
def test_every_width(dtype: torch.dtype) -> None:
    x, y, i = numbers(4, 4, 5, dtype=dtype), numbers(4, 4, 5, dtype=dtype, seed=1), positions(2, 3)
    compare(READS, [x, i])
    compare(WRITES, [x, y, i])


def test_gradients() -> None:
    compare(READS, [numbers(4, 4, 5), positions(2, 3)], grad=True)
    few = ("index_put", "accumulate", "index_add")  # of scatter torch knows gradients where all shapes agree
    compare({k: WRITES[k] for k in few}, [numbers(4, 4, 5), numbers(4, 4, 5, seed=1), positions(2, 3)], grad=True)


def test_one_element_of_every_row_is_a_choice() -> None:
    x, i, y = numbers(4, 5), positions(4, 1), numbers(4, 3, seed=1)
    function = lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 2.5).exp(), x.scatter(0, i[:1, :1], y))  # noqa: E731
    compare(function, [x, i, y])
    with recording() as graphs:
        torch.compile(lambda x, i: x.scatter(1, i, 1.0).exp(), backend="tokamak")(x, i)
    names = [k["name"] for g in graphs for s in g.json()["segments"] for k in s["kernels"]]
    assert not any("scatter" in name for name in names), names


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_loss_reads_its_scores_once(dynamic: bool) -> None:
    x, i = numbers(6, 33), positions(6, size=33)
    x[1, 3], x[2, 5], x[3] = float("inf"), float("nan"), float("-inf")
    i[4] = -100
    loss = lambda x, i: F.cross_entropy(x, i, reduction="none")  # noqa: E731
    compare({"loss": loss, "picked": lambda x, i: x.log_softmax(1).gather(1, i.clamp(0)[:, None])}, [x, i])
    with recording() as graphs, torch.no_grad():
        torch.compile(loss, backend="tokamak", dynamic=dynamic)(x, i)
    written = [k["bytes_written"] for g in graphs for s in g.json()["segments"] for k in s["kernels"]]
    assert all(b < x.nbytes for b in written), written


def test_gradients_of_scatter() -> None:
    table = {"set": lambda x, y, i: x.scatter(0, i, y), "add": lambda x, y, i: x.scatter_add(1, i, y)}
    compare(table, [numbers(4, 5), numbers(4, 5, seed=1), positions(4, 5)], grad=True)


def test_symbolic_sizes() -> None:
    few = {k: READS[k] for k in ("rows", "columns", "together", "apart", "index_select", "embedding")}
    compare(few, [numbers(4, 4, 5), positions(2, 3)], dynamic=True)


@pytest.mark.parametrize("kind", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_scatter_reduce(dtype: torch.dtype, kind: str) -> None:
    x, y, i = numbers(5, 7, dtype=dtype, special=True), numbers(6, 7, dtype=dtype, seed=1), positions(6, 7, size=5)
    compare(
        {
            "with": lambda x, y, i: x.scatter_reduce(0, i, y, kind),
            "without": lambda x, y, i: x.scatter_reduce(0, i, y, kind, include_self=False),
            "part": lambda x, y, i: x.scatter_reduce(1, i[:2, :3], y, kind),
        },
        [x, y, i],
    )


def test_scalars_and_nothing() -> None:
    compare(
        {"gather": lambda x, i: x.gather(0, i), "index_select": lambda x, i: x.index_select(0, i)},
        [numbers(), torch.tensor(0)],
    )
    compare(
        {"rows": lambda x, i: x[i], "gather": lambda x, i: x.gather(0, i[:, None].expand(-1, 3)),
         "put": lambda x, i: x.index_put((i,), x[:0])},
        [numbers(4, 3), positions(0)],
    )  # fmt: skip


def test_padding_row_gets_no_gradient() -> None:
    compare({"embedding": lambda w, i: F.embedding(i, w, padding_idx=2)}, [numbers(4, 6), positions(5, 3)], grad=True)


OUT_OF_RANGE = {
    "index": lambda x, i: x[i] * 2,
    "index apart": lambda x, i: x[i, :, i],
    "index_select": lambda x, i: x.index_select(0, i) * 2,
    "index_select of columns": lambda x, i: x.index_select(1, i),
    "index_select of the last": lambda x, i: x.index_select(2, i),
    "gather": lambda x, i: x.gather(0, i[:, None, None]) * 2,
    "take": lambda x, i: x.take(i * 16),
    "embedding": lambda x, i: F.embedding(i, x[0]) * 2,
    "scatter": lambda x, i: x.scatter(0, i[:, None, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(1, i[:, None, None], x),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None, None], x, "amax"),
    "one of a row": lambda x, i: x[:2, :, 0].scatter(1, i[:, None], 2.0),
    "index_put": lambda x, i: x.index_put((i,), x[:1]) + 1,
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "index_add of a vector": lambda x, i: x[0, 0].index_add(0, i, x[0, 0, :2]),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "nll_loss": lambda x, i: F.nll_loss(x[:2, :, 0], i),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:2, :, 0], i, reduction="none"),
}


def outcome(function, *args):
    """What a call gives, or the type of what it raises."""
    try:
        return function(*args)
    except (IndexError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range_raises_what_eager_does(name: str) -> None:
    function = OUT_OF_RANGE[name]
    compiled = torch.compile(function, backend="tokamak")
    x = numbers(4, 4, 4)
    for good in ([0, 3], [2, 1]):
        torch.testing.assert_close(compiled(x, torch.tensor(good)), function(x, torch.tensor(good)))
    for wrong in (4, 10**12, -5, -1):  # -1 is right where indices count from the end
        ours, eager = (outcome(f, x, torch.tensor([0, wrong])) for f in (compiled, function))
        same = ours is eager if isinstance(eager, type) or isinstance(ours, type) else torch.equal(ours, eager)
        assert same, f"{wrong}: {ours} instead of {eager}"


def changed(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[0][i] = 1
    return y[1] + y.index_copy_(0, i, x[:2]).sum()


def gathered_in_vain(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.gather(0, i[:, None, None])
    return x * 2


UNREAD = OUT_OF_RANGE | {
    "in place": changed,
    "checkpoint": lambda x, i: checkpoint(
        lambda x, i: (x.gather(0, i[:, None, None]), x)[1], x, i, use_reentrant=False
    ),
    "keywords": lambda x, i: torch.index_select(input=x, dim=0, index=i),
}


@pytest.mark.parametrize("name", UNREAD)
def test_out_of_range_raises_though_nobody_reads_it(name: str) -> None:
    def function(x: torch.Tensor, i: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        UNREAD[name](x, i).add(1)
        return w * 2

    compiled, x = torch.compile(function, backend="tokamak"), numbers(4, 4, 4)
    for w in (torch.ones(3), torch.ones(3, requires_grad=True)):
        for indices in ([0, 3], [0, 4], [-5, 0], [-1, 0]):
            ours, eager = (outcome(f, x, torch.tensor(indices), w) for f in (compiled, function))
            assert ours is eager if isinstance(eager, type) else torch.equal(ours, eager)


def test_what_nobody_reads_is_not_computed() -> None:
    with recording() as graphs:
        torch.compile(lambda x, i: (x[i].exp(), x + 1)[1], backend="tokamak")(numbers(4, 4), torch.tensor([0, 1]))
    kernels = [k["name"] for g in graphs for s in g.json()["segments"] for k in s["kernels"]]
    assert len(kernels) == 2 and not any(g.refusals for g in graphs), kernels


def test_out_of_range_names_the_op() -> None:
    x, wrong = numbers(4, 3), torch.tensor([[0, 4, 1]])
    with pytest.raises(RuntimeError, match="gather: an index is out of bounds for dimension 0 with size 4"):
        torch.compile(lambda x, i: x.gather(0, i), backend="tokamak")(x, wrong)
    with pytest.raises(IndexError, match="embedding: index out of range in self"):
        torch.compile(lambda x, i: F.embedding(i, x), backend="tokamak")(x, wrong)
