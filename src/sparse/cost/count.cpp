#include "sparse/cost/count.h"

#include <algorithm>

#include "sparse/cost/merge.h"
#include "sparse/cost/timeline.h"

namespace tokamak::sparse {

namespace {

constexpr double kWord = 4;  // bytes of a position, coordinate or value

class Counter {
 public:
  Counter(const Table& table, const TensorOf& tensorOf) : table_(table), tensorOf_(tensorOf) {
    rowSizes_.assign(table.rows.size() + 1, 1);
    for (const Cell& cell : table.cells())
      if (cell.kind == CellKind::scan || cell.kind == CellKind::locate) {
        double& size = rowSizes_[static_cast<size_t>(cell.row)];
        size = std::max(size, static_cast<double>(table.tensor(cell.tensor)->sizes[static_cast<size_t>(cell.level)]));
      }
  }

  Estimate run() {
    for (const Cell& cell : table_.cells()) {
      work_ = {};
      flows_.push_back(of(cell));
      for (const Flow& flow : flows_.back()) total_.tokens += flow.tokens();
      timeline_.add(cell, work_);
    }
    total_.cycles = timeline_.cycles();
    total_.cyclesWithMemory = timeline_.cyclesWithMemory();
    return total_;
  }
  const std::map<std::string, double>& written() const { return written_; }

 private:
  const Flow& at(const Port& port) const { return flows_[port.cell.index][static_cast<size_t>(port.index)]; }
  const Flow& in(const Cell& cell, size_t i) const { return at(cell.inputs[i]); }

  std::vector<Flow> of(const Cell& cell) {
    if (!cell.inputs.empty()) work_.steps = in(cell, 0).tokens();
    switch (cell.kind) {
      case CellKind::root: return {Flow{.positions = std::make_shared<std::vector<double>>(1, 1.0)}};
      case CellKind::scan: return scanned(cell);
      case CellKind::intersect:
      case CellKind::unite: return merged(cell);
      case CellKind::repeat: return {repeated(cell)};
      case CellKind::locate: return {located(cell)};
      case CellKind::value: return {loaded(cell)};
      case CellKind::apply: total_.operations += in(cell, 0).elements(); return {plain(in(cell, 0))};
      case CellKind::reduce: return {reduced(cell)};
      case CellKind::spacc: return accumulated(cell);
      case CellKind::drop: return {in(cell, 0), in(cell, 1)};
      case CellKind::fork: return forked(cell);
      case CellKind::join: return {joined(cell)};
      case CellKind::write: store(cell); return {};
    }
    return {};
  }

  /// The same loops without coordinates or positions.
  static Flow plain(const Flow& flow) { return {.counts = flow.counts, .sizes = flow.sizes}; }

  std::vector<Flow> scanned(const Cell& cell) {
    const Flow& parents = in(cell, 0);
    const Tensor& tensor = *tensorOf_(*table_.tensor(cell.tensor));
    const auto l = static_cast<size_t>(cell.level);
    const LevelStorage& level = tensor.levels[l];
    const bool dense = tensor.format.levels[l].kind == LevelKind::dense;
    Flow crd{.counts = parents.counts};
    Flow ref{.level = &level, .row = cell.row};
    double elements = 0;
    if (dense) {
      const double size = static_cast<double>(level.size);
      elements = parents.present() * size;
      crd.sizes.add(size, parents.present());
      ref.positions = denseChildren(parents, tensor, l);
    } else {
      elements = walk(parents, tensor, l, crd, ref);
      work_.fibersRead = parents.present();
      work_.coordinatesRead = elements;
      total_.bytesRead += kWord * (2 * parents.present() + elements);
    }
    if (parents.absent > 0) crd.sizes.add(0, parents.absent);
    crd.counts.push_back(elements);
    crd.extent = static_cast<double>(level.size);
    ref.counts = crd.counts;
    ref.sizes = crd.sizes;
    ref.fiberByParent = crd.fiberByParent;
    ref.parentRow = crd.parentRow;
    work_.steps = crd.tokens();
    work_.sizes = &(sizes_ = crd.sizes);
    return {crd, ref};
  }

  /// Positions below a dense level matter only where a level further down is not dense.
  static Weights denseChildren(const Flow& parents, const Tensor& tensor, size_t l) {
    const auto isDense = [](const Level& level) { return level.kind == LevelKind::dense; };
    const auto below = tensor.format.levels.begin() + static_cast<int64_t>(l) + 1;
    if (!parents.positions || std::all_of(below, tensor.format.levels.end(), isDense)) return nullptr;
    const auto size = static_cast<size_t>(tensor.levels[l].size);
    auto out = std::make_shared<std::vector<double>>(parents.positions->size() * size);
    for (size_t p = 0; p < parents.positions->size(); ++p)
      std::fill_n(out->begin() + static_cast<int64_t>(p * size), size, (*parents.positions)[p]);
    return out;
  }

  /// The children of a compressed or singleton level, each as often as its parent.
  double walk(const Flow& parents, const Tensor& tensor, size_t l, Flow& crd, Flow& ref) {
    const LevelStorage& level = tensor.levels[l];
    const bool compressed = tensor.format.levels[l].kind == LevelKind::compressed;
    const size_t count = compressed ? level.pos.size() - 1 : level.crd.size();
    const double each = count > 0 ? parents.present() / static_cast<double>(count) : 0;
    auto coordinates = std::make_shared<std::vector<double>>(static_cast<size_t>(level.size), 0.0);
    auto children = std::make_shared<std::vector<double>>(level.crd.size(), 0.0);
    std::vector<double> fibers, sizes;  // by coordinate of the parent
    const bool byParent = parents.level && parents.row >= 0;
    if (byParent) fibers.assign(static_cast<size_t>(parents.level->size), 0), sizes = fibers;
    double elements = 0;
    for (size_t p = 0; p < count; ++p) {
      const double w = parents.positions ? (*parents.positions)[p] : each;
      const auto from = static_cast<size_t>(compressed ? level.pos[p] : static_cast<int64_t>(p));
      const auto to = static_cast<size_t>(compressed ? level.pos[p + 1] : static_cast<int64_t>(p) + 1);
      const auto size = static_cast<double>(to - from);
      if (w == 0) continue;
      crd.sizes.add(size, w);
      elements += w * size;
      for (size_t j = from; j < to; ++j) {
        (*coordinates)[static_cast<size_t>(level.crd[j])] += w;
        (*children)[j] = w;
      }
      if (!byParent) continue;
      const size_t c = coordinateAt(*parents.level, p);
      fibers[c] += w;
      sizes[c] += w * size;
    }
    for (size_t c = 0; c < sizes.size(); ++c) sizes[c] = fibers[c] > 0 ? sizes[c] / fibers[c] : 0;
    if (byParent) {
      crd.fiberByParent = std::make_shared<std::vector<double>>(std::move(sizes));
      crd.parentRow = parents.row;
    }
    crd.coordinates = std::move(coordinates);
    ref.positions = std::move(children);
    return elements;
  }

  /// Two tensors that store the same entries, as a mask and what was computed under it do; one of them perhaps once for
  /// each head.
  static bool walkTheSame(const Flow& a, const Flow& b) {
    if (!a.level || !b.level || a.row != b.row || std::fabs(a.elements() - b.elements()) > 1e-6 * a.elements())
      return false;
    if (a.level == b.level) return true;
    const std::vector<int32_t>& small = a.level->crd.size() < b.level->crd.size() ? a.level->crd : b.level->crd;
    const std::vector<int32_t>& large = a.level->crd.size() < b.level->crd.size() ? b.level->crd : a.level->crd;
    if (small.empty() || large.size() % small.size() != 0) return false;
    for (size_t at = 0; at < large.size(); at += small.size())
      if (!std::equal(small.begin(), small.end(), large.begin() + static_cast<int64_t>(at))) return false;
    return true;
  }

  std::vector<Flow> merged(const Cell& cell) {
    std::vector<MergeOperand> operands;
    for (size_t i = 0; i < cell.inputs.size(); i += 2) {
      bool repeated = false;
      for (size_t j = 0; j < i; j += 2)
        repeated |= cell.inputs[j] == cell.inputs[i] || walkTheSame(in(cell, j + 1), in(cell, i + 1));
      operands.push_back({&in(cell, i), &in(cell, i + 1), repeated});
    }
    // Streams that folds over several variables share stand at the row of one of them.
    int row = -1;
    for (const MergeOperand& o : operands) row = std::max(row, o.payload->level ? o.payload->row : -1);
    double size = rowSizes_[static_cast<size_t>(cell.row)];
    for (const MergeOperand& o : operands) size = std::max(size, o.coordinates->extent);
    Merged result = mergeFlows(cell.kind, operands, size, row);
    work_.steps = result.steps;
    result.payloads.insert(result.payloads.begin(), std::move(result.coordinates));
    return std::move(result.payloads);
  }

  Flow repeated(const Cell& cell) {
    const Flow &what = in(cell, 0), &along = in(cell, 1);
    Flow out = what;
    out.counts = along.counts;
    out.sizes = along.sizes;
    out.fiberByParent = nullptr;
    const double times = along.elements() / std::max(1e-9, what.elements());
    out.absent = what.absent * times;
    if (what.positions) {
      auto weights = std::make_shared<std::vector<double>>(*what.positions);
      const bool together = along.fiberByParent && what.level && what.row == along.parentRow;
      double sum = 0;
      for (size_t p = 0; p < weights->size(); ++p) {
        if ((*weights)[p] == 0) continue;
        (*weights)[p] *= together ? (*along.fiberByParent)[coordinateAt(*what.level, p)] : times;
        sum += (*weights)[p];
      }
      if (together && sum > 0)
        for (double& w : *weights) w *= out.present() / sum;
      out.positions = std::move(weights);
    }
    work_.steps = along.tokens();
    return out;
  }

  Flow located(const Cell& cell) {
    const Flow& crd = in(cell, 0);
    const Flow& below = in(cell, cell.inputs.size() - 1);
    const Tensor& tensor = *tensorOf_(*table_.tensor(cell.tensor));
    const LevelStorage& level = tensor.levels[static_cast<size_t>(cell.level)];
    Flow out{.counts = crd.counts, .sizes = crd.sizes, .level = &level, .row = cell.row};
    out.absent = below.absent;
    const bool onePlace = cell.level == 0 || (below.positions && below.positions->size() == 1);
    if (onePlace && crd.coordinates) {
      out.positions = crd.coordinates;
    } else if (below.positions && denseChildren(below, tensor, static_cast<size_t>(cell.level))) {
      const auto size = static_cast<size_t>(level.size);
      auto weights = std::make_shared<std::vector<double>>(below.positions->size() * size, 0.0);
      for (size_t p = 0; p < below.positions->size(); ++p)
        for (size_t c = 0; (*below.positions)[p] > 0 && c < size; ++c)
          (*weights)[p * size + c] =
              (*below.positions)[p] *
              (crd.coordinates ? (*crd.coordinates)[c] / std::max(1e-9, crd.elements()) : 1 / double(size));
      out.positions = std::move(weights);
    }
    return out;
  }

  Flow loaded(const Cell& cell) {
    const Flow& refs = in(cell, 0);
    total_.bytesRead += kWord * refs.present();
    work_.valuesRead = refs.present();
    work_.sizes = &(sizes_ = refs.sizes);
    return plain(refs);
  }

  Flow reduced(const Cell& cell) {
    const Flow& values = in(cell, 0);
    total_.operations += values.elements();
    work_.flushes = values.fibers();
    Flow out{.counts = values.counts};
    out.counts.pop_back();
    if (out.counts.size() > 1) out.sizes.add(out.elements() / std::max(1.0, out.fibers()), out.fibers());
    return out;
  }

  std::vector<Flow> accumulated(const Cell& cell) {
    const auto order = static_cast<size_t>(cell.order);
    std::vector<const Flow*> inner;
    for (size_t i = 1; i <= order; ++i) { inner.push_back(&in(cell, i)); }
    const Flow& values = in(cell, order + 1);
    Accumulated result = accumulateFlows(in(cell, 0), inner);
    total_.operations += values.elements();
    total_.workspace = std::max(total_.workspace, result.workspace);
    work_.steps = values.tokens() + in(cell, 0).fibers();
    work_.flushes = in(cell, 0).fibers();
    result.coordinates.push_back(plain(result.coordinates.back()));
    return std::move(result.coordinates);
  }

  std::vector<Flow> forked(const Cell& cell) {
    Flow lane = in(cell, 0);
    const double share = 1.0 / cell.order;
    const auto thin = [&](Weights& weights) {
      if (!weights) return;
      auto out = std::make_shared<std::vector<double>>(*weights);
      for (double& w : *out) w *= share;
      weights = std::move(out);
    };
    thin(lane.coordinates);
    thin(lane.positions);
    lane.counts.back() *= share;
    lane.absent *= share;
    lane.sizes = lane.sizes.scaled(share, 1);
    return std::vector<Flow>(static_cast<size_t>(cell.order), lane);
  }

  Flow joined(const Cell& cell) {
    Flow out = plain(in(cell, 0));
    const size_t levels = out.counts.size();
    for (size_t i = 1; i < cell.inputs.size(); ++i)
      for (size_t l = levels - std::min(levels, static_cast<size_t>(cell.order) + 1); l < levels; ++l)
        out.counts[l] += in(cell, i).counts[l];
    work_.steps = out.tokens();
    return out;
  }

  void store(const Cell& cell) {
    const Flow& what = in(cell, 0);
    const bool values = static_cast<size_t>(cell.level) == table_.tensor(cell.tensor)->sizes.size();
    total_.bytesWritten += kWord * (values ? what.elements() : what.tokens() + 1);
    work_.valuesWritten = values ? what.elements() : 0;
    work_.coordinatesWritten = values ? 0 : what.tokens();
    if (!values) return;
    work_.steps = what.elements() + 1;
    written_[cell.tensor] = what.elements();
  }

  const Table& table_;
  const TensorOf& tensorOf_;
  std::vector<double> rowSizes_;
  std::vector<std::vector<Flow>> flows_;
  Timeline timeline_;
  BlockWork work_;
  FiberSizes sizes_;  // that work_ points to
  Estimate total_;
  std::map<std::string, double> written_;
};

}  // namespace

Estimate count(const Table& table, const TensorOf& tensorOf, std::map<std::string, double>* written) {
  Counter counter(table, tensorOf);
  const Estimate out = counter.run();
  if (written) *written = counter.written();
  return out;
}

}  // namespace tokamak::sparse
