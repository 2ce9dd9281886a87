#include "sparse/lower/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sparse/stream/run/run.h"

namespace tokamak::sparse {

namespace {

/// The levels that a graph wrote, outermost first, as entries by axis.
Entries entriesOf(const stream::TensorStorage& storage, const Format& format, const std::vector<int64_t>& shape) {
  Entries out{shape, {}, {}};
  const size_t depth = storage.levels.size();
  std::vector<int32_t> at(shape.size(), 0);
  const std::function<void(size_t, int64_t)> walk = [&](size_t level, int64_t position) {
    if (level == depth) {
      for (size_t axis = 0; axis < at.size(); ++axis)
        if (at[axis] >= shape[axis]) return;  // beyond the edge, in a block that is not full
      out.at.insert(out.at.end(), at.begin(), at.end());
      out.values.push_back(storage.values[static_cast<size_t>(position)]);
      return;
    }
    const stream::LevelStorage& s = storage.levels[level];
    for (int64_t p = s.pos[static_cast<size_t>(position)]; p < s.pos[static_cast<size_t>(position) + 1]; ++p) {
      const Level& l = format.levels[level];
      int32_t& coordinate = at[static_cast<size_t>(l.axis)];
      const int32_t c = s.crd[static_cast<size_t>(p)];
      const int32_t part = static_cast<int32_t>(l.part == LevelPart::outer ? c * l.block : c);
      coordinate += part;
      walk(level + 1, p);
      coordinate -= part;
    }
  };
  walk(0, 0);
  return out;
}

/// Whether what a graph wrote can be kept as it is but for filling up: the same axes in the same order, all of them
/// dense but the last, which may be compressed.
bool isStoredAlike(const Format& written, const Format& wanted) {
  if (written.levels.size() != wanted.levels.size()) return false;
  for (size_t l = 0; l < wanted.levels.size(); ++l) {
    const Level &from = written.levels[l], &to = wanted.levels[l];
    const bool last = l + 1 == wanted.levels.size();
    if (from.axis != to.axis || from.part != LevelPart::whole || to.part != LevelPart::whole || !to.unique)
      return false;
    if (to.kind != LevelKind::dense && !(last && to.kind == LevelKind::compressed)) return false;
  }
  return true;
}

/// What a graph wrote in a format that is stored alike: no list of entries is made on the way.
Tensor filledUp(stream::TensorStorage storage, const Format& format, const std::vector<int64_t>& shape) {
  Tensor out{DType::f64, shape, format, {}, {}};
  for (const Level& level : format.levels) out.levels.push_back({shape[static_cast<size_t>(level.axis)], {}, {}});
  const bool compressed = !format.levels.empty() && format.levels.back().kind == LevelKind::compressed;
  const size_t dense = format.levels.size() - (compressed ? 1 : 0);
  int64_t positions = 1;
  for (size_t l = 0; l < dense; ++l) positions *= out.levels[l].size;
  if (compressed) out.levels[dense].pos.assign(static_cast<size_t>(positions) + 1, 0);
  if (!compressed) out.values.assign(static_cast<size_t>(positions), 0.0);
  const std::function<void(size_t, int64_t, int64_t)> walk = [&](size_t level, int64_t position, int64_t flat) {
    const auto at = static_cast<size_t>(position);
    if (level == dense && !compressed) {
      out.values[static_cast<size_t>(flat)] = storage.values[at];
      return;
    }
    const std::vector<int64_t>& pos = storage.levels[level].pos;
    if (level == dense) {
      out.levels[dense].pos[static_cast<size_t>(flat) + 1] = pos[at + 1];
      return;
    }
    for (int64_t p = pos[at]; p < pos[at + 1]; ++p)
      walk(level + 1, p, flat * out.levels[level].size + storage.levels[level].crd[static_cast<size_t>(p)]);
  };
  walk(0, 0, 0);
  if (!compressed) return out;
  std::vector<int64_t>& ends = out.levels[dense].pos;  // rows that nothing was written to end where the one before does
  for (size_t i = 1; i < ends.size(); ++i) ends[i] = std::max(ends[i], ends[i - 1]);
  out.levels[dense].crd = std::move(storage.levels[dense].crd);
  out.values = std::move(storage.values);
  return out;
}

Tensor rangeTensor(int64_t size) {
  return {DType::f64, {size}, Format::dense(1), {{size, {}, {}}}, std::vector<double>(static_cast<size_t>(size), 1.0)};
}

}  // namespace

stream::TensorView viewOf(const Tensor& tensor) {
  stream::TensorView out;
  for (size_t l = 0; l < tensor.levels.size(); ++l)
    out.levels.push_back({static_cast<stream::LevelFormat>(tensor.format.levels[l].kind), tensor.levels[l].size,
                          tensor.levels[l].pos, tensor.levels[l].crd});
  out.values = tensor.values;
  return out;
}

Tensor tableInput(const TableTensor& wanted, const Tensor* from) {
  if (wanted.source == TableSource::range)
    return convert(rangeTensor(std::stoll(wanted.of)), wanted.format, Keep::stored);
  Tensor tensor = convert(*from, wanted.format, Keep::stored);
  if (wanted.source == TableSource::ones) std::fill(tensor.values.begin(), tensor.values.end(), 1.0);
  return tensor;
}

Bindings tableInputs(const Table& table, const Bindings& from) {
  Bindings out;
  for (const TableTensor& wanted : table.tensors) {
    if (wanted.source == TableSource::result) continue;
    const auto of = from.find(wanted.of);
    out[wanted.name] = tableInput(wanted, of == from.end() ? nullptr : &of->second);
  }
  return out;
}

TensorPointers pointersTo(const Bindings& tensors) {
  TensorPointers out;
  for (const auto& [name, tensor] : tensors) out[name] = &tensor;
  return out;
}

namespace {

/// What a table reads, as views: of the tensors themselves where they are stored as the table wants them, else of
/// copies, which `copies` holds.
stream::Inputs viewsFor(const Table& table, const TensorPointers& known, Bindings& copies) {
  stream::Inputs out;
  for (const TableTensor& wanted : table.tensors) {
    if (wanted.source == TableSource::result) continue;
    const auto of = known.find(wanted.of);
    const Tensor* from = of == known.end() ? nullptr : of->second;
    const bool asItIs = from && wanted.source == TableSource::data && from->format == wanted.format;
    if (!asItIs) from = &(copies[wanted.name] = tableInput(wanted, from));
    out[wanted.name] = viewOf(*from);
  }
  return out;
}

}  // namespace

Result<Bindings> executeWith(const Compiled& compiled, const TensorPointers& inputs, const RegionRunner& run) {
  TensorPointers known = inputs;
  Bindings out;
  for (const CompiledRegion& region : compiled.regions) {
    Bindings copies;
    TK_TRY(stream::Storages written, run(region, viewsFor(region.table, known, copies)));
    copies.clear();
    for (const Statement& statement : region.region.program.statements()) {
      const TensorDecl& decl = region.region.program.tensor(statement.tensor);
      const TensorId whole = compiled.program.findTensor(decl.name);
      const Format& from = region.table.tensor(decl.name)->format;
      const Format& to = *compiled.program.tensor(whole).format;
      const std::vector<int64_t> shape = compiled.program.shape(whole);
      Tensor& result = out[decl.name];
      if (isFloat(decl.dtype) && isStoredAlike(from, to)) {
        result = filledUp(std::move(written.at(decl.name)), to, shape);
      } else {
        const Entries entries = entriesOf(written.at(decl.name), from, shape);
        TK_TRY(result, pack(entries, to, isFloat(decl.dtype) ? DType::f64 : decl.dtype));
      }
      known[decl.name] = &result;
    }
  }
  return out;
}

Result<Execution> execute(const Compiled& compiled, const TensorPointers& inputs) {
  Execution out;
  const auto run = [&](const CompiledRegion& region, const stream::Inputs& reads) -> Result<stream::Storages> {
    TK_TRY(stream::RunResult result, stream::run(region.graph, reads));
    out.tokens += result.tokens;
    return std::move(result.outputs);
  };
  TK_TRY(out.results, executeWith(compiled, inputs, run));
  return out;
}

Result<Execution> execute(const Compiled& compiled, const Bindings& inputs) {
  return execute(compiled, pointersTo(inputs));
}

std::vector<Comparison> compareWithDense(const Program& program, const Bindings& inputs, const Bindings& results) {
  constexpr double kTolerance = 1e-9;
  const DenseValues dense = evaluate(program, inputs);
  // Where terms cancel, what is left is rounding of the terms.
  double scale = 0;
  for (const auto& [name, tensor] : inputs)
    for (const double v : tensor.values) scale = std::max(scale, std::fabs(v));
  std::vector<Comparison> out;
  for (const auto& [name, tensor] : results) {
    const std::vector<double>& wanted = dense.find(name)->second;
    const std::vector<double> got = toDense(tensor);
    double largest = std::max(1e-30, scale * 1e-3);
    for (const double v : wanted)
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    Comparison comparison{name, 0, true};
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == got[i] || (std::isnan(wanted[i]) && std::isnan(got[i]))) continue;
      const double difference = std::fabs(wanted[i] - got[i]) / largest;
      comparison.worst = std::max(comparison.worst, std::isnan(difference) ? INFINITY : difference);
    }
    comparison.close = comparison.worst <= kTolerance;
    out.push_back(comparison);
  }
  return out;
}

std::vector<Comparison> compareWithDense(const Program& written, const Compiled& compiled, const Bindings& inputs,
                                         const Bindings& results) {
  if (compiled.algebra.empty()) return compareWithDense(written, inputs, results);
  Bindings outputs, others;
  for (const auto& [name, tensor] : results) {
    const bool output = written.tensor(written.findTensor(name)).role == Role::output;
    (output ? outputs : others)[name] = tensor;
  }
  std::vector<Comparison> out = compareWithDense(written, inputs, outputs);
  const std::vector<Comparison> more = compareWithDense(compiled.program, inputs, others);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace tokamak::sparse
