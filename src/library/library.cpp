#include "library/library.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#ifdef TOKAMAK_HAS_ONEDNN
#include "library/mended_call.h"
#include "library/onednn_conv.h"
#include "library/onednn_matmul.h"
#include "library/panel_conv.h"
#include "library/panel_matmul.h"
#include "support/shared_library.h"
#endif

namespace tokamak::library {

int64_t convExtent(const ConvDesc& desc, const ConvDims& dims, int axis) {
  const int64_t padded = dims.input[axis] + desc.low[axis] + desc.high[axis];
  const int64_t reach = (dims.kernel[axis] - 1) * desc.dilation[axis] + 1;
  return padded < reach ? (padded == reach - 1 ? 0 : -1) : (padded - reach) / desc.stride[axis] + 1;
}

namespace {

/// Where there is no library: every question is answered with the reason.
class MissingLibrary final : public Library {
 public:
  explicit MissingLibrary(std::string reason) : reason_(std::move(reason)) {}
  Decision available() const override { return Decision::no(reason_); }
  std::string version() const override { return {}; }
  std::string path() const override { return {}; }
  Decision accepts(const MatMulDesc&) const override { return Decision::no(reason_); }
  Decision accepts(const ConvDesc&) const override { return Decision::no(reason_); }
  bool appliesInRegisters(const MatMulDesc&) const override { return false; }
  bool appliesInRegisters(const ConvDesc&) const override { return false; }
  Result<std::shared_ptr<const MatMulCall>> matmul(const MatMulDesc&) const override { return missing(); }
  Result<std::shared_ptr<const ConvCall>> conv(const ConvDesc&) const override { return missing(); }

 private:
  Diagnostic missing() const { return {"T0700", {}, reason_, "compile without the library tier"}; }
  std::string reason_;
};

#ifdef TOKAMAK_HAS_ONEDNN

class OneDnnLibrary final : public Library {
 public:
  explicit OneDnnLibrary(std::shared_ptr<const OneDnn> lib) : lib_(std::move(lib)) {}
  Decision available() const override { return Decision::yes(); }
  std::string version() const override { return lib_->api->version(); }
  std::string path() const override { return lib_->api->path; }
  Decision accepts(const MatMulDesc& desc) const override { return remembered<OneDnnMatMul>(matmuls_, desc); }
  Decision accepts(const ConvDesc& desc) const override { return remembered<OneDnnConv>(convs_, desc); }
  bool appliesInRegisters(const MatMulDesc& desc) const override { return PanelMatMul::appliesAll(desc); }
  bool appliesInRegisters(const ConvDesc& desc) const override { return PanelConv::accepts(desc); }
  Result<std::shared_ptr<const MatMulCall>> matmul(const MatMulDesc& desc) const override {
    const auto whole = [&](const MatMulDesc& d) { return std::make_shared<OneDnnMatMul>(lib_, d); };
    const auto panels = [&](const MatMulDesc& d) { return std::make_shared<PanelMatMul>(lib_, whole(d)); };
    if (!PanelMatMul::accepts(desc)) return mended<MatMulCall, MatMulDims>(desc, whole);
    if (!PanelMatMul::appliesAll(desc)) return mended<MatMulCall, MatMulDims>(desc, panels);
    return std::shared_ptr<const MatMulCall>(
        std::make_shared<PanelMatMul>(lib_, mended<MatMulCall, MatMulDims>(desc, whole)));
  }
  Result<std::shared_ptr<const ConvCall>> conv(const ConvDesc& desc) const override {
    const auto whole =
        mended<ConvCall, ConvDims>(desc, [&](const ConvDesc& d) { return std::make_shared<OneDnnConv>(lib_, d); });
    if (!PanelConv::accepts(desc)) return whole;
    return std::shared_ptr<const ConvCall>(std::make_shared<PanelConv>(lib_, whole));
  }

 private:
  /// Planners ask the same for every layer of a model.
  template <class Call, class Desc>
  Decision remembered(const Recent<Desc, Decision>& decisions, const Desc& desc) const {
    if (const auto known = decisions.find(desc)) return *known;
    Decision decision = Call::accepts(lib_, desc);
    decisions.insert(desc, std::make_shared<const Decision>(decision));
    return decision;
  }

  template <class Call, class Dims, class Desc, class Make>
  static std::shared_ptr<const Call> mended(const Desc& desc, const Make& make) {
    if (!failsOnHuge(desc.postOps) || cannotMend(desc.postOps)) return make(desc);
    return std::make_shared<MendedCall<Call, Desc, Dims>>(make(desc), make(withoutPostOps(desc)));
  }

  static constexpr int kDecisions = 128;
  std::shared_ptr<const OneDnn> lib_;
  Recent<MatMulDesc, Decision> matmuls_{kDecisions};
  Recent<ConvDesc, Decision> convs_{kDecisions};
};

constexpr const char* kFile = "libdnnl.so.3";

/// Files to try, in order. A bare name is looked up as the system does.
std::vector<std::string> candidates(const LibraryOptions& options) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto inFolder = [&](const std::string& place) {
    return fs::is_directory(place, ignored) ? place + "/" + kFile : place;
  };
  if (!options.path.empty()) return {inFolder(options.path)};
  std::vector<std::string> files;
  for (const std::string& folder : options.searchFolders) files.push_back(inFolder(folder));
  for (const std::string& place : componentPlaces(kFile))
    if (place != kFile) files.push_back(place);
#ifdef TOKAMAK_ONEDNN_FOLDER
  files.push_back(std::string(TOKAMAK_ONEDNN_FOLDER) + "/" + kFile);
#endif
  files.emplace_back(kFile);
  return files;
}

std::shared_ptr<const Library> openOneDnn(const LibraryOptions& options) {
  std::string tried;
  for (const std::string& file : candidates(options)) {
    std::string reason = "no such file";
    const bool bare = file.find('/') == std::string::npos;
    auto api = bare || access(file.c_str(), R_OK) == 0 ? OneDnnApi::load(file, reason) : nullptr;
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", file, reason);
    if (!api) continue;
    dnnl_engine_t engine = nullptr;
    if (api->dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) {
      tried += " (makes no CPU engine)";
      continue;
    }
    auto lib = std::make_shared<OneDnn>();
    lib->engine = {engine, api->dnnl_engine_destroy};
    lib->api = std::move(api);
    lib->options = options;
    return std::make_shared<OneDnnLibrary>(std::move(lib));
  }
  return std::make_shared<MissingLibrary>(
      fmt::format("oneDNN is not here: looked in {}; pip install onednn-cpu-gomp==2023.2.0", tried));
}

#endif

}  // namespace

std::shared_ptr<const Library> Library::open(const LibraryOptions& options) {
#ifdef TOKAMAK_HAS_ONEDNN
  return openOneDnn(options);
#else
  return std::make_shared<MissingLibrary>("oneDNN's headers were not there when this was built");
#endif
}

}  // namespace tokamak::library
