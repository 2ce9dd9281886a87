#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "command.h"
#include "console.h"
#include "search/store.h"
#include "sweep_cluster.h"
#include "sweep_report.h"

namespace tokamak::tool {

namespace {

using namespace tokamak::search;

constexpr const char* kFooter = R"(Examples:
  tokamak sweep examples/sparse/gcn.ein --random 0 --dims N=200,F=50
  tokamak sweep gcn.ein --data cora -o gcn.best                 single lanes, the timing of comal
  tokamak sparse run gcn.ein --data cora --schedule gcn.best    what was found, run
  tokamak sweep gcn.ein --data cora --parallel 1,4,16 --max-area 200 --profile hw --config rda
  tokamak sweep gcn.ein --data cora --scheduler tcp://host:8786 on a Dask cluster
What was simulated is kept in the database (FILE.sweep.db unless told): the same command goes on where it was ended.)";

volatile std::sig_atomic_t interrupted = 0;

/// While it lives, Ctrl-C is noted and does not end the process.
class OnInterrupt {
 public:
  OnInterrupt() : before_(std::signal(SIGINT, [](int) { interrupted = 1; })) {}
  ~OnInterrupt() { std::signal(SIGINT, before_); }
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

std::string databaseOf(const SweepOptions& options) {
  if (!options.database.empty()) return options.database;
  const std::string stem = std::filesystem::path(options.program.file).stem().string();
  return (stem.empty() || stem == "-" ? "program" : stem) + ".sweep.db";
}

/// Programs that mean the same: products re-associated or as written, blocked inputs in blocks of other sizes.
Result<std::vector<Model>> variants(const SweepOptions& options, const SparseProgram& program) {
  std::vector<sparse::Schedule> wishes = {wholeProgram(true), wholeProgram(false)};
  if (options.algebra == "on") wishes = {wholeProgram(true)};
  if (options.algebra == "off") wishes = {wholeProgram(false)};
  if (!options.program.schedule.empty())
    for (sparse::Schedule& wish : wishes) {  // a given schedule's formats and blocks stay; its regions are searched
      wish.formats = program.schedule.formats;
      wish.blocks = program.schedule.blocks;
    }
  const size_t plain = wishes.size();
  for (const sparse::TensorDecl& decl : program.program.tensors()) {
    if (decl.role != sparse::Role::input || decl.dims.size() != 2 || !decl.format || decl.format->isDense()) continue;
    for (const int64_t size : options.blocks)
      for (size_t w = 0; w < plain; ++w) {
        wishes.push_back(wishes[w]);
        std::erase_if(wishes.back().blocks, [&](const auto& b) { return b.first == decl.name; });
        wishes.back().blocks.emplace_back(decl.name, std::vector<int64_t>{size, size});
      }
  }
  std::vector<Model> out;
  for (const sparse::Schedule& wish : wishes) {
    Result<Model> model = prepare(program.program, program.inputs, wish);
    if (!model && wish.blocks.empty()) return model.error();
    // A pattern in blocks is not a variant, nor is algebra that changes nothing.
    const bool again = model && !wish.algebra && options.algebra == "both" &&
                       std::any_of(out.begin(), out.end(),
                                   [&](const Model& m) { return m.base.blocks == wish.blocks && !m.base.algebra; });
    if (model && !again) out.push_back(std::move(*model));
  }
  return out;
}

Result<Outcome> runSweep(SweepOptions& options) {
  TK_TRY(options.search.simulation, simOptionsOf(options.timing));
  if (!options.output.empty()) TK_RETURN_IF_ERROR(checkWritable(options.output));
  if (!options.scheduler.empty()) return runOnCluster(options);
  TK_TRY(const SparseProgram program, loadSparseWithData(options.program));
  const std::string machine =
      options.timing.profile == "hw" ? sim::printHwConfig(options.search.simulation.machine) : std::string();
  TK_TRY(const std::unique_ptr<Store> store, Store::open(databaseOf(options), options.timing.profile, machine));
  const OnInterrupt guard;
  Progress progress("exploring");
  TK_TRY(std::vector<Model> models, variants(options, program));
  std::vector<Searched> found;
  for (Model& model : models) {
    TK_TRY(Space space, Space::explore(model.program, *model.data, options.space));
    found.push_back({std::move(model), std::move(space), {}});
  }
  if (options.worker) return simulateForOthers(options, found);
  if (options.accept) return acceptFromOthers(found, *store);
  options.search.deferred = options.next;
  options.search.progress = [&](size_t simulated, size_t allowed) {
    progress.update(fmt::format("searching: {} choices simulated, {} allowed", simulated, allowed));
    return interrupted == 0;
  };
  for (Searched& one : found) {
    TK_TRY(one.outcome, search::search(one.space, *one.model.data, options.search, *store));
    if (interrupted) break;
  }
  if (options.next) return listMissing(found);
  return reportSweep(options, program, found, databaseOf(options), interrupted != 0);
}

}  // namespace

Command addSweep(CLI::App& parent) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* app = parent.add_subcommand("sweep", "Search for the best schedule of a sparse program by simulation");
  app->footer(kFooter);
  options->program.addTo(*app);
  options->search.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options->timing.addTo(*app);
  app->add_option("-o", options->output, "Write the best schedule to this file")->type_name("FILE");
  app->add_option("--database", options->database, "SQLite file that keeps what was simulated")->type_name("FILE");
  app->add_option("--parallel", options->space.lanes, "Numbers of lanes to try")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->option_text("N,...");
  app->add_option("--levels", options->space.parallelLevels, "Variables that may run in lanes at once")
      ->check(CLI::Range(1, 3))
      ->option_text("1|2|3");
  app->add_option("--blocks", options->blocks, "Also store sparse inputs in square blocks of these sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->option_text("N,...");
  app->add_option("--algebra", options->algebra, "Products re-associated (on), as written (off), or (unless told) both")
      ->check(CLI::IsMember({"on", "off", "both"}))
      ->option_text("on|off|both");
  app->add_option("--orders", options->space.ordersPerRegion, "Orders of loops a region, at most")
      ->check(CLI::Range(1, 100000))
      ->option_text("N=64");
  app->add_flag("--all-orders", options->space.allOrders, "Also orders that only a permuted copy of an input allows");
  app->add_flag_callback(
      "--no-iterate", [space = &options->space] { space->iterate = false; },
      "Do not try to walk operands that can be located");
  app->add_option("--max-area", options->space.mostBlocks, "Blocks of a region's graph, at most")
      ->check(CLI::Range(1.0, 1e15))
      ->option_text("N");
  app->add_option("--max-workspace", options->space.mostWorkspace, "Entries of a region's accumulators, at most")
      ->check(CLI::Range(1.0, 1e15))
      ->option_text("N");
  app->add_option("--share", options->search.share, "Share of the choices that may be simulated")
      ->check(CLI::Range(0.0, 1.0))
      ->option_text("SHARE=0.1");
  app->add_flag("--exhaustive", options->search.exhaustive, "Simulate every choice that might matter");
  app->add_option("--threads", options->search.threads, "Simulations at a time; as many as cores unless told")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  app->add_option("--scheduler", options->scheduler, "Simulate on a Dask cluster")->type_name("ADDRESS");
  app->add_flag("--json", options->json, "One JSON object");
  app->add_flag("--next", options->next, "List what is to be simulated next, for a cluster")->group("");
  app->add_flag("--worker", options->worker, "Simulate the choices named on standard input")->group("");
  app->add_flag("--accept", options->accept, "Keep the measurements given on standard input")->group("");
  return {app, [options] { return runSweep(*options); }};
}

}  // namespace tokamak::tool
