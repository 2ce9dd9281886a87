#pragma once

#include "search/space.h"

namespace tokamak::search {

/// The ways to run these statements of a program, temps stored as `reads` says: orders of the loops, lanes, operands
/// iterated or located. Those that give the same graph are one. Empty where the statements cannot run together.
std::vector<Choice> regionChoices(const sparse::Program& program, const std::vector<size_t>& statements,
                                  const Formats& reads, const Data& data, const SpaceOptions& options);

}  // namespace tokamak::search
