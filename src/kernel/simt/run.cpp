#include "kernel/simt/run.h"

#include <fmt/format.h>

#include "kernel/simt/machine.h"

namespace tokamak::kernel {

namespace {

constexpr int64_t kMaxThreads = 1024;            // of a block
constexpr int64_t kMaxLocal = int64_t{1} << 28;  // elements of a shared or local buffer

Diagnostic misfit(std::string message, std::string hint) { return {"T0405", {}, std::move(message), std::move(hint)}; }

Result<int64_t> sizeOf(const Buffer& buffer, const DimBindings& symbols) {
  auto size = buffer.size.eval(symbols);
  if (!size) return misfit(fmt::format("{}: {}", buffer.name, size.error().message), size.error().hint);
  const bool own = buffer.scope != Scope::global;
  if (*size < 0 || (own && *size > kMaxLocal))
    return misfit(fmt::format("{} would have {} elements", buffer.name, *size), "check the values of the symbols");
  return size;
}

Result<> fits(const Buffer& buffer, int64_t size, const Array& array) {
  if (array.dtype() != buffer.dtype)
    return misfit(
        fmt::format("{} holds {}, the array given for it {}", buffer.name, nameOf(buffer.dtype), nameOf(array.dtype())),
        "give global buffers in the order of the kernel");
  if (array.size() != size)
    return misfit(fmt::format("{} has {} elements, the array given for it {}", buffer.name, size, array.size()),
                  fmt::format("its size is {}", buffer.size.str()));
  return Unit{};
}

}  // namespace

Result<> runSimt(const Kernel& kernel, std::vector<Array>& buffers, const DimBindings& symbols) {
  TK_RETURN_IF_ERROR(verify(kernel));
  for (const auto& name : kernel.symbols)
    if (!symbols.contains(name))
      return misfit(fmt::format("the symbol {} has no value", name), "give every symbol one");
  std::vector<simt::Memory> memories;
  std::vector<int64_t> localSizes;
  size_t given = 0;
  for (const auto& buffer : kernel.buffers) {
    TK_TRY(const int64_t size, sizeOf(buffer, symbols));
    localSizes.push_back(buffer.scope == Scope::local ? size : -1);
    if (buffer.scope != Scope::global) {
      memories.push_back(simt::Memory::shared(buffer.dtype, buffer.scope == Scope::local ? 0 : size, buffer.scope));
      continue;
    }
    if (given == buffers.size())
      return misfit(fmt::format("no array for {}", buffer.name), "give one for every global buffer");
    Array& array = buffers[given++];
    TK_RETURN_IF_ERROR(fits(buffer, size, array));
    const bool defined = buffer.access == Access::in || buffer.access == Access::inout;
    memories.emplace_back(buffer.dtype, size, array.as<std::byte>(), defined);
  }
  if (given != buffers.size())
    return misfit(fmt::format("{} arrays for {} global buffers", buffers.size(), given),
                  "give one for every global buffer");

  const simt::Program program = simt::translate(kernel, symbols);
  int64_t threads = 1;
  for (size_t axis = 3; axis < 6; ++axis)
    if (__builtin_mul_overflow(threads, program.extents[axis], &threads) || threads > kMaxThreads)
      return misfit(fmt::format("a block of more than {} threads", kMaxThreads), "check the values of the symbols");
  if (program.extents[0] % kernel.clusterBlocks != 0)
    return misfit(fmt::format("{} blocks in clusters of {}", program.extents[0], kernel.clusterBlocks),
                  "make the grid's x a multiple of the cluster");
  return simt::Machine(kernel, program, std::move(memories), std::move(localSizes)).run();
}

}  // namespace tokamak::kernel
