#include "schedule/gpu/sweep_folds.h"

#include <algorithm>
#include <limits>

#include "schedule/identity.h"
#include "schedule/reduce_lowering.h"

namespace tokamak::schedule::gpu {

namespace {

const FoldPair* pairWith(const Sweep& sweep, ValueId fold) {
  for (const FoldPair& pair : sweep.pairs)
    if (pair.first == fold || pair.second == fold) return &pair;
  return nullptr;
}

DType operandType(const Graph& graph, ValueId fold) { return graph.type(graph.node(fold).operands[0]).dtype; }
ReduceKind kindOf(const Graph& graph, ValueId fold) { return std::get<Reduce>(graph.node(fold).op).kind; }

}  // namespace

bool hasNoHalves(const Lowering& l) {
  const auto half = [&](ValueId v) { return isHalf(l.graph.type(v).dtype); };
  return std::ranges::none_of(l.region.inputs, half) && std::ranges::none_of(l.region.outputs, half);
}

std::vector<FoundType> stagedTypes(const Graph& graph, const Sweep& sweep) {
  std::vector<FoundType> out;
  for (ValueId v : sweep.folds) {
    if (pairWith(sweep, v)) continue;
    const auto kind = kindOf(graph, v);
    out.push_back({kind, accumulatorType(kind, operandType(graph, v)), isArg(kind), false});
  }
  for (const FoldPair& pair : sweep.pairs) {
    const DType type = computeType(graph.type(pair.x).dtype);
    if (pair.kind == FoldPair::Kind::exponentials) {
      out.push_back({ReduceKind::max, type, false, true});
      continue;
    }
    for (auto kind : {ReduceKind::sum, ReduceKind::sum, ReduceKind::max}) out.push_back({kind, type});
  }
  return out;
}

SweepFolds::SweepFolds(Lowering& l, const Sweep& sweep, LaneCount lanes, const Dim& count, bool staged,
                       const FirstOf& firstOf)
    : l_(l), w_(l.w), lanes_(lanes), count_(count), staged_(staged) {
  addsByTree_ = std::none_of(l.region.inputs.begin(), l.region.inputs.end(),
                             [&](ValueId v) { return isHalf(l.graph.type(v).dtype); });
  for (ValueId v : sweep.folds)
    if (!pairWith(sweep, v))
      plain_.push_back({v, FoldState(w_, kindOf(l.graph, v), operandType(l.graph, v), {lanes}, count)});
  for (const FoldPair& pair : sweep.pairs) {
    const DType type = computeType(l.graph.type(pair.x).dtype);
    const bool moments = pair.kind == FoldPair::Kind::moments;
    const auto start = [&](BinaryKind kind) { return w_.imm(identityOf(kind, type), type, lanes.lanes); };
    Pair p{pair,
           type,
           w_.declare(moments ? "sum" : "most", start(moments ? BinaryKind::add : BinaryKind::max)),
           w_.declare(moments ? "squares" : "sum", start(BinaryKind::add)),
           {}};
    if (moments) {
      const ExprId first = w_.let("first", w_.convert(firstOf(pair.x), type));
      // A first element beyond measure would take the others with it.
      const auto number = [&](double v) { return w_.imm(Scalar::of(v), type, w_.lanes(first)); };
      const ExprId usual = w_.binary(BinaryKind::lt, w_.unary(UnaryKind::abs, first), number(1e15));
      p.shift = w_.let("shift", w_.select(usual, first, number(0.0)));
    }
    pairs_.push_back(p);
  }
}

SweepFolds::SweepFolds(Lowering& l, const Sweep& sweep, const Dim& count)
    : l_(l), w_(l.w), lanes_{1, false}, count_(count), staged_(true) {
  for (ValueId v : sweep.folds)
    if (!pairWith(sweep, v)) plain_.push_back({v, {}});
  for (const FoldPair& pair : sweep.pairs)
    pairs_.push_back({pair, computeType(l.graph.type(pair.x).dtype), {}, {}, {}});
}

ExprId SweepFolds::valueOf(ValueId v, DType type, const At& at) {
  return w_.splat(w_.convert(l_.e.value(v, at), type), lanes_.lanes);
}

void SweepFolds::load(const std::vector<Taken>& vectors) {
  for (const Taken& t : vectors) {
    for (const Plain& p : plain_) l_.e.value(l_.graph.node(p.fold).operands[0], t.at);
    for (const Pair& p : pairs_) l_.e.value(p.pair.x, t.at);
  }
}

void SweepFolds::take(const std::vector<Taken>& vectors) {
  l_.e.scope([&] {
    load(vectors);
    for (Plain& p : plain_) takePlain(p, vectors);
    for (Pair& p : pairs_)
      p.pair.kind == FoldPair::Kind::moments ? takeMoments(p, vectors) : takeExponentials(p, vectors);
  });
}

void SweepFolds::takePlain(Plain& p, const std::vector<Taken>& vectors) {
  const ValueId operand = l_.graph.node(p.fold).operands[0];
  const ReduceKind kind = kindOf(l_.graph, p.fold);
  const DType type = accumulatorType(kind, operandType(l_.graph, p.fold));
  if (addsByTree_ && combinerOf(kind) == BinaryKind::add && isFloat(type) && vectors.size() > 1) {
    std::vector<ExprId> terms;
    for (const Taken& t : vectors) terms.push_back(counted(valueOf(operand, type, t.at), t));
    return p.state->take(sumOf(std::move(terms)), {{}, lanes_.lanes, {}, {}}, {});
  }
  for (const Taken& t : vectors) {
    At place = t.at;
    place.tail = t.counts;
    p.state->take(l_.e.value(operand, t.at), place, t.position);
  }
}

/// x in the lanes that count, zero in the others.
ExprId SweepFolds::counted(ExprId x, const Taken& t) {
  if (!t.counts) return x;
  return w_.select(w_.splat(t.counts, lanes_.lanes), x, w_.imm(Scalar::of(0.0), w_.type(x).dtype, lanes_.lanes));
}

/// Neighbours first, so that no term goes through more additions than the logarithm of their number.
ExprId SweepFolds::sumOf(std::vector<ExprId> terms) {
  for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2)) {
    for (size_t i = 0; 2 * i + 1 < terms.size(); ++i) terms[i] = w_.add(terms[2 * i], terms[2 * i + 1]);
    if (terms.size() % 2 != 0) terms[terms.size() / 2] = terms.back();
  }
  return terms[0];
}

void SweepFolds::takeMoments(Pair& p, const std::vector<Taken>& vectors) {
  const auto farOf = [&](const Taken& t) {
    return w_.let("far", counted(w_.sub(valueOf(p.pair.x, p.type, t.at), w_.splat(p.shift, lanes_.lanes)), t));
  };
  const auto add = [&](std::vector<ExprId> far) {
    std::vector<ExprId> squares;
    for (ExprId x : far) squares.push_back(w_.mul(x, x));
    w_.assign(p.first, w_.add(w_.get(p.first), sumOf(std::move(far))));
    w_.assign(p.second, w_.add(w_.get(p.second), sumOf(std::move(squares))));
  };
  if (!addsByTree_) {
    for (const Taken& t : vectors) add({farOf(t)});
    return;
  }
  std::vector<ExprId> far;
  for (const Taken& t : vectors) far.push_back(farOf(t));
  add(std::move(far));
}

void SweepFolds::takeExponentials(Pair& p, const std::vector<Taken>& vectors) {
  const ExprId none = w_.imm(identityOf(BinaryKind::max, p.type), p.type, lanes_.lanes);
  std::vector<ExprId> xs;
  for (const Taken& t : vectors) {
    const ExprId x = valueOf(p.pair.x, p.type, t.at);
    xs.push_back(w_.let("x", t.counts ? w_.select(w_.splat(t.counts, lanes_.lanes), x, none) : x));
  }
  ExprId most = w_.get(p.first);
  for (ExprId x : xs) most = w_.binary(BinaryKind::max, most, x);
  most = w_.let("most", most);
  ExprId sum = rescaled(w_, w_.get(p.second), w_.get(p.first), most);
  for (size_t i = 0; i < xs.size(); ++i) {
    ExprId term = rescaled(w_, w_.imm(Scalar::of(1.0), p.type, lanes_.lanes), xs[i], most);
    if (vectors[i].counts)
      term = w_.select(w_.splat(vectors[i].counts, lanes_.lanes), term, w_.imm(Scalar::of(0.0), p.type, lanes_.lanes));
    sum = w_.add(sum, term);
  }
  w_.assign(p.second, sum);
  w_.assign(p.first, most);
}

std::vector<Found> SweepFolds::found(bool lanewise) {
  std::vector<Found> out;
  const int lanes = lanes_.lanes;
  for (Plain& p : plain_) {
    const auto kind = kindOf(l_.graph, p.fold);
    if (lanewise) {
      out.push_back({kind, p.state->lanewise(lanes), isArg(kind) ? p.state->lanewisePosition(lanes) : ExprId{}, {}});
    } else {
      const ExprId value = p.state->combined();
      out.push_back({kind, value, p.state->position(), {}});
    }
  }
  for (Pair& p : pairs_) {
    const ExprId first = w_.get(p.first), second = w_.get(p.second);
    if (p.pair.kind == FoldPair::Kind::exponentials) {
      Found f{ReduceKind::max, first, {}, second};
      out.push_back(lanewise ? f : overLanes(w_, f));
      continue;
    }
    const auto whole = [&](ExprId x) { return lanewise ? x : w_.let("folded", w_.fold(BinaryKind::add, x)); };
    out.push_back({ReduceKind::sum, whole(first), {}, {}});
    out.push_back({ReduceKind::sum, whole(second), {}, {}});
    if (staged_) out.push_back({ReduceKind::max, p.shift, {}, {}});
  }
  return out;
}

void SweepFolds::bind(const std::vector<Found>& joined) {
  size_t at = 0;
  for (const Plain& p : plain_) {
    bindFold(l_, p.fold, joined[at].value, joined[at].position, count_);
    ++at;
  }
  for (const Pair& p : pairs_) {
    if (p.pair.kind == FoldPair::Kind::exponentials) {
      bindExponentials(p, joined[at++]);
      continue;
    }
    bindMoments(p, staged_ ? joined[at + 2].value : p.shift, joined[at].value, joined[at + 1].value);
    at += staged_ ? 3 : 2;
  }
}

static void bindTo(Lowering& l, ValueId fold, ExprId value) {
  const ExprId result =
      l.w.let("r" + std::to_string(fold.index), l.w.convert(value, computeType(l.graph.type(fold).dtype)));
  l.e.bind(fold, [result](const At&) { return result; });
}

void SweepFolds::bindMoments(const Pair& p, ExprId shift, ExprId sum, ExprId squares) {
  const ExprId count = w_.convert(w_.dim(count_), p.type);
  const ExprId far = w_.let("far", w_.binary(BinaryKind::div, sum, w_.splat(count, w_.lanes(sum))));
  bindTo(l_, p.pair.first, w_.add(far, shift));
  const auto number = [&](double v) { return w_.imm(Scalar::of(v), p.type, w_.lanes(sum)); };
  ExprId rest = w_.binary(BinaryKind::max, w_.sub(squares, w_.mul(sum, far)), number(0.0));
  // Squares beyond all numbers stay so, unless an element was: taken from one another they would be none.
  const ExprId infinite = number(std::numeric_limits<double>::infinity());
  const ExprId beyond = w_.both(w_.binary(BinaryKind::eq, squares, infinite), w_.unary(UnaryKind::isfinite, sum));
  rest = w_.select(beyond, infinite, rest);
  if (kindOf(l_.graph, p.pair.second) == ReduceKind::mean)
    rest = w_.binary(BinaryKind::div, rest, w_.splat(count, w_.lanes(sum)));
  bindTo(l_, p.pair.second, rest);
}

void SweepFolds::bindExponentials(const Pair& p, const Found& found) {
  bindTo(l_, p.pair.first, found.value);
  // Of rows whose largest element is infinite the sum is no number, unless there is nothing in them.
  const int lanes = w_.lanes(found.sum);
  const ExprId none = w_.imm(Scalar::of(std::numeric_limits<double>::quiet_NaN()), p.type, lanes);
  const ExprId wild = w_.both(w_.unary(UnaryKind::isinf, found.value),
                              w_.binary(BinaryKind::gt, found.sum, w_.imm(Scalar::of(0.0), p.type, lanes)));
  bindTo(l_, p.pair.second, w_.select(wild, none, found.sum));
}

}  // namespace tokamak::schedule::gpu
