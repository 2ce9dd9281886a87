#include "search/candidates.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tokamak::search {

namespace {

using namespace tokamak::sparse;

/// Statements that each one depends on, however far.
std::vector<uint64_t> closure(const std::vector<uint64_t>& reads) {
  std::vector<uint64_t> out(reads.size(), 0);
  for (size_t s = 0; s < reads.size(); ++s) {
    out[s] = reads[s];
    for (size_t t = 0; t < s; ++t)
      if (reads[s] >> t & 1) out[s] |= out[t];
  }
  return out;
}

/// No statement outside needs one of the set and is needed by one of the set.
bool isConvex(uint64_t set, const std::vector<uint64_t>& needs) {
  uint64_t below = 0;
  for (size_t s = 0; s < needs.size(); ++s)
    if (set >> s & 1) below |= needs[s];
  for (size_t s = 0; s < needs.size(); ++s)
    if ((below >> s & 1) && !(set >> s & 1) && (needs[s] & set)) return false;
  return true;
}

}  // namespace

std::vector<uint64_t> readMasks(const Program& program) {
  std::vector<uint64_t> out;
  for (const std::vector<size_t>& from : dependences(program)) {
    out.push_back(0);
    for (const size_t s : from) out.back() |= uint64_t{1} << s;
  }
  return out;
}

std::vector<uint64_t> candidateRegions(const Program& program, size_t most) {
  const std::vector<uint64_t> reads = readMasks(program), needs = closure(reads);
  const size_t count = reads.size();
  std::vector<std::set<TensorId>> inputs;
  for (const Statement& s : program.statements()) inputs.push_back(sparseInputs(program, s.value));
  std::vector<uint64_t> near(count, 0);
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b) {
      const bool share =
          std::any_of(inputs[a].begin(), inputs[a].end(), [&](TensorId t) { return inputs[b].contains(t); });
      if (!share && !(reads[a] >> b & 1)) continue;
      near[a] |= uint64_t{1} << b;
      near[b] |= uint64_t{1} << a;
    }
  // Sets grow by one neighbour at a time; between two statements that share an input a set may be broken for a while.
  std::set<uint64_t> seen;
  std::vector<uint64_t> layer, out;
  for (size_t s = 0; s < count; ++s) layer.push_back(uint64_t{1} << s);
  while (!layer.empty() && out.size() < most && seen.size() < most * 16) {
    std::set<uint64_t> next;
    for (const uint64_t set : layer) {
      if (isConvex(set, needs)) out.push_back(set);
      uint64_t around = 0;
      for (size_t s = 0; s < count; ++s)
        if (set >> s & 1) around |= near[s];
      for (around &= ~set; around != 0; around &= around - 1) {
        const uint64_t grown = set | (around & -around);
        if (seen.insert(grown).second) next.insert(grown);
      }
    }
    layer.assign(next.begin(), next.end());
  }
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace tokamak::search
