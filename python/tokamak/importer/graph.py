"""From an ATen graph to a plan.

Every node is either lowered into a segment or called as itself. A node's *level* is the number of calls on the longest
way to it; the nodes of one level that are ours form one segment, and the calls of that level come after it. So the plan
is: segment 0, calls of level 0, segment 1, calls of level 1, and so on, with no more segments than calls need.

A value lives in the segment that computes it. It gets a place in the plan's table (a *slot*) when somebody outside
needs it: another segment, a call, the graph's output.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from tokamak import _ext
from tokamak.absent import why_absent
from tokamak.lowering import registry
from tokamak.norm_outputs import is_pointwise
from tokamak.odd_products import odd_product
from tokamak.rewriting import ROUNDED
from tokamak.unheld import why_unheld
from tokamak.unread import keeps_checks

from .calls import FAST, WRITES, gives_view, has_effect, mutates, op_name
from .constants import read_when_run
from .dims import Unsupported, dim_of, inverse, is_turned, memory_order, shape_of
from .entries import Entry, Refusal
from .fixed import fixed_values, laid_as
from .known import known_values
from .layouts import lay_out_results, written_back
from .levels import bytes_of, computed_again, late_levels
from .products import ended, own_products
from .segment import HALVES, Segment, Value
from .sizes import NUMBER, carry_symbols, float_in, learn_symbol, number_slot
from .tensors import DTYPES, device_of, leaves, plain, served, why_not
from .views import (
    PRODUCTS,
    VIEWS,
    direct_view,
    make_result_views,
    reinterpret,
    seen_results,
    strided_argument,
)

aten = torch.ops.aten
VENDORS = {aten.convolution.default: "cuDNN", **dict.fromkeys((*PRODUCTS, odd_product), "cuBLAS")}
"""Ops that a GPU's own libraries run."""

CONSTANT_BYTES = 4096  # tensors held by the graph up to this size become constants of the kernels


class Importer:
    """Reads one graph. `frozen` are arguments to take as constants, `banned` nodes that ATen must run, and why;
    `has_products`: the engine has a library for products on the graph's device."""

    def __init__(
        self,
        module: GraphModule,
        name: str,
        frozen: dict[int, torch.Tensor] | None = None,
        banned: dict[Node, str] | None = None,
        round_each: bool = False,
        has_products: bool = False,
    ):
        self.module, self.name, self.round_each = module, name, round_each
        self.device = device_of(module)
        self.frozen, self.banned = frozen or {}, banned or {}
        self.own, self.ends = own_products(module.graph, self.banned) if has_products else (set(), set())
        self.lowered: dict[int, list[Node]] = {}
        self.problems: list[str] = []  # lowerings that broke
        self.entries: dict[Node, Entry] = {}
        self.segments: dict[int, Segment] = {}
        self.reads: dict[int, list[tuple[int, list[int] | None, int]]] = {}  # inputs of each segment
        self.writes: dict[int, list[tuple[int, list[int] | None]]] = {}
        self.stored: dict[tuple, int] = {}  # slots of a segment's values: its level, their number and order
        self.plain: dict[tuple, int] = {}  # the same of their elements in plain order, in whatever shape
        self.before: dict[int, list[tuple]] = {}  # calls that come before the segment of a level: views, sizes
        self.after: dict[int, list[tuple]] = {}
        self.symbols: dict[str, tuple[Entry, int]] = {}  # where a symbol's value is found: an entry's axis, or -2
        self.hints: dict[str, int] = {}
        self.constants: dict[int, Any] = {}
        self.known: dict[Node, torch.Tensor | None] = {}  # what frozen weights, or sizes, alone decide
        self.again: set[Node] = set()  # what each segment computes for itself
        self.refusals: list[Refusal] = []
        self.required: dict[int, dict[tuple[type, str], list[Value]]] = {}  # what has to hold, by what is raised else
        self.values = 0
        self.last_effect = 0
        self.seed: Entry | None = None
        self.random_ops = 0

    # The walk

    def run(self) -> None:
        self.known = {**fixed_values(self.module.graph), **known_values(self.module.graph, self.constant_arguments())}
        self.read_when_run = read_when_run(self.module.graph)
        is_called = functools.cache(self.will_be_called)
        self.late = late_levels(self.module.graph, is_called, self.is_view)
        if self.name == "backward" and self.device.type == "cpu":
            self.again = computed_again(self.module.graph, self.late, is_called, self.is_view, self.is_cheap)
        for node in self.module.graph.nodes:
            if node.op == "output":
                self.outputs = self.output_tree(node.args[0])
            elif node.op == "placeholder":
                self.entries[node] = self.placeholder(node)
            elif node.op == "get_attr":
                self.entries[node] = self.attribute(node)
            elif node in self.known:
                self.entries[node] = self.computed_once(node)
            else:
                self.entries[node] = self.compute(node)
        for level, segment in self.segments.items():
            self.write_required(level, segment)
            carry_symbols(self, level, segment)

    def will_be_called(self, node: Node) -> bool:
        """Whether ATen runs this node, as far as can be told before it is lowered."""
        if node.op != "call_function" or node.target is operator.getitem or node in self.known:
            return False
        if node in self.own or node in self.ends:  # of levels, as a call does
            return node in self.ends
        fake = node.meta.get("val")
        if isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
            return False
        return self.refused(node) is not None or not all(served(leaf, self.device) for leaf in leaves(fake))

    @staticmethod
    def is_view(node: Node) -> bool:
        return node.target in VIEWS

    def is_cheap(self, node: Node) -> bool:
        """Whether a kernel that reads a node's operands has its result for nothing that shows."""
        ours = node.op == "call_function" and not self.will_be_called(node)
        if not ours or not isinstance(node.meta.get("val"), torch.Tensor):
            return False
        return node.target in VIEWS or (is_pointwise(node) and not registry.find(node.target).needs_seed)

    def refused(self, node: Node) -> str | None:
        """Why ATen runs this node whatever its operands are."""
        if self.device.type == "cuda" and node.target in VENDORS and node not in self.own:
            return f"{VENDORS[node.target]} serves it, through ATen"
        if (lowering := registry.find(node.target)) is None:
            return "there is no lowering for it"
        return lowering.leaves(node) or self.banned.get(node) or why_absent(node) or why_unheld(node)

    def new_slot(self) -> int:
        self.values += 1
        return self.values - 1

    def placeholder(self, node: Node) -> Entry:
        fake = node.meta.get("val")
        entry = Entry(fake, slot=self.new_slot(), node=node)
        index = entry.slot
        if self.is_constant(node, index):
            entry.object = self.frozen[index]
            entry.emit = lambda level, t=entry.object: self.segment(level).constant(t)
        self.learn_symbols(entry)
        return entry

    def is_constant(self, node: Node, index: int) -> bool:
        return index in self.frozen and self.device.type == "cpu" and served(node.meta.get("val"), self.device)

    def constant_arguments(self) -> dict[Node, torch.Tensor]:
        arguments = self.module.graph.find_nodes(op="placeholder")
        return {node: self.frozen[i] for i, node in enumerate(arguments) if self.is_constant(node, i)}

    def computed_once(self, node: Node) -> Entry:
        value = self.known[node]
        if value is None:
            return Entry(node.meta["val"], node=node)
        value = laid_as(value, node.meta["val"])
        entry = Entry(node.meta["val"], slot=self.new_slot(), node=node, object=value)
        self.constants[entry.slot] = value
        if self.frozen or value.nbytes <= CONSTANT_BYTES:
            entry.emit = lambda level, t=value: self.segment(level).constant(t)
        return entry

    def attribute(self, node: Node) -> Entry:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        entry = Entry(value, slot=self.new_slot(), node=node, object=value)
        self.constants[entry.slot] = value
        part = isinstance(value, torch.Tensor) and served(value, self.device) and value.nbytes <= CONSTANT_BYTES
        if part and node not in self.read_when_run:
            entry.emit = lambda level, t=value: self.segment(level).constant(t)
        return entry

    def learn_symbols(self, entry: Entry) -> None:
        fake = entry.fake
        learn_symbol(self, fake, entry, NUMBER)
        for axis, size in enumerate(fake.shape if isinstance(fake, torch.Tensor) else ()):
            learn_symbol(self, size, entry, axis)

    def compute(self, node: Node) -> Entry:
        fake = node.meta.get("val")
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            parts = self.entries[node.args[0]].parts
            if parts is not None:
                return parts[node.args[1]]
        if isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)) and self.computable(fake):
            return Entry(fake, node=node)
        if keeps_checks(node):
            return Entry(None, node=node)
        try:
            if node in self.ends:
                return ended(self, node, fake)
            return self.lower(node, fake)
        except Unsupported as why:
            return self.call(node, fake, str(why))
        except _ext.Error as error:
            return self.call(node, fake, str(error).splitlines()[0])
        except Exception as error:  # a fault of a lowering costs speed, not the user's program
            self.problems.append(f"tokamak's lowering of {node.target} failed ({error!r}); ATen runs it")
            return self.call(node, fake, f"its lowering failed: {error!r}")

    # Ours

    def lower(self, node: Node, fake: Any) -> Entry:
        if reason := self.refused(node):
            raise Unsupported(reason)
        for leaf in leaves(fake):
            if isinstance(leaf, torch.Tensor):
                why_not(leaf, self.device)
                if any(map(self.found_by_running, leaf.shape)):
                    raise Unsupported("its size is known once it has run")
        lowering = registry.find(node.target)
        args = [self.entries[n] for n in node.all_input_nodes]
        level = max([e.level for e in args], default=0)
        level = max(level, self.late.get(node, 0))
        if lowering.needs_seed:
            level = max(level, self.seed_entry().level)
        entry = self.lowered_in(node, fake, level)
        if entry.parts is not None:
            return entry
        first = self.entries[node.all_input_nodes[0]] if node.all_input_nodes else None
        view = node.target in VIEWS and first and (first.home is None or first.base is not None)
        if view:  # of what has a place already: no segment stores it
            entry.base = first
        if view or (lowering.free and not node.all_input_nodes):
            entry.emit = lambda at: self.written(lowering, node, fake, at)
        elif node in self.again:
            entry.emit = lambda at: self.lowered_in(node, fake, at).inside[at]
        return entry

    def lowered_in(self, node: Node, fake: Any, level: int) -> Entry:
        """The node as a value of the segment of this level."""
        result = self.written(registry.find(node.target), node, fake, level)
        self.lowered.setdefault(level, []).append(node)
        if not isinstance(result, (list, tuple)):
            return self.result(fake, level, result, node)
        parts = [
            self.result(f, level, v, node) if v is not None else Entry(f) for f, v in zip(fake, result, strict=True)
        ]
        return Entry(fake, level, node=node, parts=parts)

    def written(self, lowering: registry.Lowering, node: Node, fake: Any, level: int) -> Any:
        """Writes the node into the segment of this level."""
        context = registry.Context(self.segment(level), node, fake, self, level)
        args, kwargs = torch.fx.map_arg((tuple(node.args), dict(node.kwargs)), lambda n: self.operand(n, level))
        return lowering.function(context, *args, **kwargs)

    def result(self, fake: torch.Tensor, level: int, value: Value, node: Node) -> Entry:
        wanted = (DTYPES[fake.dtype], shape_of(fake))
        if value.dtype != wanted[0] or len(value.shape) != len(wanted[1]):
            raise AssertionError(f"{node.target} was lowered to {value.dtype}{value.shape}, not {wanted[0]}{wanted[1]}")
        if value.shape != wanted[1]:
            value = self.segments[level].reshape(value, wanted[1])  # the same sizes, written differently
        rounds = self.round_each or node.meta.get(ROUNDED, False)
        if rounds and value.dtype in HALVES and node.target not in VIEWS:
            # A cast that the program wrote is kept, so it rounds here what would stay f32 to the end of the kernel.
            value = self.segments[level].cast(self.segments[level].cast(value, "f32", True), value.dtype)
        return Entry(fake, level, home=level, node=node, inside={level: value})

    def segment(self, level: int) -> Segment:
        if level not in self.segments:
            self.segments[level] = Segment(f"{self.name}_{level}")
            self.reads[level], self.writes[level] = [], []
        return self.segments[level]

    def operand(self, node: Node, level: int) -> Any:
        """A node's result as a lowering sees it: a Value, a number, an extent."""
        entry = self.entries[node]
        if entry.parts is not None:
            return [self.value_in(p, level) for p in entry.parts]
        if isinstance(entry.fake, torch.Tensor):
            return self.value_in(entry, level)
        if isinstance(entry.fake, torch.SymInt):
            return registry.Extent(dim_of(entry.fake))
        if isinstance(entry.fake, torch.SymFloat):
            return float_in(self, entry, level)
        if isinstance(entry.fake, torch.SymBool):
            raise Unsupported("a symbolic truth is an operand")
        return entry.fake if entry.object is None else entry.object

    def value_in(self, entry: Entry, level: int) -> Value:
        if level in entry.inside:
            return entry.inside[level]
        segment = self.segment(level)
        if entry.emit is not None:
            value = entry.emit(level)
        else:
            why_not(entry.fake, self.device)
            slot = self.read_slot(entry)
            dtype, shape = DTYPES[entry.fake.dtype], shape_of(entry.fake)
            order = memory_order(entry.fake)
            if order is None or order == list(range(len(shape))):
                value = segment.input(self.input_name(entry, slot), dtype, shape)
                self.reads[level].append((slot, None, -1))
            else:
                stored = segment.input(self.input_name(entry, slot), dtype, [shape[a] for a in order])
                self.reads[level].append((slot, order, -1))
                value = segment.transpose(stored, inverse(order))
        entry.inside[level] = value
        return value

    @staticmethod
    def input_name(entry: Entry, slot: int) -> str:
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in (entry.node.name if entry.node else "v"))
        return f"{name[:60]}.{slot}"

    def seed_entry(self) -> Entry:
        """A seed drawn from torch's generator at every call, so that torch.manual_seed rules."""
        if self.seed is None:
            self.seed = Entry(self.scalar(torch.int64), slot=self.new_slot())
            draw = ("call", torch.randint, (0, 2**62, ()), {"device": self.device}, self.seed.slot)
            self.before.setdefault(0, []).insert(0, draw)
        return self.seed

    def scalar(self, dtype: torch.dtype) -> torch.Tensor:
        """Stands for a 0-d tensor that the plan makes."""
        if self.device.type == "cpu":
            return torch.empty((), dtype=dtype)
        with FakeTensorMode():
            return torch.empty((), dtype=dtype, device=self.device)

    def require(self, flag: Value, level: int, exception: type, message: str) -> None:
        """The flag, bool[], holds, or the call raises."""
        flags = self.required.setdefault(level, {}).setdefault((exception, message), [])
        if flag not in flags:
            flags.append(flag)

    def write_required(self, level: int, segment: Segment) -> None:
        """One flag for each thing to raise, read as soon as the segment has run."""
        for error, flags in self.required.get(level, {}).items():
            segment.graph.output(functools.reduce(segment.mul, flags).id)
            if self.device.type == "cpu":
                self.writes[level].append((-1, error))
                continue
            slot = self.new_slot()  # nobody waits for a GPU to answer: it stops by itself, as in eager
            self.writes[level].append((slot, None))
            stop = ("call", aten._assert_async.msg, (_ext.Slot(slot), error[1]), None, self.new_slot())
            self.after.setdefault(level, []).insert(0, stop)

    # Not ours

    def call(self, node: Node, fake: Any, reason: str) -> Entry:
        function = VIEWS.get(node.target, node.target)
        function = FAST.get(function, function)
        if node.target not in VIEWS:
            self.refusals.append(
                Refusal(node.name, op_name(node.target), reason, sum(map(bytes_of, {*node.all_input_nodes, node})))
            )
        inputs = [self.entries[n] for n in node.all_input_nodes]
        for entry in inputs:  # a number that a call gave the size of has that call's level once it has a place
            if isinstance(entry.fake, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                self.slot_of(entry)
        level = max([e.level for e in inputs], default=0)
        if node.is_impure() or has_effect(node.target):
            level = self.last_effect = max(level, self.last_effect)
        if node.target in WRITES:  # after whatever reads what the input held
            level = max(e.level for e in self.entries.values())
        argument = self.argument if mutates(node.target) else self.read_argument
        if gives_view(node.target):
            argument = functools.partial(strided_argument, self, level=level, shares=True)
        elif node.target is aten.convolution.default:
            argument = functools.partial(self.convolved, convolution=node)
        elif "attention" in str(node.target) or (not mutates(node.target) and any(map(is_turned, leaves(fake)))):
            # Looks at strides: a mask may be part of a padded one, and results lie as what they are made of.
            argument = functools.partial(strided_argument, self, level=level)
        args = torch.fx.map_arg(tuple(node.args), argument)
        kwargs = torch.fx.map_arg(dict(node.kwargs), argument) if node.kwargs else None
        entry = Entry(fake, level + 1, slot=self.new_slot(), node=node)
        step = ("call", function, plain(args), plain(kwargs), entry.slot)
        if node.target in VIEWS and all(e.home is None for e in inputs):
            entry.level = level
            self.before.setdefault(level, []).append(step)
        else:
            self.after.setdefault(level, []).append(step)
        if isinstance(fake, (list, tuple)):
            taken = {user.args[1] if user.target is operator.getitem else None for user in node.users}
            entry.parts = [self.part(entry, i, f) if taken & {i, None} else Entry(f) for i, f in enumerate(fake)]
        self.learn_symbols(entry)
        return entry

    def part(self, whole: Entry, index: int, fake: Any) -> Entry:
        part = Entry(fake, whole.level, slot=self.new_slot(), node=whole.node)
        self.after[whole.level - 1].append(("call", operator.getitem, (_ext.Slot(whole.slot), index), None, part.slot))
        self.learn_symbols(part)
        return part

    def read_argument(self, node: Node) -> Any:
        """As `argument`, for a call that changes nothing."""
        entry = self.entries[node]
        return self.argument(node) if entry.parts is not None else _ext.Slot(self.read_slot(entry))

    def read_slot(self, entry: Entry) -> int:
        """As `slot_of`, for those who only read: what has equal elements is stored once for all of them."""
        if entry.slot is not None or entry.base is not None or entry.home is None:
            return self.slot_of(entry)
        order = memory_order(entry.fake) if isinstance(entry.fake, torch.Tensor) else None
        place, elements = self.place_of(entry, order), self.elements_of(entry, order)
        if place not in self.stored and elements in self.plain:
            view = (_ext.Slot(self.plain[elements]), tuple(entry.fake.shape), tuple(entry.fake.stride()), 0)
            self.stored[place] = self.new_slot()
            self.after.setdefault(entry.home, []).insert(0, ("call", reinterpret, view, None, self.stored[place]))
        return self.stored[place] if place in self.stored else self.slot_of(entry)

    def convolved(self, node: Node, convolution: Node) -> Any:
        """As `read_argument`. A library that gives channels last wants them last, and would copy its input first."""
        entry, order = self.entries[node], memory_order(convolution.meta["val"])
        placed = entry.slot is not None or entry.base is not None or entry.home is None
        if node is not convolution.args[0] or self.device.type != "cuda" or order != [0, 2, 3, 1] or placed:
            return self.read_argument(node)
        place = self.place_of(entry, order)
        return _ext.Slot(self.stored[place] if place in self.stored else self.write(entry, order))

    def place_of(self, entry: Entry, order: list[int] | None) -> tuple:
        return entry.home, entry.inside[entry.home].id, tuple(order or ())

    def elements_of(self, entry: Entry, order: list[int] | None) -> tuple | None:
        """Names the elements of a value that lies in plain order and has a known shape."""
        value = entry.inside[entry.home]
        if order != list(range(value.rank)) or not all(isinstance(n, int) for n in value.shape):
            return None
        return entry.home, self.segments[entry.home].elements_of(value)

    def argument(self, node: Node) -> Any:
        entry = self.entries[node]
        if entry.parts is not None and entry.slot is None:
            return [_ext.Slot(self.slot_of(p)) for p in entry.parts]
        return _ext.Slot(self.slot_of(entry))

    def slot_of(self, entry: Entry) -> int:
        """The entry's place in the table; makes it one."""
        if entry.slot is not None:
            return entry.slot
        if not isinstance(entry.fake, torch.Tensor):
            return number_slot(self, entry)
        if entry.base is not None:
            return self.view_slot(entry)
        return self.stored_slot(entry)

    def stored_slot(self, entry: Entry) -> int:
        order = memory_order(entry.fake)
        entry.slot = self.write(entry, order)
        return entry.slot

    def write(self, entry: Entry, order: list[int] | None) -> int:
        """Has the entry's segment store it with its axes in this order."""
        level, segment, slot = entry.home, self.segments[entry.home], self.new_slot()
        value = entry.inside[level]
        self.stored.setdefault(self.place_of(entry, order), slot)
        if (elements := self.elements_of(entry, order)) is not None:
            self.plain.setdefault(elements, slot)
        turned = order is not None and order != list(range(value.rank))
        segment.graph.output(segment.transpose(value, order).id if turned else value.id)
        self.writes[level].append((slot, order if turned else None))
        return slot

    def view_slot(self, entry: Entry) -> int:
        assert entry.node is not None and entry.base is not None
        if (look := direct_view(self, entry)) is not None:
            root, place = look
            args = (_ext.Slot(self.slot_of(root)), *place)
            entry.slot = self.new_slot()
            self.before.setdefault(entry.level, []).append(("call", reinterpret, args, None, entry.slot))
            return entry.slot
        rest = torch.fx.map_arg((tuple(entry.node.args[1:]), dict(entry.node.kwargs)), self.argument)
        args = (_ext.Slot(self.slot_of(entry.base)), *plain(rest[0]))
        entry.slot = self.new_slot()
        function = VIEWS[entry.node.target]
        step = ("call", FAST.get(function, function), args, plain(rest[1]) or None, entry.slot)
        self.before.setdefault(entry.level, []).append(step)
        return entry.slot

    # Sizes

    def computable(self, number: Any) -> bool:
        if isinstance(number, (int, float, bool)):
            return True
        return all(s.name in self.symbols for s in number.node.expr.free_symbols)

    def found_by_running(self, size: Any) -> bool:
        """Whether a size is one that the data decide, and no value before has it."""
        return bool(free_unbacked_symbols(size)) and not self.computable(size)

    # The end

    def output_tree(self, tree: Any) -> list[Any]:
        seen = list(tree)[: seen_results(self.name)]
        lay_out_results(self, seen[written_back() :])
        make_result_views(self, seen)
        return list(plain(torch.fx.map_arg(tuple(tree), self.argument)))
