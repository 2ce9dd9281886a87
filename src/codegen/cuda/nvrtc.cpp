#include "codegen/cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "support/shared_library.h"

namespace tokamak::codegen::cuda {

namespace fs = std::filesystem;

namespace {

// The few declarations of nvrtc.h that are needed; they have not changed since CUDA 11.
struct Program;
using Status = int;

struct Api {
  Status (*nvrtcVersion)(int* major, int* minor);
  const char* (*nvrtcGetErrorString)(Status status);
  Status (*nvrtcGetNumSupportedArchs)(int* count);
  Status (*nvrtcGetSupportedArchs)(int* archs);
  Status (*nvrtcCreateProgram)(Program** program, const char* source, const char* name, int headers,
                               const char* const* headerTexts, const char* const* headerNames);
  Status (*nvrtcDestroyProgram)(Program** program);
  Status (*nvrtcCompileProgram)(Program* program, int options, const char* const* optionTexts);
  Status (*nvrtcGetProgramLogSize)(Program* program, size_t* size);
  Status (*nvrtcGetProgramLog)(Program* program, char* log);
  Status (*nvrtcGetCUBINSize)(Program* program, size_t* size);
  Status (*nvrtcGetCUBIN)(Program* program, char* cubin);
};

Diagnostic missing(const std::string& why) {
  return {
      "T0521",
      {},
      fmt::format("NVRTC, which compiles kernels for a GPU, was not found:\n{}", why),
      "install PyPI's nvidia-cuda-nvrtc, or a CUDA toolkit and set CUDA_HOME, or name the library in TOKAMAK_NVRTC"};
}

Diagnostic failed(const std::string& name, const std::string& arch, const std::string& why) {
  constexpr size_t kShown = 1500;
  return {"T0522",
          {},
          fmt::format("NVRTC cannot compile {} for {}: {}{}", name, arch, why.substr(0, kShown),
                      why.size() > kShown ? " ..." : ""),
          "this is a fault of the code generator; please report the kernel"};
}

class OpenedNvrtc final : public Nvrtc {
 public:
  static Result<std::shared_ptr<const Nvrtc>> open(std::shared_ptr<const SharedLibrary> library) {
    auto self = std::make_shared<OpenedNvrtc>();
    self->library_ = std::move(library);
#define TK_FIND(name)                                                   \
  if (!self->library_->find(#name, self->api_.name)) {                  \
    return missing(fmt::format("  {} has no {}", self->path(), #name)); \
  }
    TK_FIND(nvrtcVersion)
    TK_FIND(nvrtcGetErrorString)
    TK_FIND(nvrtcGetNumSupportedArchs)
    TK_FIND(nvrtcGetSupportedArchs)
    TK_FIND(nvrtcCreateProgram)
    TK_FIND(nvrtcDestroyProgram)
    TK_FIND(nvrtcCompileProgram)
    TK_FIND(nvrtcGetProgramLogSize)
    TK_FIND(nvrtcGetProgramLog)
    TK_FIND(nvrtcGetCUBINSize)
    TK_FIND(nvrtcGetCUBIN)
#undef TK_FIND
    self->api_.nvrtcVersion(&self->major_, &self->minor_);
    return std::shared_ptr<const Nvrtc>(std::move(self));
  }

  std::string version() const override { return fmt::format("{}.{}", major_, minor_); }
  const std::string& path() const override { return library_->path(); }

  std::vector<int> architectures() const override {
    int count = 0;
    api_.nvrtcGetNumSupportedArchs(&count);
    std::vector<int> out(count);
    api_.nvrtcGetSupportedArchs(out.data());
    return out;
  }

  Result<std::vector<char>> compile(const std::string& source, const std::string& arch,
                                    const std::string& name) const override {
    Program* program = nullptr;
    Status status = api_.nvrtcCreateProgram(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr);
    if (status != 0) return failed(name, arch, api_.nvrtcGetErrorString(status));
    const auto destroy = [this](Program* p) { api_.nvrtcDestroyProgram(&p); };
    const std::unique_ptr<Program, decltype(destroy)> owner(program, destroy);
    const std::string target = "--gpu-architecture=" + arch;
    std::vector<const char*> options = {target.c_str(), "-std=c++17"};
    // Leaves out textures and the like, which halves the time of a small kernel.
    if (major_ > 12 || (major_ == 12 && minor_ >= 4)) options.push_back("--minimal");
    status = api_.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
    if (status != 0) return failed(name, arch, fmt::format("{}\n{}", api_.nvrtcGetErrorString(status), log(program)));
    size_t size = 0;
    status = api_.nvrtcGetCUBINSize(program, &size);
    std::vector<char> cubin(size);
    if (status == 0 && size > 0) status = api_.nvrtcGetCUBIN(program, cubin.data());
    if (status != 0 || size == 0) return failed(name, arch, "it gave no cubin");
    return cubin;
  }

 private:
  std::string log(Program* program) const {
    size_t size = 0;
    if (api_.nvrtcGetProgramLogSize(program, &size) != 0 || size <= 1) return {};
    std::string text(size, '\0');
    api_.nvrtcGetProgramLog(program, text.data());
    text.resize(size - 1);
    return text;
  }

  std::shared_ptr<const SharedLibrary> library_;
  Api api_{};
  int major_ = 0, minor_ = 0;
};

/// libnvrtc opens libnvrtc-builtins by name when it compiles, which finds nothing where both lie in a folder of their
/// own: the one beside it is opened first. Those called `.alt` belong to another build.
void openBuiltins(const fs::path& nvrtc) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(nvrtc.parent_path(), none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("libnvrtc-builtins.so")) continue;
    std::string tried;
    const std::string path = entry.path();
    if (SharedLibrary::open({&path, 1}, tried, true)) return;
  }
}

std::vector<std::string> candidatesIn(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const std::string name = entry.path().filename(); name.starts_with("libnvrtc.so")) out.push_back(entry.path());
  std::sort(out.rbegin(), out.rend());  // the newest first
  return out;
}

}  // namespace

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(const NvrtcOptions& options) {
  std::vector<std::string> candidates;
  std::string tried;
  if (!options.path.empty()) {
    candidates = {options.path};
  } else {
    for (const std::string& folder : options.folders) {
      const auto found = candidatesIn(folder);
      candidates.insert(candidates.end(), found.begin(), found.end());
      if (found.empty()) tried += fmt::format("{}  {}: no libnvrtc.so", tried.empty() ? "" : "\n", folder);
    }
    candidates.insert(candidates.end(), {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  }
  for (const std::string& candidate : candidates)
    if (candidate.find('/') != std::string::npos && fs::exists(candidate)) {
      openBuiltins(candidate);
      break;
    }
  auto library = SharedLibrary::open(candidates, tried);
  if (!library) return missing(tried);
  return OpenedNvrtc::open(std::move(library));
}

}  // namespace tokamak::codegen::cuda
