#include "codegen/cuda/function_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/launch.h"
#include "kernel/operands.h"

namespace tokamak::codegen::cuda {

using namespace kernel;

namespace {

/// Words that are no names in CUDA C++, or that generated text uses itself.
const std::set<std::string, std::less<>>& takenWords() {
  static const std::set<std::string, std::less<>> words = {"alignas",
                                                           "alignof",
                                                           "and",
                                                           "asm",
                                                           "auto",
                                                           "bitand",
                                                           "bitor",
                                                           "bool",
                                                           "break",
                                                           "case",
                                                           "catch",
                                                           "char",
                                                           "class",
                                                           "compl",
                                                           "const",
                                                           "constexpr",
                                                           "continue",
                                                           "decltype",
                                                           "default",
                                                           "delete",
                                                           "do",
                                                           "double",
                                                           "else",
                                                           "enum",
                                                           "explicit",
                                                           "export",
                                                           "extern",
                                                           "false",
                                                           "float",
                                                           "for",
                                                           "friend",
                                                           "goto",
                                                           "if",
                                                           "inline",
                                                           "int",
                                                           "long",
                                                           "mutable",
                                                           "namespace",
                                                           "new",
                                                           "noexcept",
                                                           "not",
                                                           "nullptr",
                                                           "operator",
                                                           "or",
                                                           "private",
                                                           "protected",
                                                           "public",
                                                           "register",
                                                           "return",
                                                           "short",
                                                           "signed",
                                                           "sizeof",
                                                           "static",
                                                           "struct",
                                                           "switch",
                                                           "template",
                                                           "this",
                                                           "throw",
                                                           "true",
                                                           "try",
                                                           "typedef",
                                                           "typename",
                                                           "union",
                                                           "unsigned",
                                                           "using",
                                                           "virtual",
                                                           "void",
                                                           "volatile",
                                                           "while",
                                                           "xor",
                                                           "l",
                                                           "tk",
                                                           "D",
                                                           "blockIdx",
                                                           "threadIdx",
                                                           "blockDim",
                                                           "gridDim",
                                                           "warpSize",
                                                           "memcpy",
                                                           "wchar_t",
                                                           "typeid",
                                                           "static_assert",
                                                           "thread_local",
                                                           "char16_t",
                                                           "char32_t",
                                                           "const_cast",
                                                           "dynamic_cast",
                                                           "static_cast",
                                                           "reinterpret_cast",
                                                           "and_eq",
                                                           "or_eq",
                                                           "xor_eq",
                                                           "not_eq",
                                                           "uint4",
                                                           "uint2",
                                                           "make_uint4"};
  return words;
}

/// Functions of CUDA that generated text calls; a variable of the same name would hide them.
bool isFunction(std::string_view name) {
  static const std::set<std::string, std::less<>> extra = {"fabs", "fabsf", "rint",  "rintf",  "fmod",    "fmodf",
                                                           "pow",  "powf",  "atan2", "atan2f", "copysign"};
  if (extra.contains(name) || fromName<UnaryKind>(name)) return true;
  return name.ends_with("f") && fromName<UnaryKind>(name.substr(0, name.size() - 1));
}

}  // namespace

/// Whether a float says where to read: a coordinate that is off by its last bit may be another element's.
static bool readsWhereFloatsSay(const Kernel& kernel) {
  for (size_t i = 0; i < kernel.exprCount(); ++i)
    if (auto* convert = std::get_if<Convert>(&kernel.expr(ExprId(i)).node))
      if (isFloat(kernel.type(convert->a).dtype) && isInteger(kernel.type(ExprId(i)).dtype)) return true;
  return false;
}

FunctionText::FunctionText(const Kernel& kernel, const Assumptions& assumptions, const Launch& launch)
    : kernel_(kernel),
      assumptions_(assumptions),
      launch_(launch),
      snippets_(assumptions.halves && !readsWhereFloatsSay(kernel)),
      ranges_(rangesOf(kernel, assumptions)),
      memo_(kernel.exprCount()),
      nesting_(kernel.exprCount(), 0) {
  nameThings();
  measure();
}

std::string FunctionText::uniqueName(const std::string& base) {
  std::string name = base;
  while (takenWords().contains(name) || isFunction(name) || name.starts_with("__") || !names_.insert(name).second)
    name += "_";
  return name;
}

std::string FunctionText::freshName() {
  for (;;) {
    std::string name = fmt::format("t{}", lastName_++);
    if (names_.insert(name).second) return name;
  }
}

std::string FunctionText::nameFor(ExprId id) {
  if (!(id == defined_) || definedName_.empty()) return freshName();
  return std::exchange(definedName_, {});
}

void FunctionText::nameThings() {
  for (const Buffer& buffer : kernel_.buffers) bufferNames_.push_back(uniqueName(buffer.name));
  for (const Variable& variable : kernel_.variables) variableNames_.push_back(uniqueName(variable.name));
  for (const std::string& symbol : kernel_.symbols) symbolNames_[symbol] = uniqueName(symbol);
}

/// Fills in what is known of every expression before any is written.
void FunctionText::measure() {
  const size_t count = kernel_.exprCount();
  narrow_.assign(count, false);
  changing_.assign(count, false);
  uses_.assign(count, 0);
  narrowVariables_.assign(kernel_.variables.size(), false);
  std::vector<ExprId> pending;
  std::vector<bool> reached(count, false);
  const auto reach = [&](ExprId id) {
    ++uses_[id.index];
    if (!reached[id.index]) reached[id.index] = true, pending.push_back(id);
  };
  std::function<void(const Block&)> visit = [&](const Block& block) {
    for (const Stmt& stmt : block) {
      forEachExpr(stmt, reach);
      if (auto* let = std::get_if<Let>(&stmt.node)) {
        lets_[let->var] = let->value;
        narrowVariables_[let->var.index] =
            kernel_.variable(let->var).type.dtype == DType::i64 && ranges_[let->value.index].fitsInt();
      }
      if (auto* loop = std::get_if<For>(&stmt.node)) {
        // The variable goes one step beyond its last value.
        const Range &begin = ranges_[loop->begin.index], &end = ranges_[loop->end.index];
        narrowVariables_[loop->var.index] =
            begin.fitsInt() && end.high <= INT32_MAX - std::min<int64_t>(loop->step, INT32_MAX);
        visit(loop->body);
      }
      if (auto* branch = std::get_if<If>(&stmt.node)) visit(branch->then), visit(branch->otherwise);
    }
  };
  visit(kernel_.body);
  while (!pending.empty()) {
    const ExprId id = pending.back();
    pending.pop_back();
    forEachOperand(kernel_.expr(id).node, reach);
  }
  for (size_t i = 0; i < count; ++i) {
    const Expr& expr = kernel_.expr(ExprId(i));
    narrow_[i] = expr.type.dtype == DType::i64 && ranges_[i].fitsInt();
    if (auto* var = std::get_if<Var>(&expr.node)) {
      changing_[i] = kernel_.variable(var->var).isMutable;
      narrow_[i] = narrowVariables_[var->var.index];
    }
    // Halves that a thread holds are unpacked where they are read: unpacked they would take twice the registers.
    if (auto* convert = std::get_if<Convert>(&expr.node))
      changing_[i] =
          isHalf(kernel_.type(convert->a).dtype) && std::holds_alternative<Var>(kernel_.expr(convert->a).node);
    if (auto* load = std::get_if<Load>(&expr.node)) {
      const Buffer& buffer = kernel_.buffer(load->buffer);
      changing_[i] = buffer.scope != Scope::global || buffer.access != Access::in;
    }
    forEachOperand(expr.node, [&](ExprId operand) { changing_[i] = changing_[i] || changing_[operand.index]; });
  }
}

void FunctionText::line(std::string_view text) {
  if (!text.starts_with('#')) out_.append(static_cast<size_t>(indent_) * 2, ' ');
  out_ += text;
  out_ += '\n';
}

void FunctionText::laneLoop(int lanes, std::string_view statement) {
  line("#pragma unroll");
  line(fmt::format("for (int l = 0; l < {}; ++l) {}", lanes, statement));
}

std::string FunctionText::declaredType(ValueType type, bool narrow) {
  return narrow ? "int" : typeName(snippets_, type.dtype);
}

std::string FunctionText::typeOf(ExprId id) { return declaredType(kernel_.type(id), isNarrow(id)); }

/// So many registers that as many blocks as the kernel wants fit a multiprocessor.
std::string FunctionText::launchBounds(int64_t threads) const {
  if (kernel_.residentBlocks == 0) return fmt::format("__launch_bounds__({}) ", threads);
  return fmt::format("__launch_bounds__({}, {}) ", threads, kernel_.residentBlocks);
}

std::string FunctionText::function(const std::string& symbol) {
  std::vector<std::string> parameters;
  int inouts = 0;
  for (const Buffer& buffer : kernel_.buffers)
    inouts += buffer.scope == Scope::global && buffer.access == Access::inout;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const Buffer& buffer = kernel_.buffers[i];
    if (buffer.scope != Scope::global) continue;
    const bool alone = buffer.access != Access::inout || inouts == 1;
    parameters.push_back(fmt::format("{}{}*{} {}", buffer.access == Access::in ? "const " : "",
                                     memoryTypeName(snippets_, buffer.dtype), alone ? " __restrict__" : "",
                                     bufferNames_[i]));
  }
  for (const std::string& name : kernel_.symbols) {
    const std::string& own = symbolNames_[name];
    const std::string parameter = assumptions_.narrow ? uniqueName(own + "_wide") : own;
    parameters.push_back("long long " + parameter);
    if (assumptions_.narrow) line(fmt::format("const int {} = (int){};", own, parameter));
  }
  std::string bounds;
  const auto x = launch_.block[0].constant(), y = launch_.block[1].constant(), z = launch_.block[2].constant();
  if (x && y && z) bounds = launchBounds(std::max<int64_t>(1, *x * *y * *z));
  declareBuffers();
  if (kernel_.clusterBlocks > 1) {
    bounds += fmt::format("__cluster_dims__({}, 1, 1) ", kernel_.clusterBlocks);
    if (const int64_t bytes = inboxBytes(kernel_); bytes > 0)
      line(fmt::format("{}(tk_came, {});", snippets_.use("inbox_begin"), bytes));
    line(snippets_.use("cluster_arrive") + "();");
  }
  block(kernel_.body);
  return fmt::format("extern \"C\" __global__ void {}{}({}) {{\n{}}}\n", bounds, symbol, fmt::join(parameters, ", "),
                     out_);
}

std::string FunctionText::dimText(const Dim& dim) const {
  if (auto constant = dim.constant()) return fmt::format("{}", *constant);
  std::string sum;
  for (const Dim::Term& term : dim.terms()) {
    std::string product = fmt::format("{}ll", term.coefficient);
    for (const Dim::Atom& atom : term.factors) {
      if (atom.kind == Dim::AtomKind::symbol) {
        product += " * " + symbolNames_.find(atom.name)->second;
        continue;
      }
      const std::string a = "(" + dimText(atom.a) + ")", b = "(" + dimText(atom.b) + ")";
      switch (atom.kind) {
        case Dim::AtomKind::floordiv: product += fmt::format(" * ({} / {})", a, b); break;
        case Dim::AtomKind::mod: product += fmt::format(" * ({} % {})", a, b); break;
        case Dim::AtomKind::max: product += fmt::format(" * ({0} > {1} ? {0} : {1})", a, b); break;
        default: product += fmt::format(" * ({0} < {1} ? {0} : {1})", a, b); break;
      }
    }
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return sum;
}

/// Shared memory that the compiler can lay out is declared; more, or of a size known at launch, is cut from the block's
/// dynamic memory.
void FunctionText::declareBuffers() {
  const bool dynamic = !launch_.sharedBytes.is(0);
  Dim offset = 0;
  if (dynamic) line("extern __shared__ uint4 tk_shared[];");
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const Buffer& buffer = kernel_.buffers[i];
    if (buffer.scope == Scope::global) continue;
    const std::string type = memoryTypeName(snippets_, buffer.dtype);
    const bool shared = buffer.scope != Scope::local;
    if (shared && dynamic) {
      line(fmt::format("{0}* const {1} = ({0}*)((char*)tk_shared + {2});", type, bufferNames_[i], dimText(offset)));
      offset = offset + sharedBytesOf(buffer);
      continue;
    }
    line(fmt::format("{}{} {}[{}];", shared ? "__shared__ __align__(16) " : "", type, bufferNames_[i],
                     std::max<int64_t>(1, *buffer.size.constant())));
  }
  if (inboxBytes(kernel_) == 0) return;
  if (dynamic)
    line(fmt::format("unsigned long long* const tk_came = (unsigned long long*)((char*)tk_shared + {});",
                     dimText(offset)));
  else
    line("__shared__ unsigned long long tk_came[1];");
}

}  // namespace tokamak::codegen::cuda
