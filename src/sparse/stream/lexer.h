#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak::stream {

enum class TokenKind : uint8_t {
  word,    // `scan`, `_`, `inf`, and single marks: `{` `,` `?` ...
  tensor,  // `@B`; the text is what follows the mark
  stream,  // `%r1`; likewise
  number,  // `12`, `-0.5`, `1e-05`
  text,    // `"a label"`; with its quotes
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 1, column = 1;
};

/// Cuts the text of a stream graph into tokens; the last one is of kind `end`. Comments run from `//` to the end of the
/// line.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file);

std::optional<int64_t> asInteger(std::string_view text);
/// `1`, `-0.5`, `1e-05`, `inf`, `-inf`, `nan`.
std::optional<double> asNumber(std::string_view text);
/// What stands between the quotes, with \" and \\ undone.
std::string unquoted(std::string_view text);

}  // namespace tokamak::stream
