#include "sim/random_stream_test.h"

#include <fmt/format.h>

#include <random>

#include "sparse/stream/builder.h"

namespace tokamak::sim {

namespace {

using namespace stream;

/// Streams with the same fibers. Values and references in it may meet.
struct Context {
  const Context* parent = nullptr;
  StreamId crd;
  std::map<std::string, StreamId> refs;
  std::vector<StreamId> vals;
};

class Generator {
 public:
  Generator(uint64_t seed, int64_t extent) : random_(seed), builder_(fmt::format("random_{}", seed)) {
    if (extent > 1) block_ = {extent, extent};
  }

  RandomProgram run() {
    depth_ = 1 + below(3);
    for (size_t d = 0; d < depth_; ++d) sizes_.push_back(1 + static_cast<int64_t>(below(6)));
    const size_t tensors = 1 + below(3);
    for (size_t i = 0; i < tensors; ++i) addTensor(fmt::format("T{}", i));
    Context root;
    for (const auto& [name, levels] : levelsOf_) root.refs[name] = builder_.root(name);
    const Context* leaf = nest(&root, 0);
    finish(leaf);
    auto graph = std::move(builder_).finish();
    TK_CHECK(graph.ok(), graph ? "" : graph.error().str());
    RandomProgram program{std::move(*graph), std::move(data_)};
    std::erase_if(program.data, [&](const auto& entry) { return program.graph.tensor(entry.first) == nullptr; });
    return program;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  bool chance(size_t percent) { return below(100) < percent; }

  /// Levels at some of the depths of the nest, of any format, with random data.
  void addTensor(const std::string& name) {
    TensorStorage storage;
    std::vector<Level> levels;
    for (size_t d = 0; d < depth_; ++d) {
      if (chance(35) && !(d + 1 == depth_ && levels.empty())) continue;
      const LevelFormat format = chance(45)                     ? LevelFormat::dense
                                 : chance(85) || levels.empty() ? LevelFormat::compressed
                                                                : LevelFormat::singleton;
      levels.push_back({format, chance(50) ? sizes_[d] : -1});
      levelsOf_[name].push_back(d);
      storage.levels.push_back({format, sizes_[d], {}, {}});
    }
    fill(storage);
    storage.block = block_;
    builder_.input(name, levels, block_);
    data_.emplace(name, std::move(storage));
  }

  void fill(TensorStorage& storage) {
    int64_t positions = 1;
    for (LevelStorage& level : storage.levels) {
      if (level.format == LevelFormat::dense) {
        positions *= level.size;
        continue;
      }
      const size_t density = below(101);
      if (level.format == LevelFormat::compressed) level.pos.push_back(0);
      for (int64_t p = 0; p < positions; ++p) {
        if (level.format == LevelFormat::singleton) {
          level.crd.push_back(static_cast<int32_t>(below(static_cast<size_t>(level.size))));
          continue;
        }
        for (int64_t c = 0; c < level.size; ++c)
          if (chance(density)) level.crd.push_back(static_cast<int32_t>(c));
        level.pos.push_back(static_cast<int64_t>(level.crd.size()));
      }
      positions = static_cast<int64_t>(level.crd.size());
    }
    const size_t elements = block_.empty() ? 1 : static_cast<size_t>(block_[0] * block_[1]);
    for (int64_t i = 0; i < positions; ++i)
      storage.values.insert(storage.values.end(), elements, static_cast<double>(below(9)) - 4);
  }

  Context* newContext(const Context* parent, StreamId crd) {
    contexts_.push_back(std::make_unique<Context>(Context{parent, crd, {}, {}}));
    return contexts_.back().get();
  }

  int levelAt(const std::string& name, size_t depth) const {
    const std::vector<size_t>& depths = levelsOf_.at(name);
    const auto found = std::ranges::find(depths, depth);
    return found == depths.end() ? -1 : static_cast<int>(found - depths.begin());
  }

  const Context* nest(const Context* context, size_t depth) {
    if (depth == depth_) return withValues(context);
    if (depth > 0 && depth + 1 == depth_ && chance(25)) return lanes(context, depth);
    const Context* next = enter(context, depth);
    return nest(next, depth + 1);
  }

  /// One more loop: those with a level here are scanned and joined, or located; the others repeat.
  Context* enter(const Context* context, size_t depth) {
    std::vector<std::string> iterated, located;
    for (const auto& [name, ref] : context->refs) {
      const int level = levelAt(name, depth);
      if (level < 0) continue;
      const bool dense = data_.at(name).levels[static_cast<size_t>(level)].format == LevelFormat::dense;
      (dense && !iterated.empty() && chance(50) ? located : iterated).push_back(name);
    }
    std::vector<Builder::Fiber> fibers;
    for (const std::string& name : iterated)
      fibers.push_back(builder_.scan(name, levelAt(name, depth), context->refs.at(name)));
    if (fibers.empty()) fibers.push_back(range(depth, context));
    Context* next = newContext(context, fibers[0].crd);
    if (fibers.size() == 1) {
      if (!iterated.empty()) next->refs[iterated[0]] = fibers[0].ref;
      along_ = fibers[0].ref;
    } else {
      const auto merged = builder_.join(chance(50) ? JoinKind::intersect : JoinKind::unite, fibers);
      next->crd = merged.crd;
      for (size_t i = 0; i < iterated.size(); ++i) next->refs[iterated[i]] = merged.payloads[i];
      along_ = chance(50) ? merged.crd : merged.payloads[0];
    }
    for (const std::string& name : located) locate(name, depth, context, next);
    for (const auto& [name, ref] : context->refs)
      if (!next->refs.contains(name)) next->refs[name] = builder_.repeat(ref, along_);
    return next;
  }

  void locate(const std::string& name, size_t depth, const Context* context, Context* next) {
    const StreamId parent = builder_.repeat(context->refs.at(name), along_);
    const StreamId passed = next->refs.begin()->second;
    next->refs[name] = builder_.locate(name, levelAt(name, depth), next->crd, passed, parent).ref;
  }

  Builder::Fiber range(size_t depth, const Context* context) {
    const std::string name = fmt::format("range{}", ranges_++);
    builder_.input(name, {{LevelFormat::dense, sizes_[depth]}});
    TensorStorage storage;
    storage.levels.push_back({LevelFormat::dense, sizes_[depth], {}, {}});
    data_.emplace(name, std::move(storage));
    StreamId ref = builder_.root(name);
    std::vector<const Context*> path;
    for (const Context* c = context; c->parent != nullptr; c = c->parent) path.insert(path.begin(), c);
    for (const Context* c : path) ref = builder_.repeat(ref, c->crd);
    return builder_.scan(name, 0, ref);
  }

  Context* withValues(const Context* context) {
    auto* leaf = const_cast<Context*>(context);
    for (const auto& [name, ref] : leaf->refs) leaf->vals.push_back(builder_.array(name, ref));
    StreamId value = leaf->vals[0];
    for (size_t i = 1; i < leaf->vals.size(); ++i) value = builder_.alu(anyOp(), {value, leaf->vals[i]});
    if (chance(30)) value = builder_.aluScalar(AluOp::max, value, 0);
    if (chance(20)) value = builder_.aluScalarFirst(AluOp::sub, 1, value);
    if (chance(10)) value = builder_.alu(AluOp::select, {value, leaf->vals[0], leaf->vals.back()});
    leaf->vals = {value};
    return leaf;
  }
  AluOp anyOp() { return std::array{AluOp::mul, AluOp::add, AluOp::sub, AluOp::max, AluOp::min}[below(5)]; }
  FoldOp anyFold() { return std::array{FoldOp::add, FoldOp::max, FoldOp::min, FoldOp::add}[below(4)]; }

  /// The innermost loop shared out over lanes, each with its own blocks.
  const Context* lanes(const Context* context, size_t depth) {
    const int count = 2 + static_cast<int>(below(2));
    std::map<std::string, std::vector<StreamId>> forked;
    for (const auto& [name, ref] : context->refs) forked[name] = builder_.fork(ref, count);
    const std::vector<StreamId> crds = builder_.fork(context->crd, count);
    const bool reduced = chance(40);
    std::vector<StreamId> outCrds, outVals;
    for (size_t lane = 0; lane < static_cast<size_t>(count); ++lane) {
      Context* inLane = newContext(context->parent, crds[lane]);
      for (const auto& [name, refs] : forked) inLane->refs[name] = refs[lane];
      Context* leaf = withValues(enter(inLane, depth));
      outCrds.push_back(leaf->crd);
      outVals.push_back(reduced ? builder_.reduce(FoldOp::add, leaf->vals[0]) : leaf->vals[0]);
    }
    Context* joined =
        reduced ? newContext(context->parent, context->crd) : newContext(context, builder_.join(outCrds, 1));
    joined->vals = {builder_.join(outVals, reduced ? 0 : 1)};
    return joined;
  }

  void finish(const Context* leaf) {
    const Context* context = leaf;
    StreamId value = leaf->vals[0];
    for (size_t round = below(4); round > 0 && context->parent != nullptr; --round) {
      const bool deep = context->parent->parent != nullptr;
      if (deep && chance(40)) {
        const auto sum = builder_.spacc(anyFold(), {context->parent->crd}, context->crd, value);
        context = newContext(context->parent->parent, sum.crds[0]);
        value = sum.val;
      } else if (chance(40)) {  // as softmax does
        const StreamId total = builder_.repeat(builder_.reduce(anyFold(), value), context->crd);
        value = builder_.alu(AluOp::sub, {value, total});
      } else {
        value = builder_.reduce(anyFold(), value, chance(20) ? std::optional<double>(1) : std::nullopt);
        context = context->parent;
      }
    }
    write(context, value);
  }

  void write(const Context* context, StreamId value) {
    std::vector<StreamId> crds;
    for (const Context* c = context; c->parent != nullptr; c = c->parent) crds.insert(crds.begin(), c->crd);
    builder_.output("X", std::vector<Level>(crds.size(), {LevelFormat::compressed, -1}), block_);
    if (crds.size() >= 2 && chance(40)) {
      const auto kept = builder_.drop(crds[crds.size() - 2], crds.back());
      crds[crds.size() - 2] = kept.outer;
      crds.back() = kept.inner;
    }
    for (size_t i = 0; i < crds.size(); ++i) builder_.writeLevel("X", static_cast<int>(i), crds[i]);
    builder_.writeValues("X", value);
  }

  std::mt19937_64 random_;
  Builder builder_;
  size_t depth_ = 1, ranges_ = 0;
  std::vector<int64_t> sizes_, block_;
  std::map<std::string, std::vector<size_t>> levelsOf_;  // depths of each tensor's levels
  Storages data_;
  std::vector<std::unique_ptr<Context>> contexts_;
  StreamId along_;  // what the next repeat runs along
};

}  // namespace

RandomProgram randomProgram(uint64_t seed, int64_t extent) { return Generator(seed, extent).run(); }

}  // namespace tokamak::sim
