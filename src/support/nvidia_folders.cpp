#include "support/nvidia_folders.h"

#include <algorithm>
#include <filesystem>

namespace tokamak {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> childrenOf(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) out.push_back(entry.path());
  std::sort(out.rbegin(), out.rend());  // newer versions first
  return out;
}

void addIfFolder(std::vector<std::string>& out, const fs::path& folder) {
  std::error_code none;
  if (fs::is_directory(folder, none) && std::find(out.begin(), out.end(), folder.string()) == out.end())
    out.push_back(folder);
}

void addWheels(std::vector<std::string>& out, const fs::path& sitePackages) {
  for (const fs::path& package : childrenOf(sitePackages / "nvidia")) addIfFolder(out, package / "lib");
}

}  // namespace

std::vector<std::string> nvidiaFolders(const std::vector<std::string>& pythonPrefixes,
                                       const std::vector<std::string>& toolkitHomes) {
  std::vector<std::string> out;
  for (const fs::path prefix : pythonPrefixes) {
    addWheels(out, prefix);
    for (const fs::path& python : childrenOf(prefix / "lib"))
      if (python.filename().string().starts_with("python3")) addWheels(out, python / "site-packages");
  }
  for (const fs::path home : toolkitHomes) addIfFolder(out, home / "lib64");
  addIfFolder(out, "/usr/local/cuda/lib64");
  for (const fs::path& folder : childrenOf("/usr/local"))
    if (folder.filename().string().starts_with("cuda-")) addIfFolder(out, folder / "lib64");
  return out;
}

}  // namespace tokamak
