/// `Graph`: a tensor graph under construction. Ops are named as in the text form and their attributes are written as
/// there, so that the importer, the text and docs/ir.md speak one language:
///
///   g = Graph("f")
///   x = g.input("x", "f32", ["s0", 64])
///   y = g.op("reduce", [x], "kind = sum, axes = [1]")
///   z = g.op("broadcast", [y], "axes = [0]", "f32", ["s0", 64])

#include "graph/graph.h"

#include <set>

#include "executable.h"
#include "py.h"
#include "runtime/parallel.h"
#include "tensors.h"

namespace tokamak::python {

namespace {

using Box = Boxed<Graph>;

DType dtypeNamed(PyObject* name) {
  const std::string text = toString(name);
  if (auto dtype = fromName<DType>(text)) return *dtype;
  raise(PyExc_ValueError, "no such dtype: " + text);
}

Dim dimOf(PyObject* item) {
  if (PyLong_Check(item)) return toInt(item);
  return valueOf(Dim::parse(toString(item)));
}

Shape shapeOf(PyObject* sequence) {
  Shape shape;
  for (const Ref& item : itemsOf(sequence)) shape.push_back(dimOf(item.get()));
  return shape;
}

Ref toPython(const Dim& dim) {
  if (auto constant = dim.constant()) return owned(PyLong_FromLongLong(*constant));
  return fromString(dim.str());
}

std::vector<Ref> argumentsOf(PyObject* args, Py_ssize_t least, Py_ssize_t most) {
  std::vector<Ref> items = itemsOf(args);
  if (std::ssize(items) < least || std::ssize(items) > most)
    raise(PyExc_TypeError, "wrong number of arguments: " + std::to_string(items.size()));
  return items;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    Graph graph;
    const auto items = argumentsOf(args, 0, 1);
    if (!items.empty()) graph.name = toString(items[0].get());
    return Box::make(reinterpret_cast<PyObject*>(type), std::move(graph));
  });
}

PyObject* input(PyObject* self, PyObject* args) {
  return guarded([&] {
    const auto items = argumentsOf(args, 3, 3);
    Graph& graph = Box::of(self);
    TensorType type{dtypeNamed(items[1].get()), shapeOf(items[2].get())};
    return owned(PyLong_FromLong(graph.addInput(toString(items[0].get()), std::move(type)).index));
  });
}

ValueId append(Graph& graph, Op op, std::vector<ValueId> operands, const TensorType* declared) {
  std::vector<TensorType> operandTypes;
  for (const ValueId v : operands) {
    if (!v.valid() || v.index >= graph.size()) raise(PyExc_ValueError, "an operand is not a value of this graph");
    operandTypes.push_back(graph.type(v));
  }
  TensorType type = valueOf(inferType(op, operandTypes, declared));
  return graph.append(Node{std::move(op), std::move(operands), std::move(type), {}, {}});
}

PyObject* op(PyObject* self, PyObject* args) {
  return guarded([&] {
    const auto items = argumentsOf(args, 2, 5);
    Graph& graph = Box::of(self);
    std::vector<ValueId> operands;
    for (const Ref& item : itemsOf(items[1].get())) operands.push_back(ValueId(static_cast<size_t>(toInt(item.get()))));
    TensorType declared;
    const bool given = items.size() > 3;
    if (given) declared.dtype = dtypeNamed(items[3].get());
    if (items.size() > 4) declared.shape = shapeOf(items[4].get());
    const std::string attributes = items.size() > 2 ? toString(items[2].get()) : "";
    Op made = valueOf(parseOp(toString(items[0].get()), attributes, declared));
    return owned(PyLong_FromLong(append(graph, std::move(made), operands, given ? &declared : nullptr).index));
  });
}

PyObject* constant(PyObject* self, PyObject* tensor) {
  return guarded([&] {
    const Borrowed in = borrow(tensor);
    const auto dtype = dtypeOf(in.tensor.dtype);
    if (!dtype || in.tensor.device.type != dlpack::cpu)
      raise(PyExc_ValueError, "a constant is a tensor of numbers on the CPU");
    const runtime::TensorRef ref{static_cast<std::byte*>(in.tensor.data) + in.tensor.byteOffset, *dtype, in.tensor.rank,
                                 in.tensor.shape, in.tensor.strides};
    Array data(*dtype, {ref.shape, ref.shape + ref.rank});
    if (ref.size() > 0) runtime::copyDense(ref, data.data(), runtime::ParallelHost(1));
    Op op = Constant{std::make_shared<const Array>(std::move(data))};
    return owned(PyLong_FromLong(append(Box::of(self), std::move(op), {}, nullptr).index));
  });
}

ValueId valueOfGraph(const Graph& graph, PyObject* index) {
  const int64_t i = toInt(index);
  if (i < 0 || i >= static_cast<int64_t>(graph.size())) raise(PyExc_ValueError, "not a value of this graph");
  return ValueId(static_cast<size_t>(i));
}

PyObject* type(PyObject* self, PyObject* index) {
  return guarded([&] {
    const Graph& graph = Box::of(self);
    const TensorType& t = graph.type(valueOfGraph(graph, index));
    Ref shape = owned(PyTuple_New(static_cast<Py_ssize_t>(t.shape.size())));
    for (size_t i = 0; i < t.shape.size(); ++i)
      PyTuple_SetItem(shape.get(), static_cast<Py_ssize_t>(i), toPython(t.shape[i]).release());
    return owned(PyTuple_Pack(2, fromString(nameOf(t.dtype)).get(), shape.get()));
  });
}

PyObject* output(PyObject* self, PyObject* index) {
  return guarded([&] {
    Graph& graph = Box::of(self);
    graph.addOutput(valueOfGraph(graph, index));
    return Ref::borrow(Py_None);
  });
}

PyObject* text(PyObject* self, PyObject*) {
  return guarded([&] { return fromString(print(inputsFirst(Box::of(self)))); });
}

PyObject* parse(PyObject*, PyObject* source) {
  return guarded([&] { return Box::make(types().graph, valueOf(parseGraph(toString(source)))); });
}

/// The symbols of all types, sorted.
PyObject* symbols(PyObject* self, PyObject*) {
  return guarded([&] {
    std::set<std::string, std::less<>> names;
    for (const Node& node : Box::of(self).nodes())
      for (const Dim& d : node.type.shape) d.collectSymbols(names);
    Ref list = owned(PyList_New(0));
    for (const auto& name : names) check(PyList_Append(list.get(), fromString(name).get()) == 0);
    return list;
  });
}

PyMethodDef methods[] = {
    {"input", input, METH_VARARGS, "input(name, dtype, shape) -> value"},
    {"op", op, METH_VARARGS, "op(name, operands, attributes='', dtype, shape) -> value; dtype and shape as ir.md asks"},
    {"constant", constant, METH_O, "constant(tensor) -> value; the elements are copied"},
    {"type", type, METH_O, "type(value) -> (dtype, shape)"},
    {"output", output, METH_O, "output(value)"},
    {"text", text, METH_NOARGS, "the text form"},
    {"symbols", symbols, METH_NOARGS, "names of the symbolic extents"},
    {"parse", parse, METH_O | METH_STATIC, "parse(text) -> Graph"},
    {}};

}  // namespace

Graph inputsFirst(const Graph& graph) {
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> moved(graph.size());
  for (const ValueId v : graph.inputs()) moved[v.index] = out.addInput(graph.node(v).name, graph.type(v));
  for (size_t i = 0; i < graph.size(); ++i) {
    Node node = graph.nodes()[i];
    if (std::holds_alternative<Input>(node.op)) continue;
    for (ValueId& operand : node.operands) operand = moved[operand.index];
    moved[i] = out.append(std::move(node));
  }
  for (const ValueId v : graph.outputs()) out.addOutput(moved[v.index]);
  return out;
}

void addGraph(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&Box::dealloc)},
                         {Py_tp_methods, methods},
                         {}};
  PyType_Spec spec{"tokamak._ext.Graph", sizeof(Box), 0, Py_TPFLAGS_DEFAULT, slots};
  types().graph = addType(module, spec, "Graph");
}

}  // namespace tokamak::python
