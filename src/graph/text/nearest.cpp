#include "graph/text/nearest.h"

#include <algorithm>

namespace tokamak {

namespace {

/// Letters put in, left out, replaced, or swapped with their neighbour, each once.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return {};
  std::string_view best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const size_t distance = editDistance(word, candidate);
    if (distance < bestDistance) best = candidate, bestDistance = distance;
  }
  return best;
}

std::string orList(const std::vector<std::string_view>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace tokamak
