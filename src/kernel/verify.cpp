#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "kernel/check_expr.h"
#include "kernel/operands.h"
#include "kernel/print.h"
#include "kernel/words.h"

namespace tokamak::kernel {

namespace {

bool isBlock(Binding b) { return b >= Binding::block_x && b <= Binding::block_z; }
bool isThread(Binding b) { return b >= Binding::thread_x; }
bool isSerial(Binding b) { return b == Binding::serial || b == Binding::unroll; }

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), exprSeen_(kernel.exprCount(), Seen::no), definedAt_(kernel.variables.size(), kUndefined) {}

  Result<> run() {
    TK_RETURN_IF_ERROR(declarations());
    TK_RETURN_IF_ERROR(block(kernel_.body));
    TK_RETURN_IF_ERROR(inboxes());
    return warps();
  }

 private:
  enum class Seen : uint8_t { no, pure, launch };  // launch: made of immediates and symbols alone
  static constexpr int kUndefined = -1, kGone = -2;

  Diagnostic fail(std::string_view code, std::string message, std::string hint = {}) const {
    if (stmt_) message += fmt::format("\n  in `{}`", printHead(kernel_, *stmt_));
    return {std::string(code), {}, std::move(message), std::move(hint)};
  }

  /// A statement that refers to nothing cannot be shown.
  static Diagnostic dangling(std::string message) {
    return {"T0421", {}, std::move(message), "use ids that this kernel gave"};
  }

  Result<> declarations() {
    std::unordered_set<std::string> names;
    const auto fresh = [&](const std::string& name) {
      return isIdentifier(name) && !isReserved(name) && names.insert(name).second;
    };
    for (const auto& name : kernel_.symbols)
      if (!isIdentifier(name) || std::count(kernel_.symbols.begin(), kernel_.symbols.end(), name) > 1)
        return fail("T0424", fmt::format("the symbol '{}' is listed twice or is no identifier", name));
    if (!isIdentifier(kernel_.name))
      return fail("T0424", fmt::format("the kernel's name '{}' is no identifier", kernel_.name));
    if (kernel_.residentBlocks < 0 || kernel_.residentBlocks > kMaxResident)
      return fail("T0424", fmt::format("{} resident blocks", kernel_.residentBlocks));
    if (kernel_.clusterBlocks < 1 || kernel_.clusterBlocks > kMaxCluster)
      return fail("T0424", fmt::format("clusters of {} blocks", kernel_.clusterBlocks));
    if (kernel_.reach) TK_RETURN_IF_ERROR(ofSymbols(*kernel_.reach, "the reach"));
    bool inner = false;
    for (const auto& buffer : kernel_.buffers) {
      if (!fresh(buffer.name))
        return fail("T0424", fmt::format("the name '{}' of a buffer is taken or no identifier", buffer.name));
      inner = inner || buffer.scope != Scope::global;
      if (inner && buffer.scope == Scope::global)
        return fail("T0424", fmt::format("the global buffer {} follows a shared or local one", buffer.name));
      TK_RETURN_IF_ERROR(size(buffer));
    }
    for (const auto& variable : kernel_.variables)
      if (!fresh(variable.name))
        return fail("T0424", fmt::format("the name '{}' of a variable is taken or no identifier", variable.name));
    return Unit{};
  }

  Result<> size(const Buffer& buffer) const {
    if (auto n = buffer.size.constant(); n && *n < 0)
      return fail("T0424", fmt::format("{} has {} elements", buffer.name, *n));
    if (buffer.scope == Scope::inbox && (byteWidth(buffer.dtype) < 4 || buffer.size.constant().value_or(-1) < 1))
      return fail("T0424", fmt::format("the inbox {} of {} {}", buffer.name, buffer.size.str(), nameOf(buffer.dtype)),
                  "an inbox is of a known number of elements, of four bytes or eight");
    return ofSymbols(buffer.size, "the size of " + buffer.name);
  }

  Result<> ofSymbols(const Dim& dim, const std::string& what) const {
    std::set<std::string, std::less<>> used;
    dim.collectSymbols(used);
    for (const auto& name : used)
      if (std::find(kernel_.symbols.begin(), kernel_.symbols.end(), name) == kernel_.symbols.end())
        return fail("T0424", fmt::format("{} names {}, which is no symbol of the kernel", what, name),
                    "list it after ';' in the first line");
    return Unit{};
  }

  /// What is sent to an inbox is waited for, and something is.
  Result<> inboxes() {
    stmt_ = nullptr;
    const auto inbox = std::find_if(kernel_.buffers.begin(), kernel_.buffers.end(),
                                    [](const Buffer& b) { return b.scope == Scope::inbox; });
    if ((inbox != kernel_.buffers.end()) == hasInboxBarrier_) return Unit{};
    return hasInboxBarrier_ ? fail("T0423", "a barrier of inboxes in a kernel without any", "declare `inbox b: f32[8]`")
                            : fail("T0423", fmt::format("nobody waits for the inbox {}", inbox->name),
                                   "put `barrier inbox` before what reads it");
  }

  /// A kernel with warp operations has blocks of whole warps, known when compiling.
  Result<> warps() {
    if (!hasWarpOps_) return Unit{};
    stmt_ = nullptr;
    int64_t threads = 1;
    for (int64_t n : threadCounts_) threads = n < 0 || threads < 0 ? -1 : threads * std::min<int64_t>(n, 1 << 16);
    if (threads > 0 && threads % kWarpSize == 0) return Unit{};
    return fail("T0423", "a warp operation in blocks that are not known to be whole warps",
                fmt::format("give thread loops constant bounds, in all a multiple of {}", kWarpSize));
  }

  // ---- statements ----

  Result<> block(const Block& block) {
    if (++depth_ > kMaxNesting) return fail("T0413", "loops and conditions nest too deeply");
    const size_t outer = scope_.size();
    for (const Stmt& stmt : block) {
      stmt_ = &stmt;
      TK_RETURN_IF_ERROR(operands(stmt));
      TK_RETURN_IF_ERROR(warpOps(stmt));
      TK_RETURN_IF_ERROR(std::visit([&](const auto& s) { return check(s); }, stmt.node));
    }
    leave(outer);
    --depth_;
    return Unit{};
  }

  void leave(size_t outer) {
    for (; scope_.size() > outer; scope_.pop_back()) definedAt_[scope_.back().index] = kGone;
  }

  Result<> define(VarId var, bool isMutable) {
    if (var.index >= kernel_.variables.size()) return dangling("a variable that the kernel does not have");
    const Variable& variable = kernel_.variable(var);
    if (definedAt_[var.index] != kUndefined) return fail("T0421", fmt::format("{} is defined twice", variable.name));
    if (variable.isMutable != isMutable)
      return fail("T0422", fmt::format("{} is {} but is defined as if it were not", variable.name,
                                       variable.isMutable ? "mutable" : "immutable"));
    definedAt_[var.index] = static_cast<int>(bound_.size());
    scope_.push_back(var);
    return Unit{};
  }

  Result<> matches(VarId var, ExprId value) const {
    const Variable& variable = kernel_.variable(var);
    if (variable.type == kernel_.type(value)) return Unit{};
    return fail("T0420", fmt::format("{} of type {} is given a value of type {}", variable.name, variable.type.str(),
                                     kernel_.type(value).str()));
  }

  Result<> check(const Let& s) {
    TK_RETURN_IF_ERROR(define(s.var, false));
    return matches(s.var, s.value);
  }
  Result<> check(const Declare& s) {
    TK_RETURN_IF_ERROR(define(s.var, true));
    return matches(s.var, s.value);
  }

  Result<> check(const Assign& s) {
    TK_RETURN_IF_ERROR(inScope(s.var));
    const Variable& variable = kernel_.variable(s.var);
    if (!variable.isMutable)
      return fail("T0422", fmt::format("{} was bound with let and does not change", variable.name),
                  "define it with var");
    if (definedAt_[s.var.index] != static_cast<int>(bound_.size()))
      return fail("T0422",
                  fmt::format("{} lives outside the {} loop that assigns it", variable.name, nameOf(bound_.back())),
                  "give every iteration a variable of its own and store what it found");
    return matches(s.var, s.value);
  }

  Result<> check(const Store& s) {
    if (s.buffer.index >= kernel_.buffers.size()) return dangling("a buffer that the kernel does not have");
    const Buffer& buffer = kernel_.buffer(s.buffer);
    if (buffer.scope == Scope::global && buffer.access == Access::in)
      return fail("T0422", fmt::format("{} is an input", buffer.name), "declare it inout");
    if (std::string wrong = checkAccess(kernel_, buffer, kernel_.type(s.value), s.index, s.mask); !wrong.empty())
      return fail("T0420", std::move(wrong));
    if (s.aligned)
      if (std::string wrong = checkAligned(kernel_.type(s.index), kernel_.type(s.value)); !wrong.empty())
        return fail("T0420", std::move(wrong));
    return checkScope(buffer);
  }

  Result<> check(const Prefetch& s) {
    if (s.buffer.index >= kernel_.buffers.size()) return dangling("a buffer that the kernel does not have");
    if (kernel_.type(s.index) != ValueType{DType::i64, 1}) return fail("T0420", "a prefetch takes a scalar i64 index");
    return checkScope(kernel_.buffer(s.buffer));
  }

  Result<> check(const If& s) {
    if (kernel_.type(s.condition) != ValueType{DType::boolean, 1})
      return fail("T0420", fmt::format("a condition is a scalar bool, not {}", kernel_.type(s.condition).str()));
    ++conditions_;
    TK_RETURN_IF_ERROR(block(s.then));
    TK_RETURN_IF_ERROR(block(s.otherwise));
    --conditions_;
    return Unit{};
  }

  Result<> check(const Barrier& s) {
    if (s.of != Barrier::Of::block && kernel_.clusterBlocks == 1) return noCluster("a barrier");
    if (s.of == Barrier::Of::inbox && (hasInboxBarrier_ || serialLoops_ > 0 || conditions_ > 0))
      return fail("T0423", "a barrier of inboxes that may be met twice or not at all",
                  "put one of them outside loops and conditions");
    hasInboxBarrier_ = hasInboxBarrier_ || s.of == Barrier::Of::inbox;
    const bool inBlock = std::any_of(bound_.begin(), bound_.end(), isBlock);
    return inBlock ? Result<>(Unit{})
                   : fail("T0423", "a barrier outside every block loop", "only the threads of a block can meet");
  }

  Result<> check(const For& s) {
    const ValueType index{DType::i64, 1};
    if (kernel_.type(s.begin) != index || kernel_.type(s.end) != index)
      return fail("T0420", fmt::format("a loop from {} to {}: both are i64", kernel_.type(s.begin).str(),
                                       kernel_.type(s.end).str()));
    if (s.step < 1 || s.grain < 1) return fail("T0424", "a loop's step and grain are positive");
    TK_RETURN_IF_ERROR(nesting(s));
    const size_t outer = scope_.size();
    const bool serial = isSerial(s.binding);
    if (serial)
      ++serialLoops_;
    else
      bound_.push_back(s.binding);
    TK_RETURN_IF_ERROR(define(s.var, false));
    if (kernel_.variable(s.var).type != index) return fail("T0420", "a loop's variable is a scalar i64");
    TK_RETURN_IF_ERROR(block(s.body));
    leave(outer);
    if (serial)
      --serialLoops_;
    else
      bound_.pop_back();
    return Unit{};
  }

  /// Which loops may stand in which.
  Result<> nesting(const For& s) {
    const auto literal = [&](ExprId e) { return std::holds_alternative<Imm>(kernel_.expr(e).node); };
    if (s.binding == Binding::unroll && !(literal(s.begin) && literal(s.end)))
      return fail("T0423", "an unrolled loop has constant bounds");
    if (isSerial(s.binding)) return Unit{};
    const std::string_view name = nameOf(s.binding);
    const bool gpu = s.binding != Binding::parallel;
    (gpu ? hasGpu_ : hasParallel_) = true;
    if (hasGpu_ && hasParallel_) return fail("T0423", "parallel loops and block or thread loops in one kernel");
    if (std::find(bound_.begin(), bound_.end(), s.binding) != bound_.end())
      return fail("T0423", fmt::format("a {} loop within another", name));
    if (!isThread(s.binding) && serialLoops_ > 0)
      return fail("T0423", fmt::format("a {} loop within a serial one", name), "it has to be the outermost loop");
    if (isBlock(s.binding) && std::any_of(bound_.begin(), bound_.end(), isThread))
      return fail("T0423", fmt::format("a {} loop within a thread loop", name), "blocks are made of threads");
    if (isThread(s.binding) && std::none_of(bound_.begin(), bound_.end(), isBlock))
      return fail("T0423", fmt::format("a {} loop outside every block loop", name),
                  "put it in `for b in 0..1 block.x`");
    if (gpu && conditions_ > 0 && isBlock(s.binding))
      return fail("T0423", fmt::format("a {} loop under a condition", name));
    if (isThread(s.binding)) countThreads(s);
    if (gpu && (exprSeen_[s.begin.index] != Seen::launch || exprSeen_[s.end.index] != Seen::launch))
      return fail("T0423", fmt::format("the bounds of a {} loop are known at launch: symbols and numbers", name));
    return Unit{};
  }

  void countThreads(const For& s) {
    int64_t& count = threadCounts_[static_cast<size_t>(s.binding) - static_cast<size_t>(Binding::thread_x)];
    const auto *begin = std::get_if<Imm>(&kernel_.expr(s.begin).node),
               *end = std::get_if<Imm>(&kernel_.expr(s.end).node);
    if (!begin || !end) return void(count = -1);
    if (count < 0 || end->value.i <= begin->value.i) return;
    const auto span = static_cast<uint64_t>(end->value.i) - static_cast<uint64_t>(begin->value.i);
    count = std::max(count, static_cast<int64_t>((span - 1) / static_cast<uint64_t>(s.step)) + 1);
  }

  // ---- expressions ----

  /// Warp operations are whole values, so that every thread runs each of them just where it stands.
  Result<> warpOps(const Stmt& stmt) {
    const auto isWarpOp = [&](ExprId e) {
      const ExprNode& node = kernel_.expr(e).node;
      return std::holds_alternative<WarpFold>(node) || std::holds_alternative<WarpPrefix>(node) ||
             std::holds_alternative<WarpShift>(node);
    };
    const bool binds = std::holds_alternative<Let>(stmt.node) || std::holds_alternative<Declare>(stmt.node) ||
                       std::holds_alternative<Assign>(stmt.node);
    std::vector<ExprId> todo;
    bool within = false;
    forEachExpr(stmt, [&](ExprId root) {
      if (binds && isWarpOp(root)) {
        hasWarpOps_ = true;
        within = within || std::none_of(bound_.begin(), bound_.end(), isThread);
        forEachOperand(kernel_.expr(root).node, [&](ExprId e) { todo.push_back(e); });
      } else {
        todo.push_back(root);
      }
    });
    if (within) return fail("T0423", "a warp operation outside every thread loop", "warps are made of threads");
    std::unordered_set<ExprId> visited;
    for (size_t i = 0; i < todo.size(); ++i) {
      if (!visited.insert(todo[i]).second) continue;
      if (isWarpOp(todo[i]))
        return fail("T0423", "a warp operation within a larger expression", "bind it to a name with let");
      forEachOperand(kernel_.expr(todo[i]).node, [&](ExprId e) { todo.push_back(e); });
    }
    return Unit{};
  }

  Result<> inScope(VarId var) const {
    if (var.index >= kernel_.variables.size()) return dangling("a variable that the kernel does not have");
    const int at = definedAt_[var.index];
    if (at >= 0) return Unit{};
    return fail("T0421", fmt::format("{} is used {}", kernel_.variable(var).name,
                                     at == kGone ? "outside the block that defines it" : "before it is defined"));
  }

  Result<> noCluster(const std::string& what) const {
    return fail("T0423", fmt::format("{} of a cluster in a kernel without clusters", what),
                "say in its first line how many blocks a cluster has: `cluster 4`");
  }

  Result<> checkScope(const Buffer& buffer) const {
    if (isOfCluster(buffer.scope) && kernel_.clusterBlocks == 1) return noCluster(buffer.name);
    const bool isShared = buffer.scope == Scope::shared || isOfCluster(buffer.scope);
    if (isShared && std::none_of(bound_.begin(), bound_.end(), isBlock))
      return fail("T0423", fmt::format("{} is shared by a block but used outside every block loop", buffer.name));
    return Unit{};
  }

  Result<> operands(const Stmt& stmt) {
    std::vector<ExprId> todo;
    bool missing = false;
    forEachExpr(stmt, [&](ExprId e) {
      missing = missing || e.index >= kernel_.exprCount();
      todo.push_back(e);
    });
    if (missing) return dangling("an expression that the kernel does not have");
    std::unordered_set<ExprId> visited;
    for (size_t i = 0; i < todo.size(); ++i) {
      if (!visited.insert(todo[i]).second) continue;
      forEachOperand(kernel_.expr(todo[i]).node, [&](ExprId e) {
        missing = missing || e.index >= todo[i].index;
        todo.push_back(e);
      });
      if (missing) return dangling("an expression made before its operands");
    }
    std::vector<ExprId> inOrder(visited.begin(), visited.end());
    std::sort(inOrder.begin(), inOrder.end());
    for (ExprId e : inOrder) TK_RETURN_IF_ERROR(expression(e));
    return Unit{};
  }

  /// Types of an expression are checked once; what it refers to, at every use.
  Result<> expression(ExprId id) {
    const Expr& e = kernel_.expr(id);
    if (const Var* var = std::get_if<Var>(&e.node)) TK_RETURN_IF_ERROR(inScope(var->var));
    if (const Load* load = std::get_if<Load>(&e.node)) {
      if (load->buffer.index >= kernel_.buffers.size()) return dangling("a buffer that the kernel does not have");
      TK_RETURN_IF_ERROR(checkScope(kernel_.buffer(load->buffer)));
    }
    if (exprSeen_[id.index] != Seen::no) return Unit{};
    if (const Symbol* symbol = std::get_if<Symbol>(&e.node);
        symbol && std::find(kernel_.symbols.begin(), kernel_.symbols.end(), symbol->name) == kernel_.symbols.end())
      return fail("T0424", fmt::format("{} is no symbol of the kernel", symbol->name));
    if (std::string wrong = checkExpr(kernel_, e); !wrong.empty()) return fail("T0420", std::move(wrong));
    bool launch = !std::holds_alternative<Var>(e.node) && !std::holds_alternative<Load>(e.node);
    forEachOperand(e.node, [&](ExprId operand) { launch = launch && exprSeen_[operand.index] == Seen::launch; });
    exprSeen_[id.index] = launch ? Seen::launch : Seen::pure;
    return Unit{};
  }

  const Kernel& kernel_;
  std::vector<Seen> exprSeen_;
  std::vector<int> definedAt_;  // by variable: number of bound loops around its definition, or one of the constants
  std::vector<VarId> scope_;    // in order of definition
  std::vector<Binding> bound_;  // loops around that are not serial
  int serialLoops_ = 0, conditions_ = 0, depth_ = 0;
  bool hasGpu_ = false, hasParallel_ = false, hasWarpOps_ = false, hasInboxBarrier_ = false;
  std::array<int64_t, 3> threadCounts_ = {1, 1, 1};  // by axis, of the longest loop; -1: a symbol's
  const Stmt* stmt_ = nullptr;
};

}  // namespace

Result<> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace tokamak::kernel
