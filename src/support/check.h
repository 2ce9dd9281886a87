#pragma once

#include <string_view>

namespace tokamak {

/// Prints `message` with its place and stops the process, in every build type. For our own bugs only; what a user
/// can cause is a `Diagnostic`.
[[noreturn]] void failCheck(std::string_view condition, std::string_view file, int line, std::string_view message);

/// Prints a Diagnostic that nobody asked about before they took the value it stands for, and stops the process.
[[noreturn]] void failUnhandled(std::string_view diagnostic);

}  // namespace tokamak

#define TK_CHECK(condition, message)                                                   \
  do {                                                                                 \
    if (!(condition)) ::tokamak::failCheck(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
