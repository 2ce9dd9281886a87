#include "sparse/format/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace tokamak::sparse {

namespace {

/// The coordinates of entries by level instead of by axis, sorted, without duplicates.
class Packer {
 public:
  Packer(const Entries& entries, const Format& format) : entries_(entries), format_(format) {
    depth_ = format.levels.size();
    keys_.resize(depth_ * entries.values.size());
    const int rank = entries.rank();
    for (int64_t e = 0; e < entries.count(); ++e)
      for (size_t l = 0; l < depth_; ++l)
        keys_[e * depth_ + l] =
            static_cast<int32_t>(format.levels[l].coordinateOf(entries.at[e * rank + format.levels[l].axis]));
    order_.resize(entries.values.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto less = [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(key(a), key(a) + depth_, key(b), key(b) + depth_);
    };
    if (!std::is_sorted(order_.begin(), order_.end(), less)) std::stable_sort(order_.begin(), order_.end(), less);
  }

  /// The first entry whose coordinate the entry before it has too, or -1.
  int64_t duplicate() const {
    for (size_t i = 1; i < order_.size(); ++i)
      if (std::equal(key(order_[i]), key(order_[i]) + depth_, key(order_[i - 1]))) return order_[i];
    return -1;
  }

  Tensor pack(DType dtype) const {
    Tensor out{dtype, entries_.shape, format_, {}, {}};
    // group[i]: the position that sorted entry i has at the level above; positions are numbered in order.
    std::vector<int64_t> group(order_.size(), 0);
    int64_t positions = 1;
    for (size_t l = 0; l < depth_; ++l) positions = packLevel(out, l, group, positions);
    out.values.assign(positions, 0.0);
    for (size_t i = 0; i < order_.size(); ++i) out.values[group[i]] = roundTo(dtype, entries_.values[order_[i]]);
    return out;
  }

 private:
  const int32_t* key(int64_t entry) const { return keys_.data() + entry * depth_; }

  int64_t packLevel(Tensor& out, size_t l, std::vector<int64_t>& group, int64_t positions) const {
    const Level& level = format_.levels[l];
    LevelStorage storage{level.sizeFor(entries_.shape[level.axis]), {}, {}};
    int64_t next = positions;
    if (level.kind == LevelKind::dense) {
      for (size_t i = 0; i < group.size(); ++i) group[i] = group[i] * storage.size + key(order_[i])[l];
      next = positions * storage.size;
    } else if (level.kind == LevelKind::singleton) {
      for (size_t i = 0; i < group.size(); ++i)
        if (static_cast<int64_t>(storage.crd.size()) == group[i]) storage.crd.push_back(key(order_[i])[l]);
    } else {
      storage.pos.assign(positions + 1, 0);
      size_t chain = l + 1;  // a level that repeats coordinates has a position for each chain of singletons below it
      while (!level.unique && chain < depth_ && format_.levels[chain].kind == LevelKind::singleton) ++chain;
      int64_t previous = -1;
      for (size_t i = 0; i < group.size(); ++i) {
        const int32_t coordinate = key(order_[i])[l];
        const int64_t parent = group[i];
        if (parent != previous || !std::equal(key(order_[i]) + l, key(order_[i]) + chain, key(order_[i - 1]) + l)) {
          storage.crd.push_back(coordinate);
          ++storage.pos[parent + 1];
        }
        previous = parent;
        group[i] = static_cast<int64_t>(storage.crd.size()) - 1;
      }
      std::partial_sum(storage.pos.begin(), storage.pos.end(), storage.pos.begin());
      next = static_cast<int64_t>(storage.crd.size());
    }
    out.levels.push_back(std::move(storage));
    return next;
  }

  const Entries& entries_;
  const Format& format_;
  size_t depth_ = 0;
  std::vector<int32_t> keys_;
  std::vector<int64_t> order_;
};

/// Calls `visit(position, coordinates by level)` for every position of the last level, in order.
void forEachStored(const Tensor& tensor, size_t level, int64_t position, std::vector<int32_t>& at,
                   const std::function<void(int64_t)>& visit) {
  if (level == tensor.levels.size()) return visit(position);
  const LevelStorage& storage = tensor.levels[level];
  const auto below = [&](int64_t child, int32_t coordinate) {
    at[level] = coordinate;
    forEachStored(tensor, level + 1, child, at, visit);
  };
  switch (tensor.format.levels[level].kind) {
    case LevelKind::dense:
      for (int64_t c = 0; c < storage.size; ++c) below(position * storage.size + c, static_cast<int32_t>(c));
      break;
    case LevelKind::compressed:
      for (int64_t p = storage.pos[position]; p < storage.pos[position + 1]; ++p) below(p, storage.crd[p]);
      break;
    case LevelKind::singleton: below(position, storage.crd[position]); break;
  }
}

}  // namespace

int64_t Tensor::bytes() const {
  int64_t out = stored() * byteWidth(dtype);
  for (const LevelStorage& level : levels)
    out += static_cast<int64_t>(level.pos.size()) * 8 + static_cast<int64_t>(level.crd.size()) * 4;
  return out;
}

Result<Tensor> pack(const Entries& entries, const Format& format, DType dtype) {
  TK_CHECK(format.rank() == entries.rank(), "the format is of another rank");
  const int rank = entries.rank();
  for (int64_t e = 0; e < entries.count(); ++e)
    for (int axis = 0; axis < rank; ++axis)
      if (const int32_t c = entries.at[e * rank + axis]; c < 0 || c >= entries.shape[axis])
        return Diagnostic{
            "T0901",
            {},
            fmt::format("entry {} has coordinate {} along axis {}, which has {}", e, c, axis, entries.shape[axis]),
            "coordinates count from 0 here; give a larger size or mend the data"};
  const Packer packer(entries, format);
  if (const int64_t e = packer.duplicate(); e >= 0) {
    const auto begin = entries.at.begin() + e * rank;
    return Diagnostic{"T0902",
                      {},
                      fmt::format("coordinate ({}) comes twice", fmt::join(begin, begin + rank, ", ")),
                      "add the entries up before, or drop one"};
  }
  return packer.pack(dtype);
}

Entries unpack(const Tensor& tensor) {
  Entries out{tensor.shape, {}, {}};
  std::vector<int32_t> byLevel(tensor.levels.size(), 0), byAxis(tensor.rank(), 0);
  forEachStored(tensor, 0, 0, byLevel, [&](int64_t position) {
    std::fill(byAxis.begin(), byAxis.end(), 0);
    for (size_t l = 0; l < byLevel.size(); ++l) {
      const Level& level = tensor.format.levels[l];
      byAxis[level.axis] += static_cast<int32_t>(byLevel[l] * (level.part == LevelPart::outer ? level.block : 1));
    }
    for (int axis = 0; axis < tensor.rank(); ++axis)
      if (byAxis[axis] >= tensor.shape[axis]) return;  // the rest of a block over the edge
    out.at.insert(out.at.end(), byAxis.begin(), byAxis.end());
    out.values.push_back(tensor.values[position]);
  });
  return out;
}

Tensor convert(const Tensor& tensor, const Format& format, Keep keep) {
  if (format == tensor.format) return tensor;
  Entries entries = unpack(tensor);
  // Only a last level that is dense stores zeros that nobody gave.
  const auto lastIsDense = [](const Format& f) {
    return !f.levels.empty() && f.levels.back().kind == LevelKind::dense;
  };
  const bool padded = keep == Keep::values && lastIsDense(tensor.format) && !lastIsDense(format);
  if (padded) {
    Entries kept{entries.shape, {}, {}};
    const int rank = entries.rank();
    for (int64_t e = 0; e < entries.count(); ++e) {
      if (entries.values[e] == 0) continue;
      kept.at.insert(kept.at.end(), entries.at.begin() + e * rank, entries.at.begin() + (e + 1) * rank);
      kept.values.push_back(entries.values[e]);
    }
    entries = std::move(kept);
  }
  return Packer(entries, format).pack(tensor.dtype);
}

std::vector<double> toDense(const Tensor& tensor) {
  int64_t size = 1;
  for (const int64_t extent : tensor.shape) size *= extent;
  std::vector<double> out(size, 0.0);
  const Entries entries = unpack(tensor);
  const int rank = entries.rank();
  for (int64_t e = 0; e < entries.count(); ++e) {
    int64_t flat = 0;
    for (int axis = 0; axis < rank; ++axis) flat = flat * tensor.shape[axis] + entries.at[e * rank + axis];
    out[flat] = entries.values[e];
  }
  return out;
}

Tensor fromDense(std::vector<double> values, const std::vector<int64_t>& shape, const Format& format, DType dtype) {
  if (format == Format::dense(static_cast<int>(shape.size()))) {
    Tensor out{dtype, shape, format, {}, std::move(values)};
    for (const int64_t size : shape) out.levels.push_back({size, {}, {}});
    for (double& value : out.values) value = value == 0 ? 0.0 : roundTo(dtype, value);
    return out;
  }
  Entries entries{shape, {}, {}};
  const int rank = entries.rank();
  std::vector<int32_t> at(rank, 0);
  for (const double value : values) {
    if (value != 0) {
      entries.at.insert(entries.at.end(), at.begin(), at.end());
      entries.values.push_back(value);
    }
    for (int axis = rank; axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return Packer(entries, format).pack(dtype);
}

Result<> verify(const Tensor& tensor) {
  const auto fail = [](size_t level, std::string what) {
    return Diagnostic{"T0903", {}, fmt::format("level {}: {}", level, what), "write the tensor again"};
  };
  if (tensor.levels.size() != tensor.format.levels.size())
    return fail(tensor.levels.size(), fmt::format("the format has {} levels", tensor.format.levels.size()));
  int64_t positions = 1;
  for (size_t l = 0; l < tensor.levels.size(); ++l) {
    const Level& level = tensor.format.levels[l];
    const LevelStorage& storage = tensor.levels[l];
    if (storage.size != level.sizeFor(tensor.shape[level.axis]))
      return fail(
          l, fmt::format("it has size {}, the shape wants {}", storage.size, level.sizeFor(tensor.shape[level.axis])));
    if (level.kind == LevelKind::dense) {
      positions *= storage.size;
      continue;
    }
    const auto stored = static_cast<int64_t>(storage.crd.size());
    for (int64_t p = 0; p < stored; ++p)
      if (storage.crd[p] < 0 || storage.crd[p] >= storage.size)
        return fail(l, fmt::format("coordinate {} at position {} is not below {}", storage.crd[p], p, storage.size));
    if (level.kind == LevelKind::singleton) {
      if (stored != positions) return fail(l, fmt::format("{} coordinates for {} positions", stored, positions));
      continue;
    }
    if (static_cast<int64_t>(storage.pos.size()) != positions + 1 || storage.pos[0] != 0 ||
        storage.pos.back() != stored)
      return fail(l, fmt::format("its {} segment ends do not fit {} positions above and {} coordinates",
                                 storage.pos.size(), positions, stored));
    for (int64_t p = 0; p < positions; ++p) {
      if (storage.pos[p] > storage.pos[p + 1]) return fail(l, fmt::format("segment {} ends before it begins", p));
      for (int64_t c = storage.pos[p] + 1; c < storage.pos[p + 1]; ++c)
        if (storage.crd[c] < storage.crd[c - 1] || (level.unique && storage.crd[c] == storage.crd[c - 1]))
          return fail(l, fmt::format("coordinate {} follows {} at position {}: a fiber must rise", storage.crd[c],
                                     storage.crd[c - 1], c));
    }
    positions = stored;
  }
  if (positions != tensor.stored())
    return fail(tensor.levels.size(), fmt::format("{} values for {} positions", tensor.stored(), positions));
  return Unit{};
}

}  // namespace tokamak::sparse
