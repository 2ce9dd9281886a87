#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak::kernel {

enum class TokenKind : uint8_t {
  name,    // `row_sum`
  symbol,  // `$load`; its text is what follows the dollar
  number,  // `12`, `0.5`, `1e-05`
  mark,    // `(` `..` `<=` ...
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  size_t offset = 0;  // into the source
  int line = 1, column = 1;
};

/// Cuts kernel text into tokens; the last one is of kind `end`. Comments run from `//` to the end of the line.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file);

}  // namespace tokamak::kernel
