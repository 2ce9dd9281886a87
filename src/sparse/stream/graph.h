#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sparse/stream/node.h"
#include "support/ids.h"
#include "support/result.h"

namespace tokamak::stream {

struct NodeTag;
using NodeId = Id<NodeTag>;
struct StreamTag;
using StreamId = Id<StreamTag>;

/// How one level of a tensor is stored. dense: every coordinate 0..size-1 of every parent, nothing stored. compressed:
/// the children of parent p are crd[seg[p]] .. crd[seg[p+1]-1]. singleton: the one child of parent p is crd[p] (the
/// tail of COO).
enum class LevelFormat : uint8_t { dense, compressed, singleton };

struct Level {
  LevelFormat format = LevelFormat::dense;
  int64_t size = -1;  // coordinates run from 0 to size - 1; -1 where the data say it
  bool operator==(const Level&) const = default;
};

/// A tensor that a graph reads or writes, its levels in storage order, outermost first. A blocked tensor's values are
/// `block[0]` x `block[1]` matrices (BCSR); its levels count blocks. A tensor that is only walked and never loaded (a
/// dense range of coordinates) needs no values.
struct Tensor {
  std::string name;
  std::vector<Level> levels;
  std::vector<int64_t> block;  // empty: scalars; else rows, columns
  bool isOutput = false;
  bool operator==(const Tensor&) const = default;
};

/// The shape of one value: a number (0 x 0), or a matrix.
struct BlockShape {
  int64_t rows = 0, columns = 0;
  bool isNumber() const { return rows == 0; }
  int64_t elements() const { return rows * columns; }  // none for a number
  int64_t extent() const { return std::max(rows, columns); }
  bool operator==(const BlockShape&) const = default;
};

/// One edge: what a port of one node puts and a port of another takes.
struct Stream {
  StreamKind kind = StreamKind::crd;
  int rank = 0;
  std::string name;  // as written, without %; unique
  BlockShape block;  // of val streams
  bool operator==(const Stream&) const = default;
};

/// A block with its streams. An output that nobody wants is an invalid id; so is an optional input that is not given.
struct Node {
  Block block;
  std::vector<StreamId> inputs, outputs;
  std::string label;  // free text for pictures and reports
  Location location;  // where the text had it; not part of equality
};

/// A streaming-dataflow program: blocks joined by streams. Nodes stand in any order, and that order is kept (it breaks
/// ties in the memory model); there are no cycles.
///
///   stream @spmv {
///     tensor @B[64, 64] dense, compressed
///     tensor @c[64] dense
///     output @x[64] dense
///     %r0 = root @B
///     %i, %r1 = scan @B 0 %r0
///     %j, %r2 = scan @B 1 %r1
///     %r3, %r4, _ = locate @c 0 %j, %r2
///     %v0 = array @B %r4
///     %v1 = array @c %r3
///     %v2 = alu mul %v0, %v1
///     %v3 = reduce add %v2
///     write_level @x 0 %i
///     write_values @x %v3
///   }
class Graph {
 public:
  std::string name = "main";

  /// Appends without checking; the Builder or `verify` check. A name that is taken or empty gets a number.
  StreamId addStream(StreamKind kind, int rank = 0, std::string_view name = {});
  NodeId addNode(Node node);
  void setNodes(std::vector<Node> nodes) { nodes_ = std::move(nodes); }
  /// How many nodes there were of which `dead` is true; the others keep their order and are numbered anew.
  size_t removeNodes(const std::function<bool(const Node&)>& dead) { return std::erase_if(nodes_, dead); }
  void addTensor(Tensor tensor) { tensors_.push_back(std::move(tensor)); }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  Node& node(NodeId id) { return nodes_[id.index]; }
  const Stream& stream(StreamId id) const { return streams_[id.index]; }
  Stream& stream(StreamId id) { return streams_[id.index]; }
  const Tensor* tensor(std::string_view name) const;
  Tensor* tensor(std::string_view name);

  /// Same name, tensors, nodes and stream names; ranks follow from those, and locations do not count.
  bool operator==(const Graph& other) const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::vector<Stream> streams_;
  std::unordered_set<std::string> names_;  // of the streams
};

/// One end of a stream.
struct Port {
  NodeId node;
  int index = 0;
};

/// Who puts and who takes each stream. Several where the graph is wrong, or not yet through `shareStreams`.
struct Wiring {
  std::vector<std::vector<Port>> producers, consumers;  // by stream
};
Wiring wiringOf(const Graph& graph);

/// Whether a block stores a result: the only ones that matter though nobody takes anything from them.
bool isWrite(const Block& block);

/// Removes nodes whose results nobody takes, and drops outputs that none reads from the others.
void removeDeadNodes(Graph& graph);

/// Removes what is dead and puts a broadcast behind every stream that several ports read. The compiler writes
/// graphs without broadcasts; the Builder calls this last.
void shareStreams(Graph& graph);

/// Every input connected, every stream put by one port and taken by one, kinds as the blocks ask, tensors declared with
/// such levels, no cycles. Sets the kinds, ranks and block shapes of all streams, which must fit where they meet.
Result<> verify(Graph& graph);

/// Gives the outputs of one node, whose inputs have theirs, their kinds, ranks and block shapes. No checks.
void inferStreams(Graph& graph, NodeId node);

/// What an operation makes of values of these shapes; nothing where they do not fit. A number or an extent of 1
/// stretches.
std::optional<BlockShape> resultShape(AluOp op, const std::vector<BlockShape>& operands);

/// Nodes in an order in which producers come first. Requires a verified graph.
std::vector<NodeId> topologicalOrder(const Graph& graph);

/// Text form; `parse(print(g)) == g`.
std::string print(const Graph& graph);
/// One graph; the diagnostic has line and column. The result is verified.
Result<Graph> parse(std::string_view text, std::string_view file = {});

/// `[16, 16]`, or `a number`.
std::string describe(BlockShape shape);
/// `scan @B 1`, `alu mul`: the block in words, without its streams.
std::string describe(const Block& block);
/// `node 7 (intersect)`: what diagnostics call a node.
std::string describe(const Graph& graph, NodeId node);

}  // namespace tokamak::stream

template <>
struct tokamak::EnumNames<tokamak::stream::LevelFormat> {
  static constexpr std::array<std::string_view, 3> names = {"dense", "compressed", "singleton"};
};
