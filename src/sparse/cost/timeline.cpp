#include "sparse/cost/timeline.h"

#include <algorithm>

namespace tokamak::sparse {

Timeline::Span Timeline::span(const Cell& cell, const std::vector<Span>& known, double steps, double flushes) {
  Span out;
  double ends = 0;
  for (const Port& port : cell.inputs) {
    const Span& from = known[port.cell.index];
    out.first = std::max(out.first, from.first);
    ends = std::max(ends, from.last);
  }
  out.last = std::max(out.first + steps, ends + 1);
  out.first += flushes > 0 ? steps / flushes : 1;
  return out;
}

void Timeline::add(const Cell& cell, const BlockWork& work) {
  plain_.push_back(span(cell, plain_, work.steps, work.flushes));
  last_ = std::max(last_, plain_.back().last);
  // A block waits for each batch of its requests.
  double batches = 0;
  if (work.sizes && (work.coordinatesRead > 0 || work.valuesRead > 0))
    for (const FiberSizes::Bucket& b : work.sizes->buckets()) batches += b.fibers * std::ceil(b.size() / kBatch);
  const double requests =
      2 * work.fibersRead + work.coordinatesRead + work.valuesRead + work.coordinatesWritten + work.valuesWritten;
  double steps = work.steps;
  if (work.coordinatesRead > 0) steps = (work.fibersRead + batches) * kLatency + work.fibersRead;
  if (work.valuesRead > 0) steps += batches * kLatency;
  steps += work.coordinatesWritten / kBatch * kLatency + work.valuesWritten * kLatency;
  requests_ += requests;
  withMemory_.push_back(span(cell, withMemory_, steps, work.flushes));
  lastWithMemory_ = std::max(lastWithMemory_, withMemory_.back().last);
}

}  // namespace tokamak::sparse
