"""The back end as a whole: options, calls between segments, freezing, mutation, failures, explanations."""

import gc
import threading
from collections.abc import Callable

import pytest
import tokamak
import torch
import torch.nn.functional as F
from tokamak import _ext, backend, compiled
from tokamak.lowering import registry


def compile(fn, **options):
    return torch.compile(fn, backend="tokamak", options=options or None)


def test_entry_point_is_found():
    assert "tokamak" in torch._dynamo.list_backends(exclude_tags=())


@pytest.mark.parametrize(
    "options, words",
    [
        ({"freez": True}, "did you mean 'freeze'"),
        ({"max_autotune": True}, "has no option 'max_autotune'. The options are"),
        ({"explain": "/nowhere/at/all.html"}, "there is no folder '/nowhere/at'"),
        ({"precision": "fp64"}, "'fp32', 'eager'"),
        ({"fallback": "loud"}, "'silent', 'warn', 'error'"),
        ({"freeze": 1}, "True or False"),
        ({"explain": 3}, "path"),
    ],
)
def test_wrong_options_name_the_right_ones(options, words):
    with pytest.raises(Exception, match=words):
        compile(lambda x: x + 1, **options)(torch.ones(3))


def test_options_are_a_dictionary():
    with pytest.raises(Exception, match="options are a dictionary"):
        torch.compile(lambda x: x + 1, backend="tokamak", options=["freeze"])(torch.ones(3))


def test_one_segment_runs_from_one_call():
    def fn(x, w, b):
        return F.layer_norm(F.gelu(x * 2), (64,), w, b)

    x, w, b = torch.randn(8, 64), torch.randn(64), torch.randn(64)
    with backend.recording() as graphs:
        y = compile(fn)(x, w, b)
    torch.testing.assert_close(y, fn(x, w, b))
    (graph,) = graphs
    assert (graph.steps, graph.kernels, graph.refusals) == (1, 1, [])


def test_what_is_not_ours_runs_in_place_and_is_named():
    def fn(x):
        return torch.linalg.inv(x @ x.T + torch.eye(5)) * 2 + 1

    x = torch.randn(5, 5)
    with backend.recording() as graphs:
        y = compile(fn)(x)
    torch.testing.assert_close(y, fn(x), atol=1e-4, rtol=1e-4)
    (graph,) = graphs
    assert any("inv" in r.op and r.reason for r in graph.refusals)
    assert "ATen runs aten.linalg_inv" in graph.table()


def test_values_are_dropped_after_their_last_use():
    import weakref

    watched, alive = [], []

    def make(x):
        y = x + 1
        watched.append(weakref.ref(y))
        return y

    slot = _ext.Slot
    steps = [
        ("call", make, (slot(0),), None, 1),
        ("call", torch.mul, (slot(1), 2), None, 2),
        ("call", lambda x: alive.append(watched[0]()) or x, (slot(2),), None, 3),
    ]
    args = [torch.ones(2)]
    (out,) = _ext.Plan(4, 1, steps, [slot(3)], {})(args)
    assert args == [] and alive == [None]
    assert torch.equal(out, torch.full((2,), 4.0))


@pytest.mark.parametrize("steps", [[("run", None, [], [])], [("call", print)], [("call", print, (), None, 9)]])
def test_a_broken_plan_is_refused(steps):
    with pytest.raises((TypeError, ValueError)):
        _ext.Plan(1, 1, steps, [], {})


def test_outputs_return_to_the_pool():
    fn = compile(lambda x: x * 2 + 1)
    x = torch.randn(1 << 20)
    from tokamak.engine import engine

    for _ in range(3):
        fn(x)
    before = engine().status()
    for _ in range(10):
        fn(x)
    after = engine().status()
    assert after["misses"] == before["misses"] and after["hits"] >= before["hits"] + 10


@pytest.mark.parametrize("table", [True, False])
def test_tensors_cross_with_and_without_the_exchange_table(table):
    used = _ext.use_tensor_type(torch.Tensor, table)
    try:
        assert used == (table and hasattr(torch.Tensor, "__dlpack_c_exchange_api__"))
        fn = compile(lambda x, y: (x + y.t(), x.sum(), (x > 0)))
        x, y = torch.randn(4, 6, requires_grad=True), torch.randn(6, 4)
        with torch.no_grad():
            for got, want in zip(fn(x, y), (x + y.t(), x.sum(), x > 0), strict=True):
                torch.testing.assert_close(got, want)
    finally:
        _ext.use_tensor_type(torch.Tensor, True)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x):
        return F.relu(self.norm(self.linear(x)))


def test_frozen_weights_are_noticed_when_they_change():
    net, x = Net().eval(), torch.randn(4, 16)
    frozen = compile(net, freeze=True)
    with torch.no_grad():
        for _ in range(5):
            torch.testing.assert_close(frozen(x), net(x))
            net.linear.weight.add_(0.1)
        net.norm.load_state_dict({k: v + 1 for k, v in net.norm.state_dict().items()})
        torch.testing.assert_close(frozen(x), net(x))
        net.linear.weight.data = torch.randn(8, 16)
        torch.testing.assert_close(frozen(x), net(x))


def test_changes_of_frozen_weights_that_torch_does_not_count_are_noticed():
    net, x = Net().eval(), torch.randn(4, 16)
    frozen = compile(net, freeze=True)
    with torch.no_grad():
        torch.testing.assert_close(frozen(x), net(x))
        net.linear.weight.data.mul_(2)
        torch.testing.assert_close(frozen(x), net(x))
        net.norm.bias.detach().numpy()[:] += 1
        torch.testing.assert_close(frozen(x), net(x))
        net.linear.weight.data.view(-1)[7] += 5  # a small one is compared whole
        torch.testing.assert_close(frozen(x), net(x))


def test_another_weight_at_the_address_of_a_frozen_one_is_noticed():
    net, x = torch.nn.Linear(64, 64), torch.randn(3, 64)
    frozen = compile(net, freeze=True)
    with torch.no_grad():
        for _ in range(6):
            torch.testing.assert_close(frozen(x), net(x))
            del net.weight  # its memory goes to one of the next
            net.weight = torch.nn.Parameter(torch.nn.init.uniform_(torch.empty(64, 64)))


def test_what_frozen_weights_alone_decide_is_computed_once():
    net = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(8, 8, 3, groups=2)).eval()
    x = torch.randn(2, 8, 20)
    with torch.no_grad():
        plain, once = tokamak.explain(net, x), tokamak.explain(net, x, options={"freeze": True})
        assert "sqrt" in str(plain) and "sqrt" not in str(once)
        frozen = compile(net, freeze=True)
        for _ in range(2):
            torch.testing.assert_close(frozen(x), net(x))
            net.parametrizations.weight.original0.mul_(3)


def test_frozen_weight_norms_are_as_exact_as_eagers():
    torch.manual_seed(0)
    net = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(192, 192, 128, groups=16), dim=2).eval()
    x = F.one_hot(torch.tensor([127]), 255).float().expand(1, 192, 255)  # of sums of few weights
    with torch.no_grad():
        eager, ours = net(x), compile(net, freeze=True)(x)
        exact = net.double()(x.double())
    assert (ours - exact).norm() <= 1.1 * (eager - exact).norm()


def test_results_that_frozen_weights_alone_decide_are_the_callers():
    table = torch.nn.Parameter(torch.randn(6, 4))

    class Biases(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = table

        def forward(self, x):
            near = (torch.arange(5)[:, None] - torch.arange(5)).abs()
            biases = torch.nn.functional.embedding(near, self.table).permute(2, 0, 1)
            return x + biases, biases * 2, (self.table + 1).t()

    net, x = Biases(), torch.randn(4, 5, 5)
    frozen = compile(net, freeze=True)
    with torch.no_grad():
        for _ in range(2):
            got = frozen(x)
            for ours, eager in zip(got, net(x), strict=True):
                torch.testing.assert_close(ours, eager)
                assert ours.stride() == eager.stride()
                ours.zero_()  # the next call gives them anew


def test_weights_made_in_inference_mode_are_inputs():
    x = torch.randn(4, 16)
    with torch.inference_mode():
        net = Net().eval()
        frozen = compile(net, freeze=True)
        for _ in range(2):
            torch.testing.assert_close(frozen(x), net(x))
            net.linear.weight.mul_(2)


def test_a_frozen_model_is_freed():
    net, x = Net().eval(), torch.randn(4, 16)
    with torch.no_grad():
        frozen = compile(net, freeze=True)
        frozen(x)
        net.linear.weight.mul_(2)
        frozen(x)
    assert any(type(o) is compiled.Frozen for o in gc.get_objects())
    del net, frozen
    torch._dynamo.reset()
    gc.collect()
    assert not any(type(o) is compiled.Frozen for o in gc.get_objects())


class Counting(torch.nn.Module):
    """The backward pass needs a value made from a buffer that the forward pass then changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(7))

    def forward(self, x):
        step = self.calls + 1
        y = torch.tanh(x * step).sin()
        self.calls.add_(1)
        return y * step


def test_backward_does_not_recompute_from_a_changed_buffer():
    ours, theirs = Counting(), Counting()
    fn = compile(ours)
    for _ in range(3):
        x = torch.randn(5, 7)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        fn(a).sum().backward()
        theirs(b).sum().backward()
        torch.testing.assert_close(a.grad, b.grad)
    assert torch.equal(ours.calls, theirs.calls)


def test_training_matches_eager():
    torch.manual_seed(1)
    ours, theirs = Net(), Net()
    theirs.load_state_dict(ours.state_dict())
    fn = compile(ours)
    for _ in range(3):
        x = torch.randn(4, 16)
        fn(x).square().mean().backward()
        theirs(x).square().mean().backward()
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, msg=name)
    torch.testing.assert_close(ours.norm.running_var, theirs.norm.running_var)


def test_double_backward_is_refused_clearly():
    x = torch.randn(3, requires_grad=True)
    (g,) = torch.autograd.grad(compile(lambda x: (x**3).sum())(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        g.sum().backward()


def test_dropout_follows_the_seed_and_the_probability():
    fn = compile(lambda x: F.dropout(x, 0.25))
    x = torch.ones(200, 500)
    torch.manual_seed(3)
    a, b = fn(x), fn(x)
    torch.manual_seed(3)
    assert torch.equal(fn(x), a) and not torch.equal(a, b)
    assert abs((a == 0).float().mean().item() - 0.25) < 0.01
    torch.testing.assert_close(a.unique(), torch.tensor([0, 1 / 0.75]))


@pytest.fixture
def broken_sin():
    """The lowering of sin broken in one of two ways, mended afterwards."""
    kept = registry.table()[torch.ops.aten.sin.default]

    def install(function):
        registry.table()[torch.ops.aten.sin.default] = registry.Lowering(function)

    yield install
    registry.table()[torch.ops.aten.sin.default] = kept
    compiled.warn_once.cache_clear()


def raising(c, x):
    raise KeyError("oops")


def test_a_broken_lowering_costs_a_warning_not_the_program(broken_sin):
    broken_sin(raising)
    x = torch.randn(5)
    with pytest.warns(UserWarning, match=r"lowering of aten\.sin"):
        y = compile(lambda x: torch.sin(x + 1) * 2)(x)
    torch.testing.assert_close(y, torch.sin(x + 1) * 2)
    with pytest.raises(Exception, match=r"lowering of aten\.sin"):
        compile(lambda x: torch.sin(x + 2) * 2, fallback="error")(x)


def test_a_region_that_fails_to_compile_runs_with_aten_and_is_saved(monkeypatch, tmp_path):
    monkeypatch.setenv("TOKAMAK_CACHE_DIR", str(tmp_path))

    class Failing:
        def compile(self, *args, **kwargs):
            raise _ext.Error("error T0501: no such luck")

    monkeypatch.setattr(compiled, "engine", lambda cache: Failing())
    x = torch.randn(5, 3)
    compiled.warn_once.cache_clear()
    with pytest.warns(UserWarning, match="tokamak repro"):
        y = compile(lambda x: torch.softmax(x, 1) * 2)(x)
    torch.testing.assert_close(y, torch.softmax(x, 1) * 2)
    (saved,) = (tmp_path / "repro").iterdir()
    assert _ext.Graph.parse(saved.read_text()).text() in saved.read_text()
    with pytest.raises(Exception, match="T0501"):
        compile(lambda x: torch.softmax(x, 1) * 3, fallback="error")(x)


def test_explanations(tmp_path):
    x = torch.randn(8, 32)
    told = tokamak.explain(lambda x: torch.softmax(x, 1).sum(0), x)
    assert (told.kernels >= 1 and "softmax" in str(told)) or "inference" in str(told)
    assert told.json()["graphs"][0]["segments"]
    assert "kernel @" in told.source() and "kernel @" not in str(told)
    assert "1 segment, " in str(told) and "0 calls of ATen" in str(told)
    told.save(tmp_path / "a.html")
    told.save(tmp_path / "a.json")
    told.save(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == f"{told}\n"
    assert "<svg" in (tmp_path / "a.html").read_text().replace("&lt;", "<")
    page = tmp_path / "b.html"
    compile(lambda x: x + 1, explain=str(page))(x)
    assert page.exists()


def test_many_threads_may_call_at_once():
    fn = compile(lambda x: torch.softmax(x, -1) @ x.t())
    x = torch.randn(33, 65)
    want, wrong = fn(x), []

    def work():
        for _ in range(50):
            if not torch.equal(fn(x), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_one_compilation_serves_many_sizes():
    def fn(x):
        return F.layer_norm(F.silu(x) * 2, (x.shape[-1],))

    torch._dynamo.utils.counters.clear()
    run = torch.compile(fn, backend="tokamak")
    for rows in range(2, 42):
        x = torch.randn(rows, 48)
        torch.testing.assert_close(run(x), fn(x))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    for columns in range(3, 27, 2):
        x = torch.randn(6, columns)
        torch.testing.assert_close(run(x), fn(x))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 4


def test_sparse_complex_and_subclass_tensors_go_to_aten():
    x = torch.randn(4, 4)
    z = torch.randn(4, dtype=torch.complex64)
    fn = compile(lambda x, z: (x + 1, (z * 2).abs()))
    for got, want in zip(fn(x, z), (x + 1, (z * 2).abs()), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0] * 2,
        lambda x: torch.nonzero(x),
        lambda x: torch.zeros(int((x > 0).sum())) + 1,
        lambda x: x[: (x > 0).sum().item()] * 3,
        lambda x: torch.unique(x.round()) + 1,
        lambda x: torch.repeat_interleave(x, (x > 0).long()) * 2,
    ],
)
def test_sizes_that_the_data_decide(function: Callable) -> None:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        run = torch.compile(function, backend="tokamak", fullgraph=True)
        for x in (torch.tensor([1.0, -2, 3, 4]), torch.tensor([-1.0, -2, 0, 4])):
            assert torch.equal(run(x), function(x))


def test_gradients_in_batches():
    def fn(x, w):
        return ((x @ w).relu() * x.sum(0)).softmax(-1)

    x, w = torch.randn(8, 4), torch.randn(4, 4, requires_grad=True)
    rows = torch.eye(32).reshape(32, 8, 4)
    ours, eager = (
        torch.autograd.grad(f(x, w), w, rows, is_grads_batched=True) for f in (torch.compile(fn, backend="tokamak"), fn)
    )
    torch.testing.assert_close(ours, eager)
