"""The inputs and steps of which random functions of torch are made, as text."""

from __future__ import annotations

import dataclasses
import random

import torch

FLOATS = [torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16]
OTHERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]

UNARY = """torch.neg torch.abs torch.exp torch.tanh torch.sigmoid torch.relu F.gelu F.silu torch.sin torch.cos
torch.sqrt torch.rsqrt torch.log1p torch.erf torch.floor torch.square torch.sign F.softplus F.elu F.hardswish
F.leaky_relu torch.isnan torch.logical_not torch.reciprocal torch.expm1 torch.trunc torch.round F.mish F.hardsigmoid
torch.bitwise_not torch.ceil torch.frac torch.sinh torch.atan torch.exp2 F.relu6 F.logsigmoid F.hardtanh F.softsign
torch.nan_to_num torch.isinf torch.signbit torch.sgn torch.deg2rad torch.sinc torch.special.i0 torch.lgamma torch.erfc
torch.positive torch.conj torch.isfinite F.selu F.celu F.tanhshrink F.hardshrink torch.acosh torch.asinh""".split()
BINARY = """torch.add torch.sub torch.mul torch.div torch.maximum torch.minimum torch.pow torch.remainder torch.atan2
torch.eq torch.lt torch.ge torch.logical_and torch.fmod torch.floor_divide torch.bitwise_and torch.bitwise_or
torch.bitwise_xor torch.logical_xor torch.ne torch.hypot torch.fmax torch.fmin torch.copysign torch.true_divide
torch.bitwise_left_shift torch.bitwise_right_shift torch.logaddexp torch.xlogy torch.heaviside torch.float_power
torch.gcd torch.dist torch.nextafter torch.rsub torch.special.xlog1py""".split()


@dataclasses.dataclass(frozen=True)
class Step:
    """One line of a program: `v3 = torch.add(v0, v1)`; operands are named by position."""

    text: str  # with {0}, {1} for operands
    operands: tuple[int, ...]

    def line(self, target: int) -> str:
        return f"v{target} = " + self.text.format(*(f"v{i}" for i in self.operands))


def input_text(rng: random.Random) -> str:
    rank = rng.choice([0, 1, 2, 2, 2, 3, 3, 4])
    shape = [rng.choice([1, 2, 3, 5, 8, 17, 33]) for _ in range(rank)]
    if rank and rng.random() < 0.04:
        shape[rng.randrange(rank)] = 0
    dtype = rng.choice(FLOATS) if rng.random() < 0.7 else rng.choice(OTHERS)
    layout = rng.choice(["", "", "", "t", "slice", "expand", "flip", "last", "row"]) if rank >= 2 else ""
    base = list(shape)
    if layout == "t":
        base = base[::-1]
    if layout == "slice":
        base[-1] = base[-1] * 2 + 1
    if layout in ("expand", "row"):
        base[0 if layout == "expand" else -1] = 1
    text = f"torch.randn({base})" if dtype.is_floating_point else f"torch.randint(-3, 6, {base})"
    text += f".to({dtype})"
    if layout == "t":
        text += f".permute({list(reversed(range(rank)))})"
    if layout == "slice":
        text += f"[..., 1::2][..., :{shape[-1]}]"
    if layout in ("expand", "row"):
        text += f".expand({shape})"
    if layout == "flip":
        text += ".flip(0)"
    if layout == "last" and rank == 4:
        text += ".to(memory_format=torch.channels_last)"
    return text


def random_step(rng: random.Random, values: list[torch.Tensor]) -> Step:
    families = [pointwise, pointwise, pointwise, folds, shapes, indexing, products, writes]
    i, j = rng.randrange(len(values)), rng.randrange(len(values))
    rank = values[i].dim()
    axis = rng.randrange(rank) if rank else 0
    text = rng.choice(rng.choice(families)(rng, axis, rank, values[i].shape[axis] if rank else 1))
    return Step(text, (i, j) if "{1}" in text else (i,))


def pointwise(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    number = rng.choice(["2", "0.5", "-1.5", "3", "1e-3", "0", "-3", "True"])
    rounding = rng.choice(["None", "'trunc'", "'floor'"])
    return [
        f"{rng.choice(UNARY)}({{0}})",
        f"{rng.choice(UNARY)}({{0}})",
        f"{rng.choice(BINARY)}({{0}}, {{1}})",
        f"{rng.choice(BINARY)}({{0}}, {{1}})",
        f"({{0}} {rng.choice(['+', '-', '*', '/', '//', '%', '**', '<', '=='])} {number})",
        f"({number} {rng.choice(['+', '-', '*', '/', '//', '%', '**', '<'])} {{0}})",
        f"({{0}} {rng.choice(['<<', '>>'])} {rng.choice('0124')})",
        f"torch.div({{0}}, {{1}}, rounding_mode={rounding})",
        "torch.where({0} > 0, {0}, {1})",
        f"{{0}}.to({rng.choice(FLOATS + OTHERS)})",
        f"torch.clamp({{0}}, {rng.choice(['-1, 1', 'min=0', 'max=2'])})",
        f"torch.add({{0}}, {{1}}, alpha={rng.choice(['2', '-1', '3'])})",
        "torch.addcmul({0}, {0}, {1}, value=2)",
        "torch.lerp({0}, {1}, 0.3)",
        "{0}.masked_fill({1} > 0, 1)",
    ]


def folds(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    keep = rng.random() < 0.5
    kinds = ["sum", "mean", "amax", "amin", "prod", "all", "any", "var", "std", "logsumexp", "argmax", "argmin"]
    return [
        f"{{0}}.{rng.choice(kinds)}({axis}, keepdim={keep})",
        f"{{0}}.{rng.choice(['sum', 'mean', 'max', 'min', 'std', 'prod', 'any', 'all', 'norm'])}()",
        f"{{0}}.sum({axis}, dtype={rng.choice(FLOATS + OTHERS[:2])})",
        f"{{0}}.{rng.choice(['max', 'min', 'median', 'cummax', 'cummin'])}({axis})[{rng.randrange(2)}]",
        f"{{0}}.{rng.choice(['cumsum', 'cumprod', 'logcumsumexp'])}({axis})",
        f"torch.{rng.choice(['softmax', 'log_softmax'])}({{0}}, {axis})",
        "F.layer_norm({0}, {0}.shape[-1:])",
        f"torch.sort({{0}}, {axis}, stable=True)[0]",
        f"torch.topk({{0}}, 1, {axis})[0]",
        f"torch.count_nonzero({{0}}, {axis})",
        f"F.normalize({{0}}, dim={axis})",
        f"torch.diff({{0}}, dim={axis})",
        f"torch.aminmax({{0}}, dim={axis})[{rng.randrange(2)}]",
        f"torch.linalg.vector_norm({{0}}, {rng.choice(['0', '1', '2', '3'])}, {axis})",
    ]


def shapes(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    return [
        f"{{0}}.transpose({axis}, -1)",
        "{0}.reshape(-1)",
        f"{{0}}.unsqueeze({axis})",
        f"{{0}}.flip({axis})",
        f"{{0}}.roll({rng.choice([1, -2, 3])}, {axis})",
        f"{{0}}.narrow({axis}, 0, max(1, {{0}}.shape[{axis}] // 2))",
        f"{{0}}[..., {rng.choice(['::2', '1:', ':-1', '0', '-1'])}]",
        f"{{0}}.unfold({axis}, {max(1, extent // 2)}, {rng.choice([1, 2])})",
        f"torch.cat([{{0}}, {{0}}], {axis})",
        f"torch.stack([{{0}}, {{0}}], {axis})",
        f"F.pad({{0}}, {rng.choice(['(1, 2)', '(0, -1)', '(2, 0, 1, 1)'])})",
        f"F.pad({{0}}, (1, 1), mode={rng.choice(['reflect', 'replicate', 'circular'])!r})",
        f"torch.{rng.choice(['tril', 'triu'])}({{0}}, {rng.choice([-1, 0, 1])})",
        "{0}.expand(2, *{0}.shape)",
        f"{{0}}.repeat_interleave(2, {axis})",
        f"{{0}}.chunk(2, {axis})[-1]",
        f"{{0}}.split({max(1, extent // 2)}, {axis})[0]",
        "{0}.diagonal(0, -1, -2)",
        f"{{0}}.movedim({axis}, 0)",
        "{0}.contiguous(memory_format=torch.channels_last)",
        "{0}.expand_as({1})",
        "torch.rot90({0})",
        "{0}.new_zeros({0}.shape[:1])",
        "torch.view_as_real(torch.complex({0}, {0}))",
        "torch.view_as_complex(torch.stack([{0}, {0}], -1)).abs()",
        "{0}.contiguous().view(torch.int32)",
    ]


def indexing(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    ends = max(extent, 1)
    some = [rng.randrange(ends) for _ in range(3)]
    index = f"torch.tensor({some})"
    reduce = rng.choice(["sum", "prod", "amax", "amin", "mean"])
    return [
        f"{{0}}.index_select({axis}, {index})",
        f"{{0}}[{index}]" if axis == 0 else f"{{0}}[:, {index}]" if axis == 1 else f"{{0}}[..., {index}]",
        f"torch.gather({{0}}, {axis}, torch.zeros_like({{0}}, dtype=torch.int64))",
        f"torch.take_along_dim({{0}}, {{0}}.argsort({axis}, stable=True), {axis})",
        f"{{0}}.index_put(({index} % {{0}}.shape[0],), {{0}}[:1], accumulate={rng.random() < 0.5})",
        f"{{0}}.index_add({axis}, {index}, {{0}}.index_select({axis}, {index}), alpha=2)",
        f"{{0}}.index_copy({axis}, torch.tensor([{some[0]}]), {{0}}.narrow({axis}, 0, 1))",
        f"{{0}}.index_fill({axis}, {index}, 3)",
        f"{{0}}.scatter({axis}, torch.zeros_like({{0}}.narrow({axis}, 0, 1), dtype=torch.int64), {{0}} * 2)",
        f"{{0}}.scatter_add({axis}, torch.zeros_like({{0}}, dtype=torch.int64), {{0}})",
        f"{{0}}.scatter_reduce({axis}, torch.zeros_like({{0}}, dtype=torch.int64), {{0}}, {reduce!r}, "
        f"include_self={rng.random() < 0.5})",
        "{0}.masked_select({0} > 0).sum()",
        "{0}[{0} > 0].sum()",
        f"{{0}}.select_scatter({{0}}.select({axis}, 0) + 1, {axis}, -1)",
        f"{{0}}.slice_scatter({{0}}.narrow({axis}, 0, 1), {axis}, 0, 1)",
        "{0}.take(torch.tensor([0, -1]))",
        "torch.bucketize({0}, torch.tensor([-1.0, 0.0, 1.0]))",
        "F.one_hot({0}.long().clamp(0, 3), 4)",
        "F.embedding({0}.long().clamp(0, 3), torch.ones(4, 3))",
    ]


def products(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    return [
        "{0} @ {0}.transpose(-1, -2)",
        "{0} @ {1}",
        "torch.einsum('...i,...j->...ij', {0}, {0})",
        "torch.einsum('...ij,...kj->...ik', {0}, {0})",
        "torch.einsum('...ij->...j', {0})",
        "torch.outer({0}.reshape(-1)[:7], {1}.reshape(-1)[:5])",
        "torch.tensordot({0}, {0}, dims=([0], [0]))",
        "F.linear({0}, {0}[..., :1, :].reshape(-1, {0}.shape[-1])[:3])",
        "F.avg_pool1d({0}, 2)",
        "F.max_pool2d({0}, 2)",
        "F.interpolate({0}, scale_factor=2)",
        "torch.cdist({0}, {0})",
        "torch.baddbmm({0}, {0}, {0}.transpose(1, 2), beta=2, alpha=0.5)",
        "torch.addmm({0}, {0}, {0}, beta=0, alpha=3)",
    ]


def writes(rng: random.Random, axis: int, rank: int, extent: int) -> list[str]:
    """In place, into views and into `out`."""
    return [
        "{0}.clone().mul_(2)",
        "{0}.clone().transpose(0, -1).add_(1)",
        "torch.mul({0}, {0}, out=torch.empty_like({0}))",
        "torch.sum({0}, 0, out={0}.new_empty(0))",
        "(lambda y: (y[..., :1].add_(1), y)[1])({0}.clone())",
        "(lambda y: (y.t().mul_(y.t() > 0), y)[1])({0}.clone())",
        "(lambda y: (y.view(-1)[::2].fill_(1), y)[1])({0}.contiguous() + 0)",
        "(lambda y: (y.select(0, 0).copy_(y.select(0, -1)), y)[1])({0}.clone())",
        "(lambda y: (y.__setitem__(y > 0, 0), y)[1])({0}.clone())",
        "(lambda y: (y.__setitem__((..., 0), 2), y)[1])({0}.clone())",
        "{0}.mul_(2)",
        "{0}.clone().zero_()",
        "{0}.clone().copy_({1})",
        "{0}.clone().add_({1})",
        f"{{0}}.clone().cumsum_({axis})",
    ]
