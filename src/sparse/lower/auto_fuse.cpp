#include <algorithm>
#include <set>

#include "sparse/lower/region_compiler.h"

namespace tokamak::sparse {

namespace {

constexpr size_t kMostStatements = 48;  // of one region: beyond it gains are small, and trials stay cheap
constexpr int kOrdersInTrials = 8;
constexpr double kGain = 0.98;

class AutoFuser {
 public:
  AutoFuser(const Program& program, RegionCompiler& compiler)
      : program_(program), compiler_(compiler), reads_(dependences(program)), home_(program.statements().size(), 0) {}

  Result<std::vector<CompiledRegion>> run() {
    for (size_t s = 0; s < program_.statements().size(); ++s) TK_RETURN_IF_ERROR(place(s));
    std::vector<CompiledRegion> out;
    for (Group& group : groups_)
      if (group.compiled) out.push_back(std::move(*group.compiled));
    return out;
  }

 private:
  struct Group {
    std::vector<size_t> statements;
    std::optional<CompiledRegion> compiled;  // none: nobody needs its results
    std::set<TensorId> inputs;
  };

  double cost(const std::optional<CompiledRegion>& region) const { return region ? region->estimate.cycles : 0; }

  /// Puts a statement into the region that gains most by it, or into one of its own.
  Result<> place(size_t s) {
    const std::set<TensorId> inputs = sparseInputs(program_, program_.statements()[s].value);
    TK_TRY(std::optional<CompiledRegion> alone, compiler_.compile({s}, nullptr, kOrdersInTrials));
    size_t last = 0;  // regions before this one are too early: they run before something that s reads
    for (const size_t from : reads_[s]) last = std::max(last, home_[from]);
    size_t best = groups_.size();
    double least = kGain;
    std::optional<CompiledRegion> chosen;
    for (size_t g = last; g < groups_.size(); ++g) {
      if (!isCandidate(s, g, inputs)) continue;
      std::vector<size_t> together = groups_[g].statements;
      together.push_back(s);
      Result<std::optional<CompiledRegion>> merged = compiler_.compile(together, nullptr, kOrdersInTrials);
      if (!merged) continue;  // it cannot be fused
      const double share = cost(*merged) / std::max(1.0, cost(groups_[g].compiled) + cost(alone));
      if (share >= least) continue;
      least = share;
      best = g;
      chosen = std::move(*merged);
    }
    if (best == groups_.size()) {
      groups_.push_back({{}, std::move(alone), {}});
    } else {
      groups_[best].compiled = std::move(chosen);
    }
    groups_[best].statements.push_back(s);
    groups_[best].inputs.insert(inputs.begin(), inputs.end());
    home_[s] = best;
    if (groups_[best].compiled) compiler_.accept(*groups_[best].compiled);
    return Unit{};
  }

  /// Regions that a statement reads from, and those that walk a sparse input which it walks too.
  bool isCandidate(size_t s, size_t g, const std::set<TensorId>& inputs) const {
    const Group& group = groups_[g];
    if (group.statements.size() >= kMostStatements) return false;
    const bool reads = std::any_of(reads_[s].begin(), reads_[s].end(), [&](size_t from) { return home_[from] == g; });
    return reads || std::any_of(inputs.begin(), inputs.end(), [&](TensorId t) { return group.inputs.contains(t); });
  }

  const Program& program_;
  RegionCompiler& compiler_;
  std::vector<std::vector<size_t>> reads_;
  std::vector<size_t> home_;  // of each statement
  std::vector<Group> groups_;
};

}  // namespace

Result<std::vector<CompiledRegion>> fuseAutomatically(const Program& program, RegionCompiler& compiler) {
  return AutoFuser(program, compiler).run();
}

}  // namespace tokamak::sparse
