#include "kernel/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernel/words.h"

namespace tokamak::kernel {

Writer::Writer(std::string name) {
  kernel_.name = asIdentifier(name);
  open_.emplace_back();
}

// ---- buffers ----

void Writer::addSymbols(const Dim& value) {
  std::set<std::string, std::less<>> names;
  value.collectSymbols(names);
  for (const auto& name : names)
    if (std::find(kernel_.symbols.begin(), kernel_.symbols.end(), name) == kernel_.symbols.end())
      kernel_.symbols.push_back(name);
}

BufferId Writer::global(std::string name, DType dtype, Dim size, Access access) {
  TK_CHECK(kernel_.buffers.empty() || kernel_.buffers.back().scope == Scope::global,
           "global buffers come before others");
  addSymbols(size);
  return kernel_.addBuffer({std::move(name), dtype, std::move(size), Scope::global, access});
}

BufferId Writer::local(std::string name, DType dtype, Dim size) {
  addSymbols(size);
  return kernel_.addBuffer({std::move(name), dtype, std::move(size), Scope::local, Access::scratch});
}

BufferId Writer::shared(std::string name, DType dtype, Dim size) {
  addSymbols(size);
  return kernel_.addBuffer({std::move(name), dtype, std::move(size), Scope::shared, Access::scratch});
}

BufferId Writer::cluster(std::string name, DType dtype, Dim size) {
  addSymbols(size);
  return kernel_.addBuffer({std::move(name), dtype, std::move(size), Scope::cluster, Access::scratch});
}

BufferId Writer::inbox(std::string name, DType dtype, Dim size) {
  return kernel_.addBuffer({std::move(name), dtype, std::move(size), Scope::inbox, Access::scratch});
}

// ---- statements ----

Block Writer::collect(const std::function<void()>& body) {
  open_.emplace_back();
  body();
  Block block = std::move(open_.back());
  open_.pop_back();
  return block;
}

void Writer::loop(std::string_view name, ExprId begin, ExprId end, int64_t step, Binding binding, const Body& body,
                  int64_t grain) {
  TK_CHECK(step > 0 && grain > 0, "a loop's step and grain are positive");
  const ValueType index{DType::i64, 1};
  TK_CHECK(type(begin) == index && type(end) == index, "a loop runs over scalar i64");
  const auto first = asConstant(begin), last = asConstant(end);
  if (first && last) {
    if (*first >= *last) return;
    const bool once = static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first) <= static_cast<uint64_t>(step);
    if (once && (binding == Binding::serial || binding == Binding::unroll)) return body(begin);
  }
  const VarId var = kernel_.addVariable(std::string(name), index, false);
  multiples_[var] = std::gcd(multipleOf(begin), step);
  Block block = collect([&] { body(get(var)); });
  append(For{var, begin, end, step, binding, grain, std::move(block)});
}

void Writer::when(ExprId condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  TK_CHECK((type(condition) == ValueType{DType::boolean, 1}), "a condition is a scalar bool");
  if (auto known = asConstant(condition)) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  Block yes = collect(then);
  Block no = otherwise ? collect(otherwise) : Block{};
  append(If{condition, std::move(yes), std::move(no)});
}

ExprId Writer::let(std::string_view name, ExprId value) {
  if (match<Imm>(value) || match<Symbol>(value)) return value;
  if (auto var = match<Var>(value); var && !kernel_.variable(var->var).isMutable) return value;
  const VarId var = kernel_.addVariable(std::string(name), type(value), false);
  if (type(value) == ValueType{DType::i64, 1}) multiples_[var] = multipleOf(value);
  append(Let{var, value});
  return get(var);
}

VarId Writer::declare(std::string_view name, ExprId value) {
  const VarId var = kernel_.addVariable(std::string(name), type(value), true);
  append(Declare{var, value});
  return var;
}

ExprId Writer::get(VarId var) { return kernel_.intern({Var{var}, kernel_.variable(var).type}); }

void Writer::assign(VarId var, ExprId value) {
  const Variable& variable = kernel_.variable(var);
  TK_CHECK(variable.isMutable, fmt::format("assignment to {}, which was bound with let", variable.name));
  value = splat(value, variable.type.lanes);
  TK_CHECK(type(value) == variable.type,
           fmt::format("{} of type {} assigned a {}", variable.name, variable.type.str(), type(value).str()));
  append(Assign{var, value});
}

void Writer::store(BufferId buffer, ExprId index, ExprId value, ExprId mask, bool streaming) {
  const Buffer& target = kernel_.buffer(buffer);
  TK_CHECK(target.dtype == type(value).dtype,
           fmt::format("{} stored to {}, a buffer of {}", type(value).str(), target.name, nameOf(target.dtype)));
  if (mask) {
    if (auto known = asConstant(mask)) {
      if (!*known) return;
      mask = {};
    }
  }
  const int wanted = std::max({lanes(index), lanes(value), mask ? lanes(mask) : 1});
  value = splat(value, wanted);
  if (auto ramp = match<Ramp>(index); ramp && type(index).dtype == DType::i64) index = ramp->base;
  TK_CHECK(lanes(index) == 1 || lanes(index) == wanted, "a store's index has one lane or as many as its value");
  append(
      Store{buffer, index, value, mask ? splat(mask, wanted) : ExprId{}, streaming, isAligned(buffer, index, wanted)});
}

void Writer::prefetch(BufferId buffer, ExprId index, bool near) { append(Prefetch{buffer, index, near}); }
void Writer::barrier(Barrier::Of of) { append(Barrier{of}); }

void Writer::setReach(Dim reach) {
  addSymbols(reach);
  kernel_.reach = std::move(reach);
}

Kernel Writer::finish() && {
  TK_CHECK(open_.size() == 1, "finish inside a loop");
  kernel_.body = std::move(open_.back());
#ifndef NDEBUG
  if (auto status = verify(kernel_); !status) TK_CHECK(false, status.error().str() + "\n" + print(kernel_));
#endif
  return std::move(kernel_);
}

}  // namespace tokamak::kernel
