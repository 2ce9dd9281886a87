#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/function_text.h"

/// The part of FunctionText that loads and stores.
namespace tokamak::codegen::cuda {

using namespace kernel;

std::string FunctionText::element(BufferId buffer, ExprId index, const std::string& offset) {
  const Text at = value(index);
  return fmt::format("{}[{}]", nameOf(buffer), offset.empty() ? at.text : at.at(Level::sum) + " + " + offset);
}

/// As large as the address is known to be aligned for.
int FunctionText::pieceBytes(BufferId buffer, ExprId index, int lanes, bool isAligned) const {
  const Buffer& b = kernel_.buffer(buffer);
  const int64_t width = byteWidth(b.dtype);
  if (b.scope == Scope::local || lanes == 1 || kernel_.type(index).lanes > 1) return 0;  // registers; one; a gather
  const int64_t base = b.scope != Scope::global ? 16 : std::max<int64_t>(assumptions_.alignment, width);
  const int64_t known = isAligned ? lanes * width : ranges_[index.index].multiple * width;
  int64_t bytes = std::min<int64_t>({16, base, known});
  while (lanes * width % bytes != 0) bytes /= 2;
  return bytes > width ? static_cast<int>(bytes) : 0;
}

/// Of a mask that is the same in all lanes.
const Splat* FunctionText::uniform(ExprId mask) const { return std::get_if<Splat>(&behind(mask)); }

Text FunctionText::piecewiseLoad(ExprId id, const Load& e, int piece) {
  const ValueType type = kernel_.type(id);
  const Buffer& buffer = kernel_.buffer(e.buffer);
  const bool isBool = type.dtype == DType::boolean;
  const bool hinted = buffer.scope == Scope::global && buffer.access == Access::in && e.cache != Cache::normal;
  const std::string from = fmt::format("{} + {}", nameOf(e.buffer), named(e.index).at(Level::sum));
  const Splat* same = e.mask ? uniform(e.mask) : nullptr;
  const std::string mask = !e.mask ? "" : same ? value(same->a).text : array(e.mask);
  const std::string name = isBool ? freshName() : nameFor(id);
  const bool streams = hinted && e.cache == Cache::streaming;
  const std::string load = hinted && !streams ? fmt::format("load_{}", tokamak::nameOf(e.cache)) : "load";
  const std::string pieces = fmt::format("{}{}", piece, streams ? ", true" : "");
  line(fmt::format("{} {}[{}];", memoryTypeName(snippets_, type.dtype), name, type.lanes));
  if (!e.mask) {
    line(fmt::format("{}<{}>({}, {});", snippets_.use(load), pieces, name, from));
  } else if (same) {
    line(fmt::format("if ({}) {}<{}>({}, {});", mask, snippets_.use(load), pieces, name, from));
    line(fmt::format("else {}({});", snippets_.use("clear"), name));
  } else {
    line(fmt::format("{}<{}>({}, {}, {});", snippets_.use("load_masked"), pieces, name, from, mask));
  }
  nesting_[id.index] = 0;
  Text lane{name + "[l]", Level::atom};
  if (isBool) return infix(lane, "!=", {"0", Level::atom}, Level::comparison);
  remember(id, {lane, 0, name});
  return lane;
}

/// Whether lanes are halves that follow one another from anywhere, for at least a warp of threads beside each other:
/// one by one each would ask for as many lines of memory as all of them together. Fewer threads gain nothing.
bool FunctionText::straddles(ExprId id, const Load& e) const {
  const ValueType type = kernel_.type(id);
  const Buffer& buffer = kernel_.buffer(e.buffer);
  const Range& index = ranges_[e.index.index];
  const bool wide = !index.fitsInt() || index.high - index.low >= int64_t{32} * type.lanes;
  return isHalf(type.dtype) && type.lanes % 4 == 0 && kernel_.type(e.index).lanes == 1 && !e.mask && wide &&
         buffer.scope == Scope::global && buffer.access == Access::in && e.cache == Cache::normal;
}

Text FunctionText::straddlingLoad(ExprId id, const Load& e) {
  const std::string from = fmt::format("{} + {}", nameOf(e.buffer), named(e.index).at(Level::sum)), name = nameFor(id);
  line(fmt::format("{} {}[{}];", typeOf(id), name, kernel_.type(id).lanes));
  line(fmt::format("{}({}, {});", snippets_.use("load_anywhere"), name, from));
  nesting_[id.index] = 0;
  remember(id, {{name + "[l]", Level::atom}, 0, name});
  return known(id)->text;
}

Text FunctionText::loadText(ExprId id, const Load& e) {
  const ValueType type = kernel_.type(id);
  const bool consecutive = type.lanes > 1 && kernel_.type(e.index).lanes == 1;
  const int piece = !e.mask || e.aligned ? pieceBytes(e.buffer, e.index, type.lanes, e.aligned) : 0;
  if (piece > 0) return piecewiseLoad(id, e, piece);
  if (straddles(id, e)) return straddlingLoad(id, e);
  if (consecutive) named(e.index);
  Text text{element(e.buffer, e.index, consecutive ? "l" : ""), Level::atom};
  if (type.dtype == DType::boolean) text = infix(text, "!=", {"0", Level::atom}, Level::comparison);
  if (!e.mask) return text;
  return {fmt::format("{} ? {} : {}", value(e.mask).at(Level::logic), text.at(Level::logic),
                      zeroText(snippets_, type.dtype).text),
          Level::choice};
}

std::string FunctionText::memoryArray(ExprId id) {
  const ValueType type = kernel_.type(id);
  if (type.dtype != DType::boolean && !isNarrow(id) && type.lanes > 1) return array(id);
  const Text text = value(id);
  const std::string name = freshName();
  line(fmt::format("{} {}[{}];", memoryTypeName(snippets_, type.dtype), name, type.lanes));
  laneLoop(type.lanes, fmt::format("{}[l] = {};", name, text.text));
  return name;
}

/// Lanes of f32 that leave whole become halves two at a time. Those stored one by one stay apart: packing them first
/// only to take them apart again costs registers.
void FunctionText::narrowLanes(ExprId id) {
  value(id);
  const Expr& expr = kernel_.expr(id);
  const auto* convert = std::get_if<Convert>(&expr.node);
  if (!convert || !known(id)->name.empty() || !isHalf(expr.type.dtype) || expr.type.lanes % 2 != 0) return;
  if (kernel_.type(convert->a).dtype != DType::f32) return;
  const std::string from = array(convert->a), name = nameFor(id);
  line(fmt::format("{} {}[{}];", typeOf(id), name, expr.type.lanes));
  line(fmt::format("{}({}, {});", snippets_.use(expr.type.dtype == DType::bf16 ? "narrow_bf16" : "narrow_f16"), name,
                   from));
  nesting_[id.index] = 0;
  remember(id, {{name + "[l]", Level::atom}, 0, name});
}

/// Halves that were widened are what they were: they are not rounded again.
ExprId FunctionText::beforeWidening(ExprId id) const {
  const auto* narrow = std::get_if<Convert>(&kernel_.expr(id).node);
  const auto* wide = narrow ? std::get_if<Convert>(&behind(narrow->a)) : nullptr;
  return wide && isHalf(kernel_.type(id).dtype) && kernel_.type(wide->a) == kernel_.type(id) ? wide->a : id;
}

void FunctionText::piecewiseStore(const Store& s, int piece) {
  const std::string to = fmt::format("{} + {}", nameOf(s.buffer), named(s.index).at(Level::sum));
  const ExprId stored = beforeWidening(s.value);
  if (!s.mask || uniform(s.mask)) narrowLanes(stored);
  const std::string from = memoryArray(stored);
  const std::string store = snippets_.use(s.streaming ? "store_streaming" : "store");
  if (!s.mask)
    line(fmt::format("{}<{}>({}, {});", store, piece, to, from));
  else if (const Splat* same = uniform(s.mask))
    line(fmt::format("if ({}) {}<{}>({}, {});", value(same->a).text, store, piece, to, from));
  else
    line(fmt::format("{}<{}>({}, {}, {});", snippets_.use("store_masked"), piece, to, from, array(s.mask)));
}

void FunctionText::emit(const Store& s) {
  const ValueType type = kernel_.type(s.value);
  const int lanes = std::max(type.lanes, kernel_.type(s.index).lanes);
  const bool consecutive = lanes > 1 && kernel_.type(s.index).lanes == 1;
  const int piece = !s.mask || s.aligned ? pieceBytes(s.buffer, s.index, type.lanes, s.aligned) : 0;
  const Buffer& buffer = kernel_.buffer(s.buffer);
  if (piece > 0 && !isOfCluster(buffer.scope)) {
    piecewiseStore(s, piece);
    return changed();
  }
  if (consecutive) named(s.index);
  const Text text = value(s.value);
  const std::string mask = s.mask ? fmt::format("if ({}) ", value(s.mask).text) : "";
  const std::string to = element(s.buffer, s.index, consecutive ? "l" : "");
  const std::string stored = fmt::format("({}){}", memoryTypeName(snippets_, buffer.dtype), text.at(Level::atom));
  const std::string statement =
      mask + (buffer.scope == Scope::cluster
                  ? fmt::format("{}<{}>({}, {});", snippets_.use("store_cluster"), kernel_.clusterBlocks, to, stored)
              : buffer.scope == Scope::inbox
                  ? fmt::format("{}({}, {}, tk_came);", snippets_.use("store_inbox"), to, stored)
                  : fmt::format("{} = {};", to, text.text));
  if (lanes == 1)
    line(statement);
  else
    laneLoop(lanes, statement);
  changed();
}

}  // namespace tokamak::codegen::cuda
