#pragma once

#include <string_view>
#include <variant>

#include "graph/ops/composite.h"
#include "graph/ops/contract.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/index.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/ops/window.h"

namespace tokamak {

/// Every op of the tensor graph. Each has exactly one result. To add one: a struct in graph/ops, a line here, and the
/// compiler names the rest (type inference, reference evaluator, decomposition or lowering), since all visit this
/// variant exhaustively.
using Op = std::variant<Input, Constant, Full, Iota, Random,                      // sources
                        Unary, Binary, Select, Clamp, Cast,                       // elementwise
                        Reduce, Scan,                                             // folds
                        Broadcast, Reshape, Transpose, Slice, Pad, Concat, Flip,  // shape
                        Gather, IndexSelect, Scatter,                             // indexing
                        Pool, AdaptivePool, Resize,                               // windows
                        MatMul, Conv, Attention,                                  // products
                        Softmax, Norm, Activation, CrossEntropy, Dropout>;        // composites

std::string_view mnemonic(const Op& op);
uint64_t hashOf(const Op& op);

/// Ops that decompose into others before fusion.
bool isComposite(const Op& op);
/// Unary, Binary, Select, Clamp, Cast: the result's element depends on the operands' elements at the same index only.
bool isElementwise(const Op& op);

}  // namespace tokamak
