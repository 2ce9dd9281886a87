#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "support/index_limit.h"

/// Kernel IR to CUDA C++. Nothing here chooses: the kernel says what blocks and threads do, what is a vector and what
/// lies in shared memory, and this folder writes it down statement by statement, readable, with the few functions that
/// the kernel calls in front of it.
///
///   extern "C" __global__ void __launch_bounds__(256) tk_scale(const float* __restrict__ x, float* __restrict__ y) {
///     const int t = blockIdx.x;
///     ...
///
/// Requires `kernel::verify(kernel)`. Arithmetic is that of support/scalar_op.h and graph::Cast; mathematical functions
/// are CUDA's own. `in`, `out` and `scratch` buffers overlap no other buffer; `inout` ones may overlap each other.
///
/// T0520: the kernel is written for a CPU (parallel loops), or a local buffer's size is not known when compiling.
namespace tokamak::codegen::cuda {

/// What the text may take for granted; the caller sees to it for every launch.
struct Assumptions {
  /// Every global buffer has fewer than kNarrowIndexLimit elements and every symbol is smaller: indices are 32 bits
  /// wide.
  bool narrow = true;
  /// Every global buffer starts on a boundary of so many bytes (a power of two; 1 stands for its elements' own).
  int alignment = 16;
  /// All that comes of the kernel in the end is rounded to halves, also where it stores wider values: functions of f32
  /// may be quick ones.
  bool halves = false;

  bool operator==(const Assumptions&) const = default;
};

/// The grid and the block as expressions over the kernel's symbols; zero where a loop has no iterations.
struct Launch {
  std::array<Dim, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  Dim sharedBytes = 0;  // dynamic: what the launch has to ask for
};

struct Source {
  std::string text;
  std::string symbol;  // of the kernel's function; arguments: buffers in order, then symbols as i64
  Launch launch;
};

Result<Source> emitCuda(const kernel::Kernel& kernel, const Assumptions& assumptions = {});

}  // namespace tokamak::codegen::cuda
