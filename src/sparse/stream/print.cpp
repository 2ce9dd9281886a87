#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sparse/stream/graph.h"

namespace tokamak::stream {

namespace {

std::string number(double value) { return fmt::format("{}", value); }

/// The words of a block before and after its first streams; a scalar operand stands among the streams.
struct Words {
  std::string_view mnemonic;
  std::string attributes;
};

struct Describe {
  Words operator()(const Root& b) const { return {"root", "@" + b.tensor}; }
  Words operator()(const Scan& b) const { return {"scan", fmt::format("@{} {}", b.tensor, b.level)}; }
  Words operator()(const Joiner& b) const { return {nameOf(b.kind), {}}; }
  Words operator()(const Repeat&) const { return {"repeat", {}}; }
  Words operator()(const Locate& b) const { return {"locate", fmt::format("@{} {}", b.tensor, b.level)}; }
  Words operator()(const Array& b) const { return {"array", "@" + b.tensor}; }
  Words operator()(const Alu& b) const { return {"alu", std::string(nameOf(b.op))}; }
  Words operator()(const Reduce& b) const {
    std::string attributes(nameOf(b.op));
    if (b.init) attributes += " from " + number(*b.init);
    return {"reduce", std::move(attributes)};
  }
  Words operator()(const Spacc& b) const { return {"spacc", fmt::format("{} {}", nameOf(b.op), b.order)}; }
  Words operator()(const CrdDrop&) const { return {"drop", {}}; }
  Words operator()(const CrdHold&) const { return {"hold", {}}; }
  Words operator()(const Broadcast&) const { return {"broadcast", {}}; }
  Words operator()(const Fork&) const { return {"fork", {}}; }
  Words operator()(const Join& b) const { return {"join", fmt::format("{}", b.depth)}; }
  Words operator()(const WriteLevel& b) const { return {"write_level", fmt::format("@{} {}", b.tensor, b.level)}; }
  Words operator()(const WriteValues& b) const { return {"write_values", "@" + b.tensor}; }
};

std::string streamText(const Graph& graph, StreamId id) { return id ? "%" + graph.stream(id).name : "_"; }

std::vector<std::string> operandTexts(const Graph& graph, const Node& node) {
  std::vector<std::string> texts;
  for (StreamId input : node.inputs) texts.push_back(streamText(graph, input));
  if (const auto* alu = std::get_if<Alu>(&node.block); alu && alu->scalar)
    texts.insert(alu->scalarFirst ? texts.begin() : texts.end(), number(*alu->scalar));
  return texts;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

std::string nodeText(const Graph& graph, const Node& node) {
  std::vector<std::string> results;
  for (StreamId output : node.outputs) results.push_back(streamText(graph, output));
  std::string text = results.empty() ? "" : fmt::format("{} = ", fmt::join(results, ", "));
  text += describe(node.block);
  if (const auto operands = operandTexts(graph, node); !operands.empty())
    text += fmt::format(" {}", fmt::join(operands, ", "));
  if (!node.label.empty()) text += " : " + quoted(node.label);
  return text;
}

std::string tensorText(const Tensor& tensor) {
  std::vector<std::string> sizes, formats;
  for (const Level& level : tensor.levels) {
    sizes.push_back(level.size < 0 ? "?" : fmt::format("{}", level.size));
    formats.emplace_back(nameOf(level.format));
  }
  std::string text =
      fmt::format("{} @{}[{}]", tensor.isOutput ? "output" : "tensor", tensor.name, fmt::join(sizes, ", "));
  if (!formats.empty()) text += fmt::format(" {}", fmt::join(formats, ", "));
  if (!tensor.block.empty()) text += fmt::format(" block [{}]", fmt::join(tensor.block, ", "));
  return text;
}

}  // namespace

std::string describe(BlockShape shape) {
  return shape.isNumber() ? "a number" : fmt::format("[{}, {}]", shape.rows, shape.columns);
}

std::string describe(const Block& block) {
  const Words words = std::visit(Describe{}, block);
  return words.attributes.empty() ? std::string(words.mnemonic)
                                  : fmt::format("{} {}", words.mnemonic, words.attributes);
}

std::string print(const Graph& graph) {
  std::string text = fmt::format("stream @{} {{\n", graph.name);
  for (const Tensor& tensor : graph.tensors()) text += "  " + tensorText(tensor) + "\n";
  for (const Node& node : graph.nodes()) text += "  " + nodeText(graph, node) + "\n";
  return text + "}\n";
}

}  // namespace tokamak::stream
