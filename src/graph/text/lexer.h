#pragma once

#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak {

enum class TokenKind : uint8_t {
  value,   // %name: text without the %
  global,  // @name: text without the @
  word,    // graph, reduce, f32, true, inf
  number,  // 12, 0.5, 1e-05; a sign is a token of its own
  hex,     // hex"00ff": text between the quotes
  punct,   // one of ( ) { } [ ] , : = + - *
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  size_t begin = 0, end = 0;  // bytes of the source, marks and quotes included
  int line = 0, column = 0;   // of the first character
};

/// The text of a graph as tokens, the last of kind `end`. Skips spaces and `// comments`. Text outside comments is
/// ASCII; comments are UTF-8.
Result<std::vector<Token>> lex(std::string_view source, std::string_view file);

}  // namespace tokamak
