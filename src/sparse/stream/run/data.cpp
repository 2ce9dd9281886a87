#include "sparse/stream/run/data.h"

#include <fmt/format.h>

#include <algorithm>

#include "sparse/stream/run/run.h"

namespace tokamak::stream {

namespace {

Diagnostic badData(std::string_view code, const std::string& tensor, std::string message, std::string hint) {
  return {std::string(code), {}, fmt::format("tensor {}: {}", tensor, message), std::move(hint)};
}

/// Checks one level's arrays for `parents` positions above it; the positions it has itself.
Result<int64_t> checkLevel(const std::string& tensor, size_t index, const LevelView& level, int64_t parents) {
  const auto at = [&](std::string text) { return fmt::format("level {}: {}", index, text); };
  constexpr const char* hint = "the data are damaged or belong to another tensor";
  if (level.format == LevelFormat::dense) {
    if (level.size > 0 && parents > INT64_MAX / level.size)
      return badData("T0953", tensor, at("too many positions"), hint);
    return parents * level.size;
  }
  if (level.format == LevelFormat::compressed) {
    if (static_cast<int64_t>(level.pos.size()) != parents + 1)
      return badData("T0953", tensor, at(fmt::format("{} segment ends for {} fibers", level.pos.size(), parents)),
                     hint);
    for (size_t i = 0; i < level.pos.size(); ++i) {
      const int64_t least = i == 0 ? 0 : level.pos[i - 1];
      if (level.pos[i] < least || level.pos[i] > static_cast<int64_t>(level.crd.size()))
        return badData("T0953", tensor, at(fmt::format("segment end {} is {}", i, level.pos[i])), hint);
    }
  } else if (static_cast<int64_t>(level.crd.size()) != parents) {
    return badData("T0953", tensor, at(fmt::format("{} coordinates for {} positions", level.crd.size(), parents)),
                   hint);
  }
  for (size_t i = 0; i < level.crd.size(); ++i)
    if (level.crd[i] < 0 || level.crd[i] >= level.size)
      return badData("T0953", tensor,
                     at(fmt::format("coordinate {} is {}, outside 0 .. {}", i, level.crd[i], level.size - 1)), hint);
  return static_cast<int64_t>(level.crd.size());
}

bool readsValues(const Graph& graph, const std::string& tensor) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    const auto* array = std::get_if<Array>(&node.block);
    return array != nullptr && array->tensor == tensor;
  });
}

Result<> bindOne(const Graph& graph, Tensor& tensor, const TensorView& data) {
  if (data.levels.size() != tensor.levels.size())
    return badData("T0953", tensor.name,
                   fmt::format("{} levels where the graph has {}", data.levels.size(), tensor.levels.size()),
                   "give the tensor in the format that the graph declares");
  int64_t positions = 1;
  for (size_t i = 0; i < data.levels.size(); ++i) {
    const LevelView& level = data.levels[i];
    Level& declared = tensor.levels[i];
    if (level.format != declared.format || (declared.size >= 0 && declared.size != level.size))
      return badData("T0953", tensor.name,
                     fmt::format("level {} is {} of size {} where the graph has {} of size {}", i, nameOf(level.format),
                                 level.size, nameOf(declared.format), declared.size),
                     "give the tensor in the format that the graph declares");
    declared.size = level.size;
    TK_TRY(positions, checkLevel(tensor.name, i, level, positions));
  }
  int64_t elements = positions;
  for (int64_t extent : tensor.block) elements *= extent;
  if (readsValues(graph, tensor.name) && static_cast<int64_t>(data.values.size()) != elements)
    return badData("T0953", tensor.name, fmt::format("{} values for {} positions", data.values.size(), elements),
                   "there is one value for each position of the last level");
  return Unit{};
}

void scatter(const TensorStorage& tensor, size_t level, int64_t position, std::vector<int64_t>& at,
             std::vector<double>& out) {
  if (level == tensor.levels.size()) {
    const int64_t rows = tensor.block.empty() ? 1 : tensor.block[0],
                  columns = tensor.block.empty() ? 1 : tensor.block[1];
    const size_t n = at.size();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        int64_t index = 0;
        for (size_t i = 0; i < n; ++i) {
          const int64_t scale = i + 2 == n ? rows : i + 1 == n ? columns : 1;
          const int64_t inside = i + 2 == n ? r : i + 1 == n ? c : 0;
          index = index * tensor.levels[i].size * scale + at[i] * scale + inside;
        }
        out[static_cast<size_t>(index)] = tensor.values[static_cast<size_t>((position * rows + r) * columns + c)];
      }
    return;
  }
  const LevelStorage& storage = tensor.levels[level];
  const bool dense = storage.format == LevelFormat::dense;
  const bool single = storage.format == LevelFormat::singleton;
  const auto p = static_cast<size_t>(position);
  const int64_t from = dense ? position * storage.size : single ? position : storage.pos[p];
  const int64_t to = dense ? from + storage.size : single ? from + 1 : storage.pos[p + 1];
  for (int64_t child = from; child < to; ++child) {
    at.push_back(dense ? child - from : storage.crd[static_cast<size_t>(child)]);
    scatter(tensor, level + 1, child, at, out);
    at.pop_back();
  }
}

}  // namespace

TensorView TensorStorage::view() const {
  TensorView result;
  for (const LevelStorage& level : levels) result.levels.push_back({level.format, level.size, level.pos, level.crd});
  result.values = values;
  return result;
}

int64_t TensorStorage::bytes() const {
  size_t sum = values.size() * sizeof(double);
  for (const LevelStorage& level : levels) sum += level.pos.size() * 8 + level.crd.size() * 4;
  return static_cast<int64_t>(sum);
}

Inputs viewsOf(const Storages& storages) {
  Inputs inputs;
  for (const auto& [name, storage] : storages) inputs.emplace(name, storage.view());
  return inputs;
}

std::vector<double> toDense(const TensorStorage& tensor) {
  int64_t elements = 1;
  for (const LevelStorage& level : tensor.levels) elements *= level.size;
  for (int64_t extent : tensor.block) elements *= extent;
  std::vector<double> out(static_cast<size_t>(elements), 0.0);
  std::vector<int64_t> at;
  if (!tensor.values.empty()) scatter(tensor, 0, 0, at, out);
  return out;
}

Result<> bindSizes(Graph& graph, const Inputs& inputs) {
  for (const Tensor& declared : graph.tensors()) {
    if (declared.isOutput) continue;
    const auto found = inputs.find(declared.name);
    if (found == inputs.end())
      return Diagnostic{"T0952",
                        {},
                        fmt::format("there are no data for tensor {}", declared.name),
                        "give every tensor that the graph reads"};
    TK_RETURN_IF_ERROR(bindOne(graph, *graph.tensor(declared.name), found->second));
  }
  return Unit{};
}

Result<> finishOutputs(const Graph& graph, Storages& outputs) {
  for (auto& [name, output] : outputs) {
    const Tensor& declared = *graph.tensor(name);
    int64_t positions = 1;
    for (size_t i = 0; i < output.levels.size(); ++i) {
      LevelStorage& level = output.levels[i];
      if (static_cast<int64_t>(level.pos.size()) != positions + 1)
        return Diagnostic{"T0962",
                          {},
                          fmt::format("output {}: level {} has {} fibers for {} coordinates above", name, i,
                                      static_cast<int64_t>(level.pos.size()) - 1, positions),
                          "the streams that are written do not belong together"};
      const auto largest = std::ranges::max_element(level.crd);
      const int64_t least = largest == level.crd.end() ? 0 : *largest + 1;
      if (declared.levels[i].size >= 0 && least > declared.levels[i].size)
        return Diagnostic{"T0962",
                          {},
                          fmt::format("output {}: level {} has coordinate {} and size {}", name, i, least - 1,
                                      declared.levels[i].size),
                          "declare the output as large as what is written"};
      if (level.size < 0) level.size = least;
      positions = static_cast<int64_t>(level.crd.size());
    }
    int64_t elements = positions;
    for (int64_t extent : output.block) elements *= extent;
    if (static_cast<int64_t>(output.values.size()) != elements)
      return Diagnostic{"T0962",
                        {},
                        fmt::format("output {}: {} values for {} entries", name, output.values.size(), elements),
                        "the streams that are written do not belong together"};
  }
  return Unit{};
}

}  // namespace tokamak::stream
