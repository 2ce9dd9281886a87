#pragma once

#include "passes/emitter.h"
#include "passes/shape_ops.h"

namespace tokamak {

/// Emits nodes in canonical form: a node a rule applies to is never appended.
class Canonical {
 public:
  /// `shared` says which values of the new graph several nodes or an output read; those beyond its end are not.
  Canonical(Emitter& emit, const std::vector<char>& shared) : emit(emit), shared_(shared) {}

  /// The simpler value, or an invalid one when no rule applies. Operands are canonical already.
  ValueId simplify(const Node& node);
  /// Simplifies or appends.
  ValueId make(Op op, std::vector<ValueId> operands, TensorType type);

  ValueId unary(UnaryKind kind, ValueId x);
  ValueId binary(BinaryKind kind, ValueId a, ValueId b);

  const Node& def(ValueId v) const { return emit.graph().node(v); }
  const TensorType& type(ValueId v) const { return emit.type(v); }
  std::optional<Scalar> splat(ValueId v) const { return splatOf(emit.graph(), v); }
  /// v's producer, if it is an op of type T.
  template <class T>
  const T* op(ValueId v) const {
    return std::get_if<T>(&def(v).op);
  }

  bool isShared(ValueId v) const { return v.index < shared_.size() && shared_[v.index]; }

  Emitter& emit;

 private:
  const std::vector<char>& shared_;
};

// One family of ops each; an invalid result says that no rule applies.
ValueId simplifyUnary(Canonical& c, const Node& node, const Unary& op);
ValueId simplifyBinary(Canonical& c, const Node& node, const Binary& op);
ValueId simplifySelect(Canonical& c, const Node& node);
ValueId simplifyClamp(Canonical& c, const Node& node);
ValueId simplifyCast(Canonical& c, const Node& node, const Cast& op);
ValueId simplifyReduce(Canonical& c, const Node& node, const Reduce& op);
ValueId simplifySlice(Canonical& c, const Node& node, const Slice& op);
ValueId simplifyPad(Canonical& c, const Node& node, const Pad& op);
ValueId simplifyConcat(Canonical& c, const Node& node, const Concat& op);
ValueId simplifyFlip(Canonical& c, const Node& node, const Flip& op);

/// An elementwise op whose operands all repeat values of one shape in one way computes on those, and repeats the
/// result.
ValueId computeBeforeRepeating(Canonical& c, const Node& node);

}  // namespace tokamak
