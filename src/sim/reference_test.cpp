#include "sim/reference_test.h"

#include <cmath>

#include "sparse/stream/run/alu_ops.h"
#include "sparse/stream/run/run.h"
#include "support/check.h"

namespace tokamak::sim::reference {

namespace {

using namespace stream;
using Kind = Token::Kind;

/// One node: its clock, its places in its inputs, its outputs.
class Machine {
 public:
  Machine(const Inputs& inputs, Storages& outputs, std::vector<const Tokens*> in, std::vector<Tokens*> out,
          uint64_t extent)
      : inputs_(inputs), outputs_(outputs), in_(std::move(in)), out_(std::move(out)), at_(in_.size(), 0), n_(extent) {}

  uint64_t t = 0;
  uint64_t extra = 0;  // tokens between the two halves of a repeat
  uint64_t makerClock = 0;

  void run(const Root&) {
    put(0, value(0));
    ++t;
    put(0, done());
  }

  void run(const Scan& b) {
    const LevelView& level = inputs_.at(b.tensor).levels[static_cast<size_t>(b.level)];
    while (true) {
      const Token token = take(0);
      if (token.kind == Kind::done) return putAll(done());
      if (token.kind == Kind::stop) {
        putAll(raised(token));
        ++t;
        continue;
      }
      if (token.kind == Kind::absent)
        ++t;
      else
        walk(level, token.at);
      const Token next = peek(0);
      putAll(next.kind == Kind::stop ? stopAt(next.level + 1, next.hollow) : stopAt(0));
      if (next.kind == Kind::stop) take(0);
      ++t;
    }
  }

  void run(const Joiner& b) {
    const size_t count = in_.size() / 2;
    while (true) {
      std::vector<Token> heads;
      for (size_t i = 0; i < in_.size(); ++i) heads.push_back(peek(i));
      bool anyValue = false;
      int64_t least = INT64_MAX;
      for (size_t i = 0; i < count; ++i) {
        if (heads[2 * i].kind != Kind::value) continue;
        anyValue = true;
        least = std::min(least, heads[2 * i].at);
      }
      const auto holds = [&](size_t i) {
        return !anyValue || (heads[2 * i].kind == Kind::value && heads[2 * i].at == least);
      };
      bool all = true;
      for (size_t i = 0; i < count; ++i) all = all && holds(i);
      if (all || b.kind == JoinKind::unite) {
        put(0, anyValue ? value(least) : heads[0]);
        for (size_t i = 0; i < count; ++i) put(i + 1, holds(i) ? heads[2 * i + 1] : absent());
      }
      if (heads[0].kind == Kind::done) return;
      for (size_t i = 0; i < count; ++i) {
        if (!holds(i)) continue;
        take(2 * i);
        take(2 * i + 1);
      }
      ++t;
    }
  }

  void run(const Repeat&) {
    while (true) {
      const Token signal = (*in_[1])[at_[1]++];
      makerClock = std::max(makerClock, signal.stamp);
      const Token head = peek(0);
      t = std::max(t, makerClock + 1);
      ++extra;
      if (signal.kind == Kind::done) return put(0, done());
      if (signal.kind != Kind::stop) {
        put(0, head);
      } else {
        take(0);
        Token end = stopAt(0);
        if (head.kind == Kind::stop)
          end = raised(head);
        else if (const Token next = peek(0); next.kind == Kind::stop) {
          end = stopAt(next.level + 1, next.hollow);
          take(0);
        }
        put(0, end);
      }
      ++makerClock;
      ++t;
    }
  }

  void run(const Locate& b) {
    const int64_t size = inputs_.at(b.tensor).levels[static_cast<size_t>(b.level)].size;
    while (true) {
      const Token crd = take(0), ref = take(1);
      const Token parent = in_.size() > 2 ? take(2) : value(0);
      Token located = crd;
      if (crd.kind == Kind::value) located = parent.kind == Kind::absent ? absent() : value(parent.at * size + crd.at);
      put(0, located);
      put(1, ref);
      put(2, crd);
      if (crd.kind == Kind::done) return;
      ++t;
    }
  }

  void run(const Array& b) {
    const auto values = inputs_.at(b.tensor).values;
    while (true) {
      Token token = take(0);
      const bool loads = token.kind == Kind::value || token.kind == Kind::absent;
      if (token.kind == Kind::value) token.number = values[static_cast<size_t>(token.at)];
      if (token.kind == Kind::absent) token = number(0);
      const uint64_t cycles = loads ? n_ * n_ : 1;
      putStamped(0, token, t + cycles);
      if (token.kind == Kind::done) return;
      t += cycles;
    }
  }

  void run(const Alu& b) {
    const uint64_t cycles = arity(b.op) == 1 ? n_ : n_ * n_;
    while (true) {
      std::vector<double> operands;
      Token token;
      for (size_t i = 0; i < in_.size(); ++i) {
        token = take(i);
        operands.push_back(token.kind == Kind::absent ? 0.0 : token.number);
      }
      if (b.scalar) operands.insert(b.scalarFirst ? operands.begin() : operands.end(), *b.scalar);
      if (token.kind == Kind::value || token.kind == Kind::absent) {
        if (operands.size() == 1)
          token = number(unaryOf(b.op)(operands[0]));
        else if (operands.size() == 2)
          token = number(binaryOf(b.op)(operands[0], operands[1]));
        else
          token = number(operands[0] != 0 ? operands[1] : operands[2]);
        putStamped(0, token, t + cycles);
      } else {
        put(0, token);
      }
      if (token.kind == Kind::done) return;
      t += cycles;
    }
  }

  void run(const Reduce& b) {
    const double init = b.init.value_or(identity(b.op));
    double sum = init;
    while (true) {
      const Token token = take(0);
      if (token.kind == Kind::done) return put(0, done());
      if (token.kind == Kind::stop) {
        if (token.hollow == 0) putStamped(0, number(sum), t + n_ * n_);
        sum = init;
        if (token.level > 0) put(0, stopAt(token.level - 1, std::max(token.hollow - 1, 0)));
        ++t;
      } else {
        sum = fold(b.op, sum, token.kind == Kind::absent ? 0.0 : token.number);
        t += n_ * n_;
      }
    }
  }

  /// Order 1, as the rules say it; an empty first group has its inner stop taken with it.
  void run(const Spacc& b) {
    TK_CHECK(b.order == 1, "the reference accumulates in order 1");
    std::map<int64_t, double> workspace;
    bool first = true;
    while (true) {
      const Token outer = peek(0), inner = peek(1), val = peek(2);
      if (std::exchange(first, false) && outer.kind == Kind::stop && inner.kind == Kind::stop) {
        take(1);
        take(2);
        continue;
      }
      if (outer.kind == Kind::done) {
        put(0, done());
        put(1, done());
        return;
      }
      uint64_t cycles = 1;
      if (outer.kind == Kind::value) {
        if (inner.kind == Kind::stop) {
          take(0);
        } else {
          accumulate(b.op, workspace, inner.at, val.kind == Kind::absent ? 0.0 : val.number);
          cycles = n_ * n_;
        }
        take(1);
        take(2);
      } else {
        for (const auto& [crd, sum] : workspace) {
          put(0, value(crd));
          put(1, number(sum));
        }
        put(0, outer);
        put(1, outer);
        workspace.clear();
        take(0);
        if (inner.kind == Kind::stop && peek(0).kind == Kind::stop) {
          take(1);
          take(2);
        }
      }
      t += cycles;
    }
  }

  /// An outer coordinate and its whole fiber are one step. Stops of kept fibers are put late, with the stamps they had.
  void run(const CrdDrop&) {
    bool walked = false, held = false;
    uint64_t stamp = 0;
    while (true) {
      const Token outer = peek(0);
      if (outer.kind == Kind::done) {
        take(1);
        put(1, done());
        return put(0, done());
      }
      if (outer.kind == Kind::stop) {
        if (!walked) {
          take(1);
          stamp = t + 1;
        }
        putStamped(1, held ? stopAt(outer.level + 1, outer.hollow) : raised(outer), stamp);
        put(0, outer);
        take(0);
        held = walked = false;
        ++t;
        continue;
      }
      bool filled = false;
      for (Token inner = take(1);; inner = take(1)) {
        if (inner.kind == Kind::stop) break;
        if (std::exchange(held, false)) putStamped(1, stopAt(0), stamp);
        put(1, inner);
        filled = true;
      }
      stamp = t + 1;
      walked = true;
      if (filled) {
        put(0, outer);
        held = true;
      }
      take(0);
      ++t;
    }
  }

  void run(const CrdHold&) {
    bool leftOver = false;
    while (true) {
      if (std::exchange(leftOver, false)) take(0);
      const Token outer = peek(0);
      const Token inner = take(1);
      put(1, inner);
      put(0, inner.kind == Kind::value ? outer : inner);
      if (inner.kind == Kind::done) return;
      if (inner.kind == Kind::stop) {
        take(0);
        leftOver = inner.hollow == 0 && inner.level > 0;
      }
      ++t;
    }
  }

  void run(const Broadcast&) {
    while (true) {
      const Token token = take(0);
      putAll(token);
      if (token.kind == Kind::done) return;
    }
  }

  void run(const Fork&) {
    for (size_t lane = 0;;) {
      const Token token = take(0);
      if (token.kind == Kind::value || token.kind == Kind::absent) {
        put(lane, token);
        lane = (lane + 1) % out_.size();
      } else {
        putAll(token);
      }
      if (token.kind == Kind::done) return;
      ++t;
    }
  }

  /// Whole lanes are at hand, so what a turn is can be looked up: where lanes hold equally many turns, the rule of
  /// Comal.
  void run(const Join& b) {
    size_t lane = 0;
    std::optional<Token> held;
    while (peek(lane).kind != Kind::done) {
      if (endsFiber(lane, b.depth)) {
        Token end = take(lane);
        ++t;
        for (size_t i = 1; i < in_.size(); ++i) {
          const size_t other = (lane + i) % in_.size();
          if (spent_.contains(other)) continue;
          end = take(other);
          ++t;
        }
        closeFiber(held, end);
        continue;
      }
      turn(lane, b.depth, held);
      lane = (lane + 1) % in_.size();
      if (spent_.size() == in_.size())
        closeFiber(held, *held);
      else if (spent_.contains(lane)) {
        Token end = *held;
        for (size_t i = 0; i < in_.size(); ++i) {
          const size_t other = (lane + i) % in_.size();
          if (spent_.contains(other)) continue;
          end = take(other);
          ++t;
        }
        closeFiber(held, end);
      }
    }
    for (size_t i = 0; i < in_.size(); ++i) {
      take((lane + i) % in_.size());
      if (i + 1 < in_.size()) ++t;
    }
    put(0, done());
  }

  void run(const WriteLevel& b) {
    stream::LevelStorage& level = outputs_.at(b.tensor).levels[static_cast<size_t>(b.level)];
    level.pos.push_back(0);
    for (bool afterStop = false;;) {
      const Token token = take(0);
      if (token.kind == Kind::done) return;
      if (token.kind == Kind::value) {
        level.crd.push_back(static_cast<int32_t>(token.at));
        afterStop = false;
        ++t;
      } else {
        if (token.hollow == 0) level.pos.push_back(static_cast<int64_t>(level.crd.size()));
        if (!std::exchange(afterStop, true)) ++t;
      }
    }
  }

  void run(const WriteValues& b) {
    while (true) {
      const Token token = take(0);
      if (token.kind == Kind::stop) continue;
      ++t;
      if (token.kind == Kind::done) return;
      outputs_.at(b.tensor).values.push_back(token.kind == Kind::absent ? 0.0 : token.number);
    }
  }

 private:
  static Token value(int64_t at) { return {Kind::value, 0, 0, at, 0, 0}; }
  static Token number(double x) { return {Kind::value, 0, 0, 0, x, 0}; }
  static Token stopAt(int level, int hollow = 0) { return {Kind::stop, level, hollow, 0, 0, 0}; }
  static Token absent() { return {Kind::absent, 0, 0, 0, 0, 0}; }
  static Token done() { return {}; }
  static Token raised(const Token& stop) { return stopAt(stop.level + 1, stop.hollow + 1); }

  static double identity(FoldOp op) {
    return op == FoldOp::add ? 0 : op == FoldOp::mul ? 1 : op == FoldOp::max ? -INFINITY : INFINITY;
  }
  static double fold(FoldOp op, double a, double b) {
    return op == FoldOp::add ? a + b : op == FoldOp::mul ? a * b : op == FoldOp::max ? std::max(a, b) : std::min(a, b);
  }
  static void accumulate(FoldOp op, std::map<int64_t, double>& workspace, int64_t at, double x) {
    workspace.try_emplace(at, identity(op)).first->second =
        fold(op, workspace.try_emplace(at, identity(op)).first->second, x);
  }

  Token peek(size_t i) {
    const Token token = (*in_[i])[at_[i]];
    t = std::max(t, token.stamp);
    return token;
  }
  Token take(size_t i) {
    const Token token = peek(i);
    ++at_[i];
    return token;
  }
  void putStamped(size_t i, Token token, uint64_t stamp) {
    token.stamp = stamp;
    if (out_[i] != nullptr) out_[i]->push_back(token);
  }
  void put(size_t i, Token token) { putStamped(i, token, t + 1); }
  void putAll(const Token& token) {
    for (size_t i = 0; i < out_.size(); ++i) put(i, token);
  }

  void walk(const LevelView& level, int64_t parent) {
    int64_t from = parent * level.size, to = from + level.size;
    if (level.format == LevelFormat::compressed) {
      from = level.pos[static_cast<size_t>(parent)];
      to = level.pos[static_cast<size_t>(parent) + 1];
    } else if (level.format == LevelFormat::singleton) {
      from = parent;
      to = parent + 1;
    }
    for (int64_t child = from; child < to; ++child) {
      put(0, value(level.format == LevelFormat::dense ? child - from : level.crd[static_cast<size_t>(child)]));
      put(1, value(child));
      ++t;
    }
  }

  bool endsFiber(size_t lane, int depth) {
    const Token token = (*in_[lane])[at_[lane]];
    return token.kind == Kind::stop && token.level >= depth && token.hollow >= depth;
  }
  void turn(size_t lane, int depth, std::optional<Token>& held) {
    while (true) {
      Token token = take(lane);
      if (held) putStamped(0, stopAt(depth - 1, held->hollow), held->stamp);
      held.reset();
      const bool end = token.kind == Kind::stop && token.level >= depth - 1;
      if (end) {
        if (token.level >= depth) spent_.emplace(lane, true);
        token.stamp = t + 1;
        held = token;
      } else {
        put(0, token);
      }
      ++t;
      if (end || depth == 0) return;
    }
  }
  void closeFiber(std::optional<Token>& held, const Token& end) {
    putStamped(0, stopAt(end.level, held ? held->hollow : end.hollow), held ? held->stamp : t);
    held.reset();
    spent_.clear();
  }

  const Inputs& inputs_;
  Storages& outputs_;
  std::vector<const Tokens*> in_;
  std::vector<Tokens*> out_;
  std::vector<size_t> at_;
  uint64_t n_;                    // rows of a block
  std::map<size_t, bool> spent_;  // of a join: lanes that have no more of the fiber
};

}  // namespace

Outcome run(const Graph& graph, const Inputs& inputs, uint64_t extent) {
  Outcome outcome;
  Graph bound = graph;
  TK_CHECK(bindSizes(bound, inputs).ok(), "the data fit");
  for (const Tensor& tensor : bound.tensors()) {
    if (!tensor.isOutput) continue;
    TensorStorage& output = outcome.outputs[tensor.name];
    for (const Level& level : tensor.levels) output.levels.push_back({LevelFormat::compressed, level.size, {}, {}});
  }
  std::vector<Tokens> streams(graph.streams().size());
  for (NodeId id : topologicalOrder(bound)) {
    const Node& node = bound.node(id);
    std::vector<const Tokens*> in;
    std::vector<Tokens*> out;
    for (StreamId input : node.inputs) in.push_back(&streams[input.index]);
    for (StreamId output : node.outputs) out.push_back(output ? &streams[output.index] : nullptr);
    Machine machine(inputs, outcome.outputs, std::move(in), std::move(out), extent);
    std::visit([&](const auto& block) { machine.run(block); }, node.block);
    outcome.cycles = std::max({outcome.cycles, machine.t, machine.makerClock});
    outcome.tokens += machine.extra;
  }
  for (const Tokens& tokens : streams) outcome.tokens += tokens.size();
  TK_CHECK(finishOutputs(bound, outcome.outputs).ok(), "the outputs fit together");
  return outcome;
}

}  // namespace tokamak::sim::reference
