#include "search/search.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "search/candidates.h"
#include "search/model.h"
#include "search/store.h"
#include "sparse/lower/execute.h"

namespace tokamak::search {

namespace {

using namespace tokamak::sparse;

std::string example(const std::string& name) {
  std::ifstream in(std::string(TOKAMAK_SOURCE_DIR) + "/examples/sparse/" + name + ".ein");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Small {
  Program program;
  Bindings inputs;
};

/// An example with random data; sparse inputs have rows of very different length.
Small small(const std::string& name, int64_t size) {
  Small out{parseSource(example(name))->program, {}};
  std::mt19937_64 random(7);
  for (Dim& dim : out.program.dims()) dim.size = dim.size > 0 ? std::min<int64_t>(dim.size, 8) : size;
  std::uniform_real_distribution<double> value(-1, 1), chance(0, 1);
  for (const TensorDecl& decl : out.program.tensors()) {
    if (decl.role != Role::input) continue;
    const Format format = decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size())));
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const DimId dim : decl.dims) shape.push_back(out.program.dim(dim).size), count *= shape.back();
    std::vector<double> values(static_cast<size_t>(count), 0.0);
    const int64_t row = count / std::max<int64_t>(1, shape.empty() ? 1 : shape[0]);
    for (int64_t i = 0; i < count; ++i) {
      const double density = 2.0 / (1.0 + static_cast<double>(i / row % 17));
      if (format.isDense() || chance(random) < density * 0.2) values[static_cast<size_t>(i)] = value(random);
    }
    out.inputs[decl.name] = fromDense(values, shape, format, DType::f64);
  }
  return out;
}

SearchOptions plain() {
  SearchOptions out;
  out.threads = 2;
  return out;
}

TEST(Candidates, AreConnectedAndConvex) {
  const Program p = *parseProgram(
      "dim N\ninput a[N]\noutput y[N]\n"
      "b[i] = a[i] + 1\nc[i] = b[i] * 2\nd[i] = b[i] * 3\ny[i] = c[i] + d[i]\n");
  const std::vector<uint64_t> sets = candidateRegions(p, 1000);
  const auto has = [&](uint64_t set) { return std::find(sets.begin(), sets.end(), set) != sets.end(); };
  EXPECT_TRUE(has(0b1111));
  EXPECT_TRUE(has(0b0011));
  EXPECT_TRUE(has(0b1110));
  EXPECT_FALSE(has(0b0110)) << "c and d share nothing but b";
  EXPECT_FALSE(has(0b1011)) << "d lies between b and y";
}

TEST(Plan, TheBestScheduleIsWhatItsRegionsCost) {
  for (const char* name : {"gcn", "graphsage", "softmax", "chain", "autoencoder"}) {
    const Small s = small(name, 40);
    const Model model = *prepare(s.program, s.inputs, wholeProgram(true));
    const Space space = *Space::explore(model.program, *model.data, {.ordersPerRegion = 4, .iterate = false});
    NoStore none;
    const Outcome outcome = *search(space, *model.data, plain(), none);
    ASSERT_TRUE(outcome.best) << name;
    // The schedule as text, compiled from the program as written, gives the same graphs and cycles.
    const Schedule best = scheduleOf(space, *outcome.best, model.base);
    const auto read = parseSchedules(print(best), s.program);
    ASSERT_TRUE(read.ok()) << print(best) << read.error().str();
    const Result<Compiled> compiled = compile(s.program, read->front(), &s.inputs);
    ASSERT_TRUE(compiled.ok()) << name << compiled.error().str();
    double cycles = 0;
    const auto run = [&](const CompiledRegion& region, const stream::Inputs& reads) -> Result<stream::Storages> {
      TK_TRY(sim::Report report, sim::simulate(region.graph, reads));
      cycles += static_cast<double>(report.cycles);
      return std::move(report.outputs);
    };
    const Result<Bindings> results = executeWith(*compiled, s.inputs, run);
    ASSERT_TRUE(results.ok()) << name << results.error().str();
    EXPECT_EQ(cycles, outcome.best->cost) << name << "\n" << print(best);
    for (const Comparison& c : compareWithDense(s.program, *compiled, s.inputs, *results))
      EXPECT_TRUE(c.close) << name << " " << c.tensor;
  }
}

TEST(Search, FindsWhatExhaustiveSimulationFinds) {
  for (const char* name : {"gcn", "graphsage", "graph_attention", "layer_norm", "sddmm", "spmm", "spmv"}) {
    const Small s = small(name, 40);
    const Model model = *prepare(s.program, s.inputs, wholeProgram(true));
    const Space space = *Space::explore(model.program, *model.data, {});
    NoStore none;
    SearchOptions all = plain();
    all.exhaustive = true;
    const Outcome exhaustive = *search(space, *model.data, all, none);
    const Outcome quick = *search(space, *model.data, plain(), none);
    EXPECT_EQ(exhaustive.simulated, space.choices().size());
    EXPECT_LE(quick.simulated * 10, space.choices().size()) << name;
    EXPECT_LE(quick.best->cost, exhaustive.best->cost * 1.05) << name;
  }
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("sweep_test_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

TEST(Store, AnEndedSearchGoesOn) {
  const Folder folder;
  const std::string file = (folder.path / "results.db").string();
  const Small s = small("gcn", 30);
  const Model model = *prepare(s.program, s.inputs, wholeProgram(true));
  const Space space = *Space::explore(model.program, *model.data, {});
  NoStore none;
  SearchOptions options = plain();
  options.exhaustive = true;
  options.threads = 1;
  const Outcome whole = *search(space, *model.data, options, none);
  size_t asked = 0;
  options.progress = [&](size_t, size_t) { return ++asked < 40; };
  size_t before = 0;
  {
    auto store = *Store::open(file, "comal");
    const Outcome ended = *search(space, *model.data, options, *store);
    EXPECT_FALSE(ended.complete);
    before = store->count();
    EXPECT_GT(before, 5u);
    EXPECT_LT(before, space.choices().size());
  }
  options.progress = {};
  auto store = *Store::open(file, "comal");
  const Outcome resumed = *search(space, *model.data, options, *store);
  EXPECT_TRUE(resumed.complete);
  EXPECT_EQ(resumed.fresh + before, store->count());
  EXPECT_EQ(resumed.best->choices, whole.best->choices);
  EXPECT_EQ(resumed.best->cost, whole.best->cost);
  const Outcome again = *search(space, *model.data, options, *store);
  EXPECT_EQ(again.fresh, 0u);
}

TEST(Store, ProfilesDoNotMix) {
  const Folder folder;
  const std::string file = (folder.path / "results.db").string();
  Choice choice;
  choice.key = 17;
  (*Store::open(file, "comal"))->keep(choice, {.cycles = 5});
  EXPECT_EQ((*Store::open(file, "comal"))->find(17)->cycles, 5);
  EXPECT_FALSE((*Store::open(file, "comal-hbm"))->find(17));
  EXPECT_FALSE((*Store::open(file, "comal", "another machine"))->find(17));
}

TEST(Store, OtherFilesAreRefused) {
  const Folder folder;
  const std::string text = (folder.path / "notes.txt").string();
  std::ofstream(text) << "this is no database, whatever its length: it is a text that someone wants to keep\n";
  EXPECT_EQ(Store::open(text, "comal").error().code, "T0991");
  EXPECT_EQ(Store::open((folder.path / "none" / "x.db").string(), "comal").error().code, "T0991");
}

}  // namespace

}  // namespace tokamak::search
