#pragma once

#include <filesystem>

#include "sparse/stream/graph.h"
#include "sparse/stream/run/data.h"

/// The SAM exchange format: what FuseFlow writes and Comal reads.
namespace tokamak::stream {

/// A graph from an exchange file. The file says nothing about sizes, and of formats only what is scanned; a level that
/// is located is dense. T0950: cut or no such file; T0951: a block that has no counterpart here.
Result<Graph> readSam(std::string_view bytes, std::string_view file = {});

/// The exchange file of a verified graph. T0951 where Comal has no such block or operation.
Result<std::string> writeSam(const Graph& graph);

/// The tensors beside an exchange file, `tensor_B_mode_0_seg`, `..._crd`, `tensor_B_mode_vals` and `..._shape`: those
/// that the graph reads, in the formats that it declares. T0952: a file is missing; T0953: its contents cannot be.
Result<Storages> readSamData(const Graph& graph, const std::filesystem::path& folder);
Result<> writeSamData(const std::string& name, const TensorStorage& tensor, const std::filesystem::path& folder);

}  // namespace tokamak::stream
