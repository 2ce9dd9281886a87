"""Two processes: collectives pass through in order, and DDP trains as it does in eager."""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed._functional_collectives import all_reduce
from torch.nn.parallel import DistributedDataParallel


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def model() -> torch.nn.Module:
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))


def train(net: torch.nn.Module, rank: int) -> list[torch.Tensor]:
    wrapped = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(3):
        optimizer.zero_grad()
        wrapped(torch.randn(8, 12, generator=generator)).square().mean().backward()
        optimizer.step()
    return [p.detach() for p in net.parameters()]


def collectives(x: torch.Tensor) -> torch.Tensor:
    y = all_reduce(torch.tanh(x) * 2, "sum", dist.group.WORLD) + 1
    return all_reduce(y.exp(), "max", dist.group.WORLD) / 3


def work(rank: int, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    try:
        compiled = model()
        ours = train(torch.compile(compiled, backend="tokamak"), rank)
        for a, b in zip(ours, train(model(), rank), strict=True):
            torch.testing.assert_close(a, b)
        x = torch.linspace(-1, 1, 10) * (rank + 1)
        torch.testing.assert_close(torch.compile(collectives, backend="tokamak")(x), collectives(x))
    finally:
        dist.destroy_process_group()
    # Without the interpreter's own end: gloo's threads outlive the group, and one that drops a tensor of Python's
    # during that end aborts the process (torch issue 190489; also in eager, with a collective that nobody waits for).
    sys.stderr.flush()
    os._exit(0)


def test_two_processes():
    mp.spawn(work, args=(free_port(),), nprocs=2)
