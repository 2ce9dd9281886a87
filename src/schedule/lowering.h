#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusion/access.h"
#include "fusion/region.h"
#include "schedule/device.h"
#include "schedule/emitter.h"
#include "support/decision.h"

namespace tokamak::schedule {

/// Whether results are stored past the caches: known when compiling, or, where sizes are symbols, when the kernel runs.
enum class Streaming : uint8_t { no, yes, bySize };

/// What a global buffer of a kernel holds: a value of the graph, or else scratch memory of its region.
struct Held {
  ValueId value;
  int scratch = -1;  // index into Scheduled::scratch
};

/// A kernel with what its global buffers hold, in order.
struct Launch {
  kernel::Kernel kernel;
  std::vector<Held> buffers;
};

/// Memory of a region's own, which lasts from its first launch to its last.
struct Scratch {
  std::string name;
  DType dtype = DType::f32;
  Dim size;  // elements
};

/// A region as kernels that run one after another: one on a CPU, often one on a GPU.
struct Scheduled {
  std::vector<Launch> launches;
  std::vector<Scratch> scratch;
  std::string scheduler;
  std::string plan;     // for people
  bool halves = false;  // on a GPU: what comes of it in the end is rounded to halves
};

/// Scratch memory that the launches of one region share. Values of the graph that one of them leaves for another live
/// in it, in the type they are computed in.
struct RegionMemory {
  std::vector<Scratch> scratch;
  std::unordered_map<uint32_t, int> holds;  // value -> scratch
  bool updates = false;                     // this launch goes on with outputs that an earlier one has written

  int add(std::string name, DType dtype, Dim size);
};

/// What every scheduler begins with: a writer with the region's inputs and outputs bound to buffers. Those that
/// `memory` holds are in its scratch.
class Lowering {
 public:
  Lowering(const Graph& graph, const Region& region, std::string name,
           std::shared_ptr<RegionMemory> memory = std::make_shared<RegionMemory>());

  Scheduled finish(std::string scheduler, std::string plan) &&;
  /// A scratch buffer of this kernel alone, or number `index` of the region's.
  BufferId scratch(std::string name, DType dtype, Dim size);
  BufferId scratch(int index, kernel::Access access);
  /// Stores an output of the region at a place (nothing if `v` is none).
  void store(ValueId v, const At& at, bool streaming = false);

  BufferId bufferOf(ValueId v) const;  // of an input or output
  bool hasBuffer(ValueId v) const;
  const RegionMemory& memory() const { return *memory_; }
  /// Writes `body` for plain or streaming stores, or for both, to choose from when the sizes are known.
  void withStreaming(Streaming streaming, double streamBytes, const std::function<void(bool)>& body);

  const Graph& graph;
  const Region& region;
  Writer w;
  Emitter e;
  std::vector<bool> isLeaf;             // by value
  std::vector<BufferId> outputBuffers;  // as region.outputs

 private:
  std::vector<Held> buffers_;
  std::vector<ValueId> values_;  // as buffers_
  std::shared_ptr<RegionMemory> memory_;
};

Streaming streamingOf(const Graph& graph, const Region& region, const Device& device);

/// A place in the domain given an index for each group of axes (see LoopAxis).
std::vector<Index> domainIndex(IndexMath m, size_t rank, const std::vector<LoopAxis>& groups,
                               const std::vector<Index>& index);

/// Runs `body` over [begin, end) in vectors: steps of `wide` lanes, then of `narrow` lanes with the last one masked.
/// The body gets the index (unit stride), as a place with no axes, lanes and mask set.
struct VectorLoop {
  int wide = 16, narrow = 16;
  kernel::Binding binding = kernel::Binding::serial;  // of the wide steps
  int64_t grain = 1;
  bool wholeApart = false;  // narrow steps that are whole go without a mask too, if bounds are known at run time only
};
using VectorBody = std::function<void(const Index&, const At&)>;
void overVectors(Emitter& e, const VectorLoop& loop, const Dim& begin, const Dim& end, const VectorBody& body);
/// The same with bounds known at run time only; `begin` is a multiple of `multiple`.
void overVectors(Emitter& e, const VectorLoop& loop, ExprId begin, int64_t multiple, ExprId end,
                 const VectorBody& body);

/// Splits a flat iteration number over extents, outermost first.
std::vector<Index> unflatten(IndexMath m, const Index& flat, const std::vector<Dim>& extents);

/// Element operations a point of the domain costs, roughly, by the nodes of a region at full level.
int64_t regionWeight(const Graph& graph, const Region& region);

}  // namespace tokamak::schedule
