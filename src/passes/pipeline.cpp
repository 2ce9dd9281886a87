#include "passes/pipeline.h"

#include <fmt/format.h>

#include <array>

#include "passes/canonicalise.h"
#include "passes/cast_cleanup.h"
#include "passes/channels_last.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/decompose.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/raise_reshape.h"
#include "passes/sink_reshape.h"
#include "passes/sink_transpose.h"
#include "passes/stage_folds.h"

namespace tokamak {

namespace {

/// Runs passes one after another, verifies what each leaves in debug builds, and tells the observer.
class Runner {
 public:
  Runner(Graph& graph, const PassObserver& observer) : graph_(graph), observer_(observer) {}

  template <Pass P>
  Result<Changed> operator()(const P& pass) {
    TK_TRY(const Changed changed, pass.run(graph_));
#ifndef NDEBUG
    if (changed == Changed::yes)
      if (const auto verified = verify(graph_); !verified)
        TK_CHECK(false, fmt::format("{} leaves a bad graph: {}\n{}", P::name, verified.error().str(), print(graph_)));
#endif
    if (observer_) observer_(P::name, graph_);
    return changed;
  }

 private:
  Graph& graph_;
  const PassObserver& observer_;
};

}  // namespace

Result<> runPipeline(Graph& graph, const PipelineOptions& options, const PassObserver& observer) {
  Runner run(graph, observer);
  // First, so that no pass works on what nobody reads.
  TK_RETURN_IF_ERROR(run(DeadCodeElimination{}));
  // Patterns below look at direct producers: identities must not stand between.
  TK_RETURN_IF_ERROR(run(Canonicalise{}));
  // Before decompose, which dissolves the norms it looks for.
  TK_RETURN_IF_ERROR(run(FoldBatchNorm{}));
  TK_RETURN_IF_ERROR(run(Decompose{options.keepAttention}));
  // After decompose, which writes identities (broadcasts to the same shape, counts) without looking.
  TK_RETURN_IF_ERROR(run(Canonicalise{}));
  TK_RETURN_IF_ERROR(run(FoldConstants{}));
  // Before the transposes that it writes are sunk.
  if (!options.channelsLast.empty()) TK_RETURN_IF_ERROR(run(ChannelsLast{options.channelsLast}));
  // Before the sinks, which would leave what it looks for in two shapes.
  TK_RETURN_IF_ERROR(run(RaiseReshape{}));
  // Transposes before reshapes: sinking a transpose leaves reshapes where only unit axes moved. A reshape that went out
  // of the way may have stood in that of a transpose.
  for (int round = 0; round < 3; ++round) {
    TK_TRY(const Changed transposes, run(SinkTranspose{}));
    if (round > 0 && transposes == Changed::no) break;
    TK_TRY(const Changed reshapes, run(SinkReshape{}));
    if (reshapes == Changed::no) break;
  }
  // After the sinks, which bring together casts that a reshape or transpose kept apart.
  if (!options.eagerRounding) TK_RETURN_IF_ERROR(run(CastCleanup{}));
  // What has moved and met may now be equal, known or cancel, and each of these may bring about another. Equal values
  // come first, since x - x shows only once both are one. Two rounds settle nearly every graph.
  for (int round = 0; round < 4; ++round) {
    TK_TRY(const Changed shared, run(CommonSubexpressions{}));
    TK_TRY(const Changed folded, run(FoldConstants{}));
    TK_TRY(const Changed simplified, run(Canonicalise{}));
    if (shared == Changed::no && folded == Changed::no && simplified == Changed::no) break;
  }
  // Last, since canonicalise would undo it.
  if (options.stageFolds) TK_RETURN_IF_ERROR(run(StageFolds{}));
  TK_RETURN_IF_ERROR(run(DeadCodeElimination{}));
  return Unit{};
}

namespace {

struct NamedPass {
  std::string_view name;
  Result<Changed> (*run)(Graph&);
};

template <Pass P>
constexpr NamedPass named() {
  return {P::name, [](Graph& graph) { return P{}.run(graph); }};
}

constexpr std::array kPasses = {named<Canonicalise>(),         named<CastCleanup>(),         named<ChannelsLast>(),
                                named<CommonSubexpressions>(), named<DeadCodeElimination>(), named<Decompose>(),
                                named<FoldBatchNorm>(),        named<FoldConstants>(),       named<RaiseReshape>(),
                                named<SinkReshape>(),          named<SinkTranspose>(),       named<StageFolds>()};

}  // namespace

std::vector<std::string_view> passNames() {
  std::vector<std::string_view> names;
  names.reserve(kPasses.size());
  for (const NamedPass& pass : kPasses) names.push_back(pass.name);
  return names;
}

Result<Changed> runPass(std::string_view name, Graph& graph) {
  for (const NamedPass& pass : kPasses)
    if (pass.name == name) return pass.run(graph);
  return Diagnostic{"T0805",
                    {},
                    fmt::format("there is no pass named {}", name),
                    fmt::format("the passes are {}", fmt::join(passNames(), ", "))};
}

}  // namespace tokamak
