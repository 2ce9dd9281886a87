#pragma once

#include "schedule/lowering.h"

/// Schedulers for GPUs. They share the emitter, the access analysis and the phases with those for CPUs; what differs is
/// who takes which elements, and how threads join what they found.
namespace tokamak::schedule::gpu {

inline constexpr int kWarp = 32;
inline constexpr int kAccessBytes = 16;  // the widest access of a thread

/// Writes `body` as the work of thread t of block b, and what holds for the kernel: `slack` is how far index arithmetic
/// may go beyond the largest buffer and the domain.
void overGrid(Lowering& l, const Dim& blocks, int threads, const Dim& slack,
              const std::function<void(ExprId b, ExprId t)>& body);

/// Stores an output of the region at a place whose loads need no mask, where `where` (a scalar, or none) holds.
void storeWhere(Lowering& l, ValueId v, const At& at, ExprId where);

/// The largest index a kernel of the region forms, without slack: elements of its domain and of every buffer.
Dim reachOf(const Lowering& l);

/// Lanes of a thread's vector: 16 bytes of the widest type among what moves with the domain, never below 2 bytes of it.
int lanesFor(const Graph& graph, const Region& region);

/// The largest power of two that divides `extent`, at most `most`; `most` if it is zero, 1 if it is not known.
int64_t powerIn(const Dim& extent, int64_t most);

}  // namespace tokamak::schedule::gpu
