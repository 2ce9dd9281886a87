#pragma once

#include <nlohmann/json.hpp>

#include "sparse/lower/compile.h"

namespace tokamak::sparse {

struct ExplainOptions {
  bool before = true;  // also the tables of the statements by themselves
  bool rules = true;   // also which rule made each cell
};

/// What was decided and why: how the program was rewritten, and of each region the fused statements, the order, notes,
/// tables before and after fusion, the rule behind each cell, and the estimate.
std::string explain(const Program& written, const Compiled& compiled, const Bindings* data,
                    const ExplainOptions& options = {});
/// The same without tables, for programs.
nlohmann::ordered_json explainJson(const Compiled& compiled);

}  // namespace tokamak::sparse
