#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sparse/import/mlir.h"
#include "sparse/schedule/schedule.h"

namespace tokamak::tool {

/// A sparse program, its schedule and its data, as asked for on the command line.
struct SparseArguments {
  std::string file, schedule, data, function;
  std::optional<uint64_t> seed;
  double density = 0.1;
  std::vector<std::string> dims;
  std::vector<std::string> files;  // NAME=FILE

  /// Adds the file, --schedule, --data, --input, --random, --density, --dims and --function.
  void addTo(CLI::App& app);
};

struct SparseProgram {
  sparse::Source source;
  sparse::Schedule schedule;
  sparse::Program program;  // with sizes
  sparse::Bindings inputs;  // in declared formats; empty where no data was given and none is needed
  bool hasData = false;
  std::vector<std::string> notes;  // about weights that came with the program
};

/// T0808 for a program of the dense language.
Result<> refuseDense(const std::string& path, std::string_view text);

/// Reads the program, MLIR where the file's name ends in .mlir, and its schedule: `--schedule` names one of the file's,
/// or is a file that holds one, or is `unfused` or `full`. Inputs come from --input, from --data, or at random, or
/// there are none and sizes stand in the program.
Result<SparseProgram> loadSparse(const SparseArguments& arguments);
/// The same for those who run it: T0932 where there is no data.
Result<SparseProgram> loadSparseWithData(const SparseArguments& arguments);

}  // namespace tokamak::tool
