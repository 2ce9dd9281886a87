#pragma once

#include <array>
#include <map>

#include "sparse/stream/graph.h"

/// Field numbers and codes of the SAM exchange format that reading and writing share.
namespace tokamak::stream::sam {

enum OperatorField : uint32_t {
  kRoot = 11,
  kJoiner = 12,
  kFiberLookup = 13,
  kFiberWrite = 14,
  kRepeat = 15,
  kAlu = 17,
  kReduce = 18,
  kCoordHold = 19,
  kCoordDrop = 21,
  kArray = 22,
  kSpacc = 23,
  kValWrite = 24,
  kBroadcast = 26,
  kFork = 27,
  kJoin = 28,
  kLocate = 30
};

struct AluCode {
  AluOp op;
  bool scalar;  // the second operand is the number in the message
};
/// By code. A `max` of one stream takes the number too (that is how relu is written); code 13 is the product of blocks
/// element by element, code 2 their matrix product.
constexpr std::array<AluCode, 14> kAluOps = {{{AluOp::add, false},
                                              {AluOp::sub, false},
                                              {AluOp::mul, false},
                                              {AluOp::div, false},
                                              {AluOp::exp, false},
                                              {AluOp::sin, false},
                                              {AluOp::cos, false},
                                              {AluOp::max, false},
                                              {AluOp::add, true},
                                              {AluOp::mul, true},
                                              {AluOp::div, true},
                                              {AluOp::rsqrt, false},
                                              {AluOp::sigmoid, false},
                                              {AluOp::mul, false}}};

constexpr std::array<std::pair<uint32_t, StreamKind>, 3> kBundleKinds = {
    {{2, StreamKind::crd}, {3, StreamKind::ref}, {4, StreamKind::val}}};

constexpr std::array<char, 3> kInitials = {'c', 'r', 'v'};  // of stream names, by kind

/// Declares the tensors of a graph as read, finds what locates reach, levels that are written and the depths of joins,
/// and verifies.
Result<> completeSam(Graph& graph, const std::map<std::pair<std::string, int>, LevelFormat>& formats);

}  // namespace tokamak::stream::sam
