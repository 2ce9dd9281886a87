#include "search/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>

#include "search/front.h"

namespace tokamak::search {

namespace {

class Search {
 public:
  Search(const Space& space, const Data& data, const SearchOptions& options, Results& results)
      : space_(space), data_(data), options_(options), results_(results) {
    out_.measured.resize(space.choices().size());
    const auto count = static_cast<double>(space.choices().size());
    allowed_ = options.exhaustive ? space.choices().size() : static_cast<size_t>(count * options.share + 1e-9);
  }

  Result<Outcome> run() {
    out_.allowed = allowed_;
    if (options_.exhaustive) {
      TK_RETURN_IF_ERROR(bestFirst(SIZE_MAX));
      // What takes longer than a whole plan need not be simulated to its end: it is in none that is better.
      if (const auto plan = cheapest(space_, [&](size_t c) { return exact(c); })) enough_ = plan->cost;
      std::vector<size_t> rest;
      for (size_t c = 0; c < space_.choices().size(); ++c)
        if (!out_.measured[c]) rest.push_back(c);
      if (out_.complete) TK_RETURN_IF_ERROR(simulate(rest));
    } else {
      TK_RETURN_IF_ERROR(bestFirst(SIZE_MAX));
      if (options_.front && out_.complete) TK_RETURN_IF_ERROR(smaller());
    }
    TK_RETURN_IF_ERROR(confirm());
    const CostOf known = [&](size_t c) { return exact(c); };
    out_.best = cheapest(space_, known);
    if (out_.best) out_.front = frontOf(space_, known, out_.measured);
    return std::move(out_);
  }

 private:
  std::optional<double> exact(size_t c) const {
    return out_.measured[c] ? std::optional(out_.measured[c]->cycles) : std::nullopt;
  }

  /// What a choice may cost at best.
  double hopeful(size_t c) const { return out_.measured[c] ? likely(c) : likely(c) * (1 - options_.margin); }

  /// What a choice costs: measured, or estimated and corrected by its region's other orders.
  double likely(size_t c) const {
    if (out_.measured[c]) return out_.measured[c]->cycles;
    const Choice& choice = space_.choices()[c];
    const auto seen = corrections_.find(choice.statements);
    const double correction = seen == corrections_.end() ? 1 : seen->second;
    return estimatedCycles(choice, options_.simulation) * correction;
  }

  /// Simulates plans of regions with fewer blocks than `limit` until the best of them is known.
  Result<> bestFirst(size_t limit) {
    while (out_.complete) {
      const std::optional<Plan> plan = cheapest(space_, [&](size_t c) {
        return space_.choices()[c].blocks < limit ? std::optional(hopeful(c)) : std::nullopt;
      });
      if (!plan) break;
      std::vector<size_t> missing;
      for (const size_t c : plan->choices)
        if (!out_.measured[c]) missing.push_back(c);
      if (missing.empty()) break;
      const size_t left = allowed_ - out_.simulated;
      const bool fits = missing.size() <= left;
      if (!fits) {
        if (left == 0 || cheapest(space_, [&](size_t c) { return exact(c); })) break;
        std::sort(missing.begin(), missing.end(), [&](size_t a, size_t b) { return likely(a) > likely(b); });
        missing.resize(left);
      }
      TK_RETURN_IF_ERROR(simulate(missing));
    }
    return Unit{};
  }

  /// Where no plan has been measured throughout, the likeliest best is: what is shown has been run.
  Result<> confirm() {
    if (!out_.complete || cheapest(space_, [&](size_t c) { return exact(c); })) return Unit{};
    const std::optional<Plan> plan = cheapest(space_, [&](size_t c) { return std::optional(likely(c)); });
    if (!plan) return Unit{};
    std::vector<size_t> missing;
    for (const size_t c : plan->choices)
      if (!out_.measured[c]) missing.push_back(c);
    const size_t searched = out_.simulated;
    TK_RETURN_IF_ERROR(simulate(missing));
    out_.confirmed = std::exchange(out_.simulated, searched) - searched;
    return Unit{};
  }

  /// The best plans of less and less area, as far as the allowance goes.
  Result<> smaller() {
    const std::vector<FrontPoint> front =
        frontOf(space_, [&](size_t c) { return std::optional(hopeful(c)); }, out_.measured);
    for (const FrontPoint& point : front) TK_RETURN_IF_ERROR(bestFirst(point.blocks));
    return Unit{};
  }

  Result<> simulate(const std::vector<size_t>& wanted) {
    std::vector<std::optional<Measurement>> found(wanted.size());
    std::vector<size_t> todo;
    for (size_t i = 0; i < wanted.size(); ++i) {
      found[i] = results_.find(space_.choices()[wanted[i]].key);
      if (!found[i]) todo.push_back(i);
    }
    if (options_.deferred && !todo.empty()) {
      for (const size_t i : todo) out_.missing.push_back(wanted[i]);
      out_.complete = false;
    } else {
      TK_RETURN_IF_ERROR(measureAll(wanted, todo, found));
    }
    for (size_t i = 0; i < wanted.size(); ++i)  // in one order, whoever was ready first
      if (found[i]) note(wanted[i], *found[i]);
    return Unit{};
  }

  Result<> measureAll(const std::vector<size_t>& wanted, const std::vector<size_t>& todo,
                      std::vector<std::optional<Measurement>>& found) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    std::optional<Diagnostic> fault;
    std::mutex lock;
    const sim::Options& simulation = options_.simulation;
    const auto work = [&] {
      for (size_t i = next++; i < todo.size() && goOn(stop); i = next++) {
        const Choice& choice = space_.choices()[wanted[todo[i]]];
        bool tooLong = false;
        sim::Options own = simulation;
        own.progress = [&](const sim::Progress& p) {
          tooLong = static_cast<double>(p.cycles) > enough_;
          return !tooLong && goOn(stop);
        };
        const Result<Measurement> measured = measure(choice, data_, own);
        const std::lock_guard guard(lock);
        if (measured && !tooLong) {
          results_.keep(choice, *measured);
          found[todo[i]] = *measured;
          ++out_.fresh;
        } else if (tooLong || (!stop && cannotRun(measured.error()))) {
          found[todo[i]] = Measurement{.cycles = INFINITY};  // in no plan that is better, or this machine cannot run it
        } else if (!stop && !fault) {
          fault = measured.error();
          stop = true;
        }
      }
    };
    std::vector<std::thread> helpers;
    for (int t = 1; t < options_.threads && static_cast<size_t>(t) < todo.size(); ++t) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    if (fault) return *fault;
    if (stop) out_.complete = false;
    return Unit{};
  }

  bool goOn(std::atomic<bool>& stop) {
    if (stop) return false;
    const std::lock_guard guard(progressLock_);
    if (options_.progress && !options_.progress(out_.simulated, allowed_)) stop = true;
    return !stop;
  }

  void note(size_t c, const Measurement& measurement) {
    if (!out_.measured[c]) ++out_.simulated;
    out_.measured[c] = measurement;
    const Choice& choice = space_.choices()[c];
    const double estimated = estimatedCycles(choice, options_.simulation);
    if (estimated > 0 && std::isfinite(measurement.cycles))
      corrections_[choice.statements] = measurement.cycles / estimated;
  }

  const Space& space_;
  const Data& data_;
  const SearchOptions& options_;
  Results& results_;
  Outcome out_;
  size_t allowed_ = 0;
  double enough_ = INFINITY;                           // cycles after which a simulation is ended
  std::map<std::vector<size_t>, double> corrections_;  // measured over estimated, of the last order simulated
  std::mutex progressLock_;
};

}  // namespace

double estimatedCycles(const Choice& choice, const sim::Options& simulation) {
  if (simulation.profile == sim::Profile::comal) return choice.estimate.cycles;
  if (simulation.profile == sim::Profile::comal_hbm) return choice.estimate.cyclesWithMemory;
  // `hw`: as busy as its blocks, its bursts or its shared units keep it.
  const sim::HwConfig& machine = simulation.machine;
  const double bytes = choice.estimate.bytesRead + choice.estimate.bytesWritten;
  const double perCycle = static_cast<double>(machine.dram.channels * machine.dram.burstBytes) /
                          static_cast<double>(std::max<int64_t>(1, machine.dram.burstCycles));
  const double units = machine.computeUnits > 0 ? static_cast<double>(machine.computeUnits) : INFINITY;
  return std::max({choice.estimate.cycles, bytes / perCycle, choice.estimate.operations / units});
}

Result<Outcome> search(const Space& space, const Data& data, const SearchOptions& options, Results& results) {
  return Search(space, data, options, results).run();
}

}  // namespace tokamak::search
