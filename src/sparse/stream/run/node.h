#pragma once

#include <fmt/format.h>

#include <optional>

#include "sparse/stream/graph.h"
#include "sparse/stream/run/clock.h"

namespace tokamak::stream {

/// A node at work. `P` is a profile: it gives the cursors and the clock that the loops run with.
template <class P>
class RunNode {
 public:
  using In = typename P::In;
  using Out = typename P::Out;
  using Reader = typename P::Reader;
  using Channel = typename P::Channel;

  /// What a node is made of. An output that nobody wants has a channel without readers.
  struct Site {
    const Graph* graph = nullptr;
    NodeId id;
    std::vector<Reader*> inputs;
    std::vector<Channel*> outputs;
  };

  explicit RunNode(Site site) : site_(std::move(site)) {}
  RunNode(const RunNode&) = delete;
  RunNode& operator=(const RunNode&) = delete;
  virtual ~RunNode() = default;

  /// Goes on as far as tokens and room allow. Whether anything was done; a fault ends the run.
  bool advance() {
    const uint64_t before = steps_;
    step();
    return steps_ != before;
  }
  bool done() const { return done_; }
  uint64_t steps() const { return steps_; }
  uint64_t work() const { return work_; }      // coordinates walked, values loaded, computed or folded
  uint64_t fibers() const { return fibers_; }  // that a scan walked
  uint64_t peak() const { return peak_; }      // entries of a workspace at its fullest
  const P& clock() const { return clock_; }
  P& clock() { return clock_; }
  const std::optional<Diagnostic>& fault() const { return fault_; }
  const Site& site() const { return site_; }

 protected:
  virtual void step() = 0;

  Reader* input(size_t i) const { return site_.inputs[i]; }
  Channel* output(size_t i) const { return site_.outputs[i]; }

  /// Ends the run with a diagnostic that names node, port and the token's position in its stream.
  void fail(std::string code, size_t port, const In& in, std::string_view message, std::string hint) {
    const Node& node = site_.graph->node(site_.id);
    fault_ = Diagnostic{std::move(code), node.location,
                        fmt::format("{}: input {} (%{}), token {}: {}", describe(*site_.graph, site_.id), port,
                                    site_.graph->stream(node.inputs[port]).name, in.position(), message),
                        std::move(hint)};
  }
  void failStops(size_t port, const In& in, Word wanted) {
    const Node& node = site_.graph->node(site_.id);
    const bool isValue = site_.graph->stream(node.inputs[port]).kind == StreamKind::val;
    fail("T0960", port, in,
         fmt::format("{} where the other streams have {}", tokenText(in.head(), isValue), tokenText(wanted, isValue)),
         "streams that meet in one block must have the same fibers");
  }

  bool failOverflow(const In& in, size_t entries) {
    fail("T0982", site_.inputs.size() - 2, in,
         fmt::format("its workspace of {} entries does not fit in its scratchpad", entries),
         "give scratchpads more bytes, let them spill, or fold over a smaller space");
    return false;
  }

  uint64_t steps_ = 0, work_ = 0, fibers_ = 0, peak_ = 0;
  P clock_;
  bool done_ = false;
  std::optional<Diagnostic> fault_;

 private:
  Site site_;
};

/// Copies the block of values that goes with a token, where the stream has such.
template <class In, class Out>
void copyBlock(const In& in, Out& out) {
  if (out.elements() > 0) std::memcpy(out.block(), in.block(), out.elements() * sizeof(double));
}

}  // namespace tokamak::stream
