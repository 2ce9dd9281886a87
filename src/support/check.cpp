#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace tokamak {

void failCheck(std::string_view condition, std::string_view file, int line, std::string_view message) {
  std::fprintf(stderr, "tokamak: internal error at %.*s:%d: %.*s\n  check failed: %.*s\n", int(file.size()),
               file.data(), line, int(message.size()), message.data(), int(condition.size()), condition.data());
  std::abort();
}

void failUnhandled(std::string_view diagnostic) {
  std::fprintf(stderr, "tokamak: an error was not handled (test a Result before its value is taken):\n%.*s\n",
               int(diagnostic.size()), diagnostic.data());
  std::abort();
}

}  // namespace tokamak
