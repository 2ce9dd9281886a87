#pragma once

#include "sparse/stream/run/data.h"
#include "sparse/stream/run/nodes/alu.h"
#include "sparse/stream/run/nodes/array.h"
#include "sparse/stream/run/nodes/blocks.h"
#include "sparse/stream/run/nodes/broadcast.h"
#include "sparse/stream/run/nodes/drop.h"
#include "sparse/stream/run/nodes/fork.h"
#include "sparse/stream/run/nodes/hold.h"
#include "sparse/stream/run/nodes/join.h"
#include "sparse/stream/run/nodes/joiner.h"
#include "sparse/stream/run/nodes/locate.h"
#include "sparse/stream/run/nodes/reduce.h"
#include "sparse/stream/run/nodes/repeat.h"
#include "sparse/stream/run/nodes/root.h"
#include "sparse/stream/run/nodes/scan.h"
#include "sparse/stream/run/nodes/spacc.h"
#include "sparse/stream/run/nodes/spacc1.h"
#include "sparse/stream/run/nodes/write.h"

namespace tokamak::stream {

/// Makes the RunNode of a block under profile `P`.
template <class P>
class NodeMaker {
 public:
  using Made = std::unique_ptr<RunNode<P>>;
  using Site = typename RunNode<P>::Site;

  NodeMaker(const Graph& graph, const Inputs& inputs, Storages& results)
      : graph_(graph), inputs_(inputs), results_(results) {}

  Made make(const Block& block, Site site) {
    return std::visit([&](const auto& b) { return of(b, std::move(site)); }, block);
  }

 private:
  Made of(const Root&, Site site) { return std::make_unique<RootNode<P>>(std::move(site)); }
  Made of(const Scan& b, Site site) {
    return std::make_unique<ScanNode<P>>(std::move(site), inputs_.at(b.tensor).levels[static_cast<size_t>(b.level)]);
  }
  Made of(const Joiner& b, Site site) {
    return b.kind == JoinKind::intersect ? joiner<JoinKind::intersect>(std::move(site))
                                         : joiner<JoinKind::unite>(std::move(site));
  }
  template <JoinKind kind>
  Made joiner(Site site) {
    if (site.inputs.size() == 4) return std::make_unique<Joiner2Node<P, kind>>(std::move(site));
    return std::make_unique<JoinerNode<P, kind>>(std::move(site));
  }
  Made of(const Repeat&, Site site) { return std::make_unique<RepeatNode<P>>(std::move(site)); }
  Made of(const Locate& b, Site site) {
    const LevelView& level = inputs_.at(b.tensor).levels[static_cast<size_t>(b.level)];
    return std::make_unique<LocateNode<P>>(std::move(site), level.size);
  }
  /// The shape of the values that a node takes or puts.
  BlockShape shapeIn(const Site& site, size_t i) const { return graph_.stream(graph_.node(site.id).inputs[i]).block; }

  Made of(const Array& b, Site site) {
    if (const std::vector<int64_t>& block = graph_.tensor(b.tensor)->block; !block.empty())
      return std::make_unique<BlockArrayNode<P>>(std::move(site), inputs_.at(b.tensor).values,
                                                 BlockShape{block[0], block[1]});
    return std::make_unique<ArrayNode<P>>(std::move(site), inputs_.at(b.tensor).values);
  }

  template <size_t count, class F>
  Made alu(Site site, F function) {
    return std::make_unique<AluNode<P, F, count>>(std::move(site), function);
  }
  Made of(const Alu& b, Site site) {
    for (StreamId input : graph_.node(site.id).inputs)
      if (!graph_.stream(input).block.isNumber()) return std::make_unique<BlockAluNode<P>>(std::move(site), b);
    if (b.op == AluOp::select) return select(b, std::move(site));
    if (arity(b.op) == 1) return alu<1>(std::move(site), unaryOf(b.op));
    const Binary function = binaryOf(b.op);
    if (!b.scalar) {
      switch (b.op) {  // the common ones without a call
        case AluOp::add: return alu<2>(std::move(site), [](double x, double y) { return x + y; });
        case AluOp::sub: return alu<2>(std::move(site), [](double x, double y) { return x - y; });
        case AluOp::mul: return alu<2>(std::move(site), [](double x, double y) { return multiply(x, y); });
        default: return alu<2>(std::move(site), function);
      }
    }
    const double scalar = *b.scalar;
    if (b.scalarFirst) return alu<1>(std::move(site), [=](double x) { return function(scalar, x); });
    return alu<1>(std::move(site), [=](double x) { return function(x, scalar); });
  }
  Made select(const Alu& b, Site site) {
    const auto choose = [](double c, double x, double y) { return c != 0 ? x : y; };
    if (!b.scalar) return alu<3>(std::move(site), choose);
    const double scalar = *b.scalar;
    if (b.scalarFirst) return alu<2>(std::move(site), [=](double x, double y) { return choose(scalar, x, y); });
    return alu<2>(std::move(site), [=](double c, double x) { return choose(c, x, scalar); });
  }

  /// `make` is called with the fold as a constant.
  template <class F>
  static Made byFold(FoldOp op, F make) {
    switch (op) {
      case FoldOp::add: return make(std::integral_constant<FoldOp, FoldOp::add>{});
      case FoldOp::max: return make(std::integral_constant<FoldOp, FoldOp::max>{});
      case FoldOp::min: return make(std::integral_constant<FoldOp, FoldOp::min>{});
      case FoldOp::mul: return make(std::integral_constant<FoldOp, FoldOp::mul>{});
    }
    return nullptr;
  }
  Made of(const Reduce& b, Site site) {
    if (const BlockShape shape = shapeIn(site, 0); !shape.isNumber())
      return std::make_unique<BlockReduceNode<P>>(std::move(site), b, shape);
    return byFold(b.op,
                  [&](auto op) -> Made { return std::make_unique<ReduceNode<P, op()>>(std::move(site), b.init); });
  }
  Made of(const Spacc& b, Site site) {
    const BlockShape shape = shapeIn(site, static_cast<size_t>(b.order) + 1);
    return byFold(b.op, [&](auto op) -> Made {
      if (b.order == 1 && shape.isNumber()) return std::make_unique<Spacc1Node<P, op()>>(std::move(site));
      return std::make_unique<SpaccNode<P, op()>>(std::move(site), b.order, shape);
    });
  }
  Made of(const WriteLevel& b, Site site) {
    LevelStorage& level = results_.at(b.tensor).levels[static_cast<size_t>(b.level)];
    return std::make_unique<WriteLevelNode<P>>(std::move(site), &level);
  }
  Made of(const WriteValues& b, Site site) {
    if (const BlockShape shape = shapeIn(site, 0); !shape.isNumber())
      return std::make_unique<BlockWriteNode<P>>(std::move(site), &results_.at(b.tensor).values, shape);
    return std::make_unique<WriteValuesNode<P>>(std::move(site), &results_.at(b.tensor).values);
  }
  Made of(const CrdDrop&, Site site) { return std::make_unique<DropNode<P>>(std::move(site)); }
  Made of(const CrdHold&, Site site) { return std::make_unique<HoldNode<P>>(std::move(site)); }
  Made of(const Fork&, Site site) { return std::make_unique<ForkNode<P>>(std::move(site)); }
  Made of(const Join& b, Site site) { return std::make_unique<JoinNode<P>>(std::move(site), b.depth); }
  Made of(const Broadcast&, Site site) { return std::make_unique<BroadcastNode<P>>(std::move(site)); }

  const Graph& graph_;
  const Inputs& inputs_;
  Storages& results_;
};

}  // namespace tokamak::stream
