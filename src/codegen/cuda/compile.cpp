#include "codegen/cuda/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "support/hash.h"

namespace tokamak::codegen::cuda {

namespace {

/// Part of the key, since the cache is asked before NVRTC is opened: raise it when NVRTC is called in another way.
constexpr std::string_view kRevision = "nvrtc/1";

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(CompilerOptions options) : options_(std::move(options)) {}

  Result<std::string> compile(const kernel::Kernel& kernel, const Assumptions& assumptions,
                              const std::string& arch) const override {
    TK_TRY(const Source source, emitCuda(kernel, assumptions));
    const std::string context = fmt::format("{} {}", kRevision, arch);
    const std::string key = fmt::format("cuda{:016x}{:016x}", hashBytes(source.text, hashBytes(context)),
                                        hashBytes(context, hashBytes(source.text, 0x5851f42d4c957f2dull)));
    const auto make = [&]() -> Result<std::string> {
      TK_TRY(const auto nvrtc, open());
      auto cubin = nvrtc->compile(source.text, arch, kernel.name);
      if (!cubin) return saved(cubin.error(), source.text, kernel.name);
      return std::string(cubin->begin(), cubin->end());
    };
    return options_.obtain ? options_.obtain(key, fmt::format("{} {}", kernel.name, arch), make) : make();
  }

 private:
  Result<std::shared_ptr<const Nvrtc>> open() const {
    const std::lock_guard lock(mutex_);
    if (nvrtc_) return nvrtc_;
    TK_TRY(nvrtc_, Nvrtc::open(options_.nvrtc));
    return nvrtc_;
  }

  /// With the source beside it; a source that cannot be saved is no second failure.
  Diagnostic saved(Diagnostic error, const std::string& source, const std::string& name) const {
    if (options_.failuresFolder.empty()) return error;
    std::error_code none;
    std::filesystem::create_directories(options_.failuresFolder, none);
    const std::string file = fmt::format("{}/{}_{:016x}.cu", options_.failuresFolder, name, hashBytes(source));
    std::ofstream out(file);
    out << source;
    if (out.flush()) error.message += fmt::format("\n  the source is in {}", file);
    return error;
  }

  CompilerOptions options_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Nvrtc> nvrtc_;
};

}  // namespace

std::shared_ptr<const Compiler> makeNvrtcCompiler(CompilerOptions options) {
  return std::make_shared<NvrtcCompiler>(std::move(options));
}

}  // namespace tokamak::codegen::cuda
