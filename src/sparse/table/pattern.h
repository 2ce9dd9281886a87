#pragma once

#include <map>
#include <vector>

#include "sparse/table/table.h"

namespace tokamak::sparse {

/// Which coordinates of one variable are visited: those of a stream, all of the dimension, none, or the common or joint
/// coordinates of others. Equal patterns have equal ids; a few laws hold by construction:
///
///   x & all = x,  x & none = none,  x | all = all,  x | none = x,  x & x = x,  x | (x & y) = x,  x & (x | y) = x,
///   (x & y) | (x & y & z) = x & y
class Patterns {
 public:
  using Id = size_t;
  static constexpr Id kNone = 0, kAll = 1;

  enum class Kind : uint8_t { none, all, stream, both, either };
  struct Node {
    Kind kind = Kind::none;
    Port crd;                  // of a stream
    std::vector<Id> operands;  // of both and either, rising
    auto operator<=>(const Node&) const = default;
  };

  Patterns();
  Id stream(Port crd) { return intern({Kind::stream, crd, {}}); }
  Id both(const std::vector<Id>& operands) { return combine(Kind::both, operands); }
  Id either(const std::vector<Id>& operands) { return combine(Kind::either, operands); }
  const Node& node(Id id) const { return nodes_[id]; }

 private:
  Id intern(Node node);
  Id combine(Kind kind, const std::vector<Id>& operands);
  bool absorbs(Kind kind, Id kept, Id other) const;

  std::vector<Node> nodes_;
  std::map<Node, Id> ids_;
};

}  // namespace tokamak::sparse
