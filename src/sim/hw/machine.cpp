#include "sim/hw/machine.h"

#include <fmt/format.h>

namespace tokamak::sim {

using namespace stream;

namespace {

Stamp latencyOf(const HwConfig::Latencies& latency, AluOp op) {
  switch (op) {
    case AluOp::mul:
    case AluOp::matmul:
    case AluOp::matmul_nt:
    case AluOp::matmul_tn: return static_cast<Stamp>(latency.multiply);
    case AluOp::div:
    case AluOp::reciprocal: return static_cast<Stamp>(latency.divide);
    case AluOp::pow:
    case AluOp::exp:
    case AluOp::log:
    case AluOp::sqrt:
    case AluOp::rsqrt:
    case AluOp::tanh:
    case AluOp::sigmoid:
    case AluOp::gelu:
    case AluOp::gelu_tanh:
    case AluOp::silu:
    case AluOp::sin:
    case AluOp::cos:
    case AluOp::erf: return static_cast<Stamp>(latency.function);
    default: return static_cast<Stamp>(latency.add);
  }
}

}  // namespace

Machine::Machine(const Graph& graph, const Inputs& inputs, const HwConfig& config)
    : config_(config), dram_(config.dram) {
  addArrays(graph, inputs);
  makeSmallOnesResident(graph);
  const auto depth = [&](StreamId stream) {
    const auto given = config_.fifoDepths.find(graph.stream(stream).name);
    return static_cast<size_t>(given == config_.fifoDepths.end() ? config_.fifoDepth : given->second);
  };
  const auto factory = [&](const Block& block, const HwNode::Site& site, Storages& results) {
    return make(block, site, inputs, results);
  };
  network_ = std::make_unique<Network<Hw>>(graph, inputs, Hw::Setup{&now, depth}, factory);
  for (const auto& node : network_->nodes()) setUp(*node, graph.node(node->site().id).block);
}

MemoryArray* Machine::addArray(const std::string& tensor, int64_t elements, int64_t elementBytes) {
  arrays_.push_back(std::make_unique<MemoryArray>(tensor, address_, elements, elementBytes, config_));
  const auto row = static_cast<uint64_t>(config_.dram.rowBytes);
  const auto bytes = static_cast<uint64_t>(elements * elementBytes);
  address_ += (bytes + row - 1) / row * row;  // arrays begin with a row
  return arrays_.back().get();
}

void Machine::addArrays(const Graph& graph, const Inputs& inputs) {
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.isOutput) continue;
    const TensorView& data = inputs.at(tensor.name);
    for (size_t i = 0; i < data.levels.size(); ++i) {
      const LevelView& level = data.levels[i];
      if (level.format == LevelFormat::dense) continue;
      const auto name = [&](std::string_view part) { return fmt::format("{}.{}.{}", tensor.name, i, part); };
      arrayOf_[name("pos")] = addArray(tensor.name, static_cast<int64_t>(level.pos.size()), config_.size.position);
      arrayOf_[name("crd")] = addArray(tensor.name, static_cast<int64_t>(level.crd.size()), config_.size.coordinate);
    }
    arrayOf_[tensor.name + ".values"] =
        addArray(tensor.name, static_cast<int64_t>(data.values.size()), config_.size.value);
  }
}

/// What accumulators leave of the scratchpads holds arrays, the smallest first, as long as they fit.
void Machine::makeSmallOnesResident(const Graph& graph) {
  const auto isSpacc = [](const Node& node) { return std::holds_alternative<Spacc>(node.block); };
  const int64_t taken = std::ranges::count_if(graph.nodes(), isSpacc);
  int64_t left = std::max<int64_t>(config_.scratchpad.count - taken, 0) * config_.scratchpad.bytes;
  std::vector<MemoryArray*> bySize;
  for (const auto& array : arrays_) bySize.push_back(array.get());
  std::ranges::stable_sort(bySize, {}, &MemoryArray::bytes);
  for (MemoryArray* array : bySize) {
    if (array->bytes() == 0) continue;
    if (array->bytes() > left) break;
    left -= array->bytes();
    array->makeResident();
  }
}

void Machine::setUp(RunNode<Hw>& node, const Block& block) {
  Hw& clock = node.clock();
  if (const auto* alu = std::get_if<Alu>(&block)) {
    clock.latency = latencyOf(config_.latency, alu->op);
    if (alu->op == AluOp::div || alu->op == AluOp::reciprocal)
      clock.interval = static_cast<Stamp>(config_.latency.divideInterval);
  } else if (std::holds_alternative<Reduce>(block)) {
    clock.latency = static_cast<Stamp>(config_.latency.add);
  } else if (std::holds_alternative<Spacc>(block)) {
    const bool fits = static_cast<int64_t>(pads_.size()) < config_.scratchpad.count;
    const uint64_t spillTo = address_ + (UINT64_C(1) << 40) * (pads_.size() + 1);
    pads_.push_back(std::make_unique<Scratchpad>(config_, fits ? config_.scratchpad.bytes : 0, spillTo, &dram_));
    clock.pad = pads_.back().get();
  }
}

ReadPort Machine::readPort(const std::string& key) { return {arrayOf_.at(key), &dram_, config_.port}; }

WritePort Machine::writePort(const std::string& tensor, int64_t elementBytes) {
  address_ += UINT64_C(1) << 36;  // results lie apart; nobody knows yet how long they are
  return {addArray(tensor, 0, elementBytes), &dram_, config_.port};
}

std::unique_ptr<HwNode> Machine::makeScan(const Scan& scan, const HwNode::Site& site, const Inputs& inputs) {
  const LevelView& level = inputs.at(scan.tensor).levels[static_cast<size_t>(scan.level)];
  if (level.format == LevelFormat::dense) return nullptr;
  const std::string name = fmt::format("{}.{}.", scan.tensor, scan.level);
  return std::make_unique<HwScanNode>(site, level, readPort(name + "pos"), readPort(name + "crd"),
                                      config_.port.lookahead);
}

std::unique_ptr<HwNode> Machine::make(const Block& block, const HwNode::Site& site, const Inputs& inputs,
                                      Storages& results) {
  if (const auto* scan = std::get_if<Scan>(&block)) return makeScan(*scan, site, inputs);
  if (std::holds_alternative<Broadcast>(block)) return std::make_unique<HwBroadcastNode>(site);
  if (const auto* array = std::get_if<Array>(&block))
    return std::make_unique<HwArrayNode>(site, inputs.at(array->tensor).values, readPort(array->tensor + ".values"),
                                         config_.port.outstanding);
  if (const auto* level = std::get_if<WriteLevel>(&block))
    return std::make_unique<HwWriteNode>(site, &results.at(level->tensor).levels[static_cast<size_t>(level->level)],
                                         nullptr, writePort(level->tensor, config_.size.coordinate),
                                         writePort(level->tensor, config_.size.position));
  if (const auto* values = std::get_if<WriteValues>(&block))
    return std::make_unique<HwWriteNode>(site, nullptr, &results.at(values->tensor).values,
                                         writePort(values->tensor, config_.size.value),
                                         writePort(values->tensor, config_.size.value));
  return nullptr;
}

void Machine::report(Report& report) const {
  std::map<std::string, TensorReport> tensors;
  for (const auto& array : arrays_) {
    TensorReport& tensor = tensors.try_emplace(array->tensor(), TensorReport{array->tensor(), 0, 0}).first->second;
    tensor.bytesRead += array->bytesRead();
    tensor.bytesWritten += array->bytesWritten();
    report.memory.bankConflictCycles += array->conflictCycles();
  }
  for (auto& [name, tensor] : tensors) report.tensors.push_back(tensor);
  for (const auto& pad : pads_) {
    report.memory.bankConflictCycles += pad->conflictCycles();
    report.memory.spilledAccesses += pad->spilled();
  }
  const Dram::Counts& counts = dram_.counts();
  report.memory.bursts = counts.bursts;
  report.memory.rowHits = counts.hits;
  report.memory.rowMisses = counts.misses;
  if (report.cycles > 0)
    report.memory.bandwidthUsed = static_cast<double>(counts.busyCycles) / static_cast<double>(report.cycles) /
                                  static_cast<double>(dram_.channels());
}

}  // namespace tokamak::sim
