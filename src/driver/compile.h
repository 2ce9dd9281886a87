#pragma once

#include <memory>
#include <optional>

#include "driver/engine.h"
#include "driver/explain.h"
#include "fusion/region.h"
#include "runtime/executable.h"
#include "schedule/schedule.h"

namespace tokamak {

struct CompileOptions {
  DimBindings hints;           // likely sizes of symbolic dimensions, for the cost model; any size runs
  bool fuse = true;            // false: every op a kernel of its own
  bool library = true;         // products may go to the library
  bool useCache = true;        // of compiled kernels
  bool eagerRounding = false;  // round to the dtype after every op, as PyTorch's eager mode does
  bool epilogues = true;       // the library may apply what follows a product
  int64_t maxWeight = 160;     // element operations in one kernel, at most
  double streamBytes = schedule::Device{}.streamBytes;  // results on a CPU this large are stored past the caches
  std::optional<schedule::Gpu> gpu;                     // kernels are for this GPU, not for the host
};

/// A graph after passes, fusion and scheduling; regions that a library serves have no kernel.
struct Lowered {
  Graph graph;
  FusionPlan plan;
  std::vector<std::optional<schedule::Scheduled>> kernels;  // a region each
};

/// Graph to kernels: everything but code generation. The machine is described by `device`.
Result<Lowered> lower(const Graph& graph, const Engine& engine, const CompileOptions& options);

/// The kernels of one region of a plan, whose ledger then tells how it is scheduled; none where a library serves it.
Result<std::optional<schedule::Scheduled>> scheduleOne(Lowered& lowered, size_t region, const Engine& engine,
                                                       const CompileOptions& options);

/// What there is to say about a lowered graph, for `explain`. `written` is the program before any pass, `dims` the
/// sizes that were predicted for.
Explanation explanationOf(const Graph& written, const Lowered& lowered, const DimBindings& dims);

/// A graph ready to run, and what was decided about it.
struct Compiled {
  std::shared_ptr<const runtime::Executable> executable;
  Explanation explanation;
};

/// The whole way: passes, fusion, scheduling, code generation (or the cache), memory plan.
///
///   Engine engine;
///   TK_TRY(Compiled compiled, compile(graph, engine));
///   TK_TRY(std::vector<runtime::Tensor> outputs, compiled.executable->run(inputs));
Result<Compiled> compile(const Graph& graph, const Engine& engine, const CompileOptions& options = {});

}  // namespace tokamak
