"""Numbers in the host's memory become part of a program for a GPU."""

import torch
from tokamak.host_numbers import take_in
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule

aten = torch.ops.aten


def program(value, read):
    """A module that copies the number it holds and gives it to `read(graph, x, number)`."""
    graph = Graph()
    x, held = graph.placeholder("x"), graph.get_attr("number")
    with FakeTensorMode():
        x.meta["val"] = torch.empty(4, 8, device="cuda")
        held.meta["val"] = torch.empty((), dtype=value.dtype)
        copy = graph.call_function(aten.lift_fresh_copy.default, (held,))
        copy.meta["val"] = torch.empty((), dtype=value.dtype)
        out = read(graph, x, copy)
        graph.output((out,))
    module = torch.nn.Module()
    module.number = value
    return GraphModule(module, graph)


def filled(graph, x, number):
    node = graph.call_function(aten.fill.Tensor, (x, number))
    node.meta["val"] = torch.empty(4, 8, device="cuda")
    return node


def targets(module):
    return [node.target for node in module.graph.nodes if node.op in ("call_function", "get_attr")]


def test_a_number_that_only_the_device_reads_is_written_into_the_program():
    for value in (torch.tensor(3), torch.tensor(-0.5), torch.tensor(True), torch.tensor(float("nan"))):
        module = program(value, filled)
        take_in(module)
        assert targets(module) == [aten.full.default, aten.fill.Tensor]
        full = next(iter(module.graph.find_nodes(op="call_function", target=aten.full.default)))
        assert full.meta["val"].device.type == "cuda" and full.meta["val"].dtype == value.dtype
        assert full.args[1] == value.item() or value.isnan()


def test_what_the_host_reads_stays():
    module = program(torch.tensor(3), lambda graph, x, number: number)  # a result that lies on the CPU
    take_in(module)
    assert targets(module) == ["number", aten.lift_fresh_copy.default]


def test_more_than_a_number_stays():
    module = program(torch.tensor([3, 4]), filled)
    take_in(module)
    assert "number" in targets(module)
