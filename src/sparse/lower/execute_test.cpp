#include "sparse/lower/execute.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "sparse/stream/run/run.h"
#include "sparse/stream/sam.h"
#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

/// Sizes at random, small; most blocked dimensions up to twice their blocks. Now and then one is 1 or 0.
void chooseSizes(Program& program, std::mt19937_64& random) {
  for (Dim& dim : program.dims()) {
    if (std::isdigit(static_cast<unsigned char>(dim.name[0]))) continue;
    dim.size = random() % 12 == 0 ? 0 : random() % 6 == 0 ? 1 : 2 + static_cast<int64_t>(random() % 4);
  }
  for (const TensorDecl& decl : program.tensors())
    if (decl.format)
      for (const Level& level : decl.format->levels)
        if (level.part == LevelPart::outer && random() % 4 != 0)
          program.dims()[decl.dims[static_cast<size_t>(level.axis)].index].size =
              2 * level.block - static_cast<int64_t>(random() % static_cast<uint64_t>(level.block));
}

/// Compiles, runs and compares. False: it cannot be fused in that order, or lanes cannot be joined in it.
bool runsAsDense(const Program& program, const Schedule& schedule, const Bindings& inputs) {
  const Result<Compiled> compiled = compile(program, schedule, &inputs);
  if (!compiled && (compiled.error().code == "T0971" || compiled.error().code == "T0972")) return false;
  EXPECT_TRUE(compiled.ok()) << schedule.name << ": " << compiled.error().str();
  if (!compiled) return false;
  const Result<Execution> execution = execute(*compiled, inputs);
  EXPECT_TRUE(execution.ok()) << schedule.name << ": " << execution.error().str();
  if (!execution) return false;
  for (const Comparison& c : compareWithDense(program, *compiled, inputs, execution->results))
    EXPECT_TRUE(c.close) << print(schedule) << c.tensor << " differs by " << c.worst << "\n" << print(program);
  return true;
}

/// A program under all its schedules, and unfused, fused as a whole and automatically, on random inputs; each also
/// under five random orders of loops.
void expectDense(std::string_view text, std::vector<double> densities = {0, 0.1, 0.4, 1}) {
  Result<Source> source = parseSource(text, "t.ein");
  ASSERT_TRUE(source.ok()) << source.error().str();
  Schedule each = unfused();
  for (const Statement& s : source->program.statements())
    each.regions.push_back({.tensors = {source->program.tensor(s.tensor).name}});
  std::vector<Schedule> schedules = {each, automatic(), {.name = "everything", .fuse = Schedule::Fuse::all}};
  schedules.insert(schedules.end(), source->schedules.begin(), source->schedules.end());
  std::mt19937_64 random(7);
  for (const double density : densities)
    for (int round = 0; round < 2; ++round) {
      Program program = source->program;
      chooseSizes(program, random);
      const Bindings inputs = randomInputs(program, density, random);
      for (const Schedule& schedule : schedules) {
        if (!runsAsDense(program, schedule, inputs) && schedule.name != "everything")
          ADD_FAILURE() << schedule.name << " cannot be compiled";
        if (schedule.fuse == Schedule::Fuse::automatic) continue;
        int ran = 0;
        const Schedule regions =  // a region that is cut has orders for its pieces
            schedule.cut ? scheduleOf(*compile(program, schedule, &inputs), schedule.name) : schedule;
        for (int order = 0; order < 40 && ran < 5; ++order) {
          Schedule shuffled = regions;
          randomOrders(program, shuffled, random, order >= 5);
          ran += runsAsDense(program, shuffled, inputs);
        }
        if (schedule.name != "everything") EXPECT_EQ(ran, 5) << schedule.name << ": too few orders could run";
      }
    }
}

TEST(Execute, SpMV) {
  for (const char* format : {"csr", "dcsr", "csc", "coo", "dense"})
    expectDense(fmt::format("dim N, M\ninput A[N, M]: {}\ninput x[M]\noutput y[N]\ny[i] = A[i, j] * x[j]", format));
  expectDense("dim N, M\ninput A[N, M]: csr\ninput x[M]: csf\noutput y[N]\ny[i] = A[i, j] * x[j]");
}

/// Terms of which one has all the factors of another and more: where the fewer are stored is visited.
TEST(Execute, TermsThatShareFactors) {
  const std::string head =
      "dim N, M, K\ninput A[N, M, K]: csf\ninput B[N, K]: dcsr\ninput C[M, K]: dcsr\noutput Y[N, M, K]: csf\n";
  for (const char* value : {"B[i, k] * C[j, k] * A[i, j, k] - A[i, j, k] * (A[i, j, k] * C[j, k])",
                            "A[i, j, k] * C[j, k] + A[i, j, k] * C[j, k] * B[i, k] + A[i, j, k] * B[i, k]",
                            "(A[i, j, k] + C[j, k]) * (A[i, j, k] + C[j, k] + B[i, k])",
                            "A[i, j, k] * (C[j, k] + B[i, k]) - A[i, j, k] * C[j, k] * B[i, k]"})
    expectDense(fmt::format("{}Y[i, j, k] = {}\nschedule whole {{ fuse all algebra off }}", head, value));
}

/// A tensor that `algebra all` writes away may still be named: whether it is depends on the data.
TEST(Execute, SchedulesMayNameWhatTheAlgebraWritesAway) {
  const Source source = *parseSource(R"(
dim I = 20, J = 30
input B[J]: {compressed 0}
input T[I, J]: dcsr
output Y[I, J]: dcsc
Z[j, k] = B[k] * T[j, k] - (B[k] + B[k])
Y[i, j] = T[i, j] * Z[i, j]
schedule apart { fuse {Z} fuse {Y} spill Z algebra all }
schedule joint { fuse {Z, Y} algebra all })");
  std::mt19937_64 random(3);
  for (const Schedule& schedule : source.schedules)
    for (const double density : {0.2, 1.0}) {
      const Bindings inputs = randomInputs(source.program, density, random);
      EXPECT_TRUE(runsAsDense(source.program, schedule, inputs)) << schedule.name;
    }
}

std::string example(const std::string& name) {
  std::ifstream in(std::string(TOKAMAK_SOURCE_DIR) + "/examples/sparse/" + name + ".ein");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class Example : public testing::TestWithParam<const char*> {};

TEST_P(Example, EqualsItsDenseProgram) { expectDense(example(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Execute, Example,
                         testing::Values("spmv", "spmm", "spmm_orders", "sddmm", "mttkrp", "ttv", "softmax",
                                         "layer_norm", "chain", "gcn", "graphsage", "autoencoder", "graph_attention",
                                         "bigbird", "block_attention", "attention"),
                         [](const auto& info) { return std::string(info.param); });

std::string gpt3WithSmallBlocks() {
  std::string text = example("gpt3");
  return text.replace(text.find("bcsr(16, 16)"), 12, "bcsr(2, 2)");
}

TEST(Execute, DecoderBlockOfGpt3) { expectDense(gpt3WithSmallBlocks(), {0.4}); }

/// One region of the whole block would compute keys and values again for every pair of tokens.
TEST(Execute, CutsRegionsThatWouldDoTooMuchWork) {
  Source source = *parseSource(gpt3WithSmallBlocks());
  for (Dim& dim : source.program.dims()) dim.size = 16;
  std::mt19937_64 random(3);
  const Bindings inputs = randomInputs(source.program, 0.5, random);
  Schedule schedule = *source.find("full");
  ASSERT_TRUE(schedule.cut);
  EXPECT_EQ(print(*parseSchedules(print(schedule), source.program)->begin()), print(schedule));
  const Result<Compiled> cut = compile(source.program, schedule, &inputs),
                         each = compile(source.program, unfused(), &inputs);
  ASSERT_TRUE(cut.ok() && each.ok());
  EXPECT_GT(cut->regions.size(), 1u);
  EXPECT_LT(cut->regions.size(), each->regions.size() / 2);
  const auto tokens = [](const Compiled& compiled) {
    double out = 0;
    for (const CompiledRegion& region : compiled.regions) out += region.estimate.tokens;
    return out;
  };
  EXPECT_LT(tokens(*cut), 8 * tokens(*each));
  EXPECT_NE(cut->regions[0].notes.back().find("cut here: "), std::string::npos);
  EXPECT_TRUE(runsAsDense(source.program, schedule, inputs));
}

/// Loops in blocks, whatever the formats: sparse and dense operands, results, folds, with orders that name both parts.
TEST(Execute, LoopsInBlocks) {
  const std::string text = R"(dim N = 8, M = 6, K = 4
input A[N, K]: csr
input B[K, M]
input b[M]
output Y[N, M]
T[i, j] = A[i, k] * B[k, j]
Y[i, j] = relu(T[i, j] + b[j])
schedule rows { fuse {T, Y} { order i_o, i_i, k, j  block i 4 } }
schedule fold { fuse {T, Y} { block k 2, j 3 } }
schedule tile { fuse {T} { order i_o, j_o, k_o, i_i, k_i, j_i  block i 2, j 3, k 2 } fuse {Y} { block i 2  locate b } }
schedule odd  { fuse {T, Y} { block j 4, i 3, k 7 } }
schedule none { fuse {T, Y} { block z 4 } })";
  const Source source = *parseSource(text, "t.ein");
  std::mt19937_64 random(5);
  for (const double density : {0.0, 0.4, 1.0}) {
    const Bindings inputs = randomInputs(source.program, density, random);
    for (const char* name : {"rows", "fold", "tile", "odd"}) {
      const Schedule& schedule = *source.find(name);
      EXPECT_TRUE(runsAsDense(source.program, schedule, inputs)) << name;
      EXPECT_EQ(print(parseSchedules(print(schedule), source.program)->front()), print(schedule));
      const Compiled compiled = *compile(source.program, schedule, &inputs);
      EXPECT_TRUE(runsAsDense(source.program, scheduleOf(compiled, "again"), inputs))
          << print(scheduleOf(compiled, ""));
    }
  }
  const Result<Compiled> rows = compile(source.program, *source.find("rows"));
  EXPECT_EQ(rows->regions[0].table.rows, (std::vector<std::string>{"i_o", "i_i", "k", "j"}));
  EXPECT_EQ(compile(source.program, *source.find("none")).error().code, "T0972");
  const std::pair<const char*, const char*> contradictions[] = {{"fuse {T} { iterate A locate A }", "T0974"},
                                                                {"fuse {T} { locate A iterate A }", "T0974"},
                                                                {"fuse {T} { parallel i 2 parallel i 4 }", "T0972"},
                                                                {"fuse {T} { block i 2, i 4 }", "T0977"},
                                                                {"fuse {T} { order i order i }", "T0970"},
                                                                {"fuse all fuse {T}", "T0974"},
                                                                {"fuse {T} fuse all", "T0974"},
                                                                {"fuse all fuse auto", "T0974"},
                                                                {"fuse auto fuse auto", "T0974"},
                                                                {"format T csr format T csc", "T0974"},
                                                                {"block A 2, 2 block A 4, 4", "T0974"}};
  for (const auto& [said, code] : contradictions) {
    const auto refused = parseSchedules(fmt::format("schedule s {{ {} }}", said), source.program);
    ASSERT_FALSE(refused) << said;
    EXPECT_EQ(refused.error().code, code) << said;
    EXPECT_GT(refused.error().location.column, 0) << said;
  }
}

/// What lies beyond the edge in the last block counts nowhere: not in maxima, means, quotients, exponentials, nor as a
/// stored entry.
TEST(Execute, BlocksNeedNotDivide) {
  const std::string program = R"(dim N, M
input A[N, M]: {}
input B[N, M]: {}
input x[M]
output Low[N]
output High[N]
output Mean[M]
output Count[N]
output All
output Soft[N, M]: {}
output Over[N, M]
output Back[N]
Low[i] = min(j: 3 + A[i, j])
High[i] = max(j: A[i, j] - 5)
Mean[j] = mean(i: exp(A[i, j] + B[i, j]))
Count[i] = sum(j in A[i, j]: 1)
All = sum(i, j: 1 / (2 + A[i, j]))
Top[i] = max(j in A[i, j]: A[i, j] - 7)
E[i, j] = exp(A[i, j] - Top[i]) where A[i, j]
Soft[i, j] = E[i, j] / sum(k: E[i, k])
Over[i, j] = A[i, j] / x[j] + log(3 + B[i, j])
Back[i] = sum(j: Over[i, j] * x[j]) + max(j: Over[i, j] - 9)
)";
  std::mt19937_64 random(9);
  for (const auto& [a, b, soft] : {std::array{"bcsr(2, 3)", "bcsr(2, 3)", "csr"},
                                   {"bcsr(3, 2)", "bcsr(2, 5)", "bcsr(4, 4)"},
                                   {"{dense 1/4, compressed 0, dense 1%4}", "csc", "bcsr(3, 1)"},
                                   {"bcsr(50, 60)", "dense", "csr"}})
    for (const auto& [n, m] : {std::pair{1, 1}, {5, 7}, {4, 6}, {0, 3}, {3, 0}, {1, 5}}) {
      Result<Source> source = parseSource(fmt::format(fmt::runtime(program), a, b, soft), "t.ein");
      ASSERT_TRUE(source.ok()) << source.error().str();
      source->program.dims()[0].size = n;
      source->program.dims()[1].size = m;
      for (const double density : {0.0, 0.3, 1.0}) {
        const Bindings inputs = randomInputs(source->program, density, random);
        for (const Schedule& schedule : {unfused(), automatic(), Schedule{.name = "all", .fuse = Schedule::Fuse::all},
                                         Schedule{.name = "loops",
                                                  .regions = {{.tensors = {"Top"}, .blocks = {{"j", 4}}},
                                                              {.tensors = {"Mean"}, .blocks = {{"i", 3}, {"j", 2}}}}}})
          EXPECT_TRUE(runsAsDense(source->program, schedule, inputs)) << a << " " << n << " " << m << schedule.name;
      }
    }
}

/// Blocks along a variable that the algebra has rewritten away go with it: j_1 is the maximum's inside the sum.
TEST(Execute, BlocksOfWhatIsRewrittenAway) {
  const Source source = *parseSource(R"(dim N = 5
input x[N]
input z[N]
output y[N]
m = max(j: x[j])
y[i] = sum(j: m * m * x[j]) * z[i]
schedule inner { fuse all { order i, j, j_1_o, j_1_i  block j_1 2 } })");
  std::mt19937_64 random(2);
  const Bindings inputs = randomInputs(source.program, 1, random);
  EXPECT_TRUE(runsAsDense(source.program, *source.find("inner"), inputs));
  const Compiled compiled = *compile(source.program, *source.find("inner"), &inputs);
  ASSERT_FALSE(compiled.algebra.empty());
  EXPECT_TRUE(compiled.regions[0].blocks.empty());
}

/// The largest of stored entries that are all -inf is -inf; of none it is 0.
TEST(Execute, InfiniteMaximaAreNotNothing) {
  const Source source = *parseSource(R"(dim N = 3
input A[N, N]: csr
input B[N, N]
output Most[N]
output Least[N]
Most[i] = max(j in A[i, j]: log(B[i, j]))
Least[i] = min(j in A[i, j]: 0 - log(B[i, j])))");
  Entries pattern{{3, 3}, {}, {}};
  pattern.add({0, 1}, 1);
  pattern.add({0, 2}, 1);
  pattern.add({2, 0}, 1);
  Entries values{{3, 3}, {}, {}};
  values.add({2, 0}, 0.5);
  const Bindings inputs = {{"A", *pack(pattern, *namedFormat("csr", 2), DType::f64)},
                           {"B", *pack(values, Format::dense(2), DType::f64)}};
  for (const Schedule& schedule : {unfused(), automatic(), Schedule{.name = "all", .fuse = Schedule::Fuse::all}}) {
    const Execution run = *execute(*compile(source.program, schedule, &inputs), inputs);
    EXPECT_EQ(toDense(run.results.at("Most")), (std::vector<double>{-INFINITY, 0, std::log(0.5)}));
    EXPECT_EQ(toDense(run.results.at("Least")), (std::vector<double>{INFINITY, 0, -std::log(0.5)}));
  }
}

/// A copy in the other's blocks is read, which says so and stores the same entries.
TEST(Execute, TwoBlockSizesMeet) {
  const Source source = *parseSource(R"(dim N = 7
input A[N, N]: bcsr(2, 2)
input B[N, N]: bcsr(3, 4)
output Y[N, N]
Y[i, j] = sum(k in B[k, j]: A[i, k] - 1))");
  std::mt19937_64 random(3);
  const Bindings inputs = randomInputs(source.program, 0.2, random);
  EXPECT_TRUE(runsAsDense(source.program, unfused(), inputs));
  const Compiled compiled = *compile(source.program, unfused(), &inputs);
  ASSERT_FALSE(compiled.regions[0].notes.empty());
  EXPECT_EQ(compiled.regions[0].notes[0], "B has blocks of 3 along axis 0: a copy in blocks of 2 is read");
}

/// Both graphs on the same data.
void expectSameValues(const CompiledRegion& region, const stream::Graph& other, const Bindings& tensors) {
  const Bindings bound = tableInputs(region.table, tensors);
  stream::Inputs views;
  for (const auto& [name, tensor] : bound) views[name] = viewOf(tensor);
  const Result<stream::RunResult> ours = stream::run(region.graph, views);
  for (const stream::Tensor& t : other.tensors()) {
    const auto view = views.find(t.name);
    if (view == views.end() || t.levels.size() >= view->second.levels.size()) continue;
    if (t.levels.size() > 1)  // walked, and not to its last level
      view->second.levels.resize(t.levels.size());
    else  // read along the walk of another: the file tells no levels
      view->second.levels = {{stream::LevelFormat::dense, static_cast<int64_t>(view->second.values.size()), {}, {}}};
  }
  const Result<stream::RunResult> theirs = stream::run(other, views);
  ASSERT_TRUE(ours.ok() && theirs.ok()) << (ours.ok() ? theirs.error().str() : ours.error().str());
  for (const auto& [name, output] : ours->outputs) {
    const stream::TensorStorage& read = theirs->outputs.at(name);
    ASSERT_EQ(output.values.size(), read.values.size()) << name;
    for (size_t v = 0; v < output.values.size(); ++v)
      EXPECT_NEAR(output.values[v], read.values[v], 1e-9 * (1 + std::fabs(output.values[v]))) << name << " " << v;
    for (size_t l = 0; l < output.levels.size(); ++l) EXPECT_EQ(output.levels[l].crd, read.levels[l].crd) << name;
  }
}

/// What the exchange format can say of an example: it has no erf, so no exact GELU.
std::string exampleForSam(const std::string& name) {
  const std::string text = std::regex_replace(example(name), std::regex("gelu\\("), "gelu_tanh(");
  return std::regex_replace(text, std::regex("bcsr\\(16, 16\\)"), "bcsr(2, 2)");
}

TEST(SamFilesOf, ExactGeluAreRefusedAtTheirPlace) {
  for (const char* name : {"bigbird", "gpt3"}) {
    Source source = *parseSource(example(name), "model.ein");
    for (Dim& dim : source.program.dims()) dim.size = 16;
    Schedule schedule = unfused();
    schedule.exchange = true;
    const Result<Compiled> compiled = compile(source.program, schedule);
    ASSERT_FALSE(compiled.ok()) << name;
    const Diagnostic& why = compiled.error();
    EXPECT_EQ(why.code, "T0951");
    EXPECT_EQ(why.location.file, "model.ein");
    EXPECT_GT(why.location.line, 1) << why.str();
    EXPECT_NE(why.message.find("alu gelu"), std::string::npos) << why.str();
    EXPECT_NE(why.hint.find("gelu_tanh"), std::string::npos) << why.str();
  }
}

class SamFiles : public testing::TestWithParam<const char*> {};
/// Each region as an exchange file, read back and run: equal values, and a file that comes back equal.
TEST_P(SamFiles, ComeBackEqual) {
  Source source = *parseSource(exampleForSam(GetParam()));
  std::mt19937_64 random(11);
  const bool blocked = std::ranges::any_of(source.program.tensors(),
                                           [](const TensorDecl& t) { return t.format && t.format->isBlocked(); });
  for (Dim& dim : source.program.dims()) dim.size = blocked ? 7 : 8;
  const Bindings inputs = randomInputs(source.program, 0.3, random);
  source.schedules.push_back(unfused());
  source.schedules.push_back(automatic());
  for (Schedule& schedule : source.schedules) {
    schedule.exchange = true;
    const Result<Compiled> compiled = compile(source.program, schedule, &inputs);
    ASSERT_TRUE(compiled.ok()) << schedule.name << ": " << compiled.error().str();
    Bindings tensors = inputs;
    const Result<Execution> execution = execute(*compiled, inputs);
    ASSERT_TRUE(execution.ok()) << execution.error().str();
    for (const auto& [name, tensor] : execution->results) tensors[name] = tensor;
    for (const CompiledRegion& region : compiled->regions) {
      const Result<std::string> bytes = stream::writeSam(region.graph);
      ASSERT_TRUE(bytes.ok()) << bytes.error().str();
      const Result<stream::Graph> back = stream::readSam(*bytes);
      ASSERT_TRUE(back.ok()) << back.error().str();
      expectSameValues(region, *back, tensors);
      const Result<stream::Graph> again = stream::readSam(*stream::writeSam(*back));
      ASSERT_TRUE(again.ok()) << again.error().str();
      EXPECT_EQ(print(*again), print(*back));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Examples, SamFiles,
                         testing::Values("spmv", "spmm", "spmm_orders", "ttv", "sddmm", "mttkrp", "chain", "gcn",
                                         "graphsage", "softmax", "layer_norm", "graph_attention", "attention",
                                         "block_attention", "autoencoder", "bigbird", "gpt3"),
                         [](const auto& info) { return std::string(info.param); });

/// Each fold wants the other's loops inside its own: one has loops of its own, and the schedule that says so is read
/// back.
TEST(Execute, FoldsThatContradictEachOther) {
  Program p = *parseProgram(
      "dim N = 3\ninput A[N, N, N, N]\ninput B[N, N]: csr\noutput S[N, N]\noutput T[N, N]\n"
      "S[i, k] = sum(j, l: A[i, k, j, l]) + B[i, k]\nT[j, l] = sum(i, k: A[i, k, j, l]) + B[j, l]\n");
  std::mt19937_64 random(3);
  const Bindings inputs = randomInputs(p, 0.5, random);
  const Schedule full{.name = "full", .fuse = Schedule::Fuse::all, .algebra = false};
  ASSERT_TRUE(runsAsDense(p, full, inputs));
  const Compiled compiled = *compile(p, full, &inputs);
  ASSERT_EQ(compiled.regions.size(), 1u);
  const Schedule written = scheduleOf(compiled, "again");
  EXPECT_NE(print(written).find("i_1"), std::string::npos) << print(written);
  EXPECT_TRUE(runsAsDense(p, written, inputs)) << print(written);
  EXPECT_EQ(print(compile(p, written, &inputs)->regions[0].graph), print(compiled.regions[0].graph));
}

TEST(Execute, SpMM) {
  for (const char* a : {"csr", "dcsr", "csc"})
    for (const char* b : {"csr", "csc", "dense"})
      expectDense(
          fmt::format("dim N, M, K\ninput A[N, K]: {}\ninput B[K, M]: {}\noutput Y[N, M]: csr\n"
                      "Y[i, j] = A[i, k] * B[k, j]",
                      a, b));
}

}  // namespace

}  // namespace tokamak::sparse
