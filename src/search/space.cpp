#include "search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "search/candidates.h"
#include "search/region_choices.h"

namespace tokamak::search {

using namespace tokamak::sparse;

class Explorer {
 public:
  Explorer(const Program& program, const Data& data, const SpaceOptions& options)
      : program_(program), data_(data), options_(options), reads_(readMasks(program)) {}

  Space run() {
    candidates_ = candidateRegions(program_, options_.mostChoices / 8 + 1);
    const uint64_t all = everything();
    if (std::find(candidates_.begin(), candidates_.end(), all) == candidates_.end()) candidates_.push_back(all);
    stateOf(all & ~needed(), {});
    for (size_t s = 0; s < space_.states_.size(); ++s) expand(s);
    space_.last_ = stateOf(all, {});  // without a step that leads there where limits forbid too much
    std::vector<uint64_t> used;
    for (const auto& [region, choices] : made_)
      if (!choices.empty()) used.push_back(region.first);
    std::sort(used.begin(), used.end());
    space_.regions_ = static_cast<size_t>(std::unique(used.begin(), used.end()) - used.begin());
    return std::move(space_);
  }

 private:
  uint64_t everything() const {
    const size_t count = program_.statements().size();
    return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  }

  /// Statements on which an output depends; the last one where a program has no outputs.
  uint64_t needed() const {
    uint64_t out = 0;
    for (size_t s = 0; s < reads_.size(); ++s)
      if (program_.tensor(program_.statements()[s].tensor).role == Role::output) out |= uint64_t{1} << s;
    if (out == 0) out = uint64_t{1} << (reads_.size() - 1);
    for (size_t s = reads_.size(); s-- > 0;)
      if (out >> s & 1) out |= reads_[s];
    return out;
  }

  static std::string textOf(const Formats& formats) {
    std::string out;
    for (const auto& [name, format] : formats) out += fmt::format("{}:{};", name, format.str());
    return out;
  }

  size_t stateOf(uint64_t done, Formats live) {
    const auto [known, added] = known_.try_emplace({done, textOf(live)}, space_.states_.size());
    if (added) space_.states_.push_back({done, std::move(live), {}});
    return known->second;
  }

  /// Temps that a set of statements reads from outside it.
  std::vector<std::string> tempsRead(uint64_t set) const {
    std::vector<std::string> out;
    uint64_t from = 0;
    for (size_t s = 0; s < reads_.size(); ++s)
      if (set >> s & 1) from |= reads_[s];
    for (from &= ~set; from != 0; from &= from - 1) out.push_back(nameOf(static_cast<size_t>(std::countr_zero(from))));
    return out;
  }
  std::string nameOf(size_t statement) const { return program_.tensor(program_.statements()[statement].tensor).name; }

  void expand(size_t index) {
    const uint64_t done = space_.states_[index].done;
    for (const uint64_t set : candidates_) {
      if (set & done) continue;
      uint64_t needs = 0;
      for (size_t s = 0; s < reads_.size(); ++s)
        if (set >> s & 1) needs |= reads_[s];
      if (needs & ~set & ~done) continue;
      Formats reads;
      for (const std::string& name : tempsRead(set))
        if (const auto live = space_.states_[index].live.find(name); live != space_.states_[index].live.end())
          reads[name] = live->second;
      for (const size_t choice : choicesOf(set, reads)) {
        Formats live = space_.states_[index].live;
        for (const auto& [name, format] : space_.choices_[choice].writes) live[name] = format;
        const uint64_t now = done | set;
        std::erase_if(live, [&](const auto& entry) { return !isNeeded(entry.first, now); });
        const size_t next = stateOf(now, std::move(live));
        space_.states_[index].steps.push_back({choice, next});
      }
    }
  }

  bool isNeeded(const std::string& name, uint64_t done) const {
    for (size_t s = 0; s < reads_.size(); ++s) {
      if (done >> s & 1) continue;
      for (uint64_t from = reads_[s]; from != 0; from &= from - 1)
        if (nameOf(static_cast<size_t>(std::countr_zero(from))) == name) return true;
    }
    return false;
  }

  const std::vector<size_t>& choicesOf(uint64_t set, const Formats& reads) {
    const auto [known, added] = made_.try_emplace({set, textOf(reads)});
    if (!added) return known->second;
    if (space_.choices_.size() >= options_.mostChoices && std::popcount(set) > 1) {
      space_.cut_ = true;
      return known->second;
    }
    std::vector<size_t> statements;
    for (size_t s = 0; s < reads_.size(); ++s)
      if (set >> s & 1) statements.push_back(s);
    for (Choice& choice : regionChoices(program_, statements, reads, data_, options_)) {
      known->second.push_back(space_.choices_.size());
      space_.choices_.push_back(std::move(choice));
    }
    return known->second;
  }

  const Program& program_;
  const Data& data_;
  const SpaceOptions& options_;
  std::vector<uint64_t> reads_, candidates_;
  std::map<std::pair<uint64_t, std::string>, size_t> known_;
  std::map<std::pair<uint64_t, std::string>, std::vector<size_t>> made_;
  Space space_;
};

Result<Space> Space::explore(const Program& program, const Data& data, const SpaceOptions& options) {
  if (program.statements().size() > 64)
    return Diagnostic{
        "T0990", program.statements().back().location,
        fmt::format("a sweep takes programs of at most 64 statements, not {}", program.statements().size()),
        "sweep one block of the model; equal blocks take the same schedule"};
  return Explorer(program, data, options).run();
}

}  // namespace tokamak::search
