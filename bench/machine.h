#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/engine.h"

namespace tokamak::bench {

/// Median seconds of several things, run in turn so that all meet the same moments of the machine.
struct Contender {
  std::string name;
  std::function<void()> run;
  double seconds = 0;
};
void interleave(std::vector<Contender>& contenders, double budgetSeconds = 1.5, int leastRounds = 7);

/// Copies or reads `bytes` on all threads of the engine, in memory already touched: the limits that results are held
/// against.
class Limits {
 public:
  Limits(const Engine& engine, int64_t bytes);
  ~Limits();
  /// Half of `bytes` read, half written.
  void copy() const;
  void read() const;

 private:
  const Engine& engine_;
  int64_t bytes_;
  char *from_, *to_;
};

/// So many multiplications and additions of f32 in registers, on all threads: the limit of products.
void multiplyAdd(const Engine& engine, double flops);

}  // namespace tokamak::bench
