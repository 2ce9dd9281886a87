#include "sparse_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "console.h"
#include "graph_arguments.h"
#include "sparse/io/io.h"
#include "sparse/lower/compile.h"
#include "sparse/lower/inputs.h"

namespace tokamak::tool {

using namespace tokamak::sparse;

void SparseArguments::addTo(CLI::App& app) {
  app.add_option("file", file, "Sparse program; - is standard input")->type_name("FILE.ein|FILE.mlir")->required();
  app.add_option("--schedule", schedule, "A schedule of the file, a file that holds one, auto, unfused or full")
      ->type_name("NAME|FILE");
  app.add_option("--data", data, "Folder with NAME.mtx, .tns, .npz or .npy for each input")->type_name("DIR");
  app.add_option("--input", files, "File of one input: NAME=FILE.mtx, .tns, .npz or .npy; may be repeated")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--random", seed, "Inputs that have no file are random")->type_name("SEED");
  app.add_option("--density", density, "Share of entries that random sparse inputs store, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->option_text("SHARE=0.1");
  app.add_option("--dims", dims, "Sizes of dimensions: N=64,M=32")->option_text("NAME=SIZE,...");
  app.add_option("--function", function, "Which function of an .mlir file; main or forward without it")
      ->type_name("NAME");
}

namespace {

Result<Schedule> chooseSchedule(const Source& source, const std::string& wanted) {
  if (wanted.empty()) return source.schedules.empty() ? automatic() : source.schedules[0];
  if (const Schedule* found = source.find(wanted)) return *found;
  if (wanted == "unfused") return unfused();
  if (wanted == "auto") return automatic();
  if (wanted == "full") return Schedule{.name = "full", .fuse = Schedule::Fuse::all};
  if (std::filesystem::is_regular_file(wanted)) {
    TK_TRY(const std::string text, readFile(wanted));
    TK_TRY(std::vector<Schedule> schedules, parseSchedules(text, source.program, wanted));
    if (!schedules.empty()) return std::move(schedules[0]);
  }
  std::vector<std::string> names = {"auto", "unfused", "full"};
  for (const Schedule& schedule : source.schedules)
    if (std::find(names.begin(), names.end(), schedule.name) == names.end()) names.push_back(schedule.name);
  return Diagnostic{"T0976",
                    {},
                    fmt::format("there is no schedule {}", wanted),
                    fmt::format("give a file that holds one, or {}", fmt::join(names, ", "))};
}

Diagnostic unknownDim(const Program& program, std::string_view name) {
  std::vector<std::string> names;
  for (const sparse::Dim& dim : program.dims()) names.push_back(dim.name);
  return {"T0804",
          {},
          fmt::format("the program has no dimension {}", name),
          fmt::format("its dimensions are {}", fmt::join(names, ", "))};
}

Diagnostic unknownSize(const Location& place, const std::string& dim) {
  return {"T0933", place, fmt::format("the size of dimension {} is not known", dim),
          fmt::format("give it with --dims {}=64", dim)};
}

Tensor randomInput(const Program& program, const TensorDecl& decl, double density, std::mt19937_64& random) {
  const Format format = decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size())));
  std::vector<int64_t> shape;
  int64_t size = 1;
  for (const DimId dim : decl.dims) {
    shape.push_back(program.dim(dim).size);
    size *= shape.back();
  }
  std::uniform_real_distribution<double> value(-1, 1), chance(0, 1);
  std::vector<double> values(static_cast<size_t>(size), 0.0);
  for (double& v : values)
    if (format.isDense() || chance(random) < density) v = roundTo(decl.dtype, value(random));
  return fromDense(std::move(values), shape, format, decl.dtype);
}

/// The files that --input names, by input.
Result<std::map<std::string, std::string>> namedFiles(const std::vector<std::string>& files, const Program& program) {
  std::vector<std::string> names;
  for (const TensorDecl& decl : program.tensors())
    if (decl.role == Role::input) names.push_back(decl.name);
  const std::string known = fmt::format("its inputs are {}", fmt::join(names, ", "));
  std::map<std::string, std::string> out;
  for (const std::string& text : files) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return Diagnostic{"T0807", {}, fmt::format("--input wants NAME=FILE, not `{}`", text), known};
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Diagnostic{"T0807", {}, fmt::format("the program has no input {}", name), known};
    if (!out.try_emplace(name, text.substr(equals + 1)).second)
      return Diagnostic{"T0807", {}, fmt::format("--input {} is given twice", name), "give each input once"};
  }
  return out;
}

/// Stores what was read of an input in its format; sizes that are not known yet are its own.
Result<> keepInput(const TensorDecl& decl, const Entries& entries, SparseProgram& out) {
  if (entries.shape.size() != decl.dims.size()) {
    out.inputs[decl.name].shape = entries.shape;  // bindSizes says what is wrong
    return bindSizes(out.program, out.inputs);
  }
  Result<Tensor> tensor = pack(entries, decl.format.value_or(Format::dense(entries.rank())), decl.dtype);
  if (!tensor) {
    Diagnostic error = tensor.error();
    error.location = decl.location;
    error.message = fmt::format("{}: {}", decl.name, error.message);
    return error;
  }
  for (size_t i = 0; i < decl.dims.size(); ++i)
    if (sparse::Dim& dim = out.program.dims()[decl.dims[i].index]; dim.size < 0) dim.size = entries.shape[i];
  out.inputs[decl.name] = std::move(*tensor);
  return Unit{};
}

/// A .tns file reaches as far as its coordinates: its sizes are those of the program and of the other files, and where
/// nobody knows a size the largest coordinate of all such files.
Result<> keepOpenInputs(std::vector<std::pair<TensorDecl, Entries>> open, SparseProgram& out) {
  std::map<size_t, int64_t> reach;
  for (const auto& [decl, entries] : open)
    for (size_t i = 0; i < decl.dims.size(); ++i)
      reach[decl.dims[i].index] = std::max(reach[decl.dims[i].index], entries.shape[i]);
  for (const auto& [index, size] : reach) {
    sparse::Dim& dim = out.program.dims()[index];
    if (dim.size < 0 && size == 0) return unknownSize(open[0].first.location, dim.name);
    if (dim.size < 0) dim.size = size;
  }
  for (auto& [decl, entries] : open) {
    for (size_t i = 0; i < decl.dims.size(); ++i)
      entries.shape[i] = std::max(entries.shape[i], out.program.dim(decl.dims[i]).size);
    TK_RETURN_IF_ERROR(keepInput(decl, entries, out));
  }
  return Unit{};
}

/// Inputs that have a file. Those in `own` need none: their values came with the program.
Result<> readInputs(const SparseArguments& arguments, const std::set<std::string>& own, SparseProgram& out) {
  TK_TRY(const auto files, namedFiles(arguments.files, out.program));
  std::vector<std::pair<TensorDecl, Entries>> open;
  for (const TensorDecl& decl : out.program.tensors()) {
    const auto named = files.find(decl.name);
    if (decl.role != Role::input || (named == files.end() && arguments.data.empty())) continue;
    const std::string path = named == files.end() ? fileInFolder(arguments.data, decl.name) : named->second;
    Result<Entries> entries = named == files.end() ? readFromFolder(arguments.data, decl.name, decl.dims.size())
                                                   : readTensor(path, decl.dims.size());
    const bool optional = named == files.end() && (arguments.seed || own.contains(decl.name));
    if (!entries && optional && entries.error().message.starts_with("there is no tensor")) continue;
    if (!entries) return entries.error();
    if (path.ends_with(".tns"))
      open.emplace_back(decl, std::move(*entries));
    else
      TK_RETURN_IF_ERROR(keepInput(decl, *entries, out));
  }
  return keepOpenInputs(std::move(open), out);
}

std::set<std::string> ownInputs(const ImportedProgram& imported) {
  std::set<std::string> out;
  for (const auto& [name, weight] : imported.weights) out.insert(name);
  for (const DerivedInput& derived : imported.derived) out.insert(derived.name);
  return out;
}

}  // namespace

Result<> refuseDense(const std::string& path, std::string_view text) {
  if (!fromFirstWord(text).starts_with("graph @")) return Unit{};
  return Diagnostic{"T0808", {path, 0, 0}, "this is a dense program", "`tokamak run` takes those"};
}

Result<SparseProgram> loadSparse(const SparseArguments& arguments) {
  TK_TRY(const std::string text, readFile(arguments.file));
  TK_RETURN_IF_ERROR(refuseDense(arguments.file, text));
  SparseProgram out;
  ImportedProgram imported;
  if (arguments.file.ends_with(".mlir")) {
    TK_TRY(imported, readMlir(text, arguments.file, {arguments.function, arguments.seed.value_or(0)}));
    out.source.program = imported.program;
    out.notes = imported.notes;
  } else {
    TK_TRY(out.source, parseSource(text, arguments.file));
  }
  TK_TRY(out.schedule, chooseSchedule(out.source, arguments.schedule));
  out.program = out.source.program;
  TK_TRY(const DimBindings sizes, parseDims(arguments.dims));
  for (const auto& [name, size] : sizes) {
    const DimId dim = out.program.findDim(name);
    if (!dim) return unknownDim(out.program, name);
    out.program.dims()[dim.index].size = size;
  }
  TK_RETURN_IF_ERROR(readInputs(arguments, ownInputs(imported), out));
  out.hasData = !arguments.data.empty() || !arguments.files.empty() || arguments.seed.has_value();
  if (!out.hasData) return out;
  std::mt19937_64 random(arguments.seed.value_or(0));
  const std::set<std::string> own = ownInputs(imported);
  if (arguments.seed)
    for (const TensorDecl& decl : out.program.tensors()) {
      if (decl.role != Role::input || out.inputs.contains(decl.name) || own.contains(decl.name)) continue;
      for (const DimId dim : decl.dims)
        if (out.program.dim(dim).size < 0) return unknownSize(decl.location, out.program.dim(dim).name);
      out.inputs[decl.name] = randomInput(out.program, decl, arguments.density, random);
    }
  TK_RETURN_IF_ERROR(completeInputs(imported, out.program, out.inputs));
  TK_RETURN_IF_ERROR(bindSizes(out.program, out.inputs));
  TK_TRY(out.inputs, inDeclaredFormats(out.program, std::move(out.inputs)));
  return out;
}

Result<SparseProgram> loadSparseWithData(const SparseArguments& arguments) {
  TK_TRY(SparseProgram program, loadSparse(arguments));
  if (program.hasData) return program;
  return Diagnostic{"T0932",
                    {arguments.file, 0, 0},
                    "the program has no data",
                    "give --data DIR, --input NAME=FILE, or --random SEED with --dims"};
}

}  // namespace tokamak::tool
