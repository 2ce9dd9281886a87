"""Graphs of CUDA tensors become segments on a machine without a GPU: fake tensors say where they lie."""

import operator

import torch
import torch.nn.functional as F
from tokamak.compiled import assemble
from tokamak.conv_biases import split, split_biases, sum_gradient
from tokamak.importer.graph import Importer
from tokamak.importer.views import reinterpret
from tokamak.lowering import registry
from tokamak.options import Options
from tokamak.partition import compute_sums_of_inputs_again
from tokamak.rounded_terms import round_terms
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def imported(function, *shapes, device="cuda"):
    registry.table()
    with FakeTensorMode():
        inputs = [torch.empty(shape, device=device) for shape in shapes]
        module = make_fx(lambda *xs: (function(*xs),), tracing_mode="fake")(*inputs)
    importer = Importer(module, "forward")
    importer.run()
    return importer


def test_a_pointwise_function_is_one_segment_on_the_gpu():
    importer = imported(lambda x, y: torch.relu(x + y), (4, 8), (8,))
    assert importer.device == torch.device("cuda:0")
    assert not importer.refusals
    assert list(importer.segments) == [0]
    assert "max" in importer.segments[0].graph.text() or "relu" in importer.segments[0].graph.text()


def test_numbers_that_are_none_bound_nothing_on_a_gpu():
    def text(device):
        importer = imported(lambda x: x.clamp(-1.0, float("nan")), (4, 8), device=device)
        return importer.segments[0].graph.text()

    assert "min" in text("cpu") and "min" not in text("cuda")


def test_floats_that_no_integer_holds_are_the_nearest_ones():
    """As the instructions `cvt.rzi.s32` and `cvt.rzi.s64` have it, whose lower bits shorter integers are."""
    inf, nan = float("inf"), float("nan")
    importer = imported(lambda x: [x.to(d) for d in (torch.int64, torch.int32, torch.int16, torch.uint8)], (6,))
    importer.device = torch.device("cpu")  # kernels compute alike everywhere
    plan = assemble(importer, 1, Options.of(None, None), "forward").plan
    found = plan([torch.tensor([inf, -inf, nan, 3e9, -3e9, -1.5])])[0]
    most, least = 2**63 - 1, -(2**63)
    assert found[0].tolist() == [most, least, least, 3 * 10**9, -3 * 10**9, -1]
    assert found[1].tolist() == [2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), -1]
    assert found[2].tolist() == [-1, 0, 0, -1, 0, -1]
    assert found[3].tolist() == [255, 0, 0, 3 * 10**9 % 256, -3 * 10**9 % 256, 255]


def test_products_and_convolutions_are_the_vendors():
    importer = imported(lambda x, w: torch.relu(x @ w), (4, 8), (8, 16))
    assert [(r.op, r.reason) for r in importer.refusals] == [("aten.mm.default", "cuBLAS serves it, through ATen")]
    importer = imported(lambda x, w: torch.relu(F.conv2d(x, w)), (1, 3, 8, 8), (4, 3, 3, 3))
    assert [r.reason for r in importer.refusals] == ["cuDNN serves it, through ATen"]
    assert len(importer.segments) == 1


def convolved(function, x=(2, 3, 9, 9)):
    with FakeTensorMode():
        x, w, bias = (torch.empty(shape, device="cuda") for shape in (x, (4, 3, 3, 3), (4,)))
        module = make_fx(lambda x, w, b: function(F.conv2d(x, w, b)), tracing_mode="fake")(x, w, bias)
    split_biases(module)
    importer = Importer(module, "inference")
    importer.run()
    return importer


def test_the_bias_of_a_convolution_is_added_by_the_kernel_that_reads_it():
    importer = convolved(lambda y: (y.permute(0, 2, 3, 1).relu(),))
    args = importer.after[0][0][2]
    assert args[2] is None  # cuDNN is not given it
    assert "add" in importer.segments[1].graph.text() and "relu" in importer.segments[1].graph.text()


def test_a_bias_that_no_kernel_waits_for_is_atens():
    for function in (lambda y: (y,), lambda y: (y.relu(), y), lambda y: (y.permute(0, 2, 3, 1), y.relu())):
        assert convolved(function).after[0][0][2][2] is not None


def test_a_convolution_without_its_bias_and_the_bias_are_the_same():
    x, w, bias = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3), torch.randn(4)
    function = lambda x, w, b: F.conv2d(x, w, b, padding=1)  # noqa: E731
    module = make_fx(function, tracing_mode="fake")(x, w, bias)
    split(module, next(n for n in module.graph.nodes if n.target is torch.ops.aten.convolution.default))
    module.recompile()
    assert "add" in module.code
    torch.testing.assert_close(module(x, w, bias), function(x, w, bias))


def backward_of_a_bias(norm, memory_format=torch.contiguous_format):
    """The gradients of a convolution whose result a batch norm or a product with a tensor follows."""

    def gradients(x, w, g, y, scale):
        if norm:
            parts = torch.ops.aten.native_batch_norm_backward(
                g, y, scale, None, None, scale, scale, True, 1e-5, [True] * 3
            )
            g = parts[0]
        else:
            g = g * y
        return torch.ops.aten.convolution_backward(g, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3)

    def inputs():
        laid = [torch.randn(shape).contiguous(memory_format=memory_format) for shape in ((2, 3, 9, 9), (2, 4, 9, 9))]
        return laid[0], torch.randn(4, 3, 3, 3), laid[1], laid[1].clone(), torch.rand(4)

    return gradients, inputs


def on_a_gpu(function, inputs):
    """A graph whose values are then said to lie on a GPU: without CUDA torch traces some ops only so."""
    with FakeTensorMode() as mode:
        module = make_fx(function, tracing_mode="fake")(*inputs())

        def moved(t):
            with mode:
                return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda")

        for node in module.graph.nodes:
            if "val" in node.meta:
                node.meta["val"] = torch.utils._pytree.tree_map_only(torch.Tensor, moved, node.meta["val"])
        split_biases(module)
    return module


def test_the_gradient_of_a_bias_is_summed_by_the_kernel_before_it():
    for norm, layout in ((True, torch.contiguous_format), (False, torch.channels_last)):
        module = on_a_gpu(*backward_of_a_bias(norm, layout))
        importer = Importer(module, "backward")
        importer.run()
        call = next(
            step for steps in importer.after.values() for step in steps if "convolution_backward" in str(step[1])
        )
        assert call[2][3] is None and call[2][10] == [True, True, False]  # ATen does not sum it
        assert "kind = sum" in importer.segments[0].graph.text()


def test_the_gradient_of_a_bias_that_would_be_read_again_is_atens():
    module = on_a_gpu(*backward_of_a_bias(False))
    assert "[True, True, True]" in module.graph.python_code("self").src


def test_a_summed_gradient_and_atens_are_the_same():
    gradients, inputs = backward_of_a_bias(False)
    inputs = inputs()
    module = make_fx(gradients, tracing_mode="fake")(*inputs)
    sum_gradient(module, next(n for n in module.graph.nodes if n.target is torch.ops.aten.convolution_backward.default))
    module.recompile()
    assert "aten.sum" in module.code
    for ours, atens in zip(module(*inputs), gradients(*inputs), strict=True):
        torch.testing.assert_close(ours, atens)


def test_a_sum_of_halves_is_of_what_they_were_before_they_were_rounded():
    with FakeTensorMode():
        x = torch.empty((8, 16), device="cuda", dtype=torch.bfloat16)
        module = make_fx(lambda x: ((y := x * 3), y.sum(0)), tracing_mode="fake")(x)
    importer = Importer(module, "forward")
    importer.run()
    assert "reduce" in (text := importer.segments[0].graph.text()) and "f32[16]" in text


def test_what_a_relu_reads_is_rounded_as_in_eager_mode():
    def norm(x):
        return torch.ops.aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0]

    def casts(function):
        with FakeTensorMode():
            inputs = [torch.empty((8, 16), device="cuda", dtype=torch.bfloat16) for _ in range(2)]
            module = make_fx(lambda x, r: (function(x, r),), tracing_mode="fake")(*inputs)
        round_terms(module)
        importer = Importer(module, "forward")
        importer.run()
        lines = importer.segments[0].graph.text().splitlines()
        return sum("= cast" in line and "synthetic" not in line and ": bf16[8, 16]" in line for line in lines)

    plain = casts(lambda x, r: torch.tanh(norm(x) + r))
    assert casts(lambda x, r: torch.relu(norm(x) + r)) == plain + 2
    assert casts(lambda x, r: torch.relu(norm(x * 3))) == plain + 2
    assert casts(lambda x, r: torch.tanh(torch.relu(norm(x)) * r)) == plain + 1
    assert casts(lambda x, r: torch.relu(x)) == plain


def test_a_bias_that_a_relu_reads_behind_a_norm_is_added_as_in_eager_mode():
    def function(x, w, b):
        y = F.conv2d(x, w, b)
        return (torch.relu(torch.ops.aten._native_batch_norm_legit.no_stats(y, None, None, True, 0.1, 1e-5)[0]),)

    with FakeTensorMode():
        shapes = ((2, 3, 9, 9), (4, 3, 3, 3), (4,))
        inputs = [torch.empty(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]
        module = make_fx(function, tracing_mode="fake")(*inputs)
    round_terms(module)
    split_biases(module)
    importer = Importer(module, "forward")
    importer.run()
    lines = next(iter(importer.segments.values())).graph.text().splitlines()
    biased = next(i for i, line in enumerate(lines) if "= add" in line)
    assert "= cast" in lines[biased + 2] and "synthetic" not in lines[biased + 2], lines


def test_a_sum_of_two_inputs_is_computed_again_instead_of_saved():
    def forward(x, r, w):
        return torch.tanh(x + r), x + w, (x + r) + x

    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda") for shape in ((4, 8), (4, 8), (8,))]
        module = make_fx(forward, tracing_mode="fake")(*inputs)
    compute_sums_of_inputs_again(module)
    adds = module.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
    # Not the sum with a row, which would read more than it spares, nor that of a sum.
    assert ["recompute" in node.meta for node in adds] == [True, False, True, False]


def test_an_index_out_of_range_stops_the_gpu_without_being_waited_for():
    importer = imported(lambda t, x: torch.ops.aten.index(t, [(x > 0).sum(1)]) * 2, (16, 4), (3, 5))
    calls = [step[1] for steps in importer.after.values() for step in steps]
    assert torch.ops.aten._assert_async.msg in calls
    assert all(slot >= 0 for writes in importer.writes.values() for slot, _ in writes)


def test_a_kernel_that_picks_rows_checks_their_indices_itself():
    def embed(t, x):
        index = (x > 0).sum(1)
        rows = torch.ops.aten.embedding(t, index) + torch.ops.aten.index_select(t, 0, index)
        return rows + torch.ops.aten.gather(t, 1, torch.ops.aten.unsqueeze(index, 1).expand(3, 4))

    importer = imported(embed, (16, 4), (3, 5))
    text = importer.segments[0].graph.text()
    assert text.count("checked = true") == 3 and "kind = all" not in text
    assert not importer.after
    assert imported(embed, (16, 4), (3, 5), device="cpu").segments[0].graph.text().count("checked") == 0


def test_positions_that_are_counted_need_no_check():
    def checks(rows):
        def embed(t):
            return torch.ops.aten.embedding(t, torch.ops.aten.arange.start_step(0, 8, device="cuda").unsqueeze(0)) * 2

        return "checked = true" in imported(embed, (rows, 4)).segments[0].graph.text()

    assert checks(7) and not checks(8)


def test_random_numbers_are_seeded_on_the_gpu():
    importer = imported(lambda x: torch.ops.aten.native_dropout(x, 0.5, True)[0], (64, 32))
    draw = importer.before[0][0]
    assert draw[1] is torch.randint and draw[3] == {"device": torch.device("cuda:0")}
    small = imported(lambda x: torch.ops.aten.native_dropout(x, 0.5, True)[0], (4, 8))
    assert [r.reason for r in small.refusals] == ["torch draws masks of at most 1024 elements, as in eager"]


def test_a_tensor_of_the_host_among_those_of_a_gpu_is_left_to_aten():
    registry.table()
    with FakeTensorMode():
        x, y = torch.empty(4, 8, device="cuda"), torch.empty(())
        module = make_fx(lambda x, y: ((x * y).exp(),), tracing_mode="fake")(x, y)
    importer = Importer(module, "forward")
    importer.run()
    assert len(importer.refusals) == 1 and "a tensor is on cpu" in importer.refusals[0].reason


def test_a_padded_mask_reaches_attention_with_its_strides():
    def attend(q, k, v, mask):
        bias = torch.ops.aten.slice.Tensor(torch.ops.aten.constant_pad_nd(mask * 2, [0, 3]), -1, 0, 5)
        return torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, bias.expand(2, 4, 5, 5), False)[0]

    importer = imported(attend, (2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8), (2, 1, 5, 5))
    steps = importer.after[0]
    names = [str(step[1]) for step in steps]
    at = next(i for i, name in enumerate(names) if "attention" in name)
    assert any("slice" in name for name in names[:at]) and any("expand" in name for name in names[:at])
    assert "[2, 1, 5, 8]" in importer.segments[0].graph.text()


def test_views_of_a_product_are_one_look_each():
    def heads(y):
        parts = y.view(4, 3, 2, 8).permute(1, 2, 0, 3)
        return parts.select(0, 0), parts.select(0, 1).transpose(1, 2)

    importer = imported(lambda x, w: torch.bmm(*heads(x @ w.t())), (4, 16), (48, 16))
    steps = [step for level in importer.before.values() for step in level]
    assert all(step[1] is reinterpret for step in steps)
    transposed, *looks = [step[2][1:] for step in steps]
    assert transposed == ((16, 48), (1, 16), 0)
    product = torch.randn(4, 48)
    for look, part in zip(looks, heads(product), strict=True):
        torch.testing.assert_close(reinterpret(product, *look), part)


def test_views_of_what_was_saved_for_the_backward_pass_are_made_step_by_step():
    registry.table()
    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda") for shape in ((4, 8), (16, 8))]
        module = make_fx(lambda x, w: (x @ w.t(),), tracing_mode="fake")(*inputs)
    importer = Importer(module, "backward")
    importer.run()
    assert not any(step[1] is reinterpret for level in importer.before.values() for step in level)


def test_batch_norm_in_inference_gives_the_statistics_it_used():
    def norm(x, w, b, mean, var):
        y, saved, rstd = torch.ops.aten._native_batch_norm_legit_no_training(x, w, b, mean, var, 0.1, 1e-5)
        return y, saved, rstd

    importer = imported(norm, (2, 5, 4), *[(5,)] * 4)
    assert (
        importer.segments[0].graph.text().count("rsqrt") == 1
        and "full {value = 0" not in importer.segments[0].graph.text()
    )
    x, w, b, mean, var = torch.randn(2, 5, 4), *(torch.rand(5) for _ in range(4))
    for got, want in zip(
        torch.compile(norm, backend="tokamak")(x, w, b, mean, var), norm(x, w, b, mean, var), strict=True
    ):
        torch.testing.assert_close(got, want)


def test_what_several_products_read_is_stored_once():
    def three(x, a, b):
        h = torch.relu(x)
        return h.view(8, 4) @ a, h.view(8, 4) @ b, h.reshape(2, 16) @ b.reshape(16, 1)

    importer = imported(lambda x, a, b: three(x, a, b), (2, 4, 4), (4, 4), (4, 4))
    assert len(importer.writes[0]) == 1  # [2, 16] is another look at [8, 4]
    assert importer.after[0][0][1] is reinterpret


def test_a_later_segment_reads_what_a_product_reads():
    importer = imported(lambda x, w: torch.relu(x).view(8, 4) @ w + torch.relu(x).view(8, 4), (2, 4, 4), (4, 4))
    assert len(importer.writes[0]) == 1 and len(importer.segments) == 2


def test_a_convolution_that_gives_channels_last_gets_them_last():
    with FakeTensorMode():
        x = torch.empty(2, 8, 5, 5, device="cuda")
        w = torch.empty(4, 8, 1, 1, device="cuda").to(memory_format=torch.channels_last)
        module = make_fx(lambda x, w: (F.conv2d(x.relu(), w),), tracing_mode="fake")(x, w)
        convolution = module.graph.find_nodes(op="call_function", target=torch.ops.aten.convolution.default)[0]
        for format, order in ((torch.channels_last, [0, 2, 3, 1]), (torch.contiguous_format, None)):
            convolution.meta["val"] = torch.empty(2, 4, 5, 5, device="cuda").to(memory_format=format)
            importer = Importer(module, "inference")
            importer.run()
            assert [written[1] for written in importer.writes[0]] == [order]


def test_results_that_are_equal_do_not_share_memory():
    module_inputs = (torch.randn(3, 4),)
    a, b = torch.compile(lambda x: (x.relu(), x.relu().clone()), backend="tokamak")(*module_inputs)
    a.zero_()
    torch.testing.assert_close(b, module_inputs[0].relu())


def halves(function, *shapes, has_products=True, name="inference"):
    """With a library for products at hand."""
    registry.table()
    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]
        module = make_fx(lambda *xs: (function(*xs),), tracing_mode="fake")(*inputs)
    importer = Importer(module, name, has_products=has_products)
    importer.run()
    return importer


def test_products_in_halves_are_put_on_the_stream_by_the_segment_that_makes_their_operands():
    importer = halves(lambda x, w, b: F.gelu(F.linear(x.relu(), w, b)), (4, 16, 8), (32, 8), (32,))
    assert not importer.refusals and not importer.after
    assert list(importer.segments) == [0, 1]  # a product ends its level
    first = importer.segments[0].graph.text()
    assert "relu" in first and "matmul" in first
    assert len(importer.writes[0]) == 1  # the product alone: its operand is nobody else's
    assert "gelu" in importer.segments[1].graph.text()


def test_products_of_one_level_are_one_segment():
    importer = halves(lambda x, a, b: (x @ a).relu() + (x @ b), (16, 8), (8, 32), (8, 32))
    assert importer.segments[0].graph.text().count("matmul") == 2
    assert "matmul" not in importer.segments[1].graph.text()


def test_a_view_of_a_product_is_no_copy():
    importer = halves(lambda x, w: (x @ w).view(4, 4, 2, 16).transpose(1, 2), (16, 8), (8, 32))
    step = importer.before[1][0]
    assert step[1] is reinterpret and step[2][1:] == ((4, 2, 4, 16), (128, 16, 32, 1), 0)


def test_large_products_and_those_that_the_library_would_need_copies_for_are_atens():
    strided = halves(lambda x, w: torch.ops.aten.slice(x, 1, 0, 16, 2) @ w, (16, 16), (8, 32))
    batches = halves(lambda x, y: torch.bmm(x.transpose(0, 1), y), (3, 2, 8), (2, 8, 4))
    column = halves(lambda b, x, w: torch.addmm(b, x, w), (16, 1), (16, 8), (8, 32))
    scaled = halves(lambda b, x, w: torch.addmm(b, x, w, alpha=2), (32,), (16, 8), (8, 32))
    empty = halves(lambda x, w: x @ w, (0, 8), (8, 32))
    large = halves(lambda x, w: x @ w, (4096, 8), (8, 4096))
    without = halves(lambda x, w: x @ w, (16, 8), (8, 32), has_products=False)
    for importer in (strided, batches, column, scaled, empty, large, without):
        assert [r.reason for r in importer.refusals] == ["cuBLAS serves it, through ATen"]


def test_transposed_operands_are_read_as_they_lie():
    importer = halves(lambda x, y: torch.bmm(x.transpose(1, 2), y.transpose(1, 2)), (2, 8, 3), (2, 4, 8))
    assert not importer.refusals and "matmul" in importer.segments[0].graph.text()


def test_only_results_that_somebody_takes_are_taken_apart():
    importer = imported(lambda x: torch.ops.aten.max_pool2d_with_indices(x, [2, 2])[0] * 2, (1, 2, 4, 4))
    calls = [step for steps in importer.after.values() for step in steps]
    assert sum(step[1] is operator.getitem for step in calls) <= 1


def test_an_activation_that_the_library_has_is_stored_in_place_of_the_product():
    def both(x, w, b, v):
        return F.linear(F.linear(x, w, b).relu(), v)

    importer = halves(both, (4, 16, 8), (32, 8), (32,), (8, 32))
    assert list(importer.segments)[:2] == [0, 1] and len(importer.writes[0]) == 1
    first, second = (importer.segments[i].graph.text() for i in range(2))
    assert "matmul" in first and " = relu" in first
    assert second.count("matmul") == 1 and " = relu" not in second
    tanh = halves(lambda x, w: F.gelu(x @ w, approximate="tanh") * 2, (16, 8), (8, 32))
    assert "gelu" in tanh.segments[0].graph.text() and "mul" in tanh.segments[1].graph.text()


def test_a_product_that_others_read_too_is_stored_before_its_activation():
    importer = halves(lambda x, w: (lambda y: y.relu() + y)(x @ w), (16, 8), (8, 32))
    assert "relu" not in importer.segments[0].graph.text() and "relu" in importer.segments[1].graph.text()
    exact = halves(lambda x, w: F.gelu(x @ w), (16, 8), (8, 32))
    assert "gelu" not in exact.segments[0].graph.text()


def test_a_view_of_an_activation_behind_a_product_is_no_copy():
    importer = halves(lambda x, w: (x @ w).relu().view(4, 4, 32).transpose(1, 2), (16, 8), (8, 32))
    step = importer.before[1][0]
    assert step[1] is reinterpret and step[2][1:] == ((4, 32, 4), (128, 1, 32), 0)


def test_a_gelu_by_its_formula_is_stored_in_place_of_the_product():
    def gelu(x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))

    importer = halves(lambda x, w, v: gelu(x @ w) @ v, (16, 8), (8, 32), (32, 8))
    assert "tanh" in importer.segments[0].graph.text() and len(importer.writes[0]) == 1
    assert "tanh" not in importer.segments[1].graph.text()
    fused_elsewhere = halves(lambda x, w: gelu(x @ w).sum(1), (16, 8), (8, 32))
    assert "tanh" not in fused_elsewhere.segments[0].graph.text()
    read_twice = halves(lambda x, w, v: gelu(x @ w) @ v + (x @ w) @ v, (16, 8), (8, 32), (32, 8))
    assert read_twice.segments


def test_who_wants_sums_in_f32_gets_them_by_aten():
    settings = torch.backends.cuda.matmul
    settings.allow_bf16_reduced_precision_reduction = False
    try:
        importer = halves(lambda x, w: x @ w, (16, 8), (8, 32))
    finally:
        settings.allow_bf16_reduced_precision_reduction = True
    assert [r.reason for r in importer.refusals] == ["cuBLAS serves it, through ATen"]


def test_gradients_of_a_small_batch_norm_in_halves_are_atens_unless_channels_are_last():
    def called(shape, dtype=torch.bfloat16, format=torch.contiguous_format):
        registry.table()
        with FakeTensorMode():
            grad, x = (torch.empty(shape, device="cuda", dtype=dtype).to(memory_format=format) for _ in range(2))
            weight = torch.empty(shape[1], device="cuda", dtype=dtype)
            mean, rstd = (torch.empty(shape[1], device="cuda") for _ in range(2))

            def gradients(grad, x, weight, mean, rstd):
                return torch.ops.aten.native_batch_norm_backward(
                    grad, x, weight, None, None, mean, rstd, True, 1e-5, [True, True, True]
                )

            module = make_fx(gradients, tracing_mode="fake")(grad, x, weight, mean, rstd)
        importer = Importer(module, "backward")
        importer.run()
        return [r.reason for r in importer.refusals]

    assert called((2, 6, 7, 7)) == ["it is small, and ATen rounds its sums on the way"]
    assert not called((2, 6, 7, 7), torch.float32)
    assert not called((2, 6, 7, 7), format=torch.channels_last)
    assert not called((8, 64, 56, 56))
    assert not called((64, 6))
