#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sparse/schedule/schedule.h"

namespace tokamak::sparse {

namespace {

void collectTensors(const Program& program, ExprId id, std::set<ExprId>& seen, std::vector<TensorId>& out) {
  if (!seen.insert(id).second) return;
  const Expr& e = program.expr(id);
  if (e.kind == ExprKind::access) out.push_back(e.tensor);
  for (const ExprId arg : e.args) collectTensors(program, arg, seen, out);
}

}  // namespace

std::set<TensorId> sparseInputs(const Program& program, ExprId value) {
  std::set<ExprId> seen;
  std::vector<TensorId> read;
  collectTensors(program, value, seen, read);
  std::erase_if(read, [&](TensorId id) {
    const TensorDecl& decl = program.tensor(id);
    return decl.role != Role::input || decl.format.value_or(Format::dense(1)).isDense();
  });
  return {read.begin(), read.end()};
}

std::vector<std::vector<size_t>> dependences(const Program& program) {
  std::vector<int64_t> statementOf(program.tensors().size(), -1);
  std::vector<std::vector<size_t>> out;
  for (size_t s = 0; s < program.statements().size(); ++s) {
    std::vector<TensorId> tensors;
    std::set<ExprId> seen;
    collectTensors(program, program.statements()[s].value, seen, tensors);
    out.emplace_back();
    for (const TensorId t : tensors)
      if (statementOf[t.index] >= 0) out.back().push_back(static_cast<size_t>(statementOf[t.index]));
    statementOf[program.statements()[s].tensor.index] = static_cast<int64_t>(s);
  }
  return out;
}

namespace {

class Partitioner {
 public:
  Partitioner(const Program& program, const Schedule& schedule)
      : program_(program), schedule_(schedule), home_(program.statements().size(), -1) {
    for (size_t s = 0; s < home_.size(); ++s) statementOf_.try_emplace(program.statements()[s].tensor, s);
  }

  Result<Partition> run() {
    TK_RETURN_IF_ERROR(assign());
    TK_RETURN_IF_ERROR(spill());
    for (size_t s = 0; s < home_.size(); ++s)
      if (home_[s] < 0) {
        home_[s] = static_cast<int64_t>(schedules_.size());
        schedules_.push_back(nullptr);
      }
    return arrange();
  }

 private:
  Result<> assign() {
    if (schedule_.fuse == Schedule::Fuse::all) {
      schedules_.push_back(schedule_.regions.empty() ? nullptr : &schedule_.regions[0]);
      std::fill(home_.begin(), home_.end(), 0);
      return Unit{};
    }
    for (const RegionSchedule& region : schedule_.regions) {
      for (const std::string& name : region.tensors) {
        const auto found = statementOf_.find(program_.findTensor(name));
        if (found == statementOf_.end())
          return Diagnostic{"T0974", region.location, fmt::format("{} is no result of the program", name),
                            "fuse takes the tensors on the left of statements"};
        int64_t& home = home_[found->second];
        if (home >= 0)
          return Diagnostic{"T0974", region.location, fmt::format("{} is fused in two regions", name),
                            "name it in one of them"};
        home = static_cast<int64_t>(schedules_.size());
      }
      schedules_.push_back(&region);
    }
    return Unit{};
  }

  /// A spilled tensor and what it needs of its region become a region of their own, which stores it for the rest.
  Result<> spill() {
    const auto reads = dependences(program_);
    for (const std::string& name : schedule_.spill) {
      const auto found = statementOf_.find(program_.findTensor(name));
      if (found == statementOf_.end())
        return Diagnostic{"T0974", schedule_.location, fmt::format("{} is no result of the program", name),
                          "spill takes tensors on the left of statements"};
      std::vector<size_t> todo = {found->second};
      const int64_t home = home_[todo[0]];
      if (home < 0) continue;  // stored anyway
      const auto fresh = static_cast<int64_t>(schedules_.size());
      while (!todo.empty()) {
        const size_t s = todo.back();
        todo.pop_back();
        if (home_[s] != home) continue;
        home_[s] = fresh;
        todo.insert(todo.end(), reads[s].begin(), reads[s].end());
      }
      schedules_.push_back(nullptr);
    }
    return Unit{};
  }

  /// Regions so that what one reads comes before; the earliest statement first where there is a choice.
  Result<Partition> arrange() {
    const size_t count = schedules_.size();
    std::vector<std::vector<size_t>> members(count);
    for (size_t s = 0; s < home_.size(); ++s) members[static_cast<size_t>(home_[s])].push_back(s);
    std::vector<std::vector<size_t>> readers(count);
    std::vector<size_t> waits(count, 0);
    const auto reads = dependences(program_);
    for (size_t s = 0; s < home_.size(); ++s)
      for (const size_t from : reads[s]) {
        const auto a = static_cast<size_t>(home_[from]), b = static_cast<size_t>(home_[s]);
        if (a == b) continue;
        readers[a].push_back(b);
        ++waits[b];
      }
    Partition out;
    const auto live =
        static_cast<size_t>(std::count_if(members.begin(), members.end(), [](const auto& m) { return !m.empty(); }));
    std::set<std::pair<size_t, size_t>> ready;  // first statement, region
    for (size_t r = 0; r < count; ++r)
      if (waits[r] == 0 && !members[r].empty()) ready.emplace(members[r][0], r);
    while (!ready.empty()) {
      const size_t r = ready.begin()->second;
      ready.erase(ready.begin());
      out.regions.push_back(members[r]);
      out.schedules.push_back(schedules_[r]);
      for (const size_t reader : readers[r])
        if (--waits[reader] == 0) ready.emplace(members[reader][0], reader);
    }
    if (out.regions.size() == live) return out;
    return Diagnostic{
        "T0975", schedule_.location,
        fmt::format("regions of schedule {} wait for each other: {}", schedule_.name, stuck(members, waits)),
        "a region may not need a result that needs one of its own; fuse what lies between as well"};
  }

  std::string stuck(const std::vector<std::vector<size_t>>& members, const std::vector<size_t>& waits) const {
    std::vector<std::string> out;
    for (size_t r = 0; r < members.size(); ++r) {
      if (waits[r] == 0) continue;
      std::vector<std::string> names;
      for (const size_t s : members[r]) names.push_back(program_.tensor(program_.statements()[s].tensor).name);
      out.push_back(fmt::format("{{{}}}", fmt::join(names, ", ")));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  const Program& program_;
  const Schedule& schedule_;
  std::vector<int64_t> home_;  // of each statement
  std::map<TensorId, size_t> statementOf_;
  std::vector<const RegionSchedule*> schedules_;
};

}  // namespace

Result<Partition> partition(const Program& program, const Schedule& schedule) {
  return Partitioner(program, schedule).run();
}

}  // namespace tokamak::sparse
