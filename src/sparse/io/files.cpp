#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sparse/io/io.h"
#include "sparse/io/number_lines.h"
#include "support/npy.h"

namespace tokamak::sparse {

namespace fs = std::filesystem;

Result<std::string> readWholeFile(const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  std::ifstream in(path, std::ios::binary);
  if (folder || !in)
    return Diagnostic{"T0904",
                      {path, 0, 0},
                      fmt::format("cannot read the file: {}", folder ? "it is a folder" : std::strerror(errno)),
                      "check the path and its permissions"};
  std::string out;
  in.seekg(0, std::ios::end);
  if (const auto size = in.tellg(); size > 0) out.resize(static_cast<size_t>(size));
  in.seekg(0);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<size_t>(in.gcount()));
  return out;
}

Result<> writeWholeFile(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (out) return Unit{};
  return Diagnostic{"T0904",
                    {path, 0, 0},
                    fmt::format("cannot write the file: {}", std::strerror(errno)),
                    "check the folder and its space"};
}

namespace {

/// Whether the file is there, as far as can be seen.
bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string samFile(const std::string& folder, const std::string& tensor, std::string_view what) {
  return fmt::format("{}/tensor_{}_mode_{}", folder, tensor, what);
}

template <class T>
Result<std::vector<T>> readNumbers(const std::string& path) {
  TK_TRY(const std::string text, readWholeFile(path));
  NumberLines lines(text);
  std::vector<T> out;
  while (lines.nextLine('#'))
    while (!lines.atLineEnd()) {
      double number = 0;
      if (!lines.number(number) || number != number)
        return Diagnostic{"T0906", {path, lines.line(), 1}, "this is not a number", "one number a line"};
      if (std::is_integral_v<T> && !(number >= 0 && number <= (sizeof(T) == 4 ? 0x1p31 - 1 : 0x1p53)))
        return Diagnostic{"T0906", {path, lines.line(), 1}, "this is no position", "coordinates are below 2^31"};
      out.push_back(static_cast<T>(number));
    }
  return out;
}

template <class T>
Result<> writeNumbers(const std::string& path, const std::vector<T>& numbers) {
  std::string text;
  for (const T number : numbers) fmt::format_to(std::back_inserter(text), "{}\n", number);
  return writeWholeFile(path, text);
}

Result<Entries> fromNpy(const std::string& path) {
  TK_TRY(const Array array, readNpy(path));
  Entries out{array.shape(), {}, {}};
  const int rank = out.rank();
  for (const int64_t extent : out.shape)
    if (extent > INT32_MAX)
      return Diagnostic{"T0904", {path, 0, 0}, fmt::format("an axis of {} is too long", extent), "use 2^31 at most"};
  std::vector<int32_t> at(static_cast<size_t>(rank), 0);
  for (int64_t e = 0; e < array.size(); ++e) {
    if (const double value = array.getDouble(e); value != 0) {
      out.at.insert(out.at.end(), at.begin(), at.end());
      out.values.push_back(value);
    }
    for (int axis = rank; axis-- > 0;) {
      if (++at[static_cast<size_t>(axis)] < out.shape[static_cast<size_t>(axis)]) break;
      at[static_cast<size_t>(axis)] = 0;
    }
  }
  return out;
}

}  // namespace

Result<Tensor> readSamTensor(const std::string& folder, const std::string& tensor) {
  Tensor out;
  TK_TRY(out.shape, readNumbers<int64_t>(samFile(folder, tensor, "shape")));
  TK_TRY(out.values, readNumbers<double>(samFile(folder, tensor, "vals")));
  out.dtype = DType::f64;
  for (size_t l = 0; l < out.shape.size(); ++l) {
    LevelStorage storage{out.shape[l], {}, {}};
    const std::string crd = samFile(folder, tensor, fmt::format("{}_crd", l));
    const bool compressed = exists(crd);
    if (compressed) {
      TK_TRY(storage.crd, readNumbers<int32_t>(crd));
      TK_TRY(storage.pos, readNumbers<int64_t>(samFile(folder, tensor, fmt::format("{}_seg", l))));
    }
    out.format.levels.push_back({compressed ? LevelKind::compressed : LevelKind::dense, static_cast<int>(l)});
    out.levels.push_back(std::move(storage));
  }
  if (auto status = verify(out); !status) {
    Diagnostic error = status.error();
    error.location.file = samFile(folder, tensor, "*");
    return error;
  }
  return out;
}

Result<> writeSamTensor(const std::string& folder, const std::string& tensor, const Tensor& value) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::vector<int64_t> sizes;
  for (size_t l = 0; l < value.levels.size(); ++l) {
    sizes.push_back(value.levels[l].size);
    if (value.format.levels[l].kind == LevelKind::dense) continue;
    TK_RETURN_IF_ERROR(writeNumbers(samFile(folder, tensor, fmt::format("{}_crd", l)), value.levels[l].crd));
    TK_RETURN_IF_ERROR(writeNumbers(samFile(folder, tensor, fmt::format("{}_seg", l)), value.levels[l].pos));
  }
  TK_RETURN_IF_ERROR(writeNumbers(samFile(folder, tensor, "shape"), sizes));
  return writeNumbers(samFile(folder, tensor, "vals"), value.values);
}

Result<Entries> readTensor(const std::string& path, size_t rank) {
  const std::string ending = fs::path(path).extension();
  if (ending == ".npy") return fromNpy(path);
  TK_TRY(const std::string bytes, readWholeFile(path));
  if (ending == ".mtx") return parseMatrixMarket(bytes, path);
  if (ending == ".tns") return parseTns(bytes, path, std::vector<int64_t>(rank, 0));
  if (ending == ".npz") return parseNpz(bytes, path);
  return Diagnostic{
      "T0904", {path, 0, 0}, fmt::format("files ending in '{}' are not read", ending), "give .mtx, .tns, .npz or .npy"};
}

Result<> writeTensor(const std::string& path, const Tensor& tensor) {
  const std::string ending = fs::path(path).extension();
  if (ending == ".npy") {
    Array array(tensor.dtype, tensor.shape);
    const std::vector<double> values = toDense(tensor);
    for (size_t i = 0; i < values.size(); ++i) array.setDouble(static_cast<int64_t>(i), values[i]);
    return writeNpy(path, array);
  }
  const Entries entries = unpack(tensor);
  if (ending == ".tns") return writeWholeFile(path, formatTns(entries));
  const bool matrix = entries.rank() == 2;
  if (ending == ".mtx" && matrix) return writeWholeFile(path, formatMatrixMarket(entries));
  if (ending == ".npz" && matrix) return writeWholeFile(path, formatNpz(entries));
  return Diagnostic{"T0904",
                    {path, 0, 0},
                    fmt::format("a tensor of {} axes is not written as '{}'", entries.rank(), ending),
                    "use .npy or .tns; .mtx and .npz are for matrices"};
}

std::string fileInFolder(const std::string& folder, const std::string& name) {
  for (const std::string_view ending : {".mtx", ".tns", ".npz", ".npy"})
    if (std::string path = fmt::format("{}/{}{}", folder, name, ending); exists(path)) return path;
  return {};
}

Result<Entries> readFromFolder(const std::string& folder, const std::string& name, size_t rank) {
  if (std::error_code error; !fs::is_directory(folder, error))
    return Diagnostic{"T0904",
                      {folder, 0, 0},
                      fmt::format("the folder cannot be read: {}", error ? error.message() : "it is not a folder"),
                      "check the path; single files are given with --input NAME=FILE"};
  if (const std::string path = fileInFolder(folder, name); !path.empty()) return readTensor(path, rank);
  if (exists(samFile(folder, name, "vals"))) {
    TK_TRY(const Tensor tensor, readSamTensor(folder, name));
    return unpack(tensor);
  }
  return Diagnostic{"T0904",
                    {folder, 0, 0},
                    fmt::format("there is no tensor {} in the folder", name),
                    fmt::format("put {0}.mtx, {0}.tns, {0}.npz, {0}.npy or tensor_{0}_mode_* there", name)};
}

}  // namespace tokamak::sparse
