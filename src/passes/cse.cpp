#include "passes/cse.h"

#include <unordered_map>

#include "passes/rewriter.h"
#include "support/hash.h"

namespace tokamak {

namespace {

constexpr int64_t kCompareBytes = 64 << 10;

bool isLargeConstant(const Op& op) {
  const auto* constant = std::get_if<Constant>(&op);
  return constant && constant->data && constant->data->bytes() > kCompareBytes;
}

uint64_t hashOfOp(const Op& op) {
  if (isLargeConstant(op)) return reinterpret_cast<uintptr_t>(std::get<Constant>(op).data.get());
  return hashOf(op);
}

uint64_t hashOfNode(const Node& node) {
  uint64_t h = hashMix(hashOfOp(node.op), static_cast<uint64_t>(node.type.dtype));
  for (const Dim& extent : node.type.shape) h = hashMix(h, extent.hash());
  for (ValueId operand : node.operands) h = hashMix(h, operand.index);
  return h;
}

bool sameValue(const Node& a, const Node& b) {
  if (a.operands != b.operands || a.type != b.type || a.op.index() != b.op.index()) return false;
  if (isLargeConstant(a.op)) return std::get<Constant>(a.op).data == std::get<Constant>(b.op).data;
  return a.op == b.op;
}

}  // namespace

Result<Changed> CommonSubexpressions::run(Graph& graph) const {
  Rewriter rewriter(graph);
  std::unordered_multimap<uint64_t, ValueId> seen;
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const uint64_t hash = hashOfNode(node);
    ValueId same;
    for (auto [it, end] = seen.equal_range(hash); it != end && !same.valid(); ++it)
      if (sameValue(rewriter.target().node(it->second), node)) same = it->second;
    if (same.valid())
      rewriter.replace(v, same);
    else
      seen.emplace(hash, rewriter.keep(v));
  }
  return rewriter.finish();
}

}  // namespace tokamak
