#include "kernel/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/operands.h"
#include "kernel/print_expr.h"

namespace tokamak::kernel {

namespace {

constexpr int64_t kMaxTree = 256;    // nodes a statement prints with its shared parts repeated
constexpr int64_t kWorthNaming = 8;  // nodes of a shared part that then gets a name of its own
constexpr int kMaxDepth = 48;        // of nested calls and parentheses

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), exprs_(kernel) {}

  std::string print() {
    header();
    for (const auto& buffer : kernel_.buffers)
      if (buffer.scope != Scope::global) line(fmt::format("{} {}", nameOf(buffer.scope), declaration(buffer)));
    block(kernel_.body);
    return std::move(out_) + "}\n";
  }

  /// Large parts show as `...`.
  std::string abbreviated(const Stmt& stmt) {
    forEachExpr(stmt, [&](ExprId root) {
      forEachOperand(kernel_.expr(root).node, [&](ExprId part) {
        if (exprs_.treeSize(part) > kMaxTree / 4) exprs_.bind(part, "...");
      });
    });
    return head(stmt);
  }

 private:
  std::string head(const Stmt& stmt) const {
    return std::visit([&](const auto& s) { return text(s); }, stmt.node);
  }

  void line(std::string_view text) {
    out_.append(static_cast<size_t>(indent_) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  static std::string declaration(const Buffer& buffer) {
    return fmt::format("{}: {}[{}]", buffer.name, nameOf(buffer.dtype), buffer.size.str());
  }

  void header() {
    constexpr size_t kLineLength = 110;
    std::vector<std::string> parameters;
    size_t length = kernel_.name.size();
    for (const auto& buffer : kernel_.buffers)
      if (buffer.scope == Scope::global)
        length += parameters.emplace_back(fmt::format("{} {}", nameOf(buffer.access), declaration(buffer))).size() + 2;
    std::string symbols;
    for (const auto& name : kernel_.symbols) symbols += (symbols.empty() ? "; " : ", ") + exprs_.symbol(name);
    const std::string_view separator = length + symbols.size() < kLineLength ? ", " : ",\n    ";
    std::string facts;
    if (kernel_.residentBlocks) facts += fmt::format(" resident {}", kernel_.residentBlocks);
    if (kernel_.clusterBlocks > 1) facts += fmt::format(" cluster {}", kernel_.clusterBlocks);
    if (kernel_.reach) facts += fmt::format(" reach [{}]", kernel_.reach->str());
    out_ = fmt::format("kernel @{}({}{}){} {{\n", kernel_.name, fmt::join(parameters, separator), symbols, facts);
  }

  void block(const Block& block) {
    for (const Stmt& stmt : block) statement(stmt);
  }

  void statement(const Stmt& stmt) {
    nameSharedParts(stmt);
    const std::string text = head(stmt);
    exprs_.unbindAll();
    const For* loop = std::get_if<For>(&stmt.node);
    const If* branch = std::get_if<If>(&stmt.node);
    if (!loop && !branch) return line(text);
    line(text + " {");
    ++indent_;
    block(loop ? loop->body : branch->then);
    --indent_;
    if (branch && !branch->otherwise.empty()) {
      line("} else {");
      ++indent_;
      block(branch->otherwise);
      --indent_;
    }
    line("}");
  }

  /// Expressions share their parts; written out they could grow beyond measure, or nest deeper than a parser follows.
  /// Parts at fault are printed as `let`s ahead of the statement. Statements made so need no more of it: printing what
  /// was parsed gives the same text.
  void nameSharedParts(const Stmt& stmt) {
    int64_t size = 0;
    int depth = 0;
    std::vector<ExprId> roots;
    forEachExpr(stmt, [&](ExprId root) {
      roots.push_back(root);
      size += exprs_.treeSize(root);
      depth = std::max(depth, exprs_.depth(root));
    });
    if (size <= kMaxTree && depth <= kMaxDepth) return;
    std::vector<ExprId> parts = roots;  // every part once; operands have smaller ids
    std::unordered_map<ExprId, int> uses;
    for (ExprId root : roots) ++uses[root];
    for (size_t i = 0; i < parts.size(); ++i)
      forEachOperand(kernel_.expr(parts[i]).node, [&](ExprId operand) {
        if (++uses[operand] == 1) parts.push_back(operand);
      });
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    std::unordered_map<ExprId, int> depths;
    for (ExprId part : parts) {
      int below = 0;
      forEachOperand(kernel_.expr(part).node, [&](ExprId operand) { below = std::max(below, depths[operand]); });
      const bool isRoot = std::find(roots.begin(), roots.end(), part) != roots.end();
      const bool shared = size > kMaxTree && uses[part] > 1 && exprs_.treeSize(part) >= kWorthNaming;
      depths[part] = below + 1;
      if (!shared && (isRoot || below + 1 < kMaxDepth)) continue;
      const std::string name = exprs_.freshName();
      const ValueType type = kernel_.type(part);
      line(fmt::format("let {}: {} = {}", name, type.str(), exprs_.str(part, type)));
      exprs_.bind(part, name);
      depths[part] = 1;
    }
  }

  std::string text(const For& s) const {
    std::string out =
        fmt::format("for {} in {}..{}", kernel_.variable(s.var).name, exprs_.str(s.begin), exprs_.str(s.end));
    if (s.step != 1) out += fmt::format(" step {}", s.step);
    if (s.binding != Binding::serial) out += fmt::format(" {}", nameOf(s.binding));
    if (s.binding == Binding::parallel && s.grain != 1) out += fmt::format("(grain {})", s.grain);
    return out;
  }
  std::string text(const Let& s) const { return binding("let ", s.var, s.value); }
  std::string text(const Declare& s) const { return binding("var ", s.var, s.value); }
  std::string binding(std::string_view word, VarId var, ExprId value) const {
    const Variable& v = kernel_.variable(var);
    return fmt::format("{}{}: {} = {}", word, v.name, v.type.str(), exprs_.str(value, v.type));
  }
  std::string text(const Assign& s) const {
    const Variable& v = kernel_.variable(s.var);
    return fmt::format("{} = {}", v.name, exprs_.str(s.value, v.type));
  }
  std::string text(const Store& s) const {
    std::string out = fmt::format("store {}[{}]", kernel_.buffer(s.buffer).name, exprs_.str(s.index));
    if (s.mask) out += fmt::format(" mask {}", exprs_.primary(s.mask));
    if (s.aligned) out += " aligned";
    out += fmt::format(" = {}", exprs_.str(s.value));
    return s.streaming ? out + " streaming" : out;
  }
  std::string text(const Prefetch& s) const {
    return fmt::format("prefetch {}[{}]{}", kernel_.buffer(s.buffer).name, exprs_.str(s.index), s.near ? " near" : "");
  }
  std::string text(const If& s) const { return fmt::format("if {}", exprs_.str(s.condition)); }
  static std::string text(const Barrier& s) {
    return s.of == Barrier::Of::block ? "barrier" : fmt::format("barrier {}", nameOf(s.of));
  }

  const Kernel& kernel_;
  ExprPrinter exprs_;
  std::string out_;
  int indent_ = 1;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).print(); }

std::string printHead(const Kernel& kernel, const Stmt& stmt) { return Printer(kernel).abbreviated(stmt); }

}  // namespace tokamak::kernel
