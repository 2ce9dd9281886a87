#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "sparse/stream/sam.h"

namespace tokamak::stream {

namespace {

Result<std::string> slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Diagnostic{
        "T0952", {path.string(), 0, 0}, "cannot read the file", "a SAM data folder has it beside the others"};
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Diagnostic badLine(const std::filesystem::path& path, int line, std::string_view what) {
  return {"T0953", {path.string(), line, 1}, std::string(what), "one number a line"};
}

/// One number a line; blank lines at the end are allowed.
template <class T>
Result<std::vector<T>> numbers(const std::filesystem::path& path) {
  TK_TRY(const std::string text, slurp(path));
  std::vector<T> values;
  const char* at = text.data();
  const char* end = at + text.size();
  for (int line = 1; at < end; ++line) {
    const char* stop = std::find(at, end, '\n');
    while (at < stop && (*at == ' ' || *at == '+')) ++at;
    const char* last = stop;
    while (last > at && (last[-1] == '\r' || last[-1] == ' ')) --last;
    if (at < last) {
      T value{};
      double number = 0;  // integers may be written 3.0
      const auto [next, error] = std::from_chars(at, last, number);
      if (error != std::errc{} || next != last)
        return badLine(path, line, fmt::format("'{}' is no number", std::string(at, last)));
      if constexpr (std::is_integral_v<T>) {
        if (number != std::floor(number) || number < 0 || number > 9e15 || (sizeof(T) == 4 && number > 2147483647.0))
          return badLine(path, line, fmt::format("'{}' is no position or coordinate", std::string(at, last)));
      } else if (std::isnan(number)) {
        return badLine(path, line, "the value is NaN");
      }
      value = static_cast<T>(number);
      values.push_back(value);
    }
    at = stop == end ? end : stop + 1;
  }
  return values;
}

std::filesystem::path partOf(const std::filesystem::path& folder, const std::string& tensor, std::string_view part) {
  return folder / fmt::format("tensor_{}_mode_{}", tensor, part);
}

bool isWalked(const Graph& graph, const std::string& tensor) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    const auto* scan = std::get_if<Scan>(&node.block);
    const auto* locate = std::get_if<Locate>(&node.block);
    return (scan && scan->tensor == tensor) || (locate && locate->tensor == tensor);
  });
}

Result<TensorStorage> readTensor(const Graph& graph, const Tensor& tensor, const std::filesystem::path& folder) {
  TensorStorage storage;
  storage.block = tensor.block;
  const auto shapeFile = partOf(folder, tensor.name, "shape");
  TK_TRY(const std::vector<int64_t> shape, numbers<int64_t>(shapeFile));
  if (shape.size() < tensor.levels.size())
    return Diagnostic{"T0953",
                      {shapeFile.string(), 0, 0},
                      fmt::format("{} sizes for {} levels of {}", shape.size(), tensor.levels.size(), tensor.name),
                      "one size a level, outermost first"};
  for (size_t i = 0; i < tensor.levels.size(); ++i) {
    LevelStorage level{tensor.levels[i].format, shape[i], {}, {}};
    if (level.format == LevelFormat::compressed) {
      TK_TRY(level.pos, numbers<int64_t>(partOf(folder, tensor.name, fmt::format("{}_seg", i))));
    }
    if (level.format != LevelFormat::dense) {
      TK_TRY(level.crd, numbers<int32_t>(partOf(folder, tensor.name, fmt::format("{}_crd", i))));
    }
    storage.levels.push_back(std::move(level));
  }
  const bool valued = std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    const auto* array = std::get_if<Array>(&node.block);
    return array && array->tensor == tensor.name;
  });
  if (valued) { TK_TRY(storage.values, numbers<double>(partOf(folder, tensor.name, "vals"))); }
  // Of a tensor that is read along the walk of another, the file tells no levels: it is a row of values, if only of
  // none.
  if (tensor.block.empty() && !isWalked(graph, tensor.name) && storage.levels.size() == 1 && valued)
    storage.levels[0].size = static_cast<int64_t>(storage.values.size());
  return storage;
}

template <class T>
Result<> writeNumbers(const std::filesystem::path& path, const std::vector<T>& values) {
  std::ofstream out(path, std::ios::binary);
  for (const T& value : values) out << fmt::format("{}\n", value);
  out.flush();
  if (!out)
    return Diagnostic{"T0803", {path.string(), 0, 0}, "cannot write the file", "check the folder and its space"};
  return Unit{};
}

}  // namespace

Result<Storages> readSamData(const Graph& graph, const std::filesystem::path& folder) {
  Storages storages;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.isOutput) continue;
    TK_TRY(TensorStorage storage, readTensor(graph, tensor, folder));
    storages.emplace(tensor.name, std::move(storage));
  }
  return storages;
}

Result<> writeSamData(const std::string& name, const TensorStorage& tensor, const std::filesystem::path& folder) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < tensor.levels.size(); ++i) {
    const LevelStorage& level = tensor.levels[i];
    shape.push_back(level.size);
    if (level.format == LevelFormat::compressed)
      TK_RETURN_IF_ERROR(writeNumbers(partOf(folder, name, fmt::format("{}_seg", i)), level.pos));
    if (level.format != LevelFormat::dense)
      TK_RETURN_IF_ERROR(writeNumbers(partOf(folder, name, fmt::format("{}_crd", i)), level.crd));
  }
  TK_RETURN_IF_ERROR(writeNumbers(partOf(folder, name, "shape"), shape));
  return writeNumbers(partOf(folder, name, "vals"), tensor.values);
}

}  // namespace tokamak::stream
