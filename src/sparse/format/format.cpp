#include "sparse/format/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tokamak::sparse {

int64_t Level::sizeFor(int64_t extent) const {
  if (part == LevelPart::outer) return extent / block + (extent % block != 0 ? 1 : 0);
  return part == LevelPart::inner ? std::min(block, extent) : extent;
}

int64_t Level::coordinateOf(int64_t coordinate) const {
  if (part == LevelPart::outer) return coordinate / block;
  return part == LevelPart::inner ? coordinate % block : coordinate;
}

Format Format::dense(int rank) {
  Format out;
  for (int axis = 0; axis < rank; ++axis) out.levels.push_back({LevelKind::dense, axis});
  return out;
}

Format Format::csf(int rank) {
  Format out;
  for (int axis = 0; axis < rank; ++axis) out.levels.push_back({LevelKind::compressed, axis});
  return out;
}

Format Format::coo(int rank) {
  Format out;
  for (int axis = 0; axis < rank; ++axis)
    out.levels.push_back(
        {axis == 0 ? LevelKind::compressed : LevelKind::singleton, axis, LevelPart::whole, 1, axis + 1 == rank});
  return out;
}

int Format::rank() const { return static_cast<int>(axisOrder().size()); }

bool Format::isDense() const {
  return std::all_of(levels.begin(), levels.end(), [](const Level& l) { return l.kind == LevelKind::dense; });
}

bool Format::isBlocked() const {
  return std::any_of(levels.begin(), levels.end(), [](const Level& l) { return l.part != LevelPart::whole; });
}

std::vector<int> Format::axisOrder() const {
  std::vector<int> out;
  for (const Level& level : levels)
    if (std::find(out.begin(), out.end(), level.axis) == out.end()) out.push_back(level.axis);
  return out;
}

namespace {

Decision partsFit(const Format& format, int axis) {
  std::vector<const Level*> parts;
  for (const Level& level : format.levels)
    if (level.axis == axis) parts.push_back(&level);
  if (parts.size() == 1) {
    if (parts[0]->part == LevelPart::whole) return Decision::yes();
    return Decision::no(fmt::format("axis {} has only one part of its blocks", axis));
  }
  if (parts.size() != 2 || parts[0]->part != LevelPart::outer || parts[1]->part != LevelPart::inner)
    return Decision::no(fmt::format("axis {} is neither one level nor {}/B before {}%B", axis, axis, axis));
  if (parts[0]->block != parts[1]->block || parts[0]->block < 1)
    return Decision::no(fmt::format("axis {} is split by two block sizes", axis));
  return Decision::yes();
}

}  // namespace

Decision Format::isWellFormed() const {
  const std::vector<int> axes = axisOrder();
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      return Decision::no(fmt::format("axis {} has no level", axis));
    if (const Decision fit = partsFit(*this, axis); !fit) return fit;
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    const bool last = i + 1 == levels.size();
    if (levels[i].kind == LevelKind::singleton && (i == 0 || levels[i - 1].unique))
      return Decision::no(fmt::format("level {} is a singleton, but the level above does not repeat coordinates", i));
    if (!levels[i].unique && (last || levels[i + 1].kind != LevelKind::singleton))
      return Decision::no(fmt::format("level {} repeats coordinates, so the next must be a singleton", i));
    if (!levels[i].unique && levels[i].kind == LevelKind::dense)
      return Decision::no(fmt::format("level {} is dense and cannot repeat coordinates", i));
  }
  return Decision::yes();
}

std::optional<Format> namedFormat(std::string_view name, int rank, const std::vector<int64_t>& blocks) {
  using enum LevelKind;
  if (name == "bcsr") {
    if (rank != 2 || blocks.size() != 2 || blocks[0] < 1 || blocks[1] < 1) return std::nullopt;
    return Format{{{dense, 0, LevelPart::outer, blocks[0]},
                   {compressed, 1, LevelPart::outer, blocks[1]},
                   {dense, 0, LevelPart::inner, blocks[0]},
                   {dense, 1, LevelPart::inner, blocks[1]}}};
  }
  if (!blocks.empty()) return std::nullopt;
  if (name == "dense") return Format::dense(rank);
  if (name == "csf" && rank > 0) return Format::csf(rank);
  if (name == "coo" && rank > 0) return Format::coo(rank);
  if (rank != 2) return std::nullopt;
  if (name == "csr") return Format{{{dense, 0}, {compressed, 1}}};
  if (name == "csc") return Format{{{dense, 1}, {compressed, 0}}};
  if (name == "dcsr") return Format::csf(2);
  if (name == "dcsc") return Format{{{compressed, 1}, {compressed, 0}}};
  return std::nullopt;
}

std::string Format::str() const {
  const int n = rank();
  for (const std::string_view name : {"dense", "csr", "csc", "dcsr", "dcsc", "csf", "coo"})
    if (namedFormat(name, n) == *this) return std::string(name);
  if (levels.size() == 4 && n == 2)
    if (const std::vector<int64_t> blocks{levels[0].block, levels[1].block}; namedFormat("bcsr", n, blocks) == *this)
      return fmt::format("bcsr({}, {})", blocks[0], blocks[1]);
  std::vector<std::string> parts;
  for (const Level& level : levels) {
    std::string text = fmt::format("{} {}", nameOf(level.kind), level.axis);
    if (level.part != LevelPart::whole)
      text += fmt::format("{}{}", level.part == LevelPart::outer ? '/' : '%', level.block);
    parts.push_back(text + (level.unique ? "" : " repeated"));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace tokamak::sparse
