#pragma once

#include <span>
#include <vector>

#include "kernel/simt/memory.h"
#include "kernel/simt/program.h"

namespace tokamak::kernel::simt {

/// One thread of a GPU's block, or the one that runs a CPU's kernel.
struct Thread {
  std::vector<Lane> registers;
  std::vector<Memory> locals;         // by buffer, those that are not local empty
  std::array<int64_t, 6> place = {};  // in the grid and in its block
  uint32_t pc = 0;
  uint32_t number = 0;  // in its block or cluster; on a CPU, of the parallel iteration that runs
  uint32_t rank = 0;    // of its block in the cluster
};

/// Runs a program over memories, block after block and, within one, thread after thread from barrier to barrier. Blocks
/// of a cluster take turns between the barriers at which they meet.
class Machine {
 public:
  Machine(const Kernel& kernel, const Program& program, std::vector<Memory> memories, std::vector<int64_t> localSizes);

  Result<> run();

 private:
  enum class Stop : uint8_t { barrier, cluster_barrier, inbox_barrier, meet, end, fault };
  Result<> runCluster(std::vector<Thread>& threads);
  Result<> openInboxes(const Thread& first);
  Result<Stop> runBlock(std::span<Thread> threads);
  Result<Stop> runWarp(std::span<Thread> warp);
  static void meet(std::span<Thread> warp, const Inst& inst, uint32_t lane);
  Stop resume(Thread& thread);
  bool enterIteration(Thread& thread, const Inst& inst);
  bool access(Thread& thread, const Inst& inst);
  bool withinReach(const Thread& thread, const Inst& inst);
  bool withinExtent(const Thread& thread, const Inst& inst);
  Thread makeThread() const;
  void start(std::vector<Thread>& threads, const std::array<int64_t, 6>& place);
  Memory& memoryOf(Thread& thread, uint32_t buffer);
  static void forgetLocals(Thread& thread);

  Diagnostic describe(Thread& thread, const Fault& fault);
  Diagnostic divergence(const Thread& waiting, const Thread& other) const;
  std::string where(const Thread& thread, uint32_t statement) const;

  const Kernel& kernel_;
  const Program& program_;
  std::vector<Memory> memories_;     // by buffer; then the shared ones again for every further block of a cluster
  std::vector<int64_t> localSizes_;  // by buffer; -1 for those that are not local
  Clock clock_;
  std::optional<Fault> fault_;
};

}  // namespace tokamak::kernel::simt
