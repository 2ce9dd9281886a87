#include "support/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace tokamak {

namespace {

std::string pathOf(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map && map->l_name && *map->l_name)
    return map->l_name;
  return asked;
}

}  // namespace

std::shared_ptr<const SharedLibrary> SharedLibrary::open(std::span<const std::string> candidates, std::string& tried,
                                                         bool global) {
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL)))
      return std::shared_ptr<const SharedLibrary>(new SharedLibrary(handle, pathOf(handle, candidate)));
    const char* why = dlerror();
    tried += fmt::format("{}  {}", tried.empty() ? "" : "\n", why ? why : candidate);
  }
  return nullptr;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace tokamak
