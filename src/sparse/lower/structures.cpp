#include "sparse/lower/structures.h"

#include <algorithm>

#include "sparse/lower/execute.h"

namespace tokamak::sparse {

namespace {

constexpr int64_t kQuick = 1'000'000;        // entries of the sparse inputs
constexpr double kLargestGuess = 4'000'000;  // entries

/// Levels whose structure is their sizes.
Tensor denseLevels(const TableTensor& wanted) {
  Tensor out{DType::f64, {}, wanted.format, {}, {}};
  for (const int64_t size : wanted.sizes) out.levels.push_back({size, {}, {}});
  return out;
}

/// `children` coordinates of `size`, evenly, beginning anywhere.
void addFiber(std::vector<int32_t>& crd, int64_t size, int64_t children, int64_t first) {
  const auto begin = static_cast<std::ptrdiff_t>(crd.size());
  for (int64_t k = 0; k < children; ++k) crd.push_back(static_cast<int32_t>((first + k * size / children) % size));
  std::sort(crd.begin() + begin, crd.end());
}

/// So many children a position, spread evenly. Null where that is too much.
std::shared_ptr<Tensor> spread(const std::vector<int64_t>& shape, const Format& format, const LevelStatistics& levels) {
  Tensor out{DType::f64, shape, format, {}, {}};
  double positions = 1;
  for (size_t l = 0; l < format.levels.size(); ++l) {
    const LevelKind kind = format.levels[l].kind;
    const int64_t size = format.levels[l].sizeFor(shape[static_cast<size_t>(format.levels[l].axis)]);
    LevelStorage level{size, {}, {}};
    const double each = kind == LevelKind::dense       ? static_cast<double>(size)
                        : kind == LevelKind::singleton ? 1
                                                       : std::min(levels.fanout[l], static_cast<double>(size));
    if (positions * each > kLargestGuess) return nullptr;
    const auto parents = static_cast<int64_t>(positions);
    if (kind != LevelKind::dense) {
      level.pos.push_back(0);
      for (int64_t p = 0; p < parents; ++p) {
        const auto until = static_cast<int64_t>(static_cast<double>(p + 1) * each + 0.5);
        const int64_t children = std::min(size, until - level.pos.back());
        addFiber(level.crd, size, children, size > 0 ? p * 7919 % size : 0);
        level.pos.push_back(static_cast<int64_t>(level.crd.size()));
      }
      if (kind == LevelKind::singleton) level.pos.clear();
    }
    positions = kind == LevelKind::dense ? positions * each : static_cast<double>(level.crd.size());
    out.levels.push_back(std::move(level));
  }
  out.values.assign(static_cast<size_t>(positions), 0.0);
  return std::make_shared<Tensor>(std::move(out));
}

/// `below` once for each position of dense levels above it.
Tensor repeated(const std::vector<int64_t>& above, const Tensor& below, const Format& format) {
  Tensor out{DType::f64, {}, format, {}, {}};
  int64_t times = 1;
  for (const int64_t size : above) {
    out.levels.push_back({size, {}, {}});
    times *= size;
  }
  for (const LevelStorage& level : below.levels) {
    LevelStorage more{level.size, {}, {}};
    if (!level.pos.empty()) more.pos.push_back(0);
    for (int64_t t = 0; t < times; ++t) {
      const int64_t base = static_cast<int64_t>(more.crd.size());
      for (size_t p = 1; p < level.pos.size(); ++p) more.pos.push_back(base + level.pos[p]);
      more.crd.insert(more.crd.end(), level.crd.begin(), level.crd.end());
    }
    out.levels.push_back(std::move(more));
  }
  out.values.assign(below.values.size() * static_cast<size_t>(times), 0.0);
  return out;
}

/// The scan whose coordinates a level of a result is written from, or null.
const Cell* scanBehind(const Table& table, const std::string& result, int level) {
  for (const Cell& cell : table.cells()) {
    if (cell.kind != CellKind::write || cell.tensor != result || cell.level != level) continue;
    const Cell& from = table.cell(cell.inputs[0].cell);
    return from.kind == CellKind::scan && cell.inputs[0].index == 0 ? &from : nullptr;
  }
  return nullptr;
}

}  // namespace

bool Structures::areQuick(const Bindings& data) {
  int64_t entries = 0;
  for (const auto& [name, tensor] : data)
    if (!tensor.format.isDense()) entries += tensor.stored();
  return entries <= kQuick;
}

const Tensor* Structures::of(const TableTensor& wanted) {
  auto [known, added] = made_[wanted.of].try_emplace(wanted.format.str());
  if (added) known->second = make(wanted);
  return known->second.get();
}

bool Structures::has(const Table& table) {
  return std::all_of(table.tensors.begin(), table.tensors.end(),
                     [&](const TableTensor& t) { return t.source == TableSource::result || of(t); });
}

std::shared_ptr<const Tensor> Structures::make(const TableTensor& wanted) {
  if (wanted.format.isDense()) return std::make_shared<const Tensor>(denseLevels(wanted));
  if (wanted.source == TableSource::range) return std::make_shared<const Tensor>(tableInput(wanted, nullptr));
  const auto given = data_.find(wanted.of);
  const auto handedOn = handedOn_.find(wanted.of);
  if (given == data_.end() && handedOn == handedOn_.end()) return nullptr;
  const std::shared_ptr<const Tensor> from =
      handedOn != handedOn_.end() ? handedOn->second
                                  : std::shared_ptr<const Tensor>(std::shared_ptr<void>(), &given->second);
  if (!from || from->format == wanted.format) return from;
  return std::make_shared<const Tensor>(convert(*from, wanted.format, Keep::stored));
}

/// The structure of the operand that is walked where the last levels of a result are written, once for each position of
/// the dense levels above. Null where the table does not say.
std::shared_ptr<Tensor> Structures::walked(const std::string& name, const Table& table, const Format& stored) {
  const TableTensor& result = *table.tensor(name);
  const int depth = static_cast<int>(result.sizes.size());
  const Cell* last = scanBehind(table, name, depth - 1);
  const TableTensor* operand = last ? table.tensor(last->tensor) : nullptr;
  if (!operand || last->level + 1 != static_cast<int>(operand->sizes.size())) return nullptr;
  if (stored.levels.size() != result.sizes.size()) return nullptr;
  const int above = depth - 1 - last->level;
  if (above < 0) return nullptr;
  for (int l = 0; l < depth; ++l) {
    const auto at = static_cast<size_t>(l);
    const Level &written = result.format.levels[at], &kept = stored.levels[at];
    if (written.axis != kept.axis || written.part != kept.part || written.block != kept.block) return nullptr;
    if (l < above ? stored.levels[at].kind != LevelKind::dense
                  : stored.levels[at].kind != operand->format.levels[at - static_cast<size_t>(above)].kind)
      return nullptr;
    const Cell* scan = l < above ? nullptr : scanBehind(table, name, l);
    if (l >= above && (!scan || scan->tensor != last->tensor || scan->level != l - above)) return nullptr;
  }
  const Tensor* below = of(*operand);
  if (!below) return nullptr;
  return std::make_shared<Tensor>(repeated({result.sizes.begin(), result.sizes.begin() + above}, *below, stored));
}

void Structures::keep(const std::string& name, const Table& table, const std::vector<int64_t>& shape,
                      const Format& stored, const LevelStatistics& levels) {
  made_.erase(name);
  if (stored.isDense()) return;
  std::shared_ptr<Tensor> out = walked(name, table, stored);
  if (out)
    out->shape = shape;
  else
    out = spread(shape, stored, levels);
  handedOn_[name] = out;
}

}  // namespace tokamak::sparse
