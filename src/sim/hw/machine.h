#pragma once

#include "sim/hw/memory_nodes.h"
#include "sim/report.h"
#include "sparse/stream/run/network.h"

namespace tokamak::sim {

/// A graph laid out on the machine of the `hw` profile: arrays of its tensors in memory, small ones in scratchpads,
/// accumulators in scratchpads of their own, streams as FIFOs, latencies of operations.
class Machine {
 public:
  /// Requires a verified graph whose inputs are bound.
  Machine(const stream::Graph& graph, const stream::Inputs& inputs, const HwConfig& config);

  stream::Network<Hw>& network() { return *network_; }
  Stamp now = 0;  // the cycle that is being simulated; FIFOs look at it

  void report(Report& report) const;

 private:
  MemoryArray* addArray(const std::string& tensor, int64_t elements, int64_t elementBytes);
  void addArrays(const stream::Graph& graph, const stream::Inputs& inputs);
  void makeSmallOnesResident(const stream::Graph& graph);
  void setUp(stream::RunNode<Hw>& node, const stream::Block& block);
  std::unique_ptr<HwNode> make(const stream::Block& block, const HwNode::Site& site, const stream::Inputs& inputs,
                               stream::Storages& results);
  std::unique_ptr<HwNode> makeScan(const stream::Scan& scan, const HwNode::Site& site, const stream::Inputs& inputs);
  ReadPort readPort(const std::string& key);
  WritePort writePort(const std::string& tensor, int64_t elementBytes);

  HwConfig config_;
  Dram dram_;
  uint64_t address_ = 0;
  std::vector<std::unique_ptr<MemoryArray>> arrays_;
  std::map<std::string, MemoryArray*> arrayOf_;  // `B.1.crd`, `B.values`
  std::vector<std::unique_ptr<Scratchpad>> pads_;
  std::unique_ptr<stream::Network<Hw>> network_;
};

}  // namespace tokamak::sim
