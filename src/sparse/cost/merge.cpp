#include "sparse/cost/merge.h"

#include <algorithm>
#include <map>

namespace tokamak::sparse {

namespace {

/// The share of fibers that hold each coordinate, or one share for all.
struct Shares {
  const std::vector<double>* weights = nullptr;
  double fibers = 1, even = 0;

  Shares(const Flow& flow, double size)
      : weights(flow.coordinates.get()),
        fibers(std::max(1e-9, flow.fibers())),
        even(std::min(1.0, flow.elements() / fibers / std::max(1.0, size))) {}
  double operator()(size_t c) const {
    if (!weights) return even;
    return c < weights->size() ? std::min(1.0, (*weights)[c] / fibers) : 0;
  }
};

/// A payload's positions thinned to where the coordinate is kept.
Weights thinned(const Flow& payload, int row, const std::vector<double>& kept, double ratio) {
  if (!payload.positions) return nullptr;
  auto out = std::make_shared<std::vector<double>>(*payload.positions);
  const bool own = payload.level && payload.row == row;
  for (size_t p = 0; p < out->size(); ++p) {
    if ((*out)[p] == 0) continue;
    (*out)[p] *= own ? kept[std::min(kept.size() - 1, coordinateAt(*payload.level, p))] : ratio;
  }
  return out;
}

}  // namespace

Merged mergeFlows(CellKind kind, const std::vector<MergeOperand>& operands, double size, int row) {
  const bool both = kind == CellKind::intersect;
  const Flow& first = *operands[0].coordinates;
  const double fibers = first.fibers();
  const auto extent = static_cast<size_t>(std::max(1.0, size));
  std::vector<Shares> shares;
  for (const MergeOperand& o : operands)
    if (!o.repeated) shares.emplace_back(*o.coordinates, size);
  auto weights = std::make_shared<std::vector<double>>(extent, 0.0);
  std::vector<double> result(extent);
  double elements = 0, any = 0;
  for (size_t c = 0; c < extent; ++c) {
    double all = 1, none = 1;
    for (const Shares& s : shares) {
      all *= s(c);
      none *= 1 - s(c);
    }
    result[c] = both ? all : 1 - none;
    (*weights)[c] = result[c] * fibers;
    elements += (*weights)[c];
    any += (1 - none) * fibers;
  }
  Merged out;
  out.steps = any + fibers;
  out.coordinates = first;
  out.coordinates.counts.back() = elements;
  out.coordinates.absent = 0;
  out.coordinates.extent = size;
  out.coordinates.sizes = first.elements() > 0 ? first.sizes.scaled(elements / first.elements(), 1) : FiberSizes{};
  out.coordinates.coordinates = weights;
  out.coordinates.positions = nullptr;
  out.coordinates.fiberByParent = nullptr;
  for (const MergeOperand& o : operands) {
    Flow payload = *o.payload;
    const double before = std::max(1e-9, payload.elements());
    if (both) {
      const Shares own(*o.coordinates, size);
      std::vector<double> kept(extent);
      for (size_t c = 0; c < extent; ++c) kept[c] = own(c) > 0 ? result[c] / own(c) : 0;
      payload.positions = thinned(payload, row, kept, elements / before);
      payload.absent *= elements / before;
    } else {
      payload.absent += std::max(0.0, elements - payload.elements());
    }
    payload.counts.back() = elements;
    payload.sizes = out.coordinates.sizes;
    out.payloads.push_back(std::move(payload));
  }
  return out;
}

namespace {

/// Workspaces that receive a number of throws each.
struct Case {
  double count = 0, throws = 0;
};

std::vector<Case> gathered(const std::vector<Case>& cases) {
  std::map<int, Case> buckets;
  for (const Case& c : cases) {
    if (c.count <= 0 || c.throws <= 0) continue;
    Case& b = buckets[static_cast<int>(std::floor(8 * std::log2(c.throws)))];
    b.throws += c.count * c.throws;
    b.count += c.count;
  }
  std::vector<Case> out;
  for (const auto& [key, b] : buckets) out.push_back({b.count, b.throws / b.count});
  return out;
}

/// Coordinates by how likely one throw hits them: (likelihood, how many).
std::vector<std::pair<double, double>> likelihoods(const Flow& inner, double throws) {
  std::vector<std::pair<double, double>> out;
  if (!inner.coordinates) {
    out.emplace_back(std::min(1.0, inner.elements() / throws / std::max(1.0, inner.extent)), inner.extent);
    return out;
  }
  std::map<int, std::pair<double, double>> groups;
  for (const double w : *inner.coordinates) {
    if (w <= 0) continue;
    const double q = std::min(1.0, w / throws);
    auto& group = groups[static_cast<int>(std::floor(8 * std::log2(q)))];
    group.first += q;
    group.second += 1;
  }
  for (const auto& [key, group] : groups) out.emplace_back(group.first / group.second, group.second);
  return out;
}

double hit(double q, double throws) { return q >= 1 ? 1 : 1 - std::pow(1 - q, throws); }

}  // namespace

Accumulated accumulateFlows(const Flow& folded, const std::vector<const Flow*>& inner) {
  std::vector<Case> cases;
  for (const FiberSizes::Bucket& b : folded.sizes.buckets())
    if (b.fibers > 0) cases.push_back({b.fibers, b.size()});
  if (cases.empty()) cases.push_back({folded.fibers(), folded.elements() / std::max(1.0, folded.fibers())});
  Accumulated out;
  Flow level = folded;
  level.counts.pop_back();  // the loops around the fold
  double throws = std::max(1e-9, folded.elements());
  for (size_t i = 0; i < inner.size(); ++i) {
    const auto groups = likelihoods(*inner[i], throws);
    std::vector<Case> next;
    FiberSizes fibers;
    double elements = 0;
    for (const Case& c : gathered(cases)) {
      double distinct = 0;
      for (const auto& [q, many] : groups) {
        const double p = hit(q, c.throws);
        distinct += many * p;
        next.push_back({c.count * many * p, p > 0 ? c.throws * q / p : 0});
      }
      fibers.add(distinct, c.count);
      elements += c.count * distinct;
    }
    Flow flow;
    flow.counts = level.counts;
    flow.counts.push_back(elements);
    flow.sizes = fibers;
    flow.extent = inner[i]->extent;
    if (inner[i]->coordinates) {
      auto weights = std::make_shared<std::vector<double>>(inner[i]->coordinates->size(), 0.0);
      const std::vector<Case> around = gathered(cases);
      for (size_t x = 0; x < weights->size(); ++x)
        for (const Case& c : around)
          (*weights)[x] += c.count * hit(std::min(1.0, (*inner[i]->coordinates)[x] / throws), c.throws);
      flow.coordinates = std::move(weights);
    }
    level = flow;
    cases = std::move(next);
    throws = std::max(1e-9, inner[i]->elements());
    out.coordinates.push_back(std::move(flow));
  }
  out.workspace = out.coordinates.back().elements() / std::max(1.0, folded.fibers());
  return out;
}

}  // namespace tokamak::sparse
