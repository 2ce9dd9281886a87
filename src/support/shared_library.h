#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tokamak {

/// A library opened at run time. Never closed: what it started (threads, handlers) may outlive its last user.
class SharedLibrary {
 public:
  /// Opens the first of `candidates` (a path, or a plain name for the system's own search) that is there. Null where
  /// none is; `tried` then has a line a candidate: what it was and why it did not do.
  static std::shared_ptr<const SharedLibrary> open(std::span<const std::string> candidates, std::string& tried,
                                                   bool global = false);

  /// The address of a symbol, or null.
  void* find(const char* symbol) const;
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(find(symbol));
    return function != nullptr;
  }
  /// Where it was found, as the loader has it.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

/// Where a component of this name may lie: beside the program or library that this code is part of, or in its lib
/// folders, as a build, an installation, a wheel and a bundle have it; last its plain name, for the system's own
/// search.
std::vector<std::string> componentPlaces(const std::string& name);

}  // namespace tokamak
