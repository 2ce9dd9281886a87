#include "sparse/cost/estimate.h"

#include <algorithm>
#include <cmath>

namespace tokamak::sparse {

LevelStatistics statisticsOf(const Tensor& tensor) {
  LevelStatistics out;
  double positions = 1;
  for (size_t l = 0; l < tensor.levels.size(); ++l) {
    const LevelStorage& level = tensor.levels[l];
    const bool dense = tensor.format.levels[l].kind == LevelKind::dense;
    const double children = dense ? positions * static_cast<double>(level.size) : static_cast<double>(level.crd.size());
    out.fanout.push_back(positions > 0 ? children / positions : 0);
    positions = children;
  }
  return out;
}

LevelStatistics assumedStatistics(const Format& format, const std::vector<int64_t>& sizes, double density) {
  // A position of a level is stored if any entry below it is.
  LevelStatistics out;
  double below = 1;
  for (const int64_t size : sizes) below *= static_cast<double>(std::max<int64_t>(1, size));
  double above = 1;
  for (size_t l = 0; l < sizes.size(); ++l) {
    const auto size = static_cast<double>(sizes[l]);
    below /= std::max(1.0, size);
    const double share = format.levels[l].kind == LevelKind::dense ? 1 : 1 - std::pow(1 - density, below);
    out.fanout.push_back(above > 0 ? std::min(size, size * share / above) : 0);
    above = format.levels[l].kind == LevelKind::dense ? above : share;
  }
  return out;
}

Estimate& Estimate::operator+=(const Estimate& other) {
  operations += other.operations;
  tokens += other.tokens;
  cycles += other.cycles;
  cyclesWithMemory += other.cyclesWithMemory;
  bytesRead += other.bytesRead;
  bytesWritten += other.bytesWritten;
  workspace = std::max(workspace, other.workspace);
  return *this;
}

namespace {

class Estimator {
 public:
  Estimator(const Table& table, const std::map<std::string, LevelStatistics>& statistics)
      : table_(table), statistics_(statistics) {}

  Estimate run(std::vector<std::vector<StreamEstimate>>* streams) {
    for (const Cell& cell : table_.cells()) {
      out_.push_back(of(cell));
      double busy = 1;
      for (const Port& port : cell.inputs) busy = std::max(busy, at(port).elements + at(port).fibers);
      if (cell.kind == CellKind::intersect || cell.kind == CellKind::unite) busy = joinSteps(cell);
      for (const StreamEstimate& s : out_.back()) {
        busy = std::max(busy, s.elements + s.fibers);
        total_.tokens += s.elements + s.fibers;
      }
      total_.cycles = std::max(total_.cycles, busy);
    }
    if (streams) *streams = std::move(out_);
    return total_;
  }

 private:
  const StreamEstimate& at(const Port& port) const { return out_[port.cell.index][static_cast<size_t>(port.index)]; }
  const StreamEstimate& in(const Cell& cell, size_t i) const { return at(cell.inputs[i]); }

  double sizeOf(const Cell& cell) const {
    return cell.row < static_cast<int>(rowSizes().size()) ? rowSizes()[static_cast<size_t>(cell.row)] : 1;
  }

  /// Coordinates along each row, from the tensors' levels that are walked there.
  const std::vector<double>& rowSizes() const {
    if (rowSizes_.empty()) {
      rowSizes_.assign(table_.rows.size(), 1);
      for (const Cell& cell : table_.cells())
        if (cell.kind == CellKind::scan || cell.kind == CellKind::locate)
          if (const TableTensor* t = table_.tensor(cell.tensor); t && cell.row < static_cast<int>(rowSizes_.size()))
            rowSizes_[static_cast<size_t>(cell.row)] =
                std::max(rowSizes_[static_cast<size_t>(cell.row)],
                         static_cast<double>(t->sizes[static_cast<size_t>(cell.level)]));
    }
    return rowSizes_;
  }

  double fanout(const Cell& cell) const {
    const auto level = static_cast<size_t>(cell.level);
    if (const auto known = statistics_.find(cell.tensor);
        known != statistics_.end() && level < known->second.fanout.size())
      return known->second.fanout[level];
    const TableTensor* tensor = table_.tensor(cell.tensor);
    return tensor ? static_cast<double>(std::max<int64_t>(0, tensor->sizes[level])) : 1;
  }

  /// Share of a dimension that each fiber of a stream holds.
  static double share(const StreamEstimate& s, double size) {
    return s.fibers > 0 && size > 0 ? std::min(1.0, s.elements / s.fibers / size) : 0;
  }

  double joinSteps(const Cell& cell) const {
    double steps = 0;
    std::vector<Port> seen;
    for (size_t i = 0; i < cell.inputs.size(); i += 2) {
      if (std::find(seen.begin(), seen.end(), cell.inputs[i]) != seen.end()) continue;
      seen.push_back(cell.inputs[i]);
      steps += in(cell, i).elements;
    }
    const StreamEstimate& result = out_.back()[0];
    return steps - static_cast<double>(seen.size() - 1) * std::min(result.elements, steps) + result.fibers;
  }

  std::vector<StreamEstimate> merged(const Cell& cell) const {
    const double size = sizeOf(cell);
    double all = 1, none = 1;
    std::vector<Port> seen;
    for (size_t i = 0; i < cell.inputs.size(); i += 2) {
      if (std::find(seen.begin(), seen.end(), cell.inputs[i]) != seen.end()) continue;
      seen.push_back(cell.inputs[i]);
      const double s = share(in(cell, i), size);
      all *= s;
      none *= 1 - s;
    }
    const double fibers = in(cell, 0).fibers;
    const double elements = fibers * size * (cell.kind == CellKind::intersect ? all : 1 - none);
    return std::vector<StreamEstimate>(static_cast<size_t>(outputsOf(cell)), {elements, fibers});
  }

  std::vector<StreamEstimate> accumulated(const Cell& cell) {
    // The folded coordinates of a fiber throw their inner elements into one workspace.
    const StreamEstimate& folded = in(cell, 0);
    const auto order = static_cast<size_t>(cell.order);
    std::vector<StreamEstimate> out;
    double fibers = folded.fibers, space = 1, throws = folded.fibers > 0 ? folded.elements / folded.fibers : 0;
    for (size_t i = 1; i <= order; ++i) {
      const StreamEstimate& inner = in(cell, i);
      const double each = folded.elements > 0 ? inner.elements / std::max(1.0, in(cell, i - 1).elements) : 0;
      const double size = std::max(1.0, levelSize(cell, i));
      space *= size;
      throws *= each;
      const double distinct = space * (1 - std::pow(1 - 1 / space, throws));
      const double elements = std::min(inner.elements, folded.fibers * distinct);
      out.push_back({elements, fibers});
      fibers = elements;
    }
    out.push_back(out.back());
    total_.workspace = std::max(total_.workspace, folded.fibers > 0 ? out.back().elements / folded.fibers : 0);
    total_.operations += in(cell, order + 1).elements;
    return out;
  }

  /// The size of the row on which the i-th coordinate stream of an accumulator stands.
  double levelSize(const Cell& cell, size_t i) const {
    const int row = table_.cell(cell.inputs[i].cell).row;
    return row < static_cast<int>(rowSizes().size()) ? rowSizes()[static_cast<size_t>(row)] : 1;
  }

  std::vector<StreamEstimate> of(const Cell& cell) {
    switch (cell.kind) {
      case CellKind::root: return {{1, 1}};
      case CellKind::scan: {
        const double parents = in(cell, 0).elements, each = fanout(cell);
        const TableTensor* tensor = table_.tensor(cell.tensor);
        const bool dense = tensor && tensor->format.levels[static_cast<size_t>(cell.level)].kind == LevelKind::dense;
        if (!dense) total_.bytesRead += parents * 16 + parents * each * 4;
        return {{parents * each, parents}, {parents * each, parents}};
      }
      case CellKind::intersect:
      case CellKind::unite: return merged(cell);
      case CellKind::repeat: return {in(cell, 1)};
      case CellKind::value: total_.bytesRead += in(cell, 0).elements * 4; return {in(cell, 0)};
      case CellKind::apply: total_.operations += in(cell, 0).elements; return {in(cell, 0)};
      case CellKind::reduce: {
        total_.operations += in(cell, 0).elements;
        const double fibers = in(cell, 0).fibers;
        return {{fibers, 1}};
      }
      case CellKind::spacc: return accumulated(cell);
      case CellKind::drop: return {in(cell, 0), in(cell, 1)};
      case CellKind::fork: {
        StreamEstimate lane = in(cell, 0);
        lane.elements /= cell.order;
        return std::vector<StreamEstimate>(static_cast<size_t>(cell.order), lane);
      }
      case CellKind::join: {
        StreamEstimate sum;
        for (const Port& port : cell.inputs) sum.elements += at(port).elements, sum.fibers += at(port).fibers;
        return {sum};
      }
      case CellKind::write: total_.bytesWritten += in(cell, 0).elements * 4; return {};
      case CellKind::locate: return {in(cell, 0)};
    }
    return {};
  }

  const Table& table_;
  const std::map<std::string, LevelStatistics>& statistics_;
  std::vector<std::vector<StreamEstimate>> out_;
  mutable std::vector<double> rowSizes_;
  Estimate total_;
};

}  // namespace

Estimate estimate(const Table& table, const std::map<std::string, LevelStatistics>& statistics,
                  std::vector<std::vector<StreamEstimate>>* streams) {
  return Estimator(table, statistics).run(streams);
}

}  // namespace tokamak::sparse
