#include "library/cublaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "library/cublaslt_matmul.h"
#include "support/shared_library.h"

namespace tokamak::library {

namespace fs = std::filesystem;

namespace {

Diagnostic missing(const std::string& why) {
  return {
      "T0703",
      {},
      fmt::format("cuBLASLt, which serves matrix products on a GPU, was not found:\n{}", why),
      "install PyPI's nvidia-cublas (PyTorch brings it), or a CUDA toolkit and set CUDA_HOME, or name the library in "
      "TOKAMAK_CUBLASLT"};
}

class OpenedCublasLt final : public CublasLt {
 public:
  std::string version() const override {
    const size_t v = api_->cublasLtGetVersion();
    // 130100 is 13.1.0; below 12 it had one digit less.
    return fmt::format("cuBLASLt {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  }
  const std::string& path() const override { return library_->path(); }

  Result<std::shared_ptr<const DeviceMatMul>> matmul(const MatMulDesc& desc, int device) const override {
    if (Decision decision = accepts(desc); !decision)
      return Diagnostic{"T0704", {}, "cuBLASLt: " + decision.reason(), "compile without the library tier"};
    TK_TRY(const auto handle, handleOf(device));
    return std::shared_ptr<const DeviceMatMul>(std::make_shared<CublasLtMatMul>(handle, desc));
  }

  std::shared_ptr<const SharedLibrary> library_;
  std::shared_ptr<lt::Api> api_;

 private:
  /// One a device: it holds memory there.
  Result<std::shared_ptr<const CublasLtHandle>> handleOf(int device) const {
    const std::lock_guard lock(mutex_);
    auto& handle = handles_[device];
    if (handle) return handle;
    auto made = std::make_shared<CublasLtHandle>();
    made->api = api_;
    if (const lt::Status status = api_->cublasLtCreate(&made->handle); status != 0)
      return cublasLtError(fmt::format("cublasLtCreate on cuda:{}", device), status);
    return handle = std::move(made);
  }
  mutable std::mutex mutex_;
  mutable std::map<int, std::shared_ptr<const CublasLtHandle>> handles_;
};

std::vector<std::string> candidatesIn(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("libcublasLt.so")) out.push_back(entry.path());
  std::sort(out.rbegin(), out.rend());
  return out;
}

}  // namespace

Result<std::shared_ptr<const CublasLt>> CublasLt::open(const CublasLtOptions& options) {
  std::vector<std::string> candidates;
  std::string tried;
  if (!options.path.empty()) candidates = {options.path};
  for (const std::string& folder : options.path.empty() ? options.folders : std::vector<std::string>{}) {
    const auto found = candidatesIn(folder);
    candidates.insert(candidates.end(), found.begin(), found.end());
    if (found.empty()) tried += fmt::format("{}  {}: no libcublasLt.so", tried.empty() ? "" : "\n", folder);
  }
  if (options.path.empty())
    candidates.insert(candidates.end(), {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
  auto out = std::make_shared<OpenedCublasLt>();
  out->library_ = SharedLibrary::open(candidates, tried);
  if (!out->library_) return missing(tried);
  out->api_ = std::make_shared<lt::Api>();
#define TK_FIND(name, result, parameters) \
  if (!out->library_->find(#name, out->api_->name)) return missing(fmt::format("  {} has no {}", out->path(), #name));
  TK_CUBLASLT_FUNCTIONS(TK_FIND)
#undef TK_FIND
  constexpr size_t kOldest = 110000;
  if (out->api_->cublasLtGetVersion() < kOldest)
    return missing(fmt::format("  {} is {}, older than 11", out->path(), out->version()));
  return std::shared_ptr<const CublasLt>(std::move(out));
}

Decision CublasLt::accepts(const MatMulDesc& desc) {
  const bool wide = isHalf(desc.a) && desc.a == desc.b && desc.c == DType::f32;
  if (wide && !desc.bias && desc.postOps.empty()) return Decision::yes();
  const bool known = isFloat(desc.c) && desc.a == desc.c && desc.b == desc.c && (!desc.bias || desc.biasType == desc.c);
  if (!known) return Decision::no("operands of several dtypes, or of one that is no float");
  bool bias = desc.bias, residual = false, activated = false;
  for (const PostOp& post : desc.postOps) {
    if (activated) return Decision::no("nothing is applied after an activation");
    if (post.kind == PostOpKind::relu || post.kind == PostOpKind::gelu_tanh) {
      activated = true;
      continue;
    }
    bool& place = post.broadcast == Broadcast::row ? bias : residual;
    const bool fits = post.broadcast == Broadcast::row || post.broadcast == Broadcast::none;
    if (post.kind != PostOpKind::add || !fits || place || post.dtype != desc.c)
      return Decision::no(fmt::format("{} is no epilogue of it", nameOf(post.kind)));
    place = true;
  }
  const bool half = isHalf(desc.c) || desc.c == DType::f32;
  return activated && !half ? Decision::no("activations of f64") : Decision::yes();
}

}  // namespace tokamak::library
