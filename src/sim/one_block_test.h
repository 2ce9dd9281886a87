#pragma once

#include <string>
#include <vector>

#include "sparse/stream/run/data.h"

namespace tokamak::sim {

enum class Memory : uint8_t { none, hbm };

/// What one block does with tokens that arrive at given times under the rules of `comal`, or of `comal-hbm` with its
/// memory to itself.
struct BlockRun {
  std::vector<std::string> outputs;  // `0@2 1@3 S0@4 D@5`
  uint64_t clock = 0;                // of the block, at the end
  std::string fault;
};

/// Feeds streams written `0@1 S0@2 D@3` (a token and its stamp) to a block. `kinds` are the inputs' kinds; `data` what
/// it reads. A value is written as a number in a val stream and as an integer elsewhere. With a `shape`, val streams
/// carry matrices: every element of one is the number that is written, and of a result the first is shown.
BlockRun runBlock(const stream::Block& block, const std::vector<std::pair<stream::StreamKind, std::string>>& inputs,
                  const std::vector<stream::StreamKind>& outputs, const stream::Storages& data = {},
                  stream::BlockShape shape = {}, Memory memory = Memory::none);

}  // namespace tokamak::sim
