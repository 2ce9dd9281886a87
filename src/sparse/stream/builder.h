#pragma once

#include "sparse/stream/graph.h"

namespace tokamak::stream {

/// Writes a stream graph block by block. Streams may be read any number of times; `finish` puts the broadcasts and
/// verifies. Kinds follow from the blocks; ranks are found by `finish`.
///
///   Builder b("spmv");
///   b.input("B", {{LevelFormat::dense, 64}, {LevelFormat::compressed, 64}});
///   auto [i, rows] = b.scan("B", 0, b.root("B"));
///   auto [j, entries] = b.scan("B", 1, rows);
///   ...
///   TK_TRY(Graph graph, std::move(b).finish());
class Builder {
 public:
  explicit Builder(std::string name) { graph_.name = std::move(name); }

  void input(std::string name, std::vector<Level> levels, std::vector<int64_t> block = {});
  void output(std::string name, std::vector<Level> levels, std::vector<int64_t> block = {});

  struct Fiber {
    StreamId crd, ref;
  };
  struct Merged {
    StreamId crd;
    std::vector<StreamId> payloads;
  };
  struct Located {
    StreamId ref, passed, crd;
  };
  struct Accumulated {
    std::vector<StreamId> crds;  // outermost first, the inner one last
    StreamId val;
  };
  struct Pair {
    StreamId outer, inner;
  };

  StreamId root(std::string tensor);
  Fiber scan(std::string tensor, int level, StreamId ref);
  /// Operands are coordinates with their payload; the results' payloads stand in the same order.
  Merged join(JoinKind kind, const std::vector<Fiber>& operands);
  StreamId repeat(StreamId stream, StreamId along);
  Located locate(std::string tensor, int level, StreamId crd, StreamId ref, StreamId parent = {});
  StreamId array(std::string tensor, StreamId ref);
  StreamId alu(AluOp op, std::vector<StreamId> operands);
  StreamId aluScalar(AluOp op, std::vector<StreamId> operands, double scalar);  // the scalar is the last operand
  StreamId aluScalar(AluOp op, StreamId operand, double scalar);                // operand op scalar
  StreamId aluScalarFirst(AluOp op, double scalar, StreamId operand);           // scalar op operand
  StreamId reduce(FoldOp op, StreamId val, std::optional<double> init = {});
  /// `outer` outermost first: the first is folded.
  Accumulated spacc(FoldOp op, const std::vector<StreamId>& outer, StreamId inner, StreamId val);
  Pair drop(StreamId outer, StreamId inner);
  Pair hold(StreamId outer, StreamId inner);
  std::vector<StreamId> fork(StreamId stream, int lanes);
  StreamId join(const std::vector<StreamId>& lanes, int depth);
  void writeLevel(std::string tensor, int level, StreamId crd);
  void writeValues(std::string tensor, StreamId val);

  /// The label of the next nodes, for pictures and reports: the statement they come from.
  void label(std::string text) { label_ = std::move(text); }

  Graph& graph() { return graph_; }
  Result<Graph> finish() &&;

 private:
  std::vector<StreamId> add(Block block, std::vector<StreamId> inputs, const std::vector<StreamKind>& outputs);

  Graph graph_;
  std::string label_;
};

}  // namespace tokamak::stream
