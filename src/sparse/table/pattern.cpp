#include "sparse/table/pattern.h"

#include <algorithm>

namespace tokamak::sparse {

Patterns::Patterns() {
  intern({Kind::none, {}, {}});
  intern({Kind::all, {}, {}});
}

Patterns::Id Patterns::intern(Node node) {
  const auto [known, added] = ids_.try_emplace(node, nodes_.size());
  if (added) nodes_.push_back(std::move(node));
  return known->second;
}

/// Whether `other` adds nothing beside `kept`: in x | ..., an x & y, in x & z | ..., an x & y & z; the other way round
/// in x & ...
bool Patterns::absorbs(Kind kind, Id kept, Id other) const {
  const Kind dual = kind == Kind::either ? Kind::both : Kind::either;
  const std::vector<Id>&operands = nodes_[other].operands, &fewer = nodes_[kept].operands;
  if (nodes_[other].kind != dual) return false;
  if (std::binary_search(operands.begin(), operands.end(), kept)) return true;
  return nodes_[kept].kind == dual && std::includes(operands.begin(), operands.end(), fewer.begin(), fewer.end());
}

Patterns::Id Patterns::combine(Kind kind, const std::vector<Id>& operands) {
  const Id absorbing = kind == Kind::both ? kNone : kAll;
  const Id neutral = kind == Kind::both ? kAll : kNone;
  std::vector<Id> flat;
  for (const Id id : operands) {
    if (id == absorbing) return absorbing;
    if (id == neutral) continue;
    if (nodes_[id].kind == kind)
      flat.insert(flat.end(), nodes_[id].operands.begin(), nodes_[id].operands.end());
    else
      flat.push_back(id);
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  std::vector<Id> kept;
  for (const Id id : flat)
    if (nodes_[id].operands.empty() ||
        std::none_of(flat.begin(), flat.end(), [&](Id other) { return other != id && absorbs(kind, other, id); }))
      kept.push_back(id);
  if (kept.empty()) return neutral;
  if (kept.size() == 1) return kept[0];
  return intern({kind, {}, std::move(kept)});
}

}  // namespace tokamak::sparse
