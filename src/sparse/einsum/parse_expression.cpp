#include <fmt/format.h>

#include <cstdlib>

#include "sparse/einsum/syntax.h"

namespace tokamak::sparse {

namespace {

constexpr int kDeepest = 200;

class ExpressionParser {
 public:
  explicit ExpressionParser(Cursor& cursor) : cursor_(cursor) {}

  Result<SyntaxPtr> expression() {
    static constexpr std::pair<std::string_view, Fn> kOps[] = {{"==", Fn::eq}, {"!=", Fn::ne}, {"<", Fn::lt},
                                                               {"<=", Fn::le}, {">", Fn::gt},  {">=", Fn::ge}};
    TK_TRY(SyntaxPtr left, sum());
    for (const auto& [text, fn] : kOps)
      if (cursor_.at(text)) {
        const Token op = cursor_.next();
        TK_TRY(SyntaxPtr right, sum());
        return two(fn, op, std::move(left), std::move(right));
      }
    return left;
  }

  Result<SyntaxPtr> access() {
    auto out = std::make_unique<Syntax>();
    TK_TRY(out->token, cursor_.word("a tensor", "write A[i, j]"));
    out->kind = Syntax::Kind::access;
    if (cursor_.take("[")) TK_RETURN_IF_ERROR(variables(*out, "]"));
    return out;
  }

 private:
  static SyntaxPtr two(Fn fn, const Token& op, SyntaxPtr a, SyntaxPtr b) {
    auto out = std::make_unique<Syntax>();
    out->kind = Syntax::Kind::apply;
    out->fn = fn;
    out->token = op;
    out->args.push_back(std::move(a));
    if (b) out->args.push_back(std::move(b));
    return out;
  }

  Result<SyntaxPtr> sum() {
    TK_TRY(SyntaxPtr left, product());
    while (cursor_.at("+") || cursor_.at("-")) {
      const Token op = cursor_.next();
      TK_TRY(SyntaxPtr right, product());
      left = two(op.text == "+" ? Fn::add : Fn::sub, op, std::move(left), std::move(right));
    }
    return left;
  }

  Result<SyntaxPtr> product() {
    TK_TRY(SyntaxPtr left, negated());
    while (cursor_.at("*") || cursor_.at("/")) {
      const Token op = cursor_.next();
      TK_TRY(SyntaxPtr right, negated());
      left = two(op.text == "*" ? Fn::mul : Fn::div, op, std::move(left), std::move(right));
    }
    return left;
  }

  Result<SyntaxPtr> negated() {
    if (!cursor_.at("-")) return power();
    const Token op = cursor_.next();
    if (cursor_.peek().kind == TokenKind::number) {
      TK_TRY(SyntaxPtr number, power());
      if (number->kind != Syntax::Kind::number) return two(Fn::neg, op, std::move(number), nullptr);
      number->value = -number->value;
      return number;
    }
    if (++depth_ > kDeepest) return tooDeep();
    TK_TRY(SyntaxPtr operand, negated());
    --depth_;
    return two(Fn::neg, op, std::move(operand), nullptr);
  }

  Result<SyntaxPtr> power() {
    TK_TRY(SyntaxPtr base, primary());
    if (!cursor_.at("^")) return base;
    const Token op = cursor_.next();
    if (++depth_ > kDeepest) return tooDeep();
    TK_TRY(SyntaxPtr exponent, negated());
    --depth_;
    return two(Fn::pow, op, std::move(base), std::move(exponent));
  }

  Diagnostic tooDeep() const {
    return cursor_.fail("T0921", cursor_.peek(), "the expression is nested too deeply",
                        "name a part of it in a statement of its own");
  }

  Result<SyntaxPtr> primary() {
    if (++depth_ > kDeepest) return tooDeep();
    auto out = primaryInside();
    --depth_;
    return out;
  }

  Result<SyntaxPtr> primaryInside() {
    if (cursor_.take("(")) {
      TK_TRY(SyntaxPtr inside, expression());
      TK_RETURN_IF_ERROR(cursor_.expect(")", "close the parenthesis"));
      return inside;
    }
    if (cursor_.peek().kind == TokenKind::number) {
      auto out = std::make_unique<Syntax>();
      out->token = cursor_.next();
      out->value = std::strtod(std::string(out->token.text).c_str(), nullptr);
      return out;
    }
    if (!cursor_.atWord()) return cursor_.expected("an expression", "write a number, A[i, j], f(...) or sum(k: ...)");
    if (cursor_.peek(1).text == "(" && cursor_.peek(1).kind == TokenKind::punct) return call();
    if (cursor_.at("inf")) {
      auto out = std::make_unique<Syntax>();
      out->token = cursor_.next();
      out->value = std::numeric_limits<double>::infinity();
      return out;
    }
    TK_TRY(SyntaxPtr out, access());
    return out;
  }

  Result<SyntaxPtr> call() {
    const Token name = cursor_.next();
    cursor_.next();
    if (name.text == "where") return whereCall(name);
    if (name.text == "stored") return storedCall(name);
    if (const auto fold = fromName<Fold>(name.text); fold && isFold()) return reduceCall(name, *fold);
    const std::optional<Fn> fn = fromName<Fn>(name.text);
    if (!fn) return unknownFunction(name);
    auto out = std::make_unique<Syntax>();
    out->kind = Syntax::Kind::apply;
    out->fn = *fn;
    out->token = name;
    do {
      TK_TRY(SyntaxPtr argument, expression());
      out->args.push_back(std::move(argument));
    } while (cursor_.take(","));
    TK_RETURN_IF_ERROR(cursor_.expect(")", "close the call"));
    if (static_cast<int>(out->args.size()) != arity(*fn))
      return cursor_.fail("T0921", name,
                          fmt::format("{} takes {} operands, here are {}", name.text, arity(*fn), out->args.size()),
                          "give the operands it takes");
    return out;
  }

  Diagnostic unknownFunction(const Token& name) const {
    std::vector<std::string> names = {"where", "stored"};
    for (const std::string_view n : EnumNames<Fn>::names) names.emplace_back(n);
    for (const std::string_view n : EnumNames<Fold>::names) names.emplace_back(n);
    const std::string guess = didYouMean(name.text, names);
    return cursor_.fail("T0923", name, fmt::format("there is no function {}", name.text),
                        guess.empty() ? "docs/guide/04-sparse.md lists the functions" : guess);
  }

  /// Whether what follows `max(` is `j:`, `j, k:` or `j in`: a fold, not the function of two operands.
  bool isFold() const {
    size_t i = 0;
    while (cursor_.peek(i).kind == TokenKind::word && cursor_.peek(i + 1).text == ",") i += 2;
    return cursor_.peek(i).kind == TokenKind::word &&
           (cursor_.peek(i + 1).text == ":" || cursor_.peek(i + 1).text == "in");
  }

  Result<SyntaxPtr> reduceCall(const Token& name, Fold fold) {
    auto out = std::make_unique<Syntax>();
    out->kind = Syntax::Kind::reduce;
    out->fold = fold;
    out->token = name;
    out->args.push_back(nullptr);
    do out->vars.push_back(cursor_.next());
    while (cursor_.take(","));
    if (cursor_.take("in")) do {
        TK_TRY(SyntaxPtr pattern, access());
        out->args.push_back(std::move(pattern));
      } while (cursor_.take(","));
    TK_RETURN_IF_ERROR(cursor_.expect(":", "write sum(k: ...), or sum(k in A[i, k]: ...) for stored entries alone"));
    TK_TRY(out->args[0], expression());
    TK_RETURN_IF_ERROR(cursor_.expect(")", "close the fold"));
    return out;
  }

  Result<SyntaxPtr> whereCall(const Token& name) {
    auto out = std::make_unique<Syntax>();
    out->kind = Syntax::Kind::where;
    out->token = name;
    TK_TRY(SyntaxPtr pattern, access());
    TK_RETURN_IF_ERROR(cursor_.expect(",", "write where(A[i, j], value)"));
    TK_TRY(SyntaxPtr body, expression());
    TK_RETURN_IF_ERROR(cursor_.expect(")", "close the call"));
    out->args.push_back(std::move(pattern));
    out->args.push_back(std::move(body));
    return out;
  }

  Result<SyntaxPtr> storedCall(const Token& name) {
    auto out = std::make_unique<Syntax>();
    out->kind = Syntax::Kind::where;
    out->token = name;
    TK_TRY(SyntaxPtr pattern, access());
    TK_RETURN_IF_ERROR(cursor_.expect(")", "close the call"));
    auto one = std::make_unique<Syntax>();
    one->token = name;
    one->value = 1;
    out->args.push_back(std::move(pattern));
    out->args.push_back(std::move(one));
    return out;
  }

  Result<> variables(Syntax& out, std::string_view close) {
    if (cursor_.take(close)) return Unit{};
    do {
      TK_TRY(const Token var, cursor_.word("an index variable", "write A[i, j]"));
      out.vars.push_back(var);
    } while (cursor_.take(","));
    return cursor_.expect(close, "close the list of index variables");
  }

  Cursor& cursor_;
  int depth_ = 0;
};

}  // namespace

Result<SyntaxPtr> parseExpression(Cursor& cursor) { return ExpressionParser(cursor).expression(); }
Result<SyntaxPtr> parseAccess(Cursor& cursor) { return ExpressionParser(cursor).access(); }

}  // namespace tokamak::sparse
