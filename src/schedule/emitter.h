#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "fusion/region.h"
#include "graph/graph.h"
#include "schedule/index.h"

namespace tokamak::schedule {

using kernel::BufferId;

/// Where a value is wanted: an index for each of its axes, over `lanes` lanes. `mask` (if set) says where the index is
/// within bounds at all; `tail` cuts off the lanes past the end of a loop, of which at least one remains.
struct At {
  std::vector<Index> index;
  int lanes = 1;
  ExprId mask, tail;
  bool operator==(const At&) const = default;
};

/// Writes the computation of graph values at given places: elementwise ops become expressions, shape ops become index
/// arithmetic, values held in memory become loads. Nothing is computed twice at one place in one scope.
///
/// Halves are computed in f32; a cast the program wrote rounds. Results may come back as scalars when all lanes agree.
class Emitter {
 public:
  Emitter(Writer& writer, const Graph& graph) : w(writer), graph_(graph), scopes_(1) {}

  /// `value` is loaded from `buffer`, which holds it row-major.
  void bindBuffer(ValueId value, BufferId buffer) { buffers_[value.index] = buffer; }
  /// `value` is had by calling `source` (a fold's result, a row kept aside, ...).
  using Source = std::function<ExprId(const At&)>;
  void bind(ValueId value, Source source) { sources_[value.index] = std::move(source); }
  void unbind(ValueId value) { sources_.erase(value.index); }

  /// In the compute type of the value's dtype.
  ExprId value(ValueId v, const At& at);
  /// Flat row-major index of a place in a tensor of this shape.
  Index flatten(const Shape& shape, const At& at);
  ExprId loadFlat(BufferId buffer, const Index& flat, const At& at, DType dtype);
  /// As it lies in memory.
  ExprId load(BufferId buffer, const Shape& shape, const At& at) { return loadAs(buffer, flatten(shape, at), at); }
  void storeFlat(BufferId buffer, const Index& flat, const At& at, ExprId value, DType dtype, bool streaming = false);

  /// From now on vectors loaded from these buffers (by index) stay in registers as they lie in memory: a place is
  /// loaded once, whatever scopes come and go, and what is computed of it is computed again. All in one block of
  /// statements; no buffers end it.
  void hold(std::vector<bool> buffers);
  kernel::Cache cache = kernel::Cache::normal;  // of loads of vectors from `cached` buffers
  std::vector<bool> cached;                     // by index
  std::vector<bool> streamed;                   // by index: buffers whose vectors are read once

  /// A loop whose body is a scope of its own.
  void loop(std::string_view name, ExprId begin, ExprId end, int64_t step, kernel::Binding binding,
            const Writer::Body& body, int64_t grain = 1);

  /// The same for statements repeated in place.
  void scope(const std::function<void()>& body);
  /// `body` as a scope of its own, to be run later: an arm of a condition.
  std::function<void()> scoped(std::function<void()> body);

  /// In this scope the place `index` of a tensor of this shape is its flat element `flat`, though arithmetic on the
  /// index alone would not show that it moves by one a lane. `loads`: lanes that `mask` leaves out lie in the tensor
  /// too, and loads there are masked by this instead.
  struct WiderLoads {
    ExprId mask, loads;
  };
  void setFlat(const Shape& shape, const std::vector<Index>& index, const Index& flat,
               std::optional<WiderLoads> wider = {});

  IndexMath math(const At& at) { return IndexMath(w, at.lanes); }
  const Graph& graph() const { return graph_; }
  Writer& w;

 private:
  struct Key {
    uint32_t value;
    At at;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Flat {
    Shape shape;
    std::vector<Index> index;
    Index flat;
    std::optional<WiderLoads> wider;
  };
  struct Scope {
    std::unordered_map<Key, ExprId, KeyHash> values;
    std::vector<Flat> flats;
  };

  ExprId loadAs(BufferId buffer, const Index& flat, const At& at);
  static At normal(Writer& w, const At& at);
  const Flat* known(const Shape& shape, const At& at) const;
  ExprId compute(ValueId v, const At& at);
  ExprId elementwise(const Node& node, const At& at);
  ExprId castTo(ExprId x, DType to, bool keepRounding);
  ExprId pad(const Node& node, const Pad& op, const At& at);
  ExprId concat(const Node& node, const Concat& op, const At& at);
  ExprId found(const Node& node, Axis axis, const std::vector<Dim>& starts, const At& at);
  ExprId pick(const Node& node, const At& at);  // gather, index_select
  ExprId random(const Node& node, const Random& op, const At& at);
  ExprId pool(ValueId v, const Pool& op, const At& at);
  ExprId adaptivePool(ValueId v, const AdaptivePool& op, const At& at);
  ExprId resize(ValueId v, const Resize& op, const At& at);
  At viewed(const Node& node, const At& at);  // where a shape op reads its operand
  std::vector<Index> reshaped(const Shape& from, const Shape& to, const At& at);

  const Graph& graph_;
  std::unordered_map<uint32_t, BufferId> buffers_;
  std::unordered_map<uint32_t, Source> sources_;
  std::vector<Scope> scopes_;
  std::vector<bool> holds_;                    // by buffer
  std::unordered_map<uint32_t, ExprId> held_;  // by load
};

}  // namespace tokamak::schedule
