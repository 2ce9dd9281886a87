#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/machine.h"
#include "command.h"
#include "compile_arguments.h"
#include "console.h"
#include "cuda_timing.h"
#include "device.h"
#include "graph_arguments.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak bench gelu.tk --dims N=16777216         median time, GB/s and the fraction of a plain copy
  tokamak bench block.tk --dims S=512 --no-fuse   the same with every op a kernel of its own
  tokamak bench softmax.tk --dims M=16384 --device cuda    in the time of a GPU
The bytes are those that must move: inputs read once, outputs written once. The copy moves as many, on as many threads,
in the same run; where outputs are below an eighth of the inputs, it is a read.)";

struct Options {
  std::string file, device = "cpu";
  InputOptions inputs;
  CompileArguments compile;
  double seconds = 1.5;
  bool json = false;
};

struct Measurement {
  size_t kernels = 0;
  double bytes = 0, seconds = 0, limitSeconds = 0;
  std::optional<double> hostSeconds;  // on a GPU: until a call returns
  bool read = false;
  int64_t peakBytes = 0;
};

Result<Measurement> measure(const Graph& graph, const Inputs& inputs, const Options& options) {
  Progress progress("compiling");
  const Engine engine(options.compile.engine());
  TK_TRY(const Compiled compiled, compile(graph, engine, options.compile.compile(inputs.dims)));
  const auto refs = refsOf(inputs.arrays);
  Measurement out;
  out.kernels = compiled.explanation.ledger.regions.size();
  double written = 0;
  {
    TK_TRY(const std::vector<runtime::Tensor> results, compiled.executable->run(refs, {.dims = &inputs.dims}));
    for (const runtime::Tensor& tensor : results) written += static_cast<double>(tensor.bytes());
  }
  for (const Array& array : inputs.arrays) out.bytes += static_cast<double>(array.bytes());
  out.read = written < out.bytes / 8;
  out.bytes += written;
  TK_TRY(const runtime::MemoryReport memory, compiled.executable->memory(refs, {.dims = &inputs.dims}));
  out.peakBytes = memory.peakBytes;
  progress.update("measuring");
  const bench::Limits limits(engine, std::max<int64_t>(static_cast<int64_t>(out.bytes), 4096));
  std::vector<bench::Contender> contenders;
  contenders.push_back({"tokamak", [&] {
                          TK_CHECK(compiled.executable->run(refs, {.dims = &inputs.dims}).ok(),
                                   "a run that worked before failed");
                        }});
  contenders.push_back({"limit", [&] { out.read ? limits.read() : limits.copy(); }});
  bench::interleave(contenders, options.seconds);
  out.seconds = contenders[0].seconds;
  out.limitSeconds = contenders[1].seconds;
  return out;
}

/// On a GPU, in the device's own time.
Result<Measurement> measureCuda(const Graph& graph, const Inputs& inputs, int ordinal, const Options& options) {
  Progress progress("compiling");
  const Engine engine(options.compile.engine());
  TK_TRY(const CompiledCuda compiled, compileCuda(graph, engine, ordinal, options.compile.compile(inputs.dims)));
  progress.update("measuring");
  TK_TRY(const CudaTiming timing, timeOnDevice(compiled, inputs.arrays, inputs.dims, options.seconds));
  Measurement out;
  out.kernels = compiled.explanation.ledger.regions.size();
  out.bytes = timing.bytes, out.seconds = timing.seconds, out.limitSeconds = timing.copySeconds;
  out.hostSeconds = timing.hostSeconds;
  out.peakBytes = timing.peakBytes;
  return out;
}

Result<Outcome> run(Options options) {
  TK_TRY(const DeviceChoice device, parseMachine(options.device, "bench"));
  TK_TRY(const Graph graph, loadGraph(options.file));
  if (!options.inputs.seed) options.inputs.seed = 0;
  TK_RETURN_IF_ERROR(checkDriver(device));
  TK_TRY(const Inputs inputs, makeInputs(graph, options.inputs));
  TK_TRY(const Measurement m, device.kind == DeviceChoice::Kind::cuda
                                  ? measureCuda(graph, inputs, device.ordinal, options)
                                  : measure(graph, inputs, options));
  const double fraction = m.limitSeconds / m.seconds;
  const std::string limit = m.read ? "read" : "copy";
  if (options.json) {
    nlohmann::ordered_json out = {{"graph", graph.name},  {"dims", inputs.dims},
                                  {"kernels", m.kernels}, {"ms", m.seconds * 1e3},
                                  {"bytes", m.bytes},     {"gb_per_s", m.bytes / m.seconds / 1e9},
                                  {"limit", limit},       {"limit_ms", m.limitSeconds * 1e3},
                                  {"fraction", fraction}, {"peak_scratch_bytes", m.peakBytes}};
    if (m.hostSeconds) out["host_us"] = *m.hostSeconds * 1e6;
    say(out.dump(2) + "\n");
    return Outcome::done;
  }
  say(fmt::format("@{}{}: {} kernel{}, {} scratch\n", graph.name, dimsText(inputs.dims), m.kernels,
                  m.kernels == 1 ? "" : "s", formatBytes(static_cast<double>(m.peakBytes))));
  say(fmt::format("  median {}   {:.1f} GB/s of {}   {:.2f} of a {} ({})\n", formatMicroseconds(m.seconds * 1e6),
                  m.bytes / m.seconds / 1e9, formatBytes(m.bytes), fraction, limit,
                  formatMicroseconds(m.limitSeconds * 1e6)));
  if (m.hostSeconds) say(fmt::format("  a call takes {:.2f} us of the host's time\n", *m.hostSeconds * 1e6));
  return Outcome::done;
}

}  // namespace

Command addBench(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("bench", "Time a graph against a plain copy of its bytes");
  app->footer(kFooter);
  app->add_option("file", options->file, "Graph file; - is standard input")->type_name("FILE.tk")->required();
  app->add_option("--device", options->device, "cpu, cuda, cuda:1 ...")->type_name("DEVICE")->capture_default_str();
  options->inputs.addTo(*app);
  app->add_option("--seconds", options->seconds, "How long to measure, up to 3600")
      ->check(CLI::Range(0.0, 3600.0))
      ->option_text("SECONDS=1.5");
  app->add_flag("--json", options->json, "Print JSON");
  options->compile.addTo(*app);
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
