#include "sparse/table/level_join.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::sparse {

Result<const Scope*> TableBuilder::enter(const std::vector<ExprId>& roots, VarId var, const Scope& scope,
                                         const Demand& demand) {
  Scope& out = newScope();
  out.parent = &scope;
  out.var = var;
  out.depth = scope.depth + 1;
  TK_RETURN_IF_ERROR(LevelJoin(*this, var, scope).run(roots, demand, out));
  return shared(out);
}

/// A scope that was entered before, for other values, with the same coordinates and the same places: then values and
/// folds that were computed there are known. What only the new one knows is added.
const Scope* TableBuilder::shared(Scope& scope) {
  const auto agree = [](const auto& a, const auto& b) {
    return std::all_of(a.begin(), a.end(), [&](const auto& entry) {
      const auto other = b.find(entry.first);
      return other == b.end() || other->second == entry.second;
    });
  };
  std::vector<Scope*>& known = entered_[{scope.parent, scope.var, scope.crd}];
  for (Scope* other : known) {
    if (other->all != scope.all || !agree(scope.walks, other->walks) || !agree(scope.results, other->results)) continue;
    other->walks.insert(scope.walks.begin(), scope.walks.end());
    other->results.insert(scope.results.begin(), scope.results.end());
    return other;
  }
  known.push_back(&scope);
  return &scope;
}

Result<> TableBuilder::LevelJoin::run(const std::vector<ExprId>& roots, const Demand& demand, Scope& out) {
  TK_TRY(Patterns::Id id, visited(roots, demand));
  if (id == Patterns::kNone) id = Patterns::kAll;
  const bool all = id == Patterns::kAll;
  out.all = all;
  findShared(roots);
  Joined joined = all ? allCoordinates() : realize(id);
  forgetIncomplete(joined);
  alignDense(joined, all);
  TK_RETURN_IF_ERROR(alignSparse(joined, all));
  return keep(joined, out);
}

/// What the loop visits: what the value needs, cut down to the patterns; max and min see every element that is meant.
Result<Patterns::Id> TableBuilder::LevelJoin::visited(const std::vector<ExprId>& roots, const Demand& demand) {
  TK_TRY(const Patterns::Id natural, pattern(roots[0]));
  std::vector<Patterns::Id> masks;
  bool masked = false;
  for (size_t i = 1; i < roots.size(); ++i) {
    TK_TRY(const Patterns::Id mask, pattern(roots[i]));
    masks.push_back(mask);
    masked |= b_.isFree(var_, roots[i]);
  }
  if (demand.fold == Fold::max || demand.fold == Fold::min) {
    if (masked) return patterns_.both(masks);
    if (std::any_of(demand.folded.begin(), demand.folded.end(), [&](VarId r) { return b_.rank(r) <= b_.rank(var_); }))
      return Patterns::kAll;
  }
  masks.push_back(natural);
  return patterns_.both(masks);
}

Result<Patterns::Id> TableBuilder::LevelJoin::pattern(ExprId id) {
  if (const auto& known = known_[id.index]) return *known;
  TK_TRY(const Patterns::Id out, patternNew(id));
  known_[id.index] = out;
  return out;
}

Result<Patterns::Id> TableBuilder::LevelJoin::patternNew(ExprId id) {
  const Expr& e = program_.expr(id);
  if (e.kind == ExprKind::constant) return e.value == 0 ? Patterns::kNone : Patterns::kAll;
  if (!b_.isFree(var_, id)) return Patterns::kAll;
  switch (e.kind) {
    case ExprKind::access: return ofAccess(id);
    case ExprKind::apply: return ofApply(e);
    case ExprKind::reduce: return ofReduce(id);
    default: {
      TK_TRY(const Patterns::Id mask, pattern(e.args[0]));
      TK_TRY(const Patterns::Id body, pattern(e.args[1]));
      return patterns_.both({mask, body});
    }
  }
}

Result<Patterns::Id> TableBuilder::LevelJoin::ofAccess(ExprId id) {
  const std::vector<VarId> vars = b_.levelVars(id);
  const auto level = static_cast<size_t>(std::find(vars.begin(), vars.end(), var_) - vars.begin());
  for (size_t l = 0; l < level; ++l)
    if (!scope_.binds(vars[l]))
      return Diagnostic{"T0970",
                        {},
                        fmt::format("{} is stored with {} above {}, but the order runs {} first", print(program_, id),
                                    program_.var(vars[l]).name, name(), name()),
                        "choose an order that keeps to the storage, or another format"};
  const Walk walk = b_.walkAt(id, scope_);
  if (walk.levels != level) return b_.playedAgain(id, var_);
  Participant part{.leaf = id};
  const std::string& tensor = b_.tensorOf(id);
  if (b_.formatOf(id).levels[level].kind == LevelKind::dense && !walk.absent &&
      !b_.options_.iterate.contains(program_.tensor(program_.expr(id).tensor).name)) {
    part.dense = true;
    parts_.push_back(part);
    return Patterns::kAll;
  }
  b_.place(var_, id, fmt::format("level {} of its storage", level));
  const Emitter::Fiber fiber = b_.emit_.scan(tensor, static_cast<int>(level), walk.ref);
  part.crd = fiber.crd;
  part.payload = fiber.ref;
  parts_.push_back(part);
  return patterns_.stream(part.crd);
}

/// Where the function's value may be other than zero, from where its operands may be.
Result<Patterns::Id> TableBuilder::LevelJoin::ofApply(const Expr& e) {
  std::vector<Patterns::Id> of;
  std::vector<double> atZero;
  for (const ExprId arg : e.args) {
    TK_TRY(const Patterns::Id id, pattern(arg));
    of.push_back(id);
    atZero.push_back(program_.expr(arg).kind == ExprKind::constant ? program_.expr(arg).value : 0);
  }
  if (e.fn == Fn::select)  // the condition has to be known wherever the third operand is
    return of[2] == Patterns::kNone ? patterns_.both({of[0], of[1]}) : patterns_.either({of[0], of[2]});
  std::vector<Patterns::Id> annihilating;
  for (size_t i = 0; i < of.size(); ++i)
    if (annihilates(e.fn, static_cast<int>(i))) annihilating.push_back(of[i]);
  if (!annihilating.empty()) return patterns_.both(annihilating);
  if (evalFn(e.fn, atZero) != 0) return Patterns::kAll;
  std::vector<Patterns::Id> variable;
  for (size_t i = 0; i < of.size(); ++i)
    if (program_.expr(e.args[i]).kind != ExprKind::constant) variable.push_back(of[i]);
  return patterns_.either(variable);
}

bool TableBuilder::LevelJoin::isLater(const std::vector<VarId>& vars) const {
  return std::all_of(vars.begin(), vars.end(), [&](VarId r) { return b_.rank(r) > b_.rank(var_); });
}

/// A fold whose own loops are all inside this one is looked through; else it is computed here and is an operand.
Result<Patterns::Id> TableBuilder::LevelJoin::ofReduce(ExprId id) {
  const Expr& e = program_.expr(id);
  const auto begun = scope_.results.find(id);
  if (begun == scope_.results.end() && isLater(e.vars)) {
    std::vector<Patterns::Id> of;
    for (const ExprId arg : e.args) {
      TK_TRY(const Patterns::Id part, pattern(arg));
      of.push_back(part);
    }
    return patterns_.both(of);
  }
  Bundle result;
  if (begun != scope_.results.end())
    result = begun->second;
  else { TK_TRY(result, b_.fold(id, scope_)); }
  if (result.levels.empty() || result.levels[0].var != var_) return b_.playedAgain(id, var_);
  Participant part{.leaf = id, .crd = result.levels[0].crd, .payload = result.val, .computed = true};
  part.rest.assign(result.levels.begin() + 1, result.levels.end());
  parts_.push_back(part);
  return patterns_.stream(part.crd);
}

/// Leaves that more than one path reaches, or whose coordinates another leaf has too.
void TableBuilder::LevelJoin::findShared(const std::vector<ExprId>& roots) {
  std::vector<uint8_t> parents(program_.exprCount(), 0);  // 2: or more
  std::vector<ExprId> todo, several;
  const auto reach = [&](ExprId id) {
    uint8_t& count = parents[id.index];
    if (count == 0) todo.push_back(id);
    if (count == 1) several.push_back(id);
    if (count < 2) ++count;
  };
  for (const ExprId root : roots) reach(root);
  while (!todo.empty()) {
    const ExprId id = todo.back();
    todo.pop_back();
    for (const ExprId arg : program_.expr(id).args) reach(arg);
  }
  // Whatever is below a node that is used twice is used twice.
  std::vector<bool> below(parents.size(), false);
  while (!several.empty()) {
    const ExprId id = several.back();
    several.pop_back();
    if (below[id.index]) continue;
    below[id.index] = true;
    for (const ExprId arg : program_.expr(id).args) several.push_back(arg);
  }
  for (const Participant& part : parts_) {
    const auto same = std::count_if(parts_.begin(), parts_.end(), [&](const Participant& other) {
      return !part.dense && !other.dense && other.crd == part.crd;
    });
    if (same > 1 || below[part.leaf.index]) shared_.insert(part.leaf);
  }
}

/// Operands that are used in several places need a payload wherever they have the coordinate: they are aligned again.
void TableBuilder::LevelJoin::forgetIncomplete(Joined& joined) const {
  for (const auto& [p, aligned] : joined.payloads)
    if (p >= parts_.size() || parts_[p].rest.empty()) joined.carrier = aligned.payload;
  std::erase_if(joined.payloads, [&](const auto& entry) {
    return entry.first < parts_.size() && !entry.second.complete && shared_.contains(parts_[entry.first].leaf);
  });
}

TableBuilder::LevelJoin::Joined TableBuilder::LevelJoin::realize(Patterns::Id id) {
  const Patterns::Node node = patterns_.node(eachStreamOnce(id));
  if (node.kind != Patterns::Kind::stream) return merged(node);
  Joined out{node.crd, {}, {}};
  for (size_t p = 0; p < parts_.size(); ++p)
    if (!parts_[p].dense && parts_[p].crd == node.crd) out.payloads[p] = {parts_[p].payload, false};
  return out;
}

/// Streams below a pattern, each once.
void TableBuilder::LevelJoin::streamsOf(Patterns::Id id, std::vector<Patterns::Id>& out) const {
  const Patterns::Node& node = patterns_.node(id);
  if (node.kind == Patterns::Kind::stream && std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  for (const Patterns::Id operand : node.operands) streamsOf(operand, out);
}

/// `either` of patterns that share streams, as one in which each stream comes once: what all have in common, met with
/// any of the rest. It may visit more, never less.
Patterns::Id TableBuilder::LevelJoin::eachStreamOnce(Patterns::Id id) {
  const Patterns::Node node = patterns_.node(id);
  if (node.kind != Patterns::Kind::either) return id;
  size_t mentioned = 0;
  std::vector<Patterns::Id> streams;
  for (const Patterns::Id operand : node.operands) {
    std::vector<Patterns::Id> below;
    streamsOf(operand, below);
    mentioned += below.size();
    for (const Patterns::Id s : below)
      if (std::find(streams.begin(), streams.end(), s) == streams.end()) streams.push_back(s);
  }
  if (mentioned == streams.size()) return id;
  std::vector<Patterns::Id> common, rest;
  for (const Patterns::Id s : streams) {
    const bool everywhere = std::all_of(node.operands.begin(), node.operands.end(), [&](Patterns::Id operand) {
      const Patterns::Node& of = patterns_.node(operand);
      return of.kind == Patterns::Kind::both && std::binary_search(of.operands.begin(), of.operands.end(), s);
    });
    (everywhere ? common : rest).push_back(s);
  }
  // An operand of nothing but what all have in common visits all of that, whatever the others ask for besides.
  const bool bare = std::any_of(node.operands.begin(), node.operands.end(), [&](Patterns::Id operand) {
    std::vector<Patterns::Id> below;
    streamsOf(operand, below);
    return std::none_of(below.begin(), below.end(),
                        [&](Patterns::Id s) { return std::find(rest.begin(), rest.end(), s) != rest.end(); });
  });
  if (!bare) common.push_back(patterns_.either(rest));
  return patterns_.both(common);
}

TableBuilder::LevelJoin::Joined TableBuilder::LevelJoin::merged(const Patterns::Node& node) {
  const bool both = node.kind == Patterns::Kind::both;
  std::vector<std::pair<Port, Port>> operands;
  struct From {
    size_t operand;
    Aligned aligned;
  };
  std::map<size_t, From> from;  // by participant
  for (const Patterns::Id operand : node.operands) {
    const Joined joined = realize(operand);
    for (const auto& [p, aligned] : joined.payloads) {
      const std::pair pair{joined.crd, aligned.payload};
      const auto known = std::find(operands.begin(), operands.end(), pair);
      From candidate{static_cast<size_t>(known - operands.begin()), aligned};
      candidate.aligned.absent |= !both;
      candidate.aligned.complete &= both || aligned.covers;
      candidate.aligned.covers &= !both;
      if (known == operands.end()) operands.push_back(pair);
      const auto [chosen, added] = from.try_emplace(p, candidate);
      if (!added && !chosen->second.aligned.complete) chosen->second = candidate;
    }
  }
  place(from.begin()->first, both ? fmt::format("factors meet at {}: a zero in one is a zero in all", name())
                                  : fmt::format("terms meet at {}: each may be there alone", name()));
  const std::vector<Port> ports = b_.emit_.merge(both ? CellKind::intersect : CellKind::unite, operands);
  Joined out{ports[0], {}, {}};
  for (auto& [p, chosen] : from) {
    chosen.aligned.payload = ports[chosen.operand + 1];
    out.payloads[p] = chosen.aligned;
  }
  return out;
}

/// Every coordinate: a dense operand's own walk, or a range where there is none.
TableBuilder::LevelJoin::Joined TableBuilder::LevelJoin::allCoordinates() {
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].dense) continue;
    const std::vector<VarId> vars = b_.levelVars(parts_[p].leaf);
    const auto level = static_cast<int>(std::find(vars.begin(), vars.end(), var_) - vars.begin());
    const Walk walk = b_.walkAt(parts_[p].leaf, scope_);
    place(p, fmt::format("all of {} is visited: its dense level is walked", name()));
    const Emitter::Fiber fiber = b_.emit_.scan(b_.tensorOf(parts_[p].leaf), level, walk.ref);
    return {fiber.crd, {{p, {fiber.ref, false}}}, {}};
  }
  b_.emit_.at(b_.rank(var_), b_.statementColumn_);
  b_.emit_.rule(fmt::format("the value is not zero where its operands are: all of {} is visited", name()));
  const std::string range = b_.rangeOf(program_.var(var_).dim);
  Port ref = b_.emit_.root(range);
  std::vector<const Scope*> chain;
  for (const Scope* s = &scope_; s->parent; s = s->parent) chain.push_back(s);
  for (size_t i = chain.size(); i-- > 0;) ref = b_.emit_.repeat(ref, chain[i]->crd);
  const Emitter::Fiber fiber = b_.emit_.scan(range, 0, ref);
  return {fiber.crd, {{parts_.size(), {fiber.ref, false}}}, {}};
}

void TableBuilder::LevelJoin::alignDense(Joined& joined, bool all) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (!parts_[p].dense || joined.payloads.contains(p)) continue;
    const std::vector<VarId> vars = b_.levelVars(parts_[p].leaf);
    const auto level = static_cast<int>(std::find(vars.begin(), vars.end(), var_) - vars.begin());
    const std::string& tensor = b_.tensorOf(parts_[p].leaf);
    const Walk walk = b_.walkAt(parts_[p].leaf, scope_);
    if (all) {
      place(p, fmt::format("all of {} is visited: its dense level keeps step", name()));
      joined.payloads[p] = {b_.emit_.scan(tensor, level, walk.ref).ref, false};
      continue;
    }
    place(p, fmt::format("its level at {} is dense: located, not walked", name()));
    const Port below = b_.emit_.repeat(walk.ref, joined.crd);
    joined.payloads[p] = {b_.emit_.locate(tensor, level, joined.crd, below), false};
  }
}

/// Operands that do not say what is visited still have to keep step: absent where they have no entry.
Result<> TableBuilder::LevelJoin::alignSparse(Joined& joined, bool all) {
  const Port carrier = joined.carrier;
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (joined.payloads.contains(p)) continue;
    if (parts_[p].crd == joined.crd) {
      joined.payloads[p] = {parts_[p].payload, false};
      continue;
    }
    if (!carrier.cell) return severalLevels(parts_[p].leaf);  // another one's payload runs deeper than this level
    place(p, fmt::format("it keeps step with what is visited of {}", name()));
    const std::vector<Port> either =
        b_.emit_.merge(CellKind::unite, {{joined.crd, carrier}, {parts_[p].crd, parts_[p].payload}});
    Port payload = either[2];
    if (!all) payload = b_.emit_.merge(CellKind::intersect, {{joined.crd, carrier}, {either[0], payload}})[2];
    joined.payloads[p] = {payload, true};
  }
  return Unit{};
}

Diagnostic TableBuilder::LevelJoin::severalLevels(ExprId leaf) const {
  return {"T0971",
          {},
          fmt::format("a computed operand of several levels would have to be joined at {}: {}", name(),
                      printBriefly(program_, leaf)),
          "choose an order with its folded variables inside, or do not fuse it"};
}

Result<> TableBuilder::LevelJoin::keep(const Joined& joined, Scope& out) {
  out.crd = joined.crd;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Participant& part = parts_[p];
    const Aligned& aligned = joined.payloads.at(p);
    if (!part.computed) {
      out.walks[part.leaf] = {aligned.payload, aligned.absent, b_.walkAt(part.leaf, scope_).levels + 1};
      continue;
    }
    if (!part.rest.empty() && joined.crd != part.crd) return severalLevels(part.leaf);
    out.results[part.leaf] = {part.rest, aligned.payload, {}};
  }
  return Unit{};
}

}  // namespace tokamak::sparse
