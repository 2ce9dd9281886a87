#include <algorithm>

#include "kernel/index_exprs.h"
#include "kernel/operands.h"
#include "kernel/simt/program.h"

namespace tokamak::kernel::simt {

namespace {

/// Lays a kernel out flat. A statement evaluates each part of its expressions once, operands first; constants, symbols
/// and variables stay in registers of their own.
class Translator {
 public:
  Translator(const Kernel& kernel, const DimBindings& symbols)
      : kernel_(kernel),
        symbols_(symbols),
        registerOf_(kernel.exprCount(), Inst::kNone),
        stampOf_(kernel.exprCount(), 0) {
    if (!kernel.reach) return;
    isIndex_ = indexExprs(kernel);
    if (auto reach = kernel.reach->eval(symbols)) program_.reach = *reach;
  }

  Program run() {
    for (const auto& variable : kernel_.variables) program_.variables.push_back(reserve(variable.type.lanes));
    block(kernel_.body);
    emit(Op::end);
    // Temporaries of all statements share the registers after the lasting ones.
    const uint32_t lasting = program_.registers;
    for (Inst& inst : program_.code)
      for (uint32_t* at : {&inst.dst, &inst.a, &inst.b, &inst.c})
        if (*at != Inst::kNone && *at >= kTemporary) *at = *at - kTemporary + lasting;
    program_.registers += mostTemporaries_;
    return std::move(program_);
  }

 private:
  static constexpr uint32_t kTemporary = 1u << 31;

  uint32_t reserve(int lanes) {
    program_.registers += static_cast<uint32_t>(lanes);
    return program_.registers - static_cast<uint32_t>(lanes);
  }

  uint32_t temporary(int lanes) {
    temporaries_ += static_cast<uint32_t>(lanes);
    mostTemporaries_ = std::max(mostTemporaries_, temporaries_);
    return kTemporary + temporaries_ - static_cast<uint32_t>(lanes);
  }

  Inst& emit(Op op) {
    Inst& inst = program_.code.emplace_back();
    inst.op = op;
    inst.statement = statement_;
    return inst;
  }
  uint32_t here() const { return static_cast<uint32_t>(program_.code.size()); }

  // ---- statements ----

  void block(const Block& block) {
    for (const Stmt& stmt : block) {
      program_.statements.push_back({&stmt, loops_});
      statement_ = static_cast<uint32_t>(program_.statements.size() - 1);
      ++stamp_;
      temporaries_ = 0;
      std::visit([&](const auto& s) { statement(s); }, stmt.node);
    }
  }

  void statement(const Let& s) { evaluateInto(s.var, s.value); }
  void statement(const Declare& s) { evaluateInto(s.var, s.value); }
  void statement(const Assign& s) { evaluateInto(s.var, s.value); }
  void statement(const Prefetch&) {}
  void statement(const Barrier& s) { emit(Op::barrier).of = s.of; }

  void evaluateInto(VarId var, ExprId value) {
    const uint32_t target = program_.variables[var.index];
    const uint32_t before = here();
    const uint32_t from = evaluate(value);
    // The last instruction makes the value itself, unless it is a lasting register.
    if (here() > before && program_.code.back().dst == from) {
      program_.code.back().dst = target;
      registerOf_[value.index] = Inst::kNone;
      return;
    }
    Inst& copy = emit(Op::copy);
    copy.dst = target, copy.a = from, copy.lanes = kernel_.type(value).lanes;
  }

  void statement(const Store& s) {
    const uint32_t index = evaluate(s.index), mask = s.mask ? evaluate(s.mask) : Inst::kNone, value = evaluate(s.value);
    Inst& store = emit(Op::store);
    store.dtype = kernel_.buffer(s.buffer).dtype;
    store.buffer = s.buffer.index;
    store.a = value, store.b = index, store.c = mask;
    store.lanes = kernel_.type(s.value).lanes;
    store.gather = kernel_.type(s.index).lanes > 1;
    store.aligned = s.aligned;
  }

  void statement(const If& s) {
    const uint32_t condition = evaluate(s.condition), at = here();
    emit(Op::jump_unless).a = condition;
    block(s.then);
    if (s.otherwise.empty()) return void(program_.code[at].target = here());
    const uint32_t leave = here();
    emit(Op::jump);
    program_.code[at].target = here();
    block(s.otherwise);
    program_.code[leave].target = here();
  }

  void statement(const For& s) {
    const uint32_t begin = evaluate(s.begin), end = evaluate(s.end), var = program_.variables[s.var.index];
    const uint32_t own = statement_;
    if (s.binding >= Binding::block_x) return bound(s, begin, end);
    const uint32_t limit = reserve(1);
    Inst& first = emit(Op::copy);
    first.dst = limit, first.a = end;
    Inst& second = emit(Op::copy);
    second.dst = var, second.a = begin;
    const uint32_t test = here();
    Inst& inst = emit(s.binding == Binding::parallel ? Op::parallel_test : Op::loop_test);
    inst.a = var, inst.b = limit;
    body(s);
    statement_ = own;
    Inst& step = emit(Op::loop_step);
    step.a = var, step.step = s.step, step.target = test;
    program_.code[test].target = here();
  }

  /// A loop over the blocks of a grid or the threads of a block: each takes its own iteration.
  void bound(const For& s, uint32_t begin, uint32_t end) {
    program_.gpu = true;
    const auto axis = static_cast<uint8_t>(static_cast<int>(s.binding) - static_cast<int>(Binding::block_x));
    const uint32_t at = here(), own = statement_;
    Inst& pick = emit(Op::pick);
    pick.dst = program_.variables[s.var.index], pick.a = begin, pick.b = end, pick.axis = axis, pick.step = s.step;
    const int64_t from = launchValue(s.begin), to = launchValue(s.end);
    const auto span = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    const int64_t count = to <= from ? 0 : static_cast<int64_t>((span - 1) / static_cast<uint64_t>(s.step)) + 1;
    program_.extents[axis] = sized_[axis] ? std::max(program_.extents[axis], count) : count;
    sized_[axis] = true;
    body(s);
    statement_ = own;
    if (s.binding >= Binding::thread_x) emit(Op::leave_thread);
    program_.code[at].target = here();
  }

  void body(const For& s) {
    loops_.push_back(s.var);
    block(s.body);
    loops_.pop_back();
  }

  // ---- expressions ----

  bool isLasting(const Expr& e) const { return e.node.index() <= ExprNode(Var{}).index(); }

  uint32_t evaluate(ExprId root) {
    std::vector<ExprId> parts;
    collect(root, parts);
    std::sort(parts.begin(), parts.end());
    for (ExprId part : parts) registerOf_[part.index] = instruction(part);
    return place(root);
  }

  /// The parts of `root` that this statement has not evaluated yet.
  void collect(ExprId root, std::vector<ExprId>& parts) {
    const auto add = [&](ExprId e) {
      if (isLasting(kernel_.expr(e)) || stampOf_[e.index] == stamp_) return;
      stampOf_[e.index] = stamp_;
      parts.push_back(e);
    };
    add(root);
    for (size_t i = 0; i < parts.size(); ++i) forEachOperand(kernel_.expr(parts[i]).node, add);
  }

  /// Where the value of an expression lies.
  uint32_t place(ExprId id) {
    const Expr& e = kernel_.expr(id);
    if (const Var* var = std::get_if<Var>(&e.node)) return program_.variables[var->var.index];
    if (!isLasting(e) || registerOf_[id.index] != Inst::kNone) return registerOf_[id.index];
    Lane value{.i = 0};
    if (const Symbol* symbol = std::get_if<Symbol>(&e.node))
      value.i = symbols_.find(symbol->name)->second;
    else if (const Scalar& literal = std::get<Imm>(e.node).value; literal.isFloat)
      value.d = literal.d;
    else
      value.i = literal.i;
    registerOf_[id.index] = reserve(e.type.lanes);
    program_.presets.push_back({registerOf_[id.index], e.type.lanes, value});
    return registerOf_[id.index];
  }

  uint32_t instruction(ExprId id) {
    const Expr& e = kernel_.expr(id);
    Inst inst;
    inst.op = !isIndex_.empty() && isIndex_[id.index] ? Op::bounded : Op::compute;
    inst.statement = statement_;
    inst.compute = computeFor(kernel_, e);
    inst.lanes = e.type.lanes;
    inst.dtype = inst.to = e.type.dtype;
    const auto operand = [&](ExprId a) {
      inst.dtype = kernel_.type(a).dtype;
      return inst.a = place(a);
    };
    std::visit(
        Overload{[&](const Un& n) { operand(n.a), inst.unary = n.kind; },
                 [&](const Bin& n) { operand(n.a), inst.b = place(n.b), inst.binary = n.kind; },
                 [&](const Sel& n) { operand(n.a), inst.b = place(n.b), inst.c = place(n.condition); },
                 [&](const Convert& n) { operand(n.a); },
                 [&](const Load& n) {
                   inst.op = Op::load;
                   inst.buffer = n.buffer.index;
                   inst.b = place(n.index), inst.c = n.mask ? place(n.mask) : Inst::kNone;
                   inst.gather = kernel_.type(n.index).lanes > 1;
                   inst.aligned = n.aligned;
                 },
                 [&](const Splat& n) { operand(n.a); }, [&](const Ramp& n) { operand(n.base); },
                 [&](const Fold& n) { operand(n.a), inst.binary = n.kind, inst.lanes = kernel_.type(n.a).lanes; },
                 [&](const Prefix& n) { operand(n.a), inst.binary = n.kind; },
                 [&](const WarpFold& n) {
                   inst.op = Op::meet;
                   operand(n.a), inst.binary = n.kind, inst.step = n.width, inst.stride = n.stride;
                 },
                 [&](const WarpPrefix& n) {
                   inst.op = Op::meet;
                   operand(n.a), inst.binary = n.kind, inst.step = n.width;
                   inst.meeting = Inst::Meeting::prefix;
                 },
                 [&](const WarpShift& n) {
                   inst.op = Op::meet;
                   operand(n.a), inst.b = place(n.first), inst.step = n.width;
                   inst.meeting = Inst::Meeting::shift;
                 },
                 [&](const Extract& n) { operand(n.a), inst.step = n.lane; },
                 [&](const Philox& n) { operand(n.seed), inst.b = place(n.offset), inst.c = place(n.index); },
                 [&](const Within& n) {
                   inst.op = Op::within;
                   operand(n.a), inst.b = place(n.extent), inst.c = place(n.mask);
                 },
                 [](const auto&) {}},
        e.node);
    inst.dst = temporary(e.type.lanes);
    program_.code.push_back(inst);
    return inst.dst;
  }

  /// The value of an expression of symbols and immediates.
  int64_t launchValue(ExprId id) {
    const uint32_t at = static_cast<uint32_t>(program_.code.size());
    ++stamp_;
    const uint32_t result = evaluate(id);
    std::vector<Lane> registers(program_.registers + mostTemporaries_);
    const auto actual = [&](uint32_t r) {
      return r != Inst::kNone && r >= kTemporary ? r - kTemporary + program_.registers : r;
    };
    for (const auto& preset : program_.presets) std::fill_n(registers.begin() + preset.at, preset.lanes, preset.value);
    for (uint32_t i = at; i < program_.code.size(); ++i) {
      Inst inst = program_.code[i];
      inst.dst = actual(inst.dst), inst.a = actual(inst.a), inst.b = actual(inst.b), inst.c = actual(inst.c);
      inst.compute(registers.data(), inst);
    }
    program_.code.resize(at);
    ++stamp_;
    return registers[actual(result)].i;
  }

  const Kernel& kernel_;
  const DimBindings& symbols_;
  Program program_;
  std::vector<uint32_t> registerOf_;  // by expression
  std::vector<uint32_t> stampOf_;     // by expression: the statement that has evaluated it
  std::vector<bool> isIndex_;         // by expression, if the kernel has a reach
  std::vector<VarId> loops_;
  std::array<bool, 6> sized_ = {};
  uint32_t stamp_ = 0, statement_ = 0, temporaries_ = 0, mostTemporaries_ = 0;
};

}  // namespace

Program translate(const Kernel& kernel, const DimBindings& symbols) { return Translator(kernel, symbols).run(); }

}  // namespace tokamak::kernel::simt
