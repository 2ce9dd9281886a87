#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/function_text.h"
#include "codegen/cuda/launch.h"

/// The part of FunctionText that writes statements.
namespace tokamak::codegen::cuda {

using namespace kernel;

void FunctionText::scope(const std::function<void()>& body) {
  const size_t mark = undo_.size(), held = heldHalves_.size();
  changed();
  ++indent_;
  body();
  --indent_;
  changed();
  heldHalves_.resize(held);
  for (; undo_.size() > mark; undo_.pop_back()) memo_[undo_.back().first.index] = std::move(undo_.back().second);
}

/// Whether a statement stores to memory of the cluster or waits for it.
static bool reachesCluster(const Kernel& kernel, const Stmt& stmt) {
  const auto any = [&](const Block& block) {
    return std::any_of(block.begin(), block.end(), [&](const Stmt& s) { return reachesCluster(kernel, s); });
  };
  if (auto* store = std::get_if<Store>(&stmt.node)) return isOfCluster(kernel.buffer(store->buffer).scope);
  if (auto* barrier = std::get_if<Barrier>(&stmt.node)) return barrier->of != Barrier::Of::block;
  if (auto* loop = std::get_if<For>(&stmt.node)) return any(loop->body);
  if (auto* branch = std::get_if<If>(&stmt.node)) return any(branch->then) || any(branch->otherwise);
  return false;
}

/// All blocks of a cluster have begun before one stores into another's memory.
void FunctionText::awaitCluster(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  if (clusterBegun_ || kernel_.clusterBlocks == 1 || (loop && axisOf(loop->binding) >= 0)) return;
  if (!reachesCluster(kernel_, stmt)) return;
  line(snippets_.use("cluster_wait") + "();");
  clusterBegun_ = true;
}

void FunctionText::block(const Block& block) {
  for (const Stmt& stmt : block) {
    awaitCluster(stmt);
    std::visit([&](const auto& s) { emit(s); }, stmt.node);
  }
}

void FunctionText::define(VarId var, ExprId value, bool isMutable) {
  const ValueType type = kernel_.variable(var).type;
  const std::string type_name = declaredType(type, narrowVariables_[var.index]);
  if (type.lanes > 1 && !isMutable && !isPlain(value)) {  // the array that is made for the value is the variable
    defined_ = value;
    definedName_ = nameOf(var);
    const std::string made = array(value);
    definedName_.clear();
    if (made == nameOf(var)) return;
  }
  const Text text = this->value(value);
  if (type.lanes == 1) {
    line(fmt::format("{}{} {} = {};", isMutable ? "" : "const ", type_name, nameOf(var), text.text));
    return;
  }
  line(fmt::format("{} {}[{}];", type_name, nameOf(var), type.lanes));
  laneLoop(type.lanes, fmt::format("{}[l] = {};", nameOf(var), text.text));
}

void FunctionText::emit(const Let& s) {
  define(s.var, s.value, false);
  const ValueType type = kernel_.variable(s.var).type;
  if (isHalf(type.dtype) && type.lanes % 2 == 0) heldHalves_.push_back(nameOf(s.var));
}

void FunctionText::emit(const Declare& s) {
  define(s.var, s.value, true);
  changed();
}

void FunctionText::emit(const Assign& s) {
  const Text text = value(s.value);
  const int lanes = kernel_.variable(s.var).type.lanes;
  if (lanes == 1)
    line(fmt::format("{} = {};", nameOf(s.var), text.text));
  else
    laneLoop(lanes, fmt::format("{}[l] = {};", nameOf(s.var), text.text));
  changed();
}

/// An index out of bounds does nothing: the test stays in the text, since whether the address may be asked for is
/// nowhere promised.
void FunctionText::emit(const Prefetch& s) {
  const Text index = named(s.index);
  line(fmt::format("if ({0} >= 0 && {0} < {1}) {2}({3} + {0});", index.at(Level::sum),
                   dimText(kernel_.buffer(s.buffer).size), snippets_.use(s.near ? "prefetch_near" : "prefetch"),
                   nameOf(s.buffer)));
}

void FunctionText::emit(const If& s) {
  const Text condition = value(s.condition);
  line(fmt::format("if ({}) {{", condition.text));
  scope([&] { block(s.then); });
  if (!s.otherwise.empty()) {
    line("} else {");
    scope([&] { block(s.otherwise); });
  }
  line("}");
}

void FunctionText::emit(const Barrier& s) {
  switch (s.of) {
    case Barrier::Of::block: line("__syncthreads();"); break;
    case Barrier::Of::cluster: line(snippets_.use("cluster_barrier") + "();"); break;
    case Barrier::Of::inbox: line(snippets_.use("inbox_barrier") + "(tk_came);"); break;
  }
  for (const std::string& name : heldHalves_) line(fmt::format("{}({});", snippets_.use("packed"), name));
  changed();
}

void FunctionText::emit(const For& s) {
  if (axisOf(s.binding) >= 0) return bound(s);
  const Text begin = value(s.begin);
  const Text end = changing_[s.end.index] ? named(s.end) : value(s.end);
  if (s.binding == Binding::unroll) line("#pragma unroll");
  const std::string& name = nameOf(s.var);
  const std::string step = s.step == 1 ? "++" + name : fmt::format("{} += {}", name, s.step);
  line(fmt::format("for ({0} {1} = {2}; {1} < {3}; {4}) {{", narrowVariables_[s.var.index] ? "int" : "long long", name,
                   begin.text, end.at(Level::sum), step));
  scope([&] { block(s.body); });
  line("}");
}

/// The one iteration of a block or thread loop that is this thread's own.
void FunctionText::bound(const For& s) {
  static constexpr std::string_view names[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                               "threadIdx.x", "threadIdx.y", "threadIdx.z"};
  const int axis = axisOf(s.binding);
  const std::string place(names[axis]);
  const Dim count = *countOf(kernel_, s);
  const Dim& extent = axis < 3 ? launch_.grid[axis] : launch_.block[axis - 3];
  const bool guarded = !(count == extent) || !count.isConst();
  const Range& from = ranges_[s.begin.index];
  const std::string type = narrowVariables_[s.var.index] ? "int" : "long long";
  Text index = castTo(type, {place, Level::atom});
  if (s.step != 1) index = infix(index, "*", {fmt::format("{}", s.step), Level::atom}, Level::product);
  if (!(from.low == 0 && from.high == 0)) index = infix(value(s.begin), "+", index, Level::sum);
  line(fmt::format("const {} {} = {};", type, nameOf(s.var), index.text));
  if (!guarded) return block(s.body);
  line(fmt::format("if ({} < {}) {{", nameOf(s.var), value(s.end).at(Level::sum)));
  scope([&] { block(s.body); });
  line("}");
}

}  // namespace tokamak::codegen::cuda
