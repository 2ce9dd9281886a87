#pragma once

#include <map>

#include "sparse/stream/run/data.h"

/// The rules of the `comal` profile once more, slow and obvious: streams are lists of tokens, held whole, and nodes run
/// one after another, each to its end. For tests.
namespace tokamak::sim::reference {

struct Token {
  enum class Kind : uint8_t { value, stop, absent, done } kind = Kind::done;
  int level = 0;   // of a stop
  int hollow = 0;  // of a stop: innermost levels at which there was no fiber to end
  int64_t at = 0;  // a coordinate or reference
  double number = 0;
  uint64_t stamp = 0;
};
using Tokens = std::vector<Token>;

struct Outcome {
  uint64_t cycles = 0, tokens = 0;
  stream::Storages outputs;
};

/// Requires a verified graph with numbers for values and data that fit. `extent`: what would come out if each number
/// were a square block of that many rows, all of its elements the same; nothing multiplies blocks.
Outcome run(const stream::Graph& graph, const stream::Inputs& inputs, uint64_t extent = 1);

}  // namespace tokamak::sim::reference
