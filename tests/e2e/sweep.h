#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/three_ways.h"
#include "graph/builder.h"

namespace tokamak::sweep {

using Extents = std::vector<int64_t>;

/// What an input holds.
enum class Fill {
  special,  // NaN, infinities, signed zeros, denormals, ties and extremes among others; two inputs meet in many pairs
  mild,     // NaN, infinities and signed zeros among numbers about 1: nothing overflows on the way
  tame,     // numbers about 1 in magnitude; small integers
};

/// How near an output must come to the reference evaluator's.
enum class Bound {
  bits,    // equal, zeros with their sign; NaN is NaN
  exact,   // equal numbers; NaN is NaN
  ulps,    // within 4 units in the last place of f32 and f64, 1 of halves
  loose,   // as far as rounding may move it: fuzz::compareOutputs
  scaled,  // within 8 roundings of the output's largest magnitude: values kept in halves on the way
};

/// A way to run graphs.
struct Runner {
  std::string name;  // for failures
  std::function<Result<std::vector<Array>>(const Graph&, const std::vector<Array>&, const CompileOptions&)> run;
  bool onSimt = false;  // slow: for some cases only
  /// Whether a refusal is known and no failure: the op has no kernels on a device yet.
  std::function<bool(const Diagnostic&)> excuses = [](const Diagnostic&) { return false; };
};
/// Those that all cases are tried with: compiled kernels and the SIMT interpreter, or what a test program puts in their
/// place.
std::vector<Runner>& runners();

/// Many small cases that share their inputs, compiled as one graph with an output each: a compilation costs far more
/// than an op. A failure shows the statement that is wrong, with its attributes and type.
class Cases {
 public:
  Cases() = default;

  ValueId input(DType dtype, const Extents& shape, Fill fill = Fill::special);
  /// An i32 or i64 input of positions from `low` up to, not including, `high`.
  ValueId positions(DType dtype, const Extents& shape, int64_t low, int64_t high);
  ValueId input(Array data);

  /// Adds an output if the op takes operands of these dtypes: what the verifier admits must run. A refusal for another
  /// reason than a dtype, or a number that the dtype does not have, is a failure; EveryOp says which dtypes there are.
  void add(Bound bound, const Op& op, const std::vector<ValueId>& operands, const TensorType* declared = nullptr);
  /// Adds a value of the builder as an output.
  void add(Bound bound, ValueId value);

  /// Runs the graph by every runner, the slow ones if asked, and expects every output within its bound.
  void expectRight(bool simt = false, const CompileOptions& options = {});

  const TensorType& type(ValueId v) const { return builder.type(v); }
  size_t size() const { return bounds_.size(); }

  Builder builder{"sweep"};

 private:
  void expectRight(const Graph& graph, const Runner& runner, const CompileOptions& options) const;
  /// Outputs of a graph that have these bounds.
  void compare(const Graph& graph, const std::vector<Bound>& bounds, const std::vector<Array>& actual,
               const std::string& who) const;
  void compareLoose(const Graph& graph, const std::vector<Bound>& bounds, const std::vector<Array>& actual,
                    const std::string& who) const;

  std::vector<Array> inputs_;
  std::vector<Bound> bounds_;
};

const Engine& engine();
constexpr size_t kDTypes = EnumNames<DType>::names.size();
inline DType dtypeAt(size_t i) { return static_cast<DType>(i); }
Shape shapeOf(const Extents& extents);
/// Empty, 0-d, axes of 1, primes, and more than one vector.
const std::vector<Extents>& usualShapes();

/// Calls visit(kind) for every kind of an enumeration.
template <class Kind, class Visit>
void forEachKind(Visit&& visit) {
  for (size_t k = 0; k < EnumNames<Kind>::names.size(); ++k) visit(static_cast<Kind>(k));
}

}  // namespace tokamak::sweep
