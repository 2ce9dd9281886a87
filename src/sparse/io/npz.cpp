#include <fmt/format.h>

#include <algorithm>

#include "sparse/io/io.h"
#include "sparse/io/zip.h"
#include "support/npy.h"

namespace tokamak::sparse {

namespace {

using Files = std::map<std::string, std::string>;

class NpzReader {
 public:
  NpzReader(const Files& files, const std::string& name) : files_(files), name_(name) {}

  Result<Entries> run() {
    TK_TRY(const std::string format, formatName());
    TK_TRY(const Array shape, array("shape"));
    if (shape.size() != 2) return fail("shape", fmt::format("has {} extents; SciPy's matrices have 2", shape.size()));
    for (int64_t i = 0; i < 2; ++i) {
      if (shape.getInt(i) < 0 || shape.getInt(i) > INT32_MAX) return fail("shape", "is not a size");
      out_.shape.push_back(shape.getInt(i));
    }
    TK_TRY(data_, array("data"));
    if (format == "coo") return coo();
    if (format == "csr" || format == "bsr") return compressed(0, format == "bsr");
    if (format == "csc") return compressed(1, false);
    return fail("format", fmt::format("is '{}', not csr, csc, coo or bsr", format));
  }

 private:
  Diagnostic fail(std::string_view array, std::string what) const {
    return {"T0907", {name_, 0, 0}, fmt::format("{}.npy {}", array, what), "write it again with scipy.sparse.save_npz"};
  }

  Result<Array> array(const std::string& name) const {
    const auto found = files_.find(name + ".npy");
    if (found == files_.end()) return fail(name, "is missing");
    return parseNpy(found->second, fmt::format("{}/{}.npy", name_, name));
  }

  /// `format` is a string of bytes, or of UTF-32 from older writers; its letters stand behind the header.
  Result<std::string> formatName() const {
    const auto found = files_.find("format.npy");
    if (found == files_.end()) return fail("format", "is missing: this is no sparse matrix of SciPy's");
    const std::string& bytes = found->second;
    const size_t header = bytes.find('\n');
    std::string out;
    if (header != std::string::npos)
      for (const char c : bytes.substr(header + 1, 64))
        if (c >= 'a' && c <= 'z') out += c;
    return out;
  }

  Result<> add(int64_t row, int64_t column, int64_t at) {
    if (row < 0 || row >= out_.shape[0] || column < 0 || column >= out_.shape[1])
      return fail("indices", fmt::format("names ({}, {}), outside {} x {}", row, column, out_.shape[0], out_.shape[1]));
    const double value = data_.getDouble(at);
    if (value != value) return fail("data", fmt::format("holds no number at {}", at));
    out_.add({static_cast<int32_t>(row), static_cast<int32_t>(column)}, value);
    return Unit{};
  }

  Result<Entries> coo() {
    TK_TRY(const Array rows, array("row"));
    TK_TRY(const Array columns, array("col"));
    if (rows.size() != data_.size() || columns.size() != data_.size())
      return fail("data",
                  fmt::format("has {} values for {} rows and {} columns", data_.size(), rows.size(), columns.size()));
    for (int64_t e = 0; e < data_.size(); ++e) TK_RETURN_IF_ERROR(add(rows.getInt(e), columns.getInt(e), e));
    return std::move(out_);
  }

  Result<Entries> compressed(int axis, bool blocked) {
    TK_TRY(const Array ends, array("indptr"));
    TK_TRY(const Array indices, array("indices"));
    int64_t height = 1, width = 1;
    if (blocked) {
      if (data_.shape().size() != 3) return fail("data", "does not hold blocks");
      height = std::max<int64_t>(1, data_.shape()[1]);
      width = std::max<int64_t>(1, data_.shape()[2]);
    }
    const int64_t fibers = (out_.shape[static_cast<size_t>(axis)] + height - 1) / height;
    if (ends.size() != fibers + 1 || ends.getInt(0) != 0 || ends.getInt(fibers) != indices.size() ||
        data_.size() != indices.size() * height * width)
      return fail("indptr",
                  fmt::format("has {} ends for {} fibers and {} entries", ends.size(), fibers, indices.size()));
    for (int64_t f = 0; f < fibers; ++f) {
      if (ends.getInt(f) > ends.getInt(f + 1)) return fail("indptr", fmt::format("falls at {}", f + 1));
      for (int64_t p = ends.getInt(f); p < ends.getInt(f + 1); ++p)
        for (int64_t b = 0; b < height * width; ++b) {
          const int64_t major = f * height + b / width, minor = indices.getInt(p) * width + b % width;
          if (blocked && data_.getDouble(p * height * width + b) == 0) continue;
          TK_RETURN_IF_ERROR(axis == 0 ? add(major, minor, p * height * width + b) : add(minor, major, p));
        }
    }
    return std::move(out_);
  }

  const Files& files_;
  const std::string& name_;
  Entries out_;
  Array data_;
};

}  // namespace

Result<Entries> parseNpz(std::string_view bytes, const std::string& name) {
  TK_TRY(const Files files, parseZip(bytes, name));
  return NpzReader(files, name).run();
}

std::string formatNpz(const Entries& entries) {
  const Tensor csr = *pack(entries, *namedFormat("csr", 2), DType::f64);
  Array ends(DType::i64, {csr.shape[0] + 1}), indices(DType::i32, {csr.stored()}), data(DType::f64, {csr.stored()}),
      shape(DType::i64, {2});
  for (int64_t i = 0; i < ends.size(); ++i) ends.setInt(i, csr.levels[1].pos[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < indices.size(); ++i) {
    indices.setInt(i, csr.levels[1].crd[static_cast<size_t>(i)]);
    data.setDouble(i, csr.values[static_cast<size_t>(i)]);
  }
  for (int64_t i = 0; i < 2; ++i) shape.setInt(i, csr.shape[static_cast<size_t>(i)]);
  std::string format = formatNpy(Array(DType::i8, {}));
  const std::string wide = "'|i1'", text = "'|S3'";
  format.replace(format.find(wide), wide.size(), text);
  format.resize(format.size() - 1);
  return formatZip({{"indptr.npy", formatNpy(ends)},
                    {"indices.npy", formatNpy(indices)},
                    {"data.npy", formatNpy(data)},
                    {"shape.npy", formatNpy(shape)},
                    {"format.npy", format + "csr"}});
}

}  // namespace tokamak::sparse
