#ifdef TOKAMAK_HAS_ONEDNN
#include "library/onednn_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>

namespace tokamak::library {

namespace {

/// Some virtual machines announce AMX tiles but no palette to configure them with; oneDNN 3 would run into an illegal
/// instruction there.
bool announcesTilesWithoutPalette() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & (1u << 24))) return false;
  return !__get_cpuid_count(0x1d, 0, &a, &b, &c, &d) || a == 0;
#else
  return false;
#endif
}

/// Must come before any other use of the library. What the user chose by oneDNN's own variables stands.
void avoidBrokenTiles(const OneDnnApi& api) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") || std::getenv("DNNL_MAX_CPU_ISA")) return;
  if (announcesTilesWithoutPalette()) api.dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_fp16);
}

}  // namespace

OneDnnApi::~OneDnnApi() {
  // oneDNN keeps threads' state and code that may still run at exit; it is never unloaded.
}

std::shared_ptr<const OneDnnApi> OneDnnApi::load(const std::string& file, std::string& reason) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    reason = dlerror();
    return nullptr;
  }
  auto api = std::make_shared<OneDnnApi>();
  api->handle = handle;
#define TK_LOOK_UP(name)                                                   \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(handle, #name)); \
  if (!api->name) {                                                        \
    reason = fmt::format("{} has no {}: it is not oneDNN 3", file, #name); \
    return nullptr;                                                        \
  }
  TK_ONEDNN_FUNCTIONS(TK_LOOK_UP)
#undef TK_LOOK_UP
  if (api->dnnl_version()->major != 3) {
    reason = fmt::format("{} is {}, not version 3", file, api->version());
    return nullptr;
  }
  avoidBrokenTiles(*api);
  Dl_info info{};
  api->path = dladdr(reinterpret_cast<void*>(api->dnnl_version), &info) && info.dli_fname ? info.dli_fname : file;
  return api;
}

std::string OneDnnApi::version() const {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

Diagnostic oneDnnError(std::string_view what, dnnl_status_t status) {
  const char* why = status == dnnl_out_of_memory       ? "out of memory"
                    : status == dnnl_invalid_arguments ? "invalid arguments"
                    : status == dnnl_unimplemented     ? "not implemented on this machine"
                                                       : "runtime error";
  return {"T0701", {}, fmt::format("oneDNN: {}: {}", what, why), "compile without the library tier"};
}

}  // namespace tokamak::library
#endif
