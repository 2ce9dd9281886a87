#include "schedule/gpu/stages.h"

#include <algorithm>

#include "fusion/join_regions.h"

namespace tokamak::schedule::gpu {

Region partOf(const Graph& graph, const Region& region, const std::vector<ValueId>& roots,
              const std::vector<bool>& known) {
  Region part = region;
  part.inputs.clear();
  part.nodes.clear();
  std::vector<bool> inRegion(graph.size(), false), seen(graph.size(), false);
  for (ValueId v : region.nodes) inRegion[v.index] = true;
  std::vector<ValueId> work = roots;
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (seen[v.index]) continue;
    seen[v.index] = true;
    if (!inRegion[v.index] || (!known.empty() && known[v.index])) {
      part.inputs.push_back(v);
      continue;
    }
    part.nodes.push_back(v);
    work.insert(work.end(), graph.node(v).operands.begin(), graph.node(v).operands.end());
  }
  std::sort(part.nodes.begin(), part.nodes.end());
  std::sort(part.inputs.begin(), part.inputs.end());
  return part;
}

std::vector<Region> splitSweeps(const Graph& graph, const Region& region, RegionMemory& memory) {
  const Phases phases = planPhases(graph, region, {.pairs = true});
  // A value can be had after the sweep of the last fold it depends on.
  std::vector<size_t> after(graph.size(), 0);
  for (size_t s = 0; s < phases.sweeps.size(); ++s)
    for (ValueId v : phases.sweeps[s].folds) after[v.index] = s;
  for (ValueId v : region.nodes)
    if (!opAs<Reduce>(graph, v))
      for (ValueId operand : graph.node(v).operands) after[v.index] = std::max(after[v.index], after[operand.index]);
  std::vector<bool> wanted(graph.size(), false), known(graph.size(), false);
  for (ValueId v : region.nodes)
    for (ValueId operand : graph.node(v).operands) wanted[operand.index] = true;

  std::vector<Region> parts;
  for (size_t s = 0; s < phases.sweeps.size(); ++s) {
    const Sweep& sweep = phases.sweeps[s];
    std::vector<ValueId> outputs = sweep.stores;
    for (ValueId v : region.outputs)
      if (sweep.stores.empty() && !isFull(graph, region, v) && after[v.index] == s) outputs.push_back(v);
    for (ValueId v : sweep.folds) {
      if (std::find(outputs.begin(), outputs.end(), v) != outputs.end() || !wanted[v.index]) continue;
      outputs.push_back(v);
      const TensorType& type = graph.type(v);
      memory.holds[v.index] = memory.add("r" + std::to_string(v.index), computeType(type.dtype), type.elements());
    }
    Region& part = parts.emplace_back(partOf(graph, region, outputs, known));
    part.outputs = outputs;
    if (sweep.folds.empty()) part.kind = RegionKind::pointwise, part.folded.clear();
    for (ValueId v : outputs) known[v.index] = true;
  }
  return parts;
}

Region rowsPart(const Graph& graph, const Region& region) {
  const std::vector<bool> late = afterAcross(graph, region);
  std::vector<ValueId> outputs, roots;
  for (ValueId v : region.outputs)
    if (!late[v.index]) outputs.push_back(v);
  roots = outputs;
  for (ValueId v : region.across) roots.push_back(graph.node(v).operands[0]);
  Region part = partOf(graph, region, roots);
  part.outputs = std::move(outputs);
  return part;
}

Region columnsPart(const Graph& graph, const Region& region) {
  const std::vector<bool> late = afterAcross(graph, region);
  std::vector<ValueId> outputs;
  for (ValueId v : region.outputs)
    if (late[v.index]) outputs.push_back(v);
  // Folds of rows on the way are not this part's: what they give stands for an input.
  std::vector<bool> known(graph.size(), false);
  for (ValueId v : region.nodes) known[v.index] = opAs<Reduce>(graph, v) && !late[v.index];
  Region part = partOf(graph, region, outputs, known);
  part.outputs = std::move(outputs);
  part.across.clear();
  part.folded.clear();
  for (size_t i = 0; i < region.domain.size(); ++i)
    if (std::find(region.folded.begin(), region.folded.end(), Axis(i)) == region.folded.end())
      part.folded.push_back(Axis(i));
  return part;
}

Region afterFolds(const Graph& graph, const Region& region) {
  std::vector<bool> inRegion(graph.size(), false), seen(graph.size(), false);
  for (ValueId v : region.nodes) inRegion[v.index] = true;
  Region part = region;
  part.inputs.clear();
  part.nodes.clear();
  std::vector<ValueId> work = region.outputs;
  for (ValueId v : region.nodes)
    if (opAs<Reduce>(graph, v)) work.push_back(v);
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (seen[v.index]) continue;
    seen[v.index] = true;
    (inRegion[v.index] ? part.nodes : part.inputs).push_back(v);
    if (inRegion[v.index] && !opAs<Reduce>(graph, v))
      work.insert(work.end(), graph.node(v).operands.begin(), graph.node(v).operands.end());
  }
  std::sort(part.nodes.begin(), part.nodes.end());
  std::sort(part.inputs.begin(), part.inputs.end());
  return part;
}

Scheduled joined(std::vector<Scheduled> parts, std::string scheduler, std::string plan) {
  Scheduled out{{}, parts.back().scratch, std::move(scheduler), std::move(plan)};
  for (Scheduled& part : parts)
    for (Launch& launch : part.launches) {
      if (parts.size() > 1 || part.launches.size() > 1) launch.kernel.name += "_" + std::to_string(out.launches.size());
      out.launches.push_back(std::move(launch));
    }
  return out;
}

}  // namespace tokamak::schedule::gpu
