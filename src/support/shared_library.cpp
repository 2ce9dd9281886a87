#include "support/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>

namespace tokamak {

namespace {

std::string pathOf(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map && map->l_name && *map->l_name)
    return map->l_name;
  return asked;
}

/// The folder of the program or library that holds this function; empty where nobody knows.
std::filesystem::path ownFolder() {
  Dl_info info;
  link_map* map = nullptr;
  const bool known =
      dladdr1(reinterpret_cast<void*>(&ownFolder), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  if (known && map && map->l_name && *map->l_name) return std::filesystem::path(map->l_name).parent_path();
  std::error_code failed;  // the program itself has no name in the loader's list
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
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

std::vector<std::string> componentPlaces(const std::string& name) {
  std::vector<std::string> out;
  if (const auto folder = ownFolder(); !folder.empty())
    // Programs: beside them, or in lib beside bin. Libraries of a build: bin is below them, and beside python/tokamak.
    for (const char* place : {"", "../lib", "../lib64", "../lib/tokamak", "bin", "../../bin"})
      out.push_back((folder / place / name).lexically_normal());
  out.push_back(name);
  return out;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace tokamak
