#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tokamak::codegen::cuda {

/// The functions that generated text may call, in namespace `tk`. Only what a kernel uses is written in front of it, so
/// that a small kernel compiles as fast as it can.
class Snippets {
 public:
  /// Notes that `name` and what it is made of are needed; gives the text of a call to it: `tk::max`.
  std::string use(std::string_view name);
  /// All that was noted, in an order in which everything stands before its uses.
  std::string text() const;

 private:
  void add(std::string_view name);
  std::set<size_t> used_;  // positions in the table
};

}  // namespace tokamak::codegen::cuda
