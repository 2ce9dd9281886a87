#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/hw/memory_nodes.h"
#include "sparse/stream/run/make_node.h"

/// Every block of the `hw` profile alone, with counts that were worked out by hand. A token is written with the cycle
/// from which it is there: `7@3`. A block takes at most one token a port and cycle; what it puts in a cycle is there
/// after its latency.
namespace tokamak::sim {
namespace {

using namespace stream;
using Streams = std::vector<std::pair<StreamKind, std::string>>;
using Kinds = std::vector<StreamKind>;

constexpr StreamKind C = StreamKind::crd, R = StreamKind::ref, V = StreamKind::val;

Word wordOf(const std::string& text, StreamKind kind) {
  if (text == "D") return kDone;
  if (text == "N") return kAbsent;
  if (text[0] == 'S') return stop(static_cast<unsigned>(std::stoul(text.substr(1))));
  return kind == V ? bitsOf(std::stod(text)) : static_cast<Word>(std::stoull(text));
}

/// A block between streams that are filled, and streams to read off.
class Bench {
 public:
  Bench(const Block& block, const Streams& inputs, const Kinds& outputs, const Storages& data = {}) : kinds_(outputs) {
    for (const auto& [name, storage] : data) {
      Tensor tensor{name, {}, {}, false};
      for (const LevelStorage& level : storage.levels) tensor.levels.push_back({level.format, level.size});
      graph_.addTensor(std::move(tensor));
    }
    Node node{block, {}, {}, {}, {}};
    for (const auto& [kind, text] : inputs) {
      node.inputs.push_back(graph_.addStream(kind));
      site_.inputs.push_back(fifo());
      fill(*site_.inputs.back(), kind, text);
    }
    for (const StreamKind kind : outputs) {
      node.outputs.push_back(graph_.addStream(kind));
      site_.outputs.push_back(fifo());
    }
    graph_.addNode(std::move(node));
    site_.graph = &graph_;
    site_.id = NodeId(0);
  }

  HwNode::Site site() { return site_; }
  HwNode& make(const Block& block, const Inputs& views = {}) {
    node_ = NodeMaker<Hw>(graph_, views, results_).make(block, site());
    return *node_;
  }
  void take(std::unique_ptr<HwNode> node) { node_ = std::move(node); }

  /// Runs cycle after cycle; what was put, a line a stream, and the block's clock at the end.
  std::vector<std::string> run() {
    for (now_ = 0; now_ < 1000 && !node_->done() && !node_->fault(); ++now_) {
      if (node_->clock().t > now_) continue;
      node_->clock().start(now_);
      node_->advance();
    }
    EXPECT_TRUE(node_->done()) << (node_->fault() ? node_->fault()->str() : "it waits for ever");
    std::vector<std::string> out;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      std::string text;
      Fifo& fifo = *site_.outputs[i];
      for (size_t k = 0; k < fifo.size(); ++k)
        text += fmt::format("{}{}@{}", k > 0 ? " " : "", tokenText(fifo.word(k), kinds_[i] == V), fifo.stamp(k));
      out.push_back(text);
    }
    out.push_back(fmt::format("clock {}", node_->clock().t));
    return out;
  }

 private:
  Fifo* fifo() {
    fifos_.push_back(std::make_unique<Fifo>(&now_, 0, 0));
    fifos_.back()->addReader();
    return fifos_.back().get();
  }
  static void fill(Fifo& fifo, StreamKind kind, const std::string& text) {
    std::istringstream in(text);
    for (std::string token; in >> token;) {
      const size_t at = token.find('@');
      fifo.word(fifo.size()) = wordOf(token.substr(0, at), kind);
      fifo.push(std::stoull(token.substr(at + 1)));
    }
  }

  Stamp now_ = 0;
  Kinds kinds_;
  Graph graph_;
  Storages results_;
  std::vector<std::unique_ptr<Fifo>> fifos_;
  HwNode::Site site_;
  std::unique_ptr<HwNode> node_;
};

std::vector<std::string> runBlock(const Block& block, const Streams& inputs, const Kinds& outputs,
                                  const Storages& data = {}, Stamp latency = 1, Stamp interval = 1) {
  Bench bench(block, inputs, outputs, data);
  const Inputs views = viewsOf(data);
  Hw& clock = bench.make(block, views).clock();
  clock.latency = latency;
  clock.interval = interval;
  return bench.run();
}

using Lines = std::vector<std::string>;

TEST(HwBlocks, Root) { EXPECT_EQ(runBlock(Root{"B"}, {}, {R}), (Lines{"0@1 D@2", "clock 1"})); }

TEST(HwBlocks, AluWaitsForBothOperands) {
  const Streams two = {{V, "1@1 2@3 S0@4 D@5"}, {V, "10@2 20@3 S0@4 D@5"}};
  EXPECT_EQ(runBlock(Alu{AluOp::add, {}, false}, two, {V}), (Lines{"11@3 22@4 S0@5 D@6", "clock 5"}));
  EXPECT_EQ(runBlock(Alu{AluOp::mul, {}, false}, two, {V}, {}, 2), (Lines{"10@4 40@5 S0@6 D@7", "clock 5"}));
}

TEST(HwBlocks, DivisionsStartEveryFourthCycle) {
  EXPECT_EQ(runBlock(Alu{AluOp::div, {}, false}, {{V, "6@1 9@2 S0@3 D@4"}, {V, "2@1 3@2 S0@3 D@4"}}, {V}, {}, 8, 4),
            (Lines{"3@9 3@13 S0@17 D@21", "clock 13"}));
}

TEST(HwBlocks, ReducePutsValueAndStopOneAfterTheOther) {
  EXPECT_EQ(runBlock(Reduce{FoldOp::add, {}}, {{V, "1@1 2@2 S0@3 3@4 S1@5 D@6"}}, {V}),
            (Lines{"3@4 3@6 S0@7 D@8", "clock 7"}));
}

TEST(HwBlocks, Repeat) {
  EXPECT_EQ(runBlock(Repeat{}, {{R, "5@1 6@2 S0@3 D@4"}, {C, "0@1 1@2 S0@3 0@4 S1@5 D@6"}}, {R}),
            (Lines{"5@2 5@3 S0@4 6@5 S1@6 D@7", "clock 6"}));
  // the stop needs the next token of the data, which is there at 7
  EXPECT_EQ(runBlock(Repeat{}, {{R, "5@1 S0@7 D@8"}, {C, "0@1 S1@2 D@3"}}, {R}), (Lines{"5@2 S1@8 D@9", "clock 8"}));
}

TEST(HwBlocks, IntersectAndUnion) {
  const Streams operands = {
      {C, "0@1 2@2 S0@3 D@4"}, {R, "7@1 8@2 S0@3 D@4"}, {C, "2@1 3@2 S0@3 D@4"}, {R, "4@1 5@2 S0@3 D@4"}};
  EXPECT_EQ(runBlock(Joiner{JoinKind::intersect}, operands, {C, R, R}),
            (Lines{"2@3 S0@5 D@6", "8@3 S0@5 D@6", "4@3 S0@5 D@6", "clock 5"}));
  EXPECT_EQ(runBlock(Joiner{JoinKind::unite}, operands, {C, R, R}),
            (Lines{"0@2 2@3 3@4 S0@5 D@6", "7@2 8@3 N@4 S0@5 D@6", "N@2 4@3 5@4 S0@5 D@6", "clock 5"}));
  Streams three = operands;
  three.insert(three.end(), {{C, "2@1 S0@2 D@3"}, {R, "1@1 S0@2 D@3"}});
  EXPECT_EQ(runBlock(Joiner{JoinKind::intersect}, three, {C, R, R, R}),
            (Lines{"2@3 S0@5 D@6", "8@3 S0@5 D@6", "4@3 S0@5 D@6", "1@3 S0@5 D@6", "clock 5"}));
}

TEST(HwBlocks, Locate) {
  const Storages data = {
      {"B", {.levels = {{LevelFormat::dense, 3, {}, {}}, {LevelFormat::dense, 4, {}, {}}}, .block = {}, .values = {}}}};
  const Streams crdAndRef = {{C, "2@1 3@2 S0@3 D@4"}, {R, "9@1 8@2 S0@3 D@4"}};
  EXPECT_EQ(runBlock(Locate{"B", 1}, crdAndRef, {R, R, C}, data),
            (Lines{"2@2 3@3 S0@4 D@5", "9@2 8@3 S0@4 D@5", "2@2 3@3 S0@4 D@5", "clock 4"}));
  Streams below = crdAndRef;
  below.push_back({R, "1@1 2@5 S0@6 D@7"});
  EXPECT_EQ(runBlock(Locate{"B", 1}, below, {R, R, C}, data),
            (Lines{"6@2 11@6 S0@7 D@8", "9@2 8@6 S0@7 D@8", "2@2 3@6 S0@7 D@8", "clock 7"}));
}

TEST(HwBlocks, DenseScan) {
  const Storages data = {{"B", {.levels = {{LevelFormat::dense, 2, {}, {}}}, .block = {}, .values = {}}}};
  EXPECT_EQ(runBlock(Scan{"B", 0}, {{R, "0@1 1@2 S0@3 D@4"}}, {C, R}, data),
            (Lines{"0@2 1@3 S0@4 0@5 1@6 S1@7 D@8", "0@2 1@3 S0@4 2@5 3@6 S1@7 D@8", "clock 7"}));
}

TEST(HwBlocks, AccumulatorsEmptyOneEntryACycle) {
  EXPECT_EQ(
      runBlock(Spacc{1, FoldOp::add},
               {{C, "0@1 1@2 S0@3 D@4"}, {C, "5@1 6@2 S0@3 5@4 S1@5 D@6"}, {V, "1@1 2@2 S0@3 10@4 S1@5 D@6"}}, {C, V}),
      (Lines{"5@7 6@8 S0@9 D@10", "11@7 2@8 S0@9 D@10", "clock 9"}));
}

TEST(HwBlocks, Drop) {
  EXPECT_EQ(runBlock(CrdDrop{}, {{C, "0@1 1@2 S0@3 D@4"}, {C, "S0@1 7@2 S1@3 D@4"}}, {C, C}),
            (Lines{"1@4 S0@5 D@6", "7@3 S1@5 D@6", "clock 5"}));
}

TEST(HwBlocks, Hold) {
  EXPECT_EQ(runBlock(CrdHold{}, {{C, "3@1 4@2 S0@3 D@4"}, {C, "1@1 2@2 S0@3 5@4 S1@5 D@6"}}, {C, C}),
            (Lines{"3@2 3@3 S0@4 4@5 S1@6 D@7", "1@2 2@3 S0@4 5@5 S1@6 D@7", "clock 6"}));
}

TEST(HwBlocks, ForkAndJoin) {
  EXPECT_EQ(runBlock(Fork{}, {{R, "1@1 2@2 3@3 S0@4 D@5"}}, {R, R}),
            (Lines{"1@2 3@4 S0@5 D@6", "2@3 S0@5 D@6", "clock 5"}));
  // a stop is known when the next turn begins, and then two tokens go out, one after the other
  EXPECT_EQ(runBlock(Join{1}, {{C, "1@1 2@2 S0@3 5@4 S1@5 D@6"}, {C, "3@1 S1@2 D@3"}}, {C}),
            (Lines{"1@2 2@3 S0@5 3@6 S0@8 5@9 S1@11 D@12", "clock 11"}));
}

/// A way of 20 cycles there and back, rows that take 30 cycles to open, bursts of 4; two channels.
HwConfig slowMemory() {
  HwConfig config;
  config.dram = {2, 1, 4096, 64, 4, 10, 30, 20};
  return config;
}

TEST(HwBlocks, Broadcast) {
  Bench bench(Broadcast{}, {{V, "1@1 S0@2 D@3"}}, {V, V});
  bench.take(std::make_unique<HwBroadcastNode>(bench.site()));
  EXPECT_EQ(bench.run(), (Lines{"1@2 S0@3 D@4", "1@2 S0@3 D@4", "clock 4"}));
}

TEST(HwBlocks, ArraysLoadWhileTheyWait) {
  const HwConfig config = slowMemory();
  const std::vector<double> values = {10, 20, 30};
  Dram dram(config.dram);
  MemoryArray array("B", 0, 3, 4, config);
  Bench bench(Array{"B"}, {{R, "0@1 1@2 S0@3 D@4"}}, {V});
  bench.take(std::make_unique<HwArrayNode>(bench.site(), values, ReadPort(&array, &dram, config.port), 16));
  // asked at 1: 10 on the way, 30 for the row, 4 on the wires, 10 back; the second is in the same burst
  EXPECT_EQ(bench.run(), (Lines{"10@56 20@57 S0@58 D@59", "clock 58"}));
}

TEST(HwBlocks, ResidentArraysAreFetchedOnce) {
  const HwConfig config = slowMemory();
  const std::vector<double> values = {10, 20, 30};
  Dram dram(config.dram);
  MemoryArray array("B", 0, 3, 4, config);
  array.makeResident();
  Bench bench(Array{"B"}, {{R, "0@1 0@60 S0@61 D@62"}}, {V});
  bench.take(std::make_unique<HwArrayNode>(bench.site(), values, ReadPort(&array, &dram, config.port), 16));
  EXPECT_EQ(bench.run(), (Lines{"10@56 10@62 S0@63 D@64", "clock 63"}));
}

TEST(HwBlocks, CompressedScansFetchSegmentsThenCoordinates) {
  const HwConfig config = slowMemory();
  const std::vector<int64_t> pos = {0, 2, 3};
  const std::vector<int32_t> crd = {4, 7, 5};
  Dram dram(config.dram);
  MemoryArray segments("B", 0, 3, 4, config), coordinates("B", 64, 3, 4, config);  // each in a channel of its own
  Bench bench(Scan{"B", 0}, {{R, "0@1 1@2 S0@3 D@4"}}, {C, R});
  bench.take(std::make_unique<HwScanNode>(bench.site(), LevelView{LevelFormat::compressed, 8, pos, crd},
                                          ReadPort(&segments, &dram, config.port),
                                          ReadPort(&coordinates, &dram, config.port), 8));
  // segments asked at 1 are there at 55, coordinates asked then at 109; those of the second fiber are in the same burst
  EXPECT_EQ(bench.run(),
            (Lines{"4@110 7@111 S0@112 5@114 S1@115 D@116", "0@110 1@111 S0@112 2@114 S1@115 D@116", "clock 115"}));
}

TEST(HwBlocks, WritesEndWhenTheLastBurstIsWritten) {
  const HwConfig config = slowMemory();
  Dram dram(config.dram);
  MemoryArray values("x", 0, 0, 4, config), unused("x", 64, 0, 4, config);
  std::vector<double> stored;
  Bench bench(WriteValues{"x"}, {{V, "1@1 2@2 S0@3 D@4"}}, {});
  bench.take(std::make_unique<HwWriteNode>(bench.site(), nullptr, &stored, WritePort(&values, &dram, config.port),
                                           WritePort(&unused, &dram, config.port)));
  EXPECT_EQ(bench.run(), (Lines{"clock 58"}));  // sent at 4
  EXPECT_EQ(stored, (std::vector<double>{1, 2}));

  Dram other(config.dram);
  MemoryArray entries("x", 0, 0, 4, config), ends("x", 64, 0, 4, config);
  LevelStorage level;
  Bench levels(WriteLevel{"x", 0}, {{C, "3@1 5@2 S0@3 D@4"}}, {});
  levels.take(std::make_unique<HwWriteNode>(levels.site(), &level, nullptr, WritePort(&entries, &other, config.port),
                                            WritePort(&ends, &other, config.port)));
  EXPECT_EQ(levels.run(), (Lines{"clock 58"}));
  EXPECT_EQ(level.crd, (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(level.pos, (std::vector<int64_t>{0, 2}));
}

}  // namespace
}  // namespace tokamak::sim
