#include "sparse/stream/run/token.h"

#include <fmt/format.h>

namespace tokamak::stream {

std::string tokenText(Word word, bool isValue) {
  if (word == kDone) return "D";
  if (word == kAbsent) return "N";
  if (isStop(word)) return fmt::format("S{}", stopLevel(word));
  return isValue ? fmt::format("{}", valueOf(word)) : fmt::format("{}", word);
}

}  // namespace tokamak::stream
