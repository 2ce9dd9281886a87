#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tokamak::codegen::cuda {

/// The functions that generated text may call, in namespace `tk`. Only what a kernel uses is written in front of it, so
/// that a small kernel compiles as fast as it can.
class Snippets {
 public:
  /// `quick`: functions of f32 may be wrong by 2^-17 of their value and lose what is below 2^-126: results of the
  /// kernel are rounded to halves, which keep 11 bits at most.
  explicit Snippets(bool quick = false) : quick_(quick) {}
  bool quick() const { return quick_; }

  /// Notes that `name` and what it is made of are needed; gives the text of a call to it: `tk::max`.
  std::string use(std::string_view name);
  /// All that was noted, in an order in which everything stands before its uses.
  std::string text() const;

 private:
  void add(std::string_view name);
  std::set<size_t> used_;  // positions in the table
  bool quick_;
};

}  // namespace tokamak::codegen::cuda
