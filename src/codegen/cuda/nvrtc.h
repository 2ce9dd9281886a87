#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

/// CUDA C++ to a cubin by NVRTC, in process. The library is opened at run time: with it no compiler, no toolkit and no
/// header has to be installed, and without it everything else works.
namespace tokamak::codegen::cuda {

struct NvrtcOptions {
  std::string path;                  // of libnvrtc itself; empty: looked for in `folders`, then where the system does
  std::vector<std::string> folders;  // that may hold libnvrtc.so.13 and the like, best first
};

/// Safe from many threads.
class Nvrtc {
 public:
  /// T0521 where there is none: what was looked for, and where.
  static Result<std::shared_ptr<const Nvrtc>> open(const NvrtcOptions& options);
  virtual ~Nvrtc() = default;

  /// `13.0`
  virtual std::string version() const = 0;
  virtual const std::string& path() const = 0;
  /// Architectures it compiles for: 75, 80, ..., 120.
  virtual std::vector<int> architectures() const = 0;
  /// A cubin for `arch` (`sm_90a`). T0522 with the compiler's first words where it refuses the text.
  virtual Result<std::vector<char>> compile(const std::string& source, const std::string& arch,
                                            const std::string& name) const = 0;
};

}  // namespace tokamak::codegen::cuda
