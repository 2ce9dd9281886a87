#include <fmt/format.h>

#include "sparse/lower/region_compiler.h"

namespace tokamak::sparse {

namespace {

/// A fused region that does this many times the work of its statements one by one is not wanted, however few there are.
constexpr double kTooMuchWork = 8;
/// Orders that are compared while a run is sought; the run itself gets as many as any region.
constexpr int kFewOrders = 4;

/// Finds runs of statements that can be regions.
class Runs {
 public:
  Runs(const std::vector<size_t>& statements, const std::vector<double>& alone, RegionCompiler& compiler)
      : statements_(statements), alone_(alone), compiler_(compiler) {}

  Result<> compile(std::vector<CompiledRegion>& out) {
    for (size_t begin = 0; begin < statements_.size();) {
      why_.clear();
      const size_t end = longest(begin);
      TK_TRY(std::optional<CompiledRegion> region, compiler_.compile(slice(begin, end), nullptr));
      begin = end;
      if (!region) continue;
      if (end < statements_.size()) region->notes.push_back("cut here: " + why_);
      compiler_.accept(*region);
      out.push_back(std::move(*region));
    }
    return Unit{};
  }

 private:
  std::vector<size_t> slice(size_t begin, size_t end) const {
    return {statements_.begin() + static_cast<std::ptrdiff_t>(begin),
            statements_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  /// Twice as long each time until it fails, then halving the doubt.
  size_t longest(size_t begin) {
    size_t good = begin + 1, bad = statements_.size() + 1;
    for (size_t step = 1; good < statements_.size() && bad > statements_.size(); step *= 2) {
      const size_t end = std::min(begin + 1 + step, statements_.size());
      (fits(begin, end) ? good : bad) = end;
    }
    while (bad <= statements_.size() && bad - good > 1) {
      const size_t middle = (good + bad) / 2;
      (fits(begin, middle) ? good : bad) = middle;
    }
    return good;
  }

  bool fits(size_t begin, size_t end) {
    const Result<std::optional<CompiledRegion>> region = compiler_.compile(slice(begin, end), nullptr, kFewOrders);
    if (!region) {
      why_ = region.error().message;
      return false;
    }
    double work = 0;
    for (size_t i = begin; i < end; ++i) work += alone_[statements_[i]];
    if (!*region || (*region)->estimate.tokens <= kTooMuchWork * work) return true;
    why_ = fmt::format("one region would do {:.0f} times the work of its statements one by one",
                       (*region)->estimate.tokens / work);
    return false;
  }

  const std::vector<size_t>& statements_;
  const std::vector<double>& alone_;
  RegionCompiler& compiler_;
  std::string why_;
};

}  // namespace

Result<std::vector<double>> workAlone(Program program, const Bindings* data) {
  std::vector<double> out(program.statements().size(), 0);
  RegionCompiler compiler(program, data);
  for (size_t s = 0; s < out.size(); ++s) {
    TK_TRY(const std::optional<CompiledRegion> region, compiler.compile({s}, nullptr, kFewOrders));
    if (!region) continue;
    out[s] = region->estimate.tokens;
    compiler.accept(*region);
  }
  return out;
}

Result<> compileInRuns(const std::vector<size_t>& statements, const std::vector<double>& alone,
                       RegionCompiler& compiler, std::vector<CompiledRegion>& out) {
  return Runs(statements, alone, compiler).compile(out);
}

}  // namespace tokamak::sparse
