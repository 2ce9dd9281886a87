#include "sparse/lower/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sparse/lower/to_stream.h"

namespace tokamak::sparse {

namespace {

constexpr int kOrdersTried = 64;

class Compiler {
 public:
  Compiler(Program program, const Schedule& schedule, const Bindings* data) : schedule_(schedule), data_(data) {
    out_.program = std::move(program);
  }

  Result<Compiled> run() {
    TK_RETURN_IF_ERROR(chooseFormats());
    TK_TRY(const Partition parts, partition(out_.program, schedule_));
    for (size_t r = 0; r < parts.regions.size(); ++r) {
      Region fused = fuseRegion(out_.program, parts.regions[r]);
      if (fused.program.statements().empty()) continue;  // nobody needs it
      TK_TRY(CompiledRegion region, compileRegion(std::move(fused), parts.schedules[r]));
      out_.regions.push_back(std::move(region));
    }
    return std::move(out_);
  }

 private:
  Result<> chooseFormats() {
    for (const auto& [name, format] : schedule_.formats) {
      TensorDecl& decl = out_.program.tensors()[out_.program.findTensor(name).index];
      if (decl.role == Role::input)
        return Diagnostic{"T0974", schedule_.location, fmt::format("{} is an input: its data have a format", name),
                          "change its declaration"};
      decl.format = format;
    }
    for (TensorDecl& decl : out_.program.tensors())
      if (!decl.format) decl.format = Format::dense(static_cast<int>(decl.dims.size()));
    return Unit{};
  }

  double bytesOf(const Program& program, TensorId id) const {
    if (data_)
      if (const auto found = data_->find(program.tensor(id).name); found != data_->end())
        return static_cast<double>(found->second.bytes());
    double out = 4;
    for (const int64_t extent : program.shape(id)) out *= static_cast<double>(std::max<int64_t>(1, extent));
    return out;
  }

  Result<CompiledRegion> compileRegion(Region fused, const RegionSchedule* wish) {
    CompiledRegion out{std::move(fused), {}, {}, {}, {}};
    const Region& region = out.region;
    static const RegionSchedule kNone;
    if (!wish) wish = &kNone;
    const auto bytes = [&](TensorId t) { return bytesOf(region.program, t); };
    const Result<OrderProblem> found = orderProblem(region, wish->order, bytes);
    if (!found) return placed(found.error(), *wish, region);
    const OrderProblem& problem = *found;
    out.options.iterate.insert(wish->iterate.begin(), wish->iterate.end());
    TK_RETURN_IF_ERROR(lanes(region.program, problem, *wish, out.options));
    std::optional<Diagnostic> refusal;
    int tried = 0;
    bool built = false;
    problem.forEachOrder([&](const std::vector<VarId>& order) {
      out.options.order = order;
      out.options.views = copiedViews(region, problem, order);
      Result<Table> table = buildTable(region, out.options);
      if (table) {
        out.table = std::move(*table);
        built = true;
        return false;
      }
      if (!refusal) refusal = table.error();
      return ++tried < kOrdersTried;
    });
    if (!built) return placed(*refusal, *wish, region);
    for (const ExprId access : problem.copied)
      out.notes.push_back(fmt::format("{} contradicts the order of the others: a permuted copy is read",
                                      print(region.program, access)));
    if (tried > 0) out.notes.push_back(fmt::format("{} orders could not run: {}", tried, refusal->message));
    TK_TRY(out.graph, toStream(out.table));
    return out;
  }

  static Result<> lanes(const Program& program, const OrderProblem& problem, const RegionSchedule& wish,
                        TableOptions& options) {
    for (const auto& [name, count] : wish.parallel) {
      const auto found =
          std::find_if(problem.vars.begin(), problem.vars.end(), [&](VarId v) { return program.var(v).name == name; });
      if (found == problem.vars.end())
        return Diagnostic{"T0972", wish.location, fmt::format("{} is no index variable of the region", name),
                          "tokamak sparse explain lists them"};
      options.lanes[*found] = count;
    }
    return Unit{};
  }

  /// The diagnostic at the place of the schedule, or of the statement where there is no schedule.
  static Diagnostic placed(Diagnostic error, const RegionSchedule& wish, const Region& region) {
    if (error.location.line == 0)
      error.location = wish.location.line != 0 ? wish.location : region.program.statements().back().location;
    return error;
  }

  const Schedule& schedule_;
  const Bindings* data_;
  Compiled out_;
};

}  // namespace

Result<Compiled> compile(const Program& program, const Schedule& schedule, const Bindings* data) {
  return Compiler(program, schedule, data).run();
}

Schedule unfused() { return {.name = "unfused"}; }

}  // namespace tokamak::sparse
