#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "codegen/cuda/ranges.h"
#include "codegen/cuda/scalar_text.h"

namespace tokamak::codegen::cuda {

/// Writes the body of a kernel's function.
///
/// The text of a vector value is that of one lane, in terms of `l`: whoever uses it writes a loop over `l` around it.
/// A part of an expression that is used twice, or nested too deeply, gets a name of its own: `const float t3 = ...`, or
/// an array of as many elements as there are lanes. What is remembered of an expression is forgotten when its block
/// ends or, if it reads something that changes, at the next statement that may change anything.
class FunctionText {
 public:
  FunctionText(const kernel::Kernel& kernel, const Assumptions& assumptions, const Launch& launch);

  /// The function, from its first line to the closing brace.
  std::string function(const std::string& symbol);
  /// What stands in front of it.
  std::string snippets() const { return snippets_.text(); }

 private:
  struct Remembered {
    Text text;
    int epoch = 0;     // 0: not remembered
    std::string name;  // of the array, where lanes have one
  };

  // Statements
  void block(const kernel::Block& block);
  void awaitCluster(const kernel::Stmt& stmt);
  void emit(const kernel::For& s);
  void emit(const kernel::Let& s);
  void emit(const kernel::Declare& s);
  void emit(const kernel::Assign& s);
  void emit(const kernel::Store& s);
  void emit(const kernel::Prefetch& s);
  void emit(const kernel::If& s);
  void emit(const kernel::Barrier& s);
  void bound(const kernel::For& s);
  void define(kernel::VarId var, kernel::ExprId value, bool isMutable);
  void declareBuffers();
  std::string launchBounds(int64_t threads) const;
  void scope(const std::function<void()>& body);
  void changed() { ++epoch_; }

  // Expressions
  Text value(kernel::ExprId root);
  Text named(kernel::ExprId id);         // its text, of a name of its own unless it is plain
  std::string array(kernel::ExprId id);  // of a vector: the name of an array that holds it
  Text lane(kernel::ExprId id, int lane);
  const Remembered* known(kernel::ExprId id) const;
  void remember(kernel::ExprId id, Remembered what);
  void giveName(kernel::ExprId id, const Text& text);
  void narrowLanes(kernel::ExprId id);
  std::optional<Text> halfLane(kernel::ExprId id);          // lane `l` of an array of bf16, as f32
  bool isPlain(kernel::ExprId id) const;                    // a number, a symbol, a variable, or lanes of one
  bool isCount(kernel::ExprId id) const;                    // made of numbers and symbols alone
  const kernel::ExprNode& behind(kernel::ExprId id) const;  // what an immutable variable is
  std::optional<double> numberOf(kernel::ExprId id) const;
  std::pair<kernel::ExprId, double> scaledBy(kernel::ExprId id) const;  // x and c of what is x c
  std::optional<Text> quickText(const kernel::Un& e);
  std::optional<Text> quickText(const kernel::Bin& e);
  std::optional<Text> exponential(const kernel::Un& e, double k);
  std::optional<Text> onePlusErf(const kernel::Bin& sum, double k);
  std::optional<Text> overRoot(const kernel::Bin& quotient);
  struct Terms {
    int own = 0, shared = 0;  // of a sum: those of which a product is made for each lane, and the others
  };
  std::optional<Text> spread(kernel::ExprId factor, kernel::ExprId sum);
  bool isShared(kernel::ExprId id) const;
  std::optional<std::pair<kernel::ExprId, kernel::ExprId>> sharedFactor(kernel::ExprId id) const;
  const kernel::Bin* sumBehind(kernel::ExprId id) const;
  void countTerms(kernel::ExprId id, int depth, Terms& terms) const;
  Text timesShared(kernel::ExprId id, const Text& factor, int depth);
  Text nodeText(kernel::ExprId id);
  Text loadText(kernel::ExprId id, const kernel::Load& e);
  Text philoxText(kernel::ExprId id, const kernel::Philox& e);
  Text foldText(const kernel::Fold& e);
  Text prefixText(kernel::ExprId id, const kernel::Prefix& e);
  Text shiftText(kernel::ExprId id, const kernel::WarpShift& e);
  Text warpFoldText(kernel::ExprId id, const kernel::WarpFold& e);
  Text warpPrefixText(kernel::ExprId id, const kernel::WarpPrefix& e);
  Text laneOfRamp(const kernel::Ramp& e, const Text& lane);
  Text integerBinary(kernel::ExprId id, const kernel::Bin& e);
  Text quotient(kernel::ExprId id, const kernel::Bin& e);
  Text widened(kernel::ExprId id);                           // as `long long`
  Text resultOf(kernel::ExprId id, const Text& wide) const;  // a `long long` as what `id` is declared
  bool isNarrow(kernel::ExprId id) const { return narrow_[id.index]; }
  std::string dimText(const Dim& dim) const;

  // Memory
  std::string element(kernel::BufferId buffer, kernel::ExprId index, const std::string& offset);
  /// Bytes of the pieces in which consecutive lanes move: 0 where they go one by one.
  int pieceBytes(kernel::BufferId buffer, kernel::ExprId index, int lanes, bool isAligned) const;
  bool straddles(kernel::ExprId id, const kernel::Load& e) const;
  Text straddlingLoad(kernel::ExprId id, const kernel::Load& e);
  Text piecewiseLoad(kernel::ExprId id, const kernel::Load& e, int piece);
  kernel::ExprId beforeWidening(kernel::ExprId id) const;
  void piecewiseStore(const kernel::Store& s, int piece);
  std::string memoryArray(kernel::ExprId value);  // holds it as it lies in memory
  const kernel::Splat* uniform(kernel::ExprId mask) const;

  // Text
  std::string typeOf(kernel::ExprId id);
  std::string declaredType(kernel::ValueType type, bool narrow);
  const std::string& nameOf(kernel::VarId var) const { return variableNames_[var.index]; }
  const std::string& nameOf(kernel::BufferId buffer) const { return bufferNames_[buffer.index]; }
  std::string freshName();
  std::string nameFor(kernel::ExprId id);  // the variable's that is being defined by it, or a fresh one
  std::string uniqueName(const std::string& base);
  void line(std::string_view text);
  void laneLoop(int lanes, std::string_view statement);
  void nameThings();
  void measure();

  const kernel::Kernel& kernel_;
  const Assumptions& assumptions_;
  const Launch& launch_;
  Snippets snippets_;
  std::vector<Range> ranges_;
  std::vector<bool> narrow_;  // by expression: an i64 written as `int`
  std::vector<bool> narrowVariables_;
  std::map<kernel::VarId, kernel::ExprId> lets_;  // what immutable variables are
  std::vector<bool> changing_;                    // by expression: reads a mutable variable or memory that is written
  std::vector<std::string> heldHalves_;           // vectors of halves in scope
  std::vector<int> uses_;
  std::vector<std::string> variableNames_, bufferNames_;
  std::map<std::string, std::string, std::less<>> symbolNames_;
  std::set<std::string, std::less<>> names_;
  std::vector<Remembered> memo_;                             // by expression
  std::vector<std::pair<kernel::ExprId, Remembered>> undo_;  // what open scopes have put over
  std::vector<int> nesting_;                                 // by expression: how deeply its remembered text nests
  kernel::ExprId defined_;                                   // the value of the vector variable that is being defined,
  std::string definedName_;                                  // and its name
  bool clusterBegun_ = false;                                // it is known that all blocks of the cluster run
  int epoch_ = 1, indent_ = 1, lastName_ = 0;
  std::string out_;
};

}  // namespace tokamak::codegen::cuda
