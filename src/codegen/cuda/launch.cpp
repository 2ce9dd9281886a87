#include "codegen/cuda/launch.h"

#include <fmt/format.h>

#include <optional>

#include "kernel/operands.h"

namespace tokamak::codegen::cuda {

using namespace kernel;

namespace {

constexpr int64_t kStaticShared = 48 << 10;  // bytes that a kernel may declare
constexpr int64_t kSharedAlign = 16;

std::optional<Dim> asDim(const Kernel& kernel, ExprId id);

std::optional<Dim> asDim(const Kernel& kernel, const Bin& n) {
  const auto a = asDim(kernel, n.a), b = asDim(kernel, n.b);
  if (!a || !b) return std::nullopt;
  switch (n.kind) {
    case BinaryKind::add: return *a + *b;
    case BinaryKind::sub: return *a - *b;
    case BinaryKind::mul: return *a * *b;
    case BinaryKind::div:  // of extents, which are never negative
    case BinaryKind::floordiv: return Dim::floorDiv(*a, *b);
    case BinaryKind::fmod:
    case BinaryKind::rem: return Dim::mod(*a, *b);
    case BinaryKind::max: return Dim::max(*a, *b);
    case BinaryKind::min: return Dim::min(*a, *b);
    default: return std::nullopt;
  }
}

std::optional<Dim> asDim(const Kernel& kernel, ExprId id) {
  const ExprNode& node = kernel.expr(id).node;
  if (auto* imm = std::get_if<Imm>(&node)) return Dim(imm->value.asInt());
  if (auto* symbol = std::get_if<Symbol>(&node)) return Dim::symbol(symbol->name);
  if (auto* bin = std::get_if<Bin>(&node)) return asDim(kernel, *bin);
  return std::nullopt;
}

Diagnostic notForGpu(const Kernel& kernel, std::string what, std::string hint) {
  return {"T0520", {}, fmt::format("kernel @{} has {}", kernel.name, what), std::move(hint)};
}

Result<> measure(const Kernel& kernel, const Block& block, Launch& launch) {
  for (const Stmt& stmt : block) {
    if (auto* branch = std::get_if<If>(&stmt.node)) {
      TK_RETURN_IF_ERROR(measure(kernel, branch->then, launch));
      TK_RETURN_IF_ERROR(measure(kernel, branch->otherwise, launch));
    }
    auto* loop = std::get_if<For>(&stmt.node);
    if (!loop) continue;
    if (loop->binding == Binding::parallel)
      return notForGpu(kernel, "a parallel loop, which a GPU cannot run", "bind it to blocks and threads");
    if (const int axis = axisOf(loop->binding); axis >= 0) {
      TK_TRY(const Dim count, countOf(kernel, *loop));
      Dim& extent = axis < 3 ? launch.grid[axis] : launch.block[axis - 3];
      extent = extent == count ? count : Dim::max(extent, count);
    }
    TK_RETURN_IF_ERROR(measure(kernel, loop->body, launch));
  }
  return Unit{};
}

}  // namespace

int axisOf(Binding binding) {
  const int axis = static_cast<int>(binding) - static_cast<int>(Binding::block_x);
  return axis < 0 || axis > 5 ? -1 : axis;
}

Result<Dim> countOf(const Kernel& kernel, const For& loop) {
  const auto begin = asDim(kernel, loop.begin), end = asDim(kernel, loop.end);
  if (begin && end) return Dim::ceilDiv(*end - *begin, loop.step);
  return notForGpu(kernel, fmt::format("a {} loop with bounds that a launch cannot compute", nameOf(loop.binding)),
                   "use symbols, numbers and + - * / max min");
}

Dim sharedBytesOf(const Buffer& buffer) {
  return Dim::ceilDiv(buffer.size * Dim(byteWidth(buffer.dtype)), kSharedAlign) * Dim(kSharedAlign);
}

int64_t inboxBytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.scope == Scope::inbox) bytes += *buffer.size.constant() * byteWidth(buffer.dtype);
  return bytes;
}

Result<Launch> launchOf(const Kernel& kernel) {
  Launch launch;
  TK_RETURN_IF_ERROR(measure(kernel, kernel.body, launch));
  Dim shared = 0;
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.scope == Scope::shared || isOfCluster(buffer.scope)) shared = shared + sharedBytesOf(buffer);
    if (buffer.scope == Scope::local && !buffer.size.isConst())
      return notForGpu(kernel, fmt::format("the local buffer {} of {} elements", buffer.name, buffer.size.str()),
                       "give local buffers sizes that are known when compiling");
  }
  if (inboxBytes(kernel) > 0) shared = shared + Dim(kSharedAlign);  // what counts them
  if (auto bytes = shared.constant(); !bytes || *bytes > kStaticShared) launch.sharedBytes = shared;
  return launch;
}

}  // namespace tokamak::codegen::cuda
