#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokamak {

/// The candidate with the fewest edits from `word`, if they are few enough to be a slip of the pen; else empty.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// `a, b or c`.
std::string orList(const std::vector<std::string_view>& words);

}  // namespace tokamak
