#include "sim/hw/run.h"

#include <fmt/format.h>

#include <bit>
#include <queue>
#include <unordered_map>

#include "sim/hw/deadlock.h"

namespace tokamak::sim {

namespace {

using namespace stream;

/// A set of nodes, walked in order.
class NodeSet {
 public:
  explicit NodeSet(size_t size) : words_((size + 63) / 64, 0) {}
  void add(size_t n) { words_[n / 64] |= uint64_t{1} << (n % 64); }
  void remove(size_t n) { words_[n / 64] &= ~(uint64_t{1} << (n % 64)); }
  /// Moves all of `others` in, and those of `some` that are in `wanted`.
  void take(NodeSet& others, const NodeSet& some, const NodeSet& wanted) {
    for (size_t w = 0; w < words_.size(); ++w) {
      words_[w] |= others.words_[w] | (some.words_[w] & wanted.words_[w]);
      others.words_[w] = 0;
    }
  }
  bool empty() const {
    return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
  }
  void swap(NodeSet& other) noexcept { words_.swap(other.words_); }
  /// Calls `f` for each node and leaves the set empty.
  template <class F>
  void drain(F f) {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1)
        f(w * 64 + static_cast<size_t>(std::countr_zero(word)));
      words_[w] = 0;
    }
  }

 private:
  std::vector<uint64_t> words_;
};

bool needsAllInputs(const Block& block) {
  return !std::holds_alternative<Join>(block) && !std::holds_alternative<Spacc>(block) &&
         !std::holds_alternative<CrdDrop>(block) && !std::holds_alternative<CrdHold>(block);
}

class Scheduler {
 public:
  Scheduler(Machine& machine, const HwConfig& config, Report& report, std::vector<Recorder>& recorders)
      : machine_(machine),
        units_(config.computeUnits == 0 ? INT64_MAX : config.computeUnits),
        report_(report),
        now_(nodes().size()),
        next_(nodes().size()),
        awaitAnybody_(nodes().size()) {
    links_ = linksOf(machine.network());
    state_.resize(nodes().size());
    for (size_t n = 0; n < nodes().size(); ++n) {
      const Block& block = network().graph().node(nodes()[n]->site().id).block;
      state_[n].computes = std::holds_alternative<Alu>(block) || std::holds_alternative<Reduce>(block) ||
                           std::holds_alternative<Spacc>(block);
      state_[n].waiter = dynamic_cast<MemoryWaiter*>(nodes()[n].get());
      state_[n].needsAll = state_[n].waiter == nullptr && needsAllInputs(block);
      if (!recorders.empty()) state_[n].recorder = &recorders[n];
      NodeReport& node = state_[n].report;
      node.node = nodes()[n]->site().id;
      node.waitInput.resize(nodes()[n]->site().inputs.size());
      node.waitOutput.resize(nodes()[n]->site().outputs.size());
      now_.add(n);
      awaited_.emplace_back(nodes().size());
      neighbours_.emplace_back(nodes().size());
      for (size_t other : links_[n].consumers) neighbours_[n].add(other);
      for (size_t other : links_[n].producers) neighbours_[n].add(other);
    }
  }

  Result<> run(const std::function<bool()>& pause) {
    for (uint64_t cycle = 1; left_ < nodes().size(); ++cycle) {
      TK_RETURN_IF_ERROR(oneCycle());
      if (left_ == nodes().size()) break;
      if (!advance()) return explainDeadlock(network(), links_);
      if (cycle % 65536 == 0 && pause && !pause()) return Unit{};
    }
    finish();
    return Unit{};
  }

 private:
  using Cause = Doing;  // busy: waits for nothing
  struct State {
    bool computes = false;
    bool needsAll = false;  // a step takes a token of every input
    MemoryWaiter* waiter = nullptr;
    Recorder* recorder = nullptr;
    Cause cause = Cause::busy;
    size_t port = 0;
    Stamp since = 0;
    NodeReport report;
  };
  using Wake = std::pair<Stamp, size_t>;

  Network<Hw>& network() { return machine_.network(); }
  const std::vector<std::unique_ptr<HwNode>>& nodes() { return network().nodes(); }

  Result<> oneCycle() {
    const Stamp cycle = machine_.now;
    int64_t units = units_;
    std::optional<Diagnostic> fault;
    now_.drain([&](size_t n) {
      HwNode& node = *nodes()[n];
      if (node.done() || fault) return;
      Hw& clock = node.clock();
      if (clock.t > cycle) return wakeAt(n, clock.t);
      if (state_[n].computes && units == 0) {
        block(n, Cause::compute, 0);
        return next_.add(n);
      }
      clock.start(cycle);
      const bool moved = node.advance();
      fault = node.fault();
      if (!moved) return sleep(n);
      awaitAnybody_.remove(n);
      if (state_[n].computes) --units;
      progressed(n);
    });
    if (fault) return *fault;
    return Unit{};
  }

  void progressed(size_t n) {
    State& state = state_[n];
    charge(n);
    ++state.report.busy;
    if (state.recorder != nullptr) state.recorder->busy(machine_.now, 1);
    next_.take(awaited_[n], neighbours_[n], awaitAnybody_);
    if (nodes()[n]->done())
      ++left_;
    else
      next_.add(n);
  }

  /// A wait begins, or goes on; its cycles are charged when it ends.
  void block(size_t n, Cause cause, size_t port) {
    State& state = state_[n];
    if (state.cause == cause && state.port == port) return;
    charge(n);
    state.cause = cause;
    state.port = port;
    state.since = machine_.now;
  }
  void charge(size_t n) {
    State& state = state_[n];
    const uint64_t cycles = machine_.now - state.since;
    if (state.recorder != nullptr && state.cause != Cause::busy)
      state.recorder->waits(state.cause, static_cast<uint32_t>(state.port), state.since, machine_.now);
    switch (state.cause) {
      case Cause::busy: break;
      case Cause::input: state.report.waitInput[state.port] += cycles; break;
      case Cause::output: state.report.waitOutput[state.port] += cycles; break;
      case Cause::memory: state.report.waitMemory += cycles; break;
      case Cause::compute: state.report.waitCompute += cycles; break;
    }
    state.cause = Cause::busy;
  }

  void sleep(size_t n) {
    const HwNode::Site& site = nodes()[n]->site();
    awaitAnybody_.add(n);
    const Stamp memory = state_[n].waiter != nullptr ? state_[n].waiter->wakeAt() : 0;
    if (memory > machine_.now) {
      block(n, Cause::memory, 0);
      wakeAt(n, memory);
    }
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      const Fifo& fifo = *site.inputs[i];
      if (fifo.has(0)) continue;
      if (memory <= machine_.now) block(n, Cause::input, i);
      if (state_[n].needsAll) {
        awaitAnybody_.remove(n);
        awaited_[links_[n].producers[i]].add(n);
      }
      if (fifo.size() > 0) wakeAt(n, fifo.stamp(0));
      return;
    }
    for (size_t i = 0; i < site.outputs.size() && memory <= machine_.now; ++i)
      if (site.outputs[i]->room() < 2) return block(n, Cause::output, i);
    for (const Fifo* fifo : site.inputs)  // a token behind the head may be on its way
      for (size_t i = 1; i < std::min<size_t>(fifo->size(), 3); ++i)
        if (!fifo->has(i)) return wakeAt(n, fifo->stamp(i));
  }

  void wakeAt(size_t n, Stamp cycle) {
    if (cycle <= machine_.now + 1)
      next_.add(n);
    else
      wakes_.emplace(cycle, n);
  }

  /// On to the next cycle in which somebody may do something; false if there is none.
  bool advance() {
    Stamp cycle = machine_.now + 1;
    if (next_.empty()) {
      if (wakes_.empty()) return false;
      cycle = std::max(cycle, wakes_.top().first);
    }
    machine_.now = cycle;
    now_.swap(next_);
    for (; !wakes_.empty() && wakes_.top().first <= cycle; wakes_.pop()) now_.add(wakes_.top().second);
    return true;
  }

  void finish() {
    for (size_t n = 0; n < nodes().size(); ++n) {
      state_[n].report.cycles = nodes()[n]->clock().t;
      report_.cycles = std::max(report_.cycles, nodes()[n]->clock().t);
      report_.nodes.push_back(std::move(state_[n].report));
    }
    report_.tokens = network().tokens();
    report_.bufferBytes = network().bytes();
    for (const auto& node : nodes()) {
      const Node& from = network().graph().node(node->site().id);
      for (size_t i = 0; i < from.outputs.size(); ++i)
        if (from.outputs[i])
          report_.streams.push_back({from.outputs[i], node->site().outputs[i]->put(), node->site().outputs[i]->peak()});
    }
  }

  Machine& machine_;
  int64_t units_;
  Report& report_;
  NodeSet now_, next_;
  std::vector<Links> links_;
  std::vector<NodeSet> neighbours_, awaited_;  // by node: those beside it, those that sleep until it has done something
  NodeSet awaitAnybody_;                       // those that sleep until a neighbour has
  std::vector<State> state_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  size_t left_ = 0;  // nodes that are done
};

}  // namespace

Result<> runMachine(Machine& machine, const HwConfig& config, Report& report, std::vector<Recorder>& recorders,
                    const std::function<bool()>& pause) {
  return Scheduler(machine, config, report, recorders).run(pause);
}

}  // namespace tokamak::sim
