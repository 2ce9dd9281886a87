#include "support/layered_layout.h"

#include <algorithm>
#include <limits>

#include "support/check.h"

namespace tokamak {

namespace {

constexpr double kStraight = 64;  // long edges run straight through the layers they cross

/// A box, or the place where a long edge passes through a layer.
struct Vertex {
  int layer = 0;
  double width = 0, height = 0, x = 0;  // x: of the middle
  double pull = 1;                      // how strongly it wants to stand where its neighbours are
  std::vector<int> up, down;
  std::vector<double> upWeight, downWeight;  // of the edges to them
};

class Layering {
 public:
  Layering(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges, const LayoutSpacing& spacing)
      : boxes_(boxes), edges_(edges), spacing_(spacing) {}

  LayeredLayout run() {
    assignLayers();
    splitLongEdges();
    order();
    place();
    straighten();
    return finish();
  }

 private:
  void assignLayers();
  void splitLongEdges();
  void order();
  void sweep(bool downwards);
  int64_t crossings() const;
  void place();
  void straighten();
  double distance(int left, int right) const;
  void settle(const std::vector<int>& layer, const std::vector<double>& wanted);
  LayeredLayout finish() const;
  std::vector<double> ports(const LayeredLayout& layout, bool leaving) const;

  const std::vector<LayoutBox>& boxes_;
  const std::vector<LayoutEdge>& edges_;
  const LayoutSpacing& spacing_;
  std::vector<Vertex> vertices_;
  std::vector<std::vector<int>> chains_;  // per edge: its vertices, both ends included
  std::vector<std::vector<int>> layers_;  // left to right
};

/// Longest path from the top; then boxes that read little move down to just above their readers.
void Layering::assignLayers() {
  const size_t n = boxes_.size();
  std::vector<std::vector<int>> readers(n), sources(n);
  std::vector<int> open(n, 0), sorted, layer(n, 0);
  for (const LayoutEdge& e : edges_) {
    readers[e.from].push_back(e.to);
    sources[e.to].push_back(e.from);
    ++open[e.to];
  }
  for (size_t v = 0; v < n; ++v)
    if (open[v] == 0) sorted.push_back(static_cast<int>(v));
  for (size_t i = 0; i < sorted.size(); ++i)
    for (int reader : readers[sorted[i]]) {
      layer[reader] = std::max(layer[reader], layer[sorted[i]] + 1);
      if (--open[reader] == 0) sorted.push_back(reader);
    }
  TK_CHECK(sorted.size() == n, "the graph to draw has a cycle");
  for (size_t i = n; i-- > 0;) {
    const int v = sorted[i];
    if (readers[v].empty() || sources[v].size() > 1 || sources[v].size() > readers[v].size()) continue;
    int lowest = layer[readers[v][0]];
    for (int reader : readers[v]) lowest = std::min(lowest, layer[reader]);
    layer[v] = lowest - 1;
  }
  for (size_t v = 0; v < n; ++v) vertices_.push_back(Vertex{layer[v], boxes_[v].width, boxes_[v].height});
}

void Layering::splitLongEdges() {
  for (const LayoutEdge& e : edges_) {
    std::vector<int> chain{e.from};
    for (int l = vertices_[e.from].layer + 1; l < vertices_[e.to].layer; ++l) {
      chain.push_back(static_cast<int>(vertices_.size()));
      vertices_.push_back(Vertex{l, spacing_.edge, 0, 0, kStraight});
    }
    chain.push_back(e.to);
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      const bool inner = i > 0 && i + 2 < chain.size();
      vertices_[chain[i]].down.push_back(chain[i + 1]);
      vertices_[chain[i]].downWeight.push_back(inner ? kStraight : e.weight);
      vertices_[chain[i + 1]].up.push_back(chain[i]);
      vertices_[chain[i + 1]].upWeight.push_back(inner ? kStraight : e.weight);
    }
    chains_.push_back(std::move(chain));
  }
  for (size_t v = 0; v < vertices_.size(); ++v) {
    const size_t l = static_cast<size_t>(vertices_[v].layer);
    if (layers_.size() <= l) layers_.resize(l + 1);
    layers_[l].push_back(static_cast<int>(v));
  }
}

/// Barycentre sweeps, down and up; the order with the fewest crossings is kept.
void Layering::order() {
  auto best = layers_;
  int64_t fewest = crossings();
  for (int round = 0; round < 24 && fewest > 0; ++round) {
    sweep(round % 2 == 0);
    if (const int64_t now = crossings(); now < fewest) {
      fewest = now;
      best = layers_;
    }
  }
  layers_ = std::move(best);
}

void Layering::sweep(bool downwards) {
  std::vector<double> position(vertices_.size());
  for (const auto& layer : layers_)
    for (size_t i = 0; i < layer.size(); ++i) position[layer[i]] = static_cast<double>(i);
  for (size_t step = 1; step < layers_.size(); ++step) {
    auto& layer = layers_[downwards ? step : layers_.size() - 1 - step];
    std::vector<double> key(vertices_.size(), 0);
    for (int v : layer) {
      const auto& near = downwards ? vertices_[v].up : vertices_[v].down;
      key[v] = position[v];
      if (near.empty()) continue;
      double sum = 0;
      for (int other : near) sum += position[other];
      key[v] = sum / static_cast<double>(near.size());
    }
    std::stable_sort(layer.begin(), layer.end(), [&](int a, int b) { return key[a] < key[b]; });
    for (size_t i = 0; i < layer.size(); ++i) position[layer[i]] = static_cast<double>(i);
  }
}

int64_t Layering::crossings() const {
  std::vector<int> position(vertices_.size());
  for (const auto& layer : layers_)
    for (size_t i = 0; i < layer.size(); ++i) position[layer[i]] = static_cast<int>(i);
  int64_t count = 0;
  for (const auto& layer : layers_) {
    std::vector<int> ends;  // of the edges below this layer, by their beginnings
    for (int v : layer) {
      std::vector<int> own;
      for (int other : vertices_[v].down) own.push_back(position[other]);
      std::sort(own.begin(), own.end());
      ends.insert(ends.end(), own.begin(), own.end());
    }
    std::vector<int> seen;  // sorted
    for (int end : ends) {
      auto at = std::upper_bound(seen.begin(), seen.end(), end);
      count += seen.end() - at;
      seen.insert(at, end);
    }
  }
  return count;
}

/// Each vertex moves to the mean of its neighbours' places, as far as the order and the distances allow.
void Layering::place() {
  for (const auto& layer : layers_) settle(layer, std::vector<double>(layer.size(), 0));
  auto align = [&](const std::vector<int>& layer, bool up, bool down) {
    std::vector<double> wanted;
    for (int v : layer) {
      double sum = 0, weight = 0;
      auto add = [&](const std::vector<int>& near, const std::vector<double>& weights) {
        for (size_t i = 0; i < near.size(); ++i) {
          sum += weights[i] * vertices_[near[i]].x;
          weight += weights[i];
        }
      };
      if (up) add(vertices_[v].up, vertices_[v].upWeight);
      if (down) add(vertices_[v].down, vertices_[v].downWeight);
      wanted.push_back(weight > 0 ? sum / weight : vertices_[v].x);
    }
    settle(layer, wanted);
  };
  for (int round = 0; round < 8; ++round) {
    for (size_t l = 1; l < layers_.size(); ++l) align(layers_[l], true, false);
    for (size_t l = layers_.size(); l-- > 1;) align(layers_[l - 1], false, true);
  }
  for (int round = 0; round < 24; ++round) {
    for (size_t l = 0; l < layers_.size(); ++l) align(layers_[l], true, true);
    for (size_t l = layers_.size(); l-- > 0;) align(layers_[l], true, true);
  }
}

/// Sets the crossings of a long edge on one vertical where its neighbours leave room for one.
void Layering::straighten() {
  std::vector<size_t> position(vertices_.size());
  for (const auto& layer : layers_)
    for (size_t i = 0; i < layer.size(); ++i) position[layer[i]] = i;
  for (const auto& chain : chains_) {
    if (chain.size() < 4) continue;
    double low = -std::numeric_limits<double>::infinity(), high = -low, sum = 0;
    for (size_t i = 1; i + 1 < chain.size(); ++i) {
      const auto& layer = layers_[vertices_[chain[i]].layer];
      const size_t at = position[chain[i]];
      sum += vertices_[chain[i]].x;
      if (at > 0) low = std::max(low, vertices_[layer[at - 1]].x + distance(layer[at - 1], layer[at]));
      if (at + 1 < layer.size()) high = std::min(high, vertices_[layer[at + 1]].x - distance(layer[at], layer[at + 1]));
    }
    if (low > high) continue;
    const double x = std::clamp(sum / static_cast<double>(chain.size() - 2), low, high);
    for (size_t i = 1; i + 1 < chain.size(); ++i) vertices_[chain[i]].x = x;
  }
}

/// Between the middles of neighbours in a layer, at least.
double Layering::distance(int left, int right) const {
  const Vertex &a = vertices_[left], &b = vertices_[right];
  const bool bothEdges = a.height == 0 && b.height == 0;
  return (a.width + b.width) / 2 + (bothEdges ? 0 : spacing_.box);
}

/// The places closest to the wanted ones (least squares, by weight) that keep order and distances: isotonic regression
/// by pooling neighbours that get in each other's way.
void Layering::settle(const std::vector<int>& layer, const std::vector<double>& wanted) {
  struct Pool {
    double sum, weight;
    size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<double> offset(layer.size(), 0);
  for (size_t i = 1; i < layer.size(); ++i) offset[i] = offset[i - 1] + distance(layer[i - 1], layer[i]);
  std::vector<Pool> pools;
  for (size_t i = 0; i < layer.size(); ++i) {
    const double w = vertices_[layer[i]].pull;
    pools.push_back({(wanted[i] - offset[i]) * w, w, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  size_t i = 0;
  for (const Pool& pool : pools)
    for (size_t k = 0; k < pool.count; ++k, ++i) vertices_[layer[i]].x = pool.mean() + offset[i];
}

LayeredLayout Layering::finish() const {
  LayeredLayout out;
  std::vector<double> top(layers_.size(), 0), bottom(layers_.size(), 0);
  for (size_t l = 0; l < layers_.size(); ++l) {
    top[l] = bottom[l] = l ? bottom[l - 1] + spacing_.layer : 0;
    for (int v : layers_[l]) bottom[l] = std::max(bottom[l], top[l] + vertices_[v].height);
    out.height = bottom[l];
  }
  double left = std::numeric_limits<double>::infinity();
  for (const Vertex& v : vertices_) left = std::min(left, v.x - v.width / 2);
  for (const Vertex& v : vertices_) out.width = std::max(out.width, v.x + v.width / 2 - left);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const Vertex& v = vertices_[i];
    const double slack = bottom[v.layer] - top[v.layer] - v.height;
    const double share = v.up.empty() ? 1 : v.down.empty() ? 0 : 0.5;  // close to its only neighbours
    out.corners.push_back({v.x - left - v.width / 2, top[v.layer] + slack * share});
  }
  const std::vector<double> leaveX = ports(out, true), enterX = ports(out, false);
  for (size_t e = 0; e < edges_.size(); ++e) {
    const int from = edges_[e].from, to = edges_[e].to;
    std::vector<LayoutPoint> route{{leaveX[e], out.corners[from].y + boxes_[from].height}};
    if (const double end = bottom[vertices_[from].layer]; end > route.back().y) route.push_back({leaveX[e], end});
    for (size_t i = 1; i + 1 < chains_[e].size(); ++i) {
      const Vertex& v = vertices_[chains_[e][i]];
      route.push_back({v.x - left, top[v.layer]});
      route.push_back({v.x - left, bottom[v.layer]});
    }
    if (const double begin = top[vertices_[to].layer]; begin < out.corners[to].y) route.push_back({enterX[e], begin});
    route.push_back({enterX[e], out.corners[to].y});
    out.routes.push_back(std::move(route));
  }
  return out;
}

/// Where each edge leaves its upper box (or enters its lower one): side by side, in the order of the other ends.
std::vector<double> Layering::ports(const LayeredLayout& layout, bool leaving) const {
  std::vector<std::vector<size_t>> edgesOf(boxes_.size());
  for (size_t e = 0; e < edges_.size(); ++e) edgesOf[leaving ? edges_[e].from : edges_[e].to].push_back(e);
  auto otherEnd = [&](size_t e) { return vertices_[leaving ? chains_[e][1] : chains_[e][chains_[e].size() - 2]].x; };
  std::vector<double> out(edges_.size());
  for (size_t v = 0; v < boxes_.size(); ++v) {
    auto& list = edgesOf[v];
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) { return otherEnd(a) < otherEnd(b); });
    for (size_t i = 0; i < list.size(); ++i) {
      const double share = static_cast<double>(i + 1) / static_cast<double>(list.size() + 1);
      out[list[i]] = layout.corners[v].x + boxes_[v].width * share;
    }
  }
  return out;
}

}  // namespace

LayeredLayout layoutLayers(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges,
                           const LayoutSpacing& spacing) {
  return Layering(boxes, edges, spacing).run();
}

}  // namespace tokamak
