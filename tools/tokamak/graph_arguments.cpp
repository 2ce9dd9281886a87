#include "graph_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <numbers>

#include "console.h"
#include "graph/interp/evaluate.h"
#include "runtime/npy.h"
#include "support/hash.h"
#include "support/philox.h"

namespace tokamak::tool {

namespace {

Diagnostic badDims(std::string_view piece) {
  return {"T0804", {}, fmt::format("--dims wants NAME=SIZE, not `{}`", piece), "write --dims M=128,N=64"};
}

/// Empty for a number from 0 to 2^64 - 1, else a complaint; conversion alone would wrap or clip others.
std::string isSeed(const std::string& text) {
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && rest == text.data() + text.size()) return {};
  return fmt::format("`{}` is not a number from 0 to 2^64 - 1", text);
}

/// The input that `NAME=FILE` names, as an index into the graph's inputs, and the file.
Result<std::pair<size_t, std::string>> parseInputFile(const Graph& graph, const std::string& text) {
  const size_t equals = text.find('=');
  std::vector<std::string> names;
  for (ValueId input : graph.inputs()) names.push_back(graph.node(input).name);
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Diagnostic{"T0807",
                      {},
                      fmt::format("--input wants NAME=FILE.npy, not `{}`", text),
                      names.empty() ? "the graph has no inputs" : fmt::format("write --input {}=FILE.npy", names[0])};
  std::string name = text.substr(0, equals);
  if (name.starts_with('%')) name.erase(0, 1);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return std::pair{i, text.substr(equals + 1)};
  return Diagnostic{"T0807",
                    {},
                    fmt::format("graph @{} has no input {}", graph.name, name),
                    fmt::format("its inputs are {}", fmt::join(names, ", "))};
}

std::string_view numpyName(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::u8: return "numpy.uint8";
    case DType::i8: return "numpy.int8";
    case DType::i16: return "numpy.int16";
    case DType::i32: return "numpy.int32";
    case DType::i64: return "numpy.int64";
    case DType::f16: return "numpy.float16";
    case DType::bf16: return "ml_dtypes.bfloat16";
    case DType::f32: return "numpy.float32";
    case DType::f64: return "numpy.float64";
  }
  return "";
}

/// The array in the file, of the input's dtype: numpy's default is float64, so another one is the commonest mistake.
Result<Array> readInput(const Graph& graph, ValueId input, const std::string& file) {
  TK_TRY(Array array, runtime::readNpy(file));
  const DType wanted = graph.type(input).dtype;
  if (array.dtype() == wanted) return array;
  return Diagnostic{
      "T0311",
      {file, 0, 0},
      fmt::format("input {} is {}, the file has {}", graph.label(input), nameOf(wanted), nameOf(array.dtype())),
      fmt::format("convert it: numpy.save(file, array.astype({}))", numpyName(wanted))};
}

std::set<std::string, std::less<>> symbolsOf(const Graph& graph) {
  std::set<std::string, std::less<>> symbols;
  for (ValueId input : graph.inputs())
    for (const Dim& extent : graph.type(input).shape) extent.collectSymbols(symbols);
  return symbols;
}

/// Takes sizes of plain symbols (`M`, not `2*M`) from an array that stands for an input.
void learnDims(const TensorType& type, const Array& array, DimBindings& dims) {
  if (array.shape().size() != type.rank()) return;  // reported when everything is checked
  for (size_t axis = 0; axis < type.rank(); ++axis)
    if (type.shape[axis].isSymbol()) dims.try_emplace(type.shape[axis].str(), array.shape()[axis]);
}

/// T0806 if memory cannot hold a value of the program.
Result<> expectFits(const Graph& graph, ValueId value, std::string_view what, const DimBindings& dims) {
  double bytes = static_cast<double>(byteWidth(graph.type(value).dtype));
  for (const Dim& extent : graph.type(value).shape) {
    TK_TRY(const int64_t n, extent.eval(dims));
    bytes *= static_cast<double>(n);
  }
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (bytes <= memory * 0.8) return Unit{};
  return Diagnostic{"T0806", graph.node(value).location,
                    fmt::format("{} {} of {:.3g} GB does not fit in this machine's {:.3g} GB of memory", what,
                                graph.label(value), bytes / 1e9, memory / 1e9),
                    "give smaller sizes with --dims"};
}

Result<std::vector<int64_t>> shapeAt(const Graph& graph, ValueId input, const DimBindings& dims) {
  std::set<std::string, std::less<>> symbols;
  for (const Dim& extent : graph.type(input).shape) extent.collectSymbols(symbols);
  for (const std::string& symbol : symbols)
    if (!dims.contains(symbol))
      return Diagnostic{
          "T0804", graph.node(input).location,
          fmt::format("the size of {} is not known, so input {} cannot be made", symbol, graph.label(input)),
          fmt::format("give it with --dims {}=128", symbol)};
  std::vector<int64_t> shape;
  for (const Dim& extent : graph.type(input).shape) {
    TK_TRY(const int64_t n, extent.eval(dims));
    if (n < 0)
      return Diagnostic{"T0804", graph.node(input).location,
                        fmt::format("extent {} of input {} is {}", extent.str(), graph.label(input), n),
                        "extents are zero or more"};
    shape.push_back(n);
  }
  TK_RETURN_IF_ERROR(expectFits(graph, input, "input", dims));
  return shape;
}

}  // namespace

Result<Graph> loadGraph(const std::string& path) {
  TK_TRY(const std::string text, readFile(path));
  Result<Graph> graph = parseGraph(text, path == "-" ? "<stdin>" : path);
  const std::string_view start = fromFirstWord(text);
  const bool named = path.ends_with(".ein") || path.ends_with(".mlir");
  if (!graph && (start.starts_with("dim ") || start.starts_with("input ") || (named && !start.empty())))
    return Diagnostic{"T0808", {path, 0, 0}, "this is a sparse program", "`tokamak sparse run` takes those"};
  return graph;
}

Result<DimBindings> parseDims(const std::vector<std::string>& pieces) {
  DimBindings dims;
  for (const std::string& piece : pieces)
    for (size_t begin = 0; begin <= piece.size();) {
      const size_t end = std::min(piece.find(',', begin), piece.size());
      const std::string_view item = std::string_view(piece).substr(begin, end - begin);
      const size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0) return badDims(item);
      int64_t value = 0;
      const auto [rest, error] = std::from_chars(item.data() + equals + 1, item.data() + item.size(), value);
      if (error != std::errc() || rest != item.data() + item.size()) return badDims(item);
      if (value < 0)
        return Diagnostic{"T0804", {}, fmt::format("--dims: `{}` is below zero", item), "sizes are zero or more"};
      if (!dims.emplace(std::string(item.substr(0, equals)), value).second)
        return Diagnostic{
            "T0804", {}, fmt::format("--dims gives {} twice", item.substr(0, equals)), "give each size once"};
      begin = end + 1;
    }
  return dims;
}

void InputOptions::addTo(CLI::App& app) {
  app.add_option("--input", files, "Array of an input: NAME=FILE.npy; may be repeated")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--random", seed, "Random arrays, from this seed, for inputs without a file")
      ->type_name("SEED")
      ->check(isSeed);
  app.add_option("--dims", dims, "Sizes of symbolic dimensions: M=128,N=64")
      ->type_name("NAME=SIZE,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<DimBindings> dimsOf(const Graph& graph, const std::vector<std::string>& pieces) {
  TK_TRY(DimBindings dims, parseDims(pieces));
  const auto symbols = symbolsOf(graph);
  for (const auto& [name, value] : dims)
    if (!symbols.contains(name))
      return Diagnostic{"T0804",
                        {},
                        fmt::format("graph @{} has no dimension {}", graph.name, name),
                        symbols.empty() ? "all its sizes are given in the graph"
                                        : fmt::format("its dimensions are {}", fmt::join(symbols, ", "))};
  return dims;
}

void assumeSizes(const Graph& graph, DimBindings& dims) {
  for (const std::string& symbol : symbolsOf(graph)) dims.try_emplace(symbol, 1024);
}

Result<Inputs> makeInputs(const Graph& graph, const InputOptions& options) {
  Inputs out;
  TK_TRY(out.dims, dimsOf(graph, options.dims));
  const size_t count = graph.inputs().size();
  out.arrays.resize(count);
  std::vector<bool> have(count, false);
  for (const std::string& text : options.files) {
    TK_TRY(auto named, parseInputFile(graph, text));
    const auto& [index, file] = named;
    if (have[index])
      return Diagnostic{"T0807",
                        {},
                        fmt::format("--input {} is given twice", graph.node(graph.inputs()[index]).name),
                        "give each input once"};
    TK_TRY(out.arrays[index], readInput(graph, graph.inputs()[index], file));
    have[index] = true;
    learnDims(graph.type(graph.inputs()[index]), out.arrays[index], out.dims);
  }
  for (size_t i = 0; i < count; ++i) {
    if (have[i]) continue;
    const ValueId input = graph.inputs()[i];
    const std::string& name = graph.node(input).name;
    if (!options.seed)
      return Diagnostic{"T0807", graph.node(input).location, fmt::format("input {} has no array", graph.label(input)),
                        fmt::format("give --input {}=FILE.npy, or --random 0 for random values", name)};
    TK_TRY(const auto shape, shapeAt(graph, input, out.dims));
    const DType dtype = graph.type(input).dtype;
    out.arrays[i] = randomArray(dtype, shape, *options.seed, name, randomKind(graph, input, out.dims));
  }
  std::vector<std::vector<int64_t>> shapes;
  shapes.reserve(out.arrays.size());
  for (const Array& array : out.arrays) shapes.push_back(array.shape());
  TK_TRY(out.dims, bindDims(graph, shapes, out.dims));
  for (ValueId output : graph.outputs()) TK_RETURN_IF_ERROR(expectFits(graph, output, "result", out.dims));
  return out;
}

Array randomArray(DType dtype, const std::vector<int64_t>& shape, uint64_t seed, std::string_view name,
                  const RandomKindOf& kind) {
  Array out(dtype, shape);
  const auto key = static_cast<int64_t>(hashMix(seed, hashBytes(name)));
  const int64_t limit = dtype == DType::boolean ? 2 : std::max<int64_t>(kind.bound, 1);
  for (int64_t i = 0; i < out.size(); i += 4) {
    const auto words = philoxBlockOf(key, 0, i);
    for (int64_t k = 0; k < 4 && i + k < out.size(); ++k) {
      if (!isFloat(dtype)) {
        out.setInt(i + k, static_cast<int64_t>((uint64_t{words[k]} * static_cast<uint64_t>(limit)) >> 32));
        continue;
      }
      const double u = (static_cast<double>(words[k & ~1]) + 1) * 0x1p-32;
      const double angle = 2 * std::numbers::pi * static_cast<double>(words[k | 1]) * 0x1p-32;
      const double normal = kind.scale * std::sqrt(-2 * std::log(u)) * (k & 1 ? std::sin(angle) : std::cos(angle));
      out.setDouble(i + k, kind.positive ? 0.5 + std::abs(normal) : normal);
    }
  }
  return out;
}

RandomKindOf randomKind(const Graph& graph, ValueId input, const DimBindings& dims) {
  RandomKindOf out;
  int64_t bound = 0;
  double summed = 1;                            // elements that a product sums over
  std::vector<bool> same(graph.size(), false);  // values with the input's elements, in whatever shape
  same[input.index] = true;
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto reads = [&](size_t operand) {
      return operand < node.operands.size() && same[node.operands[operand].index];
    };
    const auto sizeOf = [&](size_t operand, size_t axis) {
      const auto n = graph.type(node.operands[operand]).shape[axis].eval(dims);
      return n ? *n : 1;
    };
    const auto indexes = [&](Axis axis) {
      const int64_t n = sizeOf(0, static_cast<size_t>(axis));
      bound = bound ? std::min(bound, n) : n;
    };
    if (reads(0) && (std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Broadcast>(node.op) ||
                     std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Cast>(node.op)))
      same[i] = true;
    if (const auto* op = std::get_if<Norm>(&node.op))
      out.positive |= reads(op->affine ? 4 : 2) && op->kind == NormKind::batch;
    if (!reads(1)) continue;
    const size_t rank = graph.type(node.operands[1]).rank();
    if (const auto* op = std::get_if<Gather>(&node.op)) indexes(op->axis);
    if (const auto* op = std::get_if<IndexSelect>(&node.op)) indexes(op->axis);
    if (const auto* op = std::get_if<Scatter>(&node.op)) indexes(op->axis);
    if (std::holds_alternative<CrossEntropy>(node.op)) indexes(1);
    if (const auto* op = std::get_if<MatMul>(&node.op); op && rank >= 2)
      summed = static_cast<double>(sizeOf(1, op->transposeB ? rank - 1 : rank - 2));
    if (std::holds_alternative<Conv>(node.op)) {
      summed = 1;
      for (size_t axis = 1; axis < rank; ++axis) summed *= static_cast<double>(sizeOf(1, axis));
    }
  }
  if (bound) out.bound = bound;
  out.scale = 1 / std::sqrt(std::max(summed, 1.0));
  return out;
}

}  // namespace tokamak::tool
