#include <fmt/format.h>

#include "sparse/einsum/syntax.h"

namespace tokamak::sparse {

namespace {

constexpr const char* kHint =
    "name dense, csr, csc, dcsr, dcsc, coo, csf or bcsr(16, 16), or list levels: {dense 0, compressed 1}";

Result<Level> parseLevel(Cursor& cursor) {
  TK_TRY(const Token kind, cursor.word("a level", kHint));
  const std::optional<LevelKind> known = fromName<LevelKind>(kind.text);
  if (!known) return cursor.fail("T0922", kind, fmt::format("there is no level format {}", kind.text), kHint);
  Level level{*known};
  TK_TRY(const int64_t axis, cursor.integer(0, "say which axis the level stores: dense 0"));
  level.axis = static_cast<int>(std::min<int64_t>(axis, 1 << 20));
  if (cursor.at("/") || cursor.at("%")) {
    level.part = cursor.next().text == "/" ? LevelPart::outer : LevelPart::inner;
    TK_TRY(level.block, cursor.integer(1, "give the block size: compressed 1/16"));
  }
  if (cursor.take("repeated")) level.unique = false;
  return level;
}

Result<Format> parseLevels(Cursor& cursor, const Token& open, int rank, bool loose) {
  Format out;
  do {
    TK_TRY(const Level level, parseLevel(cursor));
    out.levels.push_back(level);
  } while (cursor.take(","));
  TK_RETURN_IF_ERROR(cursor.expect("}", "close the list of levels"));
  if (loose) return out;
  for (const Level& level : out.levels)
    if (level.axis >= rank)
      return cursor.fail("T0922", open, fmt::format("the tensor has no axis {}", level.axis), "axes count from 0");
  if (const Decision fit = out.isWellFormed(); !fit) return cursor.fail("T0922", open, fit.reason(), kHint);
  if (out.rank() != rank)
    return cursor.fail("T0922", open, fmt::format("the format has {} axes, the tensor {}", out.rank(), rank), kHint);
  return out;
}

}  // namespace

Result<Format> parseFormat(Cursor& cursor, int rank, bool loose) {
  const Token name = cursor.peek();
  if (cursor.take("{")) return parseLevels(cursor, name, rank, loose);
  TK_RETURN_IF_ERROR(cursor.word("a format", kHint));
  std::vector<int64_t> blocks;
  if (cursor.take("(")) {
    do {
      TK_TRY(const int64_t block, cursor.integer(1, "give a block size an axis: bcsr(16, 16)"));
      blocks.push_back(block);
    } while (cursor.take(","));
    TK_RETURN_IF_ERROR(cursor.expect(")", "close the list of block sizes"));
  }
  const std::optional<Format> format = namedFormat(name.text, rank, blocks);
  if (!format)
    return cursor.fail("T0922", name, fmt::format("there is no format {} for a tensor of {} axes", name.text, rank),
                       kHint);
  return *format;
}

}  // namespace tokamak::sparse
