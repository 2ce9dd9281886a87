#include "schedule/gpu/scatter.h"
#include "schedule/scatter.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

namespace {

/// A block owns a range of targets along the scattered axis. It goes through all updates, many at a time, makes a list
/// of those that fall into its range, in their order, and applies them one after another, its threads side by side
/// along the axes that follow.
class Owners {
 public:
  Owners(Lowering& l, const ScatterUpdates::Plan& plan)
      : l_(l),
        w_(l.w),
        plan_(plan),
        node_(l.graph.node(l.region.outputs[0])),
        op_(std::get<Scatter>(node_.op)),
        shape_(node_.type.shape),
        updates_(l.graph.type(node_.operands[1]).shape) {
    outer_.assign(updates_.begin(), updates_.begin() + op_.axis);
    inner_.assign(updates_.begin() + op_.axis + 1, updates_.end());
    if (!inner_.empty()) inner_.back() = Dim::ceilDiv(inner_.back(), plan.lanes);
    warps_ = w_.shared("warps", DType::i64, Dim(2 * plan.threads / kWarp));
    list_ = w_.shared("list", DType::i64, Dim(plan.threads * kEach));
    targets_ = w_.shared("targets", DType::i64, Dim(plan.threads * kEach));
  }

  Dim blocks() const { return elementCount(outer_) * Dim(plan_.owners); }

  void run(ExprId b, ExprId t) {
    thread_ = t;
    const ExprId owner = w_.let("owner", w_.binary(BinaryKind::fmod, b, w_.i64(plan_.owners)));
    index_ = unflatten(IndexMath(w_, 1),
                       {w_.let("outer", w_.binary(BinaryKind::div, b, w_.i64(plan_.owners))), 0, 1, {}}, outer_);
    index_.resize(shape_.size(), Index{w_.i64(0), 0, 0, {}});
    const ExprId range = w_.dim(Dim::ceilDiv(shape_[op_.axis], plan_.owners));
    low_ = w_.let("low", w_.mul(owner, range));
    high_ = w_.let("high", w_.add(low_, range));
    const int64_t round = int64_t{plan_.threads} * kEach;
    l_.e.loop("c", w_.i64(0), w_.dim(Dim::ceilDiv(updates_[op_.axis], round)), 1, Binding::serial, [&](ExprId c) {
      const ExprId count = list(c, w_.let("k", w_.add(w_.mul(c, w_.i64(round)), w_.mul(t, w_.i64(kEach)))));
      l_.e.loop("m", w_.i64(0), count, 1, Binding::serial, [&](ExprId m) { apply(m); });
      w_.barrier();
    });
  }

 private:
  static constexpr int kEach = 4;  // updates a thread looks at together

  /// Lists the updates k, k + 1, ... of all threads whose target the block owns; how many they are.
  ExprId list(ExprId c, ExprId k) {
    At at{index_, kEach, {}, {}};
    at.index[op_.axis] = {k, 1, kEach, {}};
    at.mask = w_.let("inside", w_.binary(BinaryKind::lt, w_.ramp(k, kEach), w_.dim(updates_[op_.axis])));
    const ExprId extent = w_.dim(shape_[op_.axis]);
    ExprId target = w_.splat(w_.convert(l_.e.value(node_.operands[1], at), DType::i64), kEach);
    target = w_.let("target", w_.select(w_.binary(BinaryKind::lt, target, w_.i64(0)), w_.add(target, extent), target));
    ExprId mine =
        w_.both(at.mask, w_.both(w_.binary(BinaryKind::ge, target, low_), w_.binary(BinaryKind::lt, target, high_)));
    mine = w_.let("mine", w_.both(mine, w_.both(w_.binary(BinaryKind::ge, target, w_.i64(0)),
                                                w_.binary(BinaryKind::lt, target, extent))));
    const ExprId own = w_.let("own", w_.prefix(BinaryKind::add, w_.convert(mine, DType::i64)));
    const ExprId total = w_.let("total", w_.extract(own, kEach - 1));
    const ExprId before = w_.warpShift(w_.warpPrefix(BinaryKind::add, total, kWarp), w_.i64(0), kWarp);
    const int warps = plan_.threads / kWarp;
    const ExprId warp = w_.let("warp", w_.binary(BinaryKind::div, thread_, w_.i64(kWarp)));
    const ExprId turn = w_.let("turn", w_.mul(w_.binary(BinaryKind::fmod, c, w_.i64(2)), w_.i64(warps)));
    w_.when(w_.binary(BinaryKind::eq, w_.binary(BinaryKind::fmod, thread_, w_.i64(kWarp)), w_.i64(kWarp - 1)),
            [&] { w_.store(warps_, w_.add(turn, warp), w_.add(before, total)); });
    w_.barrier();
    const ExprId found = w_.let("found", w_.load(warps_, turn, warps));
    const ExprId earlier = w_.binary(BinaryKind::lt, w_.ramp(w_.i64(0), warps), w_.splat(warp, warps));
    const ExprId first =
        w_.fold(BinaryKind::add, w_.select(earlier, found, w_.imm(Scalar::of(int64_t{0}), DType::i64, warps)));
    const ExprId place = w_.let("place", w_.add(w_.splat(w_.add(w_.add(first, before), w_.i64(-1)), kEach), own));
    w_.store(list_, place, w_.ramp(k, kEach), mine);
    w_.store(targets_, place, target, mine);
    w_.barrier();
    return w_.let("count", w_.fold(BinaryKind::add, found));
  }

  void apply(ExprId m) {
    const ExprId k = w_.let("k", w_.load(list_, m)), target = w_.let("target", w_.load(targets_, m));
    const auto one = [&](ExprId d) {
      const auto parts = unflatten(IndexMath(w_, 1), {d, 0, 1, {}}, inner_);
      At at{index_, plan_.lanes, {}, {}}, there = at;
      at.index[op_.axis] = {k, 0, 1, {}};
      there.index[op_.axis] = {target, 0, 1, {}};
      for (size_t i = 0; i < parts.size(); ++i) {
        Index& along = at.index[op_.axis + 1 + i];
        along = parts[i];
        if (i + 1 == parts.size() && plan_.lanes > 1)
          along = {w_.let("column", w_.mul(parts[i].base, w_.i64(plan_.lanes))), 1, plan_.lanes, {}};
        there.index[op_.axis + 1 + i] = along;
      }
      const BufferId result = l_.outputBuffers[0];
      const DType dtype = node_.type.dtype;
      const Index flat = l_.e.flatten(shape_, there);
      const ExprId x = l_.e.value(node_.operands[2], at);
      const ExprId old = op_.kind == ScatterKind::set ? ExprId{} : l_.e.loadFlat(result, flat, there, dtype);
      l_.e.storeFlat(result, flat, there, combined(w_, op_.kind, old, x), dtype);
    };
    l_.e.loop("d", thread_, w_.dim(elementCount(inner_)), plan_.threads, Binding::serial, one);
  }

  Lowering& l_;
  Writer& w_;
  const ScatterUpdates::Plan& plan_;
  const Node& node_;
  const Scatter& op_;
  const Shape &shape_, &updates_;
  std::vector<Dim> outer_, inner_;
  BufferId warps_, list_, targets_;
  std::vector<Index> index_;
  ExprId thread_, low_, high_;
};

}  // namespace

void lowerOwners(Lowering& l, const ScatterUpdates::Plan& plan) {
  Owners owners(l, plan);
  const Node& node = l.graph.node(l.region.outputs[0]);
  const Dim slack = elementCount(l.graph.type(node.operands[1]).shape) + elementCount(node.type.shape) +
                    owners.blocks() + Dim(1 << 16);
  overGrid(l, owners.blocks(), plan.threads, slack, [&](ExprId b, ExprId t) { owners.run(b, t); });
}

}  // namespace tokamak::schedule::gpu
