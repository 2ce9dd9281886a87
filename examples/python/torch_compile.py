"""What docs/guide/02-torch-compile.md shows; the tests run it."""

import os
import sys
import tempfile
import warnings

import tokamak
import torch
import torch.nn.functional as F

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(F.layer_norm(x, (64,)))))


def first_steps():
    model, x = Mlp(), torch.randn(32, 64)
    compiled = torch.compile(model, backend="tokamak")
    torch.testing.assert_close(compiled(x), model(x))

    compiled(x).square().mean().backward()
    assert model.up.weight.grad is not None


def explained():
    model, x = Mlp().eval(), torch.randn(32, 64)
    with torch.no_grad():
        explanation = tokamak.explain(model, x)
    print(explanation)
    print(explanation.kernels, "kernels,", explanation.calls, "calls of ATen")
    explanation.save(os.path.join(folder, "mlp.html"))
    explanation.save(os.path.join(folder, "mlp.json"))
    assert explanation.kernels > 0


def frozen():
    model, x = Mlp().eval(), torch.randn(32, 64)
    fast = torch.compile(model, backend="tokamak", options={"freeze": True})
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
        model.up.weight.mul_(2)  # noticed: compiled anew
        torch.testing.assert_close(fast(x), model(x))


def not_ours():
    def solve(a, b):
        return torch.linalg.solve(a @ a.T + torch.eye(8), b).relu() * 2

    a, b = torch.randn(8, 8), torch.randn(8, 3)
    explanation = tokamak.explain(solve, a, b)
    for graph in explanation.graphs:
        for call in graph.refusals:
            print(call.op, "runs as itself:", call.reason)
    assert explanation.calls > 0

    strict = torch.compile(solve, backend="tokamak", options={"fallback": "error"})
    torch.testing.assert_close(strict(a, b), solve(a, b))  # no region failed


def wrong_option():
    try:
        torch.compile(Mlp(), backend="tokamak", options={"freez": True})(torch.randn(2, 64))
    except Exception as error:
        print(error)
        assert "did you mean 'freeze'" in str(error)
    else:
        raise AssertionError("a wrong option was taken")


def any_batch():
    compiled = torch.compile(Mlp(), backend="tokamak", dynamic=True)
    for rows in (3, 17, 100):
        assert compiled(torch.randn(rows, 64)).shape == (rows, 64)


if __name__ == "__main__":
    warnings.simplefilter("error")
    for part in (first_steps, explained, frozen, not_ours, wrong_option, any_batch):
        torch._dynamo.reset()
        part()
