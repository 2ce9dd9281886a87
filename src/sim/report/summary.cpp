#include "sim/report/summary.h"

#include <algorithm>

namespace tokamak::sim {

namespace {

template <class F>
auto total(const std::vector<Part>& parts, F of) {
  decltype(of(parts[0].report)) sum = 0;
  for (const Part& part : parts) sum += of(part.report);
  return sum;
}

}  // namespace

uint64_t Summary::cycles() const {
  return total(parts, [](const Report& r) { return r.cycles; });
}
uint64_t Summary::tokens() const {
  return total(parts, [](const Report& r) { return r.tokens; });
}
double Summary::seconds() const {
  return total(parts, [](const Report& r) { return r.seconds; });
}
uint64_t Summary::operations() const {
  return total(parts, [](const Report& r) { return r.operations(); });
}
uint64_t Summary::bytesRead() const {
  return total(parts, [](const Report& r) { return r.bytesRead(); });
}
uint64_t Summary::bytesWritten() const {
  return total(parts, [](const Report& r) { return r.bytesWritten(); });
}
uint64_t Summary::bufferBytes() const {
  uint64_t most = 0;
  for (const Part& part : parts) most = std::max(most, part.report.bufferBytes);
  return most;
}

}  // namespace tokamak::sim
