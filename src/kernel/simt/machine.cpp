#include "kernel/simt/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernel/check_expr.h"
#include "kernel/print.h"

namespace tokamak::kernel::simt {

Machine::Machine(const Kernel& kernel, const Program& program, std::vector<Memory> memories,
                 std::vector<int64_t> localSizes)
    : kernel_(kernel), program_(program), memories_(std::move(memories)), localSizes_(std::move(localSizes)) {
  for (int rank = 1; rank < kernel.clusterBlocks; ++rank)
    for (size_t b = 0; b < kernel.buffers.size(); ++b)
      memories_.push_back(
          Memory::shared(kernel.buffers[b].dtype, kernel.buffers[b].scope == Scope::shared ? memories_[b].size() : 0));
}

Thread Machine::makeThread() const {
  Thread thread;
  thread.registers.resize(program_.registers, Lane{.i = 0});
  for (const auto& preset : program_.presets)
    std::fill_n(thread.registers.begin() + preset.at, preset.lanes, preset.value);
  for (size_t b = 0; b < localSizes_.size(); ++b)
    thread.locals.push_back(Memory::local(kernel_.buffers[b].dtype, std::max<int64_t>(0, localSizes_[b])));
  return thread;
}

Result<> Machine::run() {
  const auto& extents = program_.extents;
  const int64_t count = extents[3] * extents[4] * extents[5], blocks = kernel_.clusterBlocks;
  if (blocks > 1) clock_.blockThreads = static_cast<uint32_t>(count);
  std::vector<Thread> threads;
  for (int64_t t = 0; t < count * blocks; ++t) threads.push_back(makeThread());
  std::array<int64_t, 6> place = {};
  for (place[2] = 0; place[2] < extents[2]; ++place[2])
    for (place[1] = 0; place[1] < extents[1]; ++place[1])
      for (place[0] = 0; place[0] < extents[0]; place[0] += blocks) {
        start(threads, place);
        TK_RETURN_IF_ERROR(runCluster(threads));
      }
  return Unit{};
}

void Machine::start(std::vector<Thread>& threads, const std::array<int64_t, 6>& place) {
  ++clock_.epoch;
  if (program_.gpu) clock_.blockStart = clock_.clusterMet = clock_.epoch, clock_.inboxMet = 0;
  const auto& extents = program_.extents;
  const int64_t count = extents[3] * extents[4] * extents[5];
  for (size_t t = 0; t < threads.size(); ++t) {
    Thread& thread = threads[t];
    thread.number = static_cast<uint32_t>(t);
    thread.rank = static_cast<uint32_t>(static_cast<int64_t>(t) / count);
    const int64_t number = static_cast<int64_t>(t) % count;
    thread.place = {
        place[0] + thread.rank,          place[1], place[2], number % extents[3], number / extents[3] % extents[4],
        number / extents[3] / extents[4]};
    thread.pc = 0;
    forgetLocals(thread);
  }
}

Result<> Machine::runCluster(std::vector<Thread>& threads) {
  const size_t count = threads.size() / static_cast<size_t>(kernel_.clusterBlocks);
  for (;;) {
    Stop first = Stop::end;
    for (size_t at = 0; at < threads.size(); at += count, ++clock_.epoch) {
      const std::span block(threads.data() + at, count);
      TK_TRY(const Stop stop, runBlock(block));
      if (at == 0) first = stop;
      if (stop != first || block[0].pc != threads[0].pc)
        return first == Stop::end ? divergence(block[0], threads[0]) : divergence(threads[0], block[0]);
    }
    if (first == Stop::end) return Unit{};
    if (first == Stop::inbox_barrier)
      TK_RETURN_IF_ERROR(openInboxes(threads[0]));
    else
      clock_.clusterMet = clock_.epoch;
  }
}

/// An element that is never stored would be waited for forever.
Result<> Machine::openInboxes(const Thread& first) {
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].scope != Scope::inbox) continue;
    if (const auto i = memories_[b].missing(clock_))
      return Diagnostic{"T0402",
                        {},
                        fmt::format("waits for {}[{}], which nobody has written{}", kernel_.buffers[b].name, *i,
                                    where(first, program_.code[first.pc - 1].statement)),
                        "the blocks of a cluster store every element of an inbox, each once"};
  }
  clock_.inboxMet = clock_.epoch;
  return Unit{};
}

/// To the end, or to the next barrier of the cluster.
Result<Machine::Stop> Machine::runBlock(std::span<Thread> threads) {
  for (;;) {
    Stop first = Stop::end;
    for (size_t at = 0; at < threads.size(); at += kWarpSize) {
      const std::span warp(threads.data() + at, std::min<size_t>(kWarpSize, threads.size() - at));
      TK_TRY(const Stop stop, runWarp(warp));
      if (at == 0) first = stop;
      if (stop != first || warp[0].pc != threads[0].pc)
        return stop == Stop::end ? divergence(threads[0], warp[0]) : divergence(warp[0], threads[0]);
    }
    if (first != Stop::barrier) return first;
    ++clock_.epoch;
  }
}

/// To the next barrier or the end, through all warp operations on the way.
Result<Machine::Stop> Machine::runWarp(std::span<Thread> warp) {
  for (;;) {
    Stop first = Stop::end;
    for (Thread& thread : warp) {
      const Stop stop = resume(thread);
      if (stop == Stop::fault) return describe(thread, *fault_);
      if (&thread == warp.data()) first = stop;
      if (stop != first || thread.pc != warp[0].pc)
        return stop == Stop::end ? divergence(warp[0], thread) : divergence(thread, warp[0]);
    }
    if (first != Stop::meet) return first;
    const Inst& inst = program_.code[warp[0].pc - 1];
    for (int lane = 0; lane < inst.lanes; ++lane) meet(warp, inst, static_cast<uint32_t>(lane));
  }
}

void Machine::meet(std::span<Thread> warp, const Inst& inst, uint32_t lane) {
  const auto width = static_cast<size_t>(inst.step), stride = static_cast<size_t>(inst.stride);
  std::vector<Lane> now, next;
  for (Thread& thread : warp) now.push_back(thread.registers[inst.a + lane]);
  if (inst.meeting == Inst::Meeting::shift) {
    for (size_t t = 0; t < warp.size(); ++t)
      warp[t].registers[inst.dst] = t % width == 0 ? warp[t].registers[inst.b] : now[t - 1];
    return;
  }
  next = now;
  for (size_t step = 1; step < width; step *= 2, now = next)
    for (size_t t = 0; t < warp.size(); ++t) {
      const size_t fold = t ^ (width / 2 / step * stride);
      if (inst.meeting == Inst::Meeting::fold)
        next[t] = join(inst, now[t], now[fold]);
      else if (t % width >= step)
        next[t] = join(inst, now[t - step], now[t]);
    }
  for (size_t t = 0; t < warp.size(); ++t) warp[t].registers[inst.dst + lane] = now[t];
}

void Machine::forgetLocals(Thread& thread) {
  for (Memory& memory : thread.locals) memory.forget();
}

/// The test of a parallel loop: before every iteration and, to leave it, after the last.
bool Machine::enterIteration(Thread& thread, const Inst& inst) {
  const bool enters = thread.registers[inst.a].i < thread.registers[inst.b].i;
  // The number of the thread tells iterations apart; 0 is the code around the loop.
  const bool first = thread.number == 0;
  if (first || !enters) ++clock_.epoch;
  thread.number = enters ? thread.number + 1 : 0;
  forgetLocals(thread);
  return enters;
}

bool Machine::withinReach(const Thread& thread, const Inst& inst) {
  for (int l = 0; l < inst.lanes; ++l) {
    const int64_t value = thread.registers[inst.dst + static_cast<uint32_t>(l)].i;
    if (value > program_.reach || value < -program_.reach) return fault_ = Fault{Fault::Kind::reach, value}, false;
  }
  return true;
}

bool Machine::withinExtent(const Thread& thread, const Inst& inst) {
  const Lane* r = thread.registers.data();
  for (uint32_t l = 0; l < static_cast<uint32_t>(inst.lanes); ++l) {
    const int64_t value = r[inst.a + l].i;
    if (r[inst.c + l].i && (value < 0 || value >= r[inst.b].i))
      return fault_ = Fault{Fault::Kind::within, value}, false;
  }
  return true;
}

Memory& Machine::memoryOf(Thread& thread, uint32_t buffer) {
  if (localSizes_[buffer] >= 0) return thread.locals[buffer];
  const size_t rank = kernel_.buffers[buffer].scope == Scope::shared ? thread.rank : 0;
  return memories_[rank * kernel_.buffers.size() + buffer];
}

bool Machine::access(Thread& thread, const Inst& inst) {
  Memory& memory = memoryOf(thread, inst.buffer);
  Lane* r = thread.registers.data();
  const Lane* mask = inst.c == Inst::kNone ? nullptr : r + inst.c;
  if (inst.aligned && (!mask || std::any_of(mask, mask + inst.lanes, [](Lane on) { return on.i != 0; }))) {
    const int64_t width = byteWidth(kernel_.buffers[inst.buffer].dtype),
                  unit = std::min<int64_t>(inst.lanes * width, 16);
    if (r[inst.b].i * width % unit != 0) return fault_ = Fault{Fault::Kind::misaligned, r[inst.b].i}, false;
  }
  fault_ = inst.op == Op::load
               ? memory.load(r + inst.dst, r + inst.b, mask, inst.lanes, inst.gather, clock_, thread.number)
               : memory.store(r + inst.a, r + inst.b, mask, inst.lanes, inst.gather, clock_, thread.number);
  return !fault_;
}

Machine::Stop Machine::resume(Thread& thread) {
  Lane* r = thread.registers.data();
  uint32_t pc = thread.pc;
  for (;;) {
    const Inst& inst = program_.code[pc++];
    switch (inst.op) {
      case Op::compute: inst.compute(r, inst); break;
      case Op::bounded:
        inst.compute(r, inst);
        if (withinReach(thread, inst)) break;
        thread.pc = pc - 1;
        return Stop::fault;
      case Op::within:
        std::copy_n(r + inst.a, inst.lanes, r + inst.dst);
        if (withinExtent(thread, inst)) break;
        thread.pc = pc - 1;
        return Stop::fault;
      case Op::meet: thread.pc = pc; return Stop::meet;
      case Op::load:
      case Op::store:
        if (access(thread, inst)) break;
        thread.pc = pc - 1;
        return Stop::fault;
      case Op::copy: std::copy_n(r + inst.a, inst.lanes, r + inst.dst); break;
      case Op::jump: pc = inst.target; break;
      case Op::jump_unless:
        if (!r[inst.a].i) pc = inst.target;
        break;
      case Op::loop_test:
        if (r[inst.a].i >= r[inst.b].i) pc = inst.target;
        break;
      case Op::parallel_test:
        if (!enterIteration(thread, inst)) pc = inst.target;
        break;
      case Op::loop_step:
        // A step that does not fit in i64 is past every end.
        if (__builtin_add_overflow(r[inst.a].i, inst.step, &r[inst.a].i))
          r[inst.a].i = std::numeric_limits<int64_t>::max();
        pc = inst.target;
        break;
      case Op::pick: {
        const auto far = static_cast<uint64_t>(thread.place[inst.axis]) * static_cast<uint64_t>(inst.step);
        r[inst.dst].i = static_cast<int64_t>(static_cast<uint64_t>(r[inst.a].i) + far);
        if (r[inst.dst].i >= r[inst.b].i)
          pc = inst.target;
        else if (inst.axis >= 3)
          forgetLocals(thread);
        break;
      }
      case Op::leave_thread: forgetLocals(thread); break;
      case Op::barrier:
        thread.pc = pc;
        return inst.of == Barrier::Of::cluster ? Stop::cluster_barrier
               : inst.of == Barrier::Of::inbox ? Stop::inbox_barrier
                                               : Stop::barrier;
      case Op::end: thread.pc = pc - 1; return Stop::end;
    }
  }
}

// ---- reports ----

/// ` (i = 3, j = 16)` and the statement.
std::string Machine::where(const Thread& thread, uint32_t statement) const {
  const auto& at = program_.statements[statement];
  std::string loops;
  for (VarId var : at.loops)
    loops += fmt::format("{}{} = {}", loops.empty() ? "" : ", ", kernel_.variable(var).name,
                         thread.registers[program_.variables[var.index]].i);
  return fmt::format("\n  in `{}`{}", printHead(kernel_, *at.stmt), loops.empty() ? "" : " with " + loops);
}

Diagnostic Machine::describe(Thread& thread, const Fault& fault) {
  const Inst& inst = program_.code[thread.pc];
  if (fault.kind == Fault::Kind::reach)
    return {"T0407",
            {},
            fmt::format("an index of {}, beyond the kernel's reach of {}{}", fault.index, program_.reach,
                        where(thread, inst.statement)),
            "a reach covers every step of the arithmetic, not the last alone"};
  if (fault.kind == Fault::Kind::within)
    return {"T0408",
            {},
            fmt::format("an index of {}, where the program promises one from 0 to below {}{}", fault.index,
                        thread.registers[inst.b].i, where(thread, inst.statement)),
            "look at the indices that the kernel was given"};
  const Buffer& buffer = kernel_.buffers[inst.buffer];
  const Memory& memory = memoryOf(thread, inst.buffer);
  const bool writes = inst.op == Op::store;
  const std::string element = fmt::format("{}[{}]", buffer.name, fault.index), at = where(thread, inst.statement);
  const std::string does = writes ? "writes " : "reads ";
  switch (fault.kind) {
    case Fault::Kind::bounds:
      return {"T0401",
              {},
              fmt::format("{}{}, but {} has {} elements{}", does, element, buffer.name, memory.size(), at),
              "mask the lanes beyond the end, or shorten the loop"};
    case Fault::Kind::unwritten:
      return {"T0402",
              {},
              fmt::format("reads {}, which nobody has written{}", element, at),
              buffer.scope == Scope::local ? "local memory does not outlive an iteration of the parallel or thread loop"
              : buffer.scope == Scope::inbox ? "the first block of a cluster has its inboxes, the others have not"
                                             : "write every element before it is read"};
    case Fault::Kind::duplicate:
      return {"T0403", {}, fmt::format("two lanes write {}{}", element, at), "a scatter's indices are distinct"};
    case Fault::Kind::misaligned:
      return {"T0406",
              {},
              fmt::format("{}{} lanes from {} on, which is not aligned{}", does, inst.lanes, element, at),
              "an aligned access begins at a multiple of its lanes, or of as many as make 16 bytes"};
    case Fault::Kind::reach:
    case Fault::Kind::within:
    case Fault::Kind::race: break;
  }
  std::string other = fault.otherBlock              ? "a thread of another block"
                      : fault.other == Fault::kMany ? "other threads"
                      : program_.gpu                ? fmt::format("thread {} of the block", fault.other)
                                                    : fmt::format("iteration {} of the loop", int64_t{fault.other} - 1);
  return {"T0403",
          {},
          fmt::format("{}{}, which {} {} with nothing in between to order them{}", does, element, other,
                      fault.otherWrote ? "wrote" : "read", at),
          fault.otherBlock                 ? "blocks never meet: split the kernel"
          : buffer.scope == Scope::cluster ? "put a barrier of the cluster between the two"
          : buffer.scope == Scope::inbox   ? "elements of an inbox are stored once and read after `barrier inbox`"
          : program_.gpu                   ? "put a barrier between the two"
                                           : "end the parallel loop between the two"};
}

Diagnostic Machine::divergence(const Thread& waiting, const Thread& other) const {
  const auto coordinates = [](const Thread& t) {
    return fmt::format("({}, {}, {})", t.place[3], t.place[4], t.place[5]);
  };
  const Inst& inst = program_.code[waiting.pc - 1];
  const bool ended = program_.code[other.pc].op == Op::end;
  return {"T0404",
          {},
          fmt::format("thread {} waits at a {} that thread {} never reaches: it {}{}", coordinates(waiting),
                      inst.op == Op::meet ? "warp operation" : "barrier", coordinates(other),
                      ended ? "has ended" : "waits at another", where(waiting, inst.statement)),
          "keep barriers and warp operations out of conditions and loops that threads of one block leave at different "
          "times"};
}

}  // namespace tokamak::kernel::simt
