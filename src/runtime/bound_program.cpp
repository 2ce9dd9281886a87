#include "runtime/bound_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "support/hash.h"

namespace tokamak::runtime {

namespace {

constexpr int kInlineSymbols = 16;

}  // namespace

/// Up to `capacity` bindings, least recently used first to go. A lookup takes a lock for a short scan.
class BoundProgram::Cache {
 public:
  explicit Cache(int capacity) : capacity_(std::max(1, capacity)) {}

  std::shared_ptr<const Binding> find(std::span<const int64_t> symbols, uint64_t hash) {
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.hash != hash || !std::ranges::equal(entry.binding->symbols, symbols)) continue;
      entry.lastUse = ++clock_;
      return entry.binding;
    }
    return nullptr;
  }

  void insert(std::shared_ptr<const Binding> binding, uint64_t hash) {
    std::lock_guard lock(mutex_);
    if (static_cast<int>(entries_.size()) < capacity_) {
      entries_.push_back({hash, ++clock_, std::move(binding)});
      return;
    }
    auto oldest = std::ranges::min_element(entries_, {}, &Entry::lastUse);
    *oldest = {hash, ++clock_, std::move(binding)};
  }

 private:
  struct Entry {
    uint64_t hash, lastUse;
    std::shared_ptr<const Binding> binding;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
  int capacity_;
};

BoundProgram::BoundProgram(FlatProgram flat, int cachedBindings)
    : flat_(std::make_unique<const FlatProgram>(std::move(flat))), cache_(std::make_unique<Cache>(cachedBindings)) {}
BoundProgram::~BoundProgram() = default;
BoundProgram::BoundProgram(BoundProgram&&) noexcept = default;

Result<BoundProgram> BoundProgram::create(Program program, int cachedBindings) {
  TK_TRY(FlatProgram flat, FlatProgram::create(std::move(program)));
  BoundProgram bound(std::move(flat), cachedBindings);
  if (bound.flat_->program().symbols.empty()) { TK_TRY(bound.fixed_, bound.flat_->bind({})); }
  return bound;
}

Result<const Binding*> BoundProgram::bind(std::span<const TensorRef> inputs, const DimBindings* dims,
                                          std::shared_ptr<const Binding>& keep) const {
  TK_RETURN_IF_ERROR(flat_->checkKinds(inputs));
  const Binding* binding = fixed_.get();
  if (!binding) {
    TK_RETURN_IF_ERROR(bindSymbols(inputs, dims, keep));
    binding = keep.get();
  }
  TK_RETURN_IF_ERROR(flat_->checkExtents(inputs, *binding));
  return binding;
}

Result<> BoundProgram::bindSymbols(std::span<const TensorRef> inputs, const DimBindings* dims,
                                   std::shared_ptr<const Binding>& keep) const {
  const size_t count = flat_->program().symbols.size();
  std::array<int64_t, kInlineSymbols> small;
  std::vector<int64_t> large(count > kInlineSymbols ? count : 0);
  const std::span<int64_t> values(large.empty() ? small.data() : large.data(), count);
  TK_RETURN_IF_ERROR(flat_->solve(inputs, dims, values));
  uint64_t hash = count;
  for (const int64_t v : values) hash = hashMix(hash, static_cast<uint64_t>(v));
  keep = cache_->find(values, hash);
  if (keep) return Unit{};
  TK_TRY(keep, flat_->bind(values));
  cache_->insert(keep, hash);
  return Unit{};
}

Result<std::shared_ptr<const Binding>> BoundProgram::bind(const DimBindings& dims) const {
  if (fixed_) return fixed_;
  std::vector<int64_t> values(flat_->program().symbols.size());
  TK_RETURN_IF_ERROR(flat_->solve(dims, values));
  return flat_->bind(values);
}

Result<> BoundProgram::checkOutputs(std::span<const TensorRef> outputs, const Binding& binding) const {
  auto wrong = [](std::string message) {
    return Diagnostic{"T0316", {}, std::move(message), "pass dense tensors of the shapes that outputShapes gives"};
  };
  if (static_cast<int>(outputs.size()) != flat_->outputCount())
    return wrong(fmt::format("program {} gives {} outputs, got {}", flat_->program().name, flat_->outputCount(),
                             outputs.size()));
  const int64_t* want = binding.outputExtents.data();
  for (int i = 0; i < flat_->outputCount(); ++i) {
    const Slot& slot = flat_->output(i);
    const TensorRef& got = outputs[i];
    const size_t rank = slot.shape.size();
    if (got.dtype != slot.dtype || got.rank != static_cast<int>(rank) || !std::equal(want, want + rank, got.shape))
      return wrong(fmt::format("output {} ({}): expected {}[{}], got {}", i, slot.name, nameOf(slot.dtype),
                               fmt::join(want, want + rank, ", "), got.str()));
    if (!got.contiguous()) return wrong(fmt::format("output {} ({}) is not dense", i, slot.name));
    if (!got.data && binding.outputBytes[i] > 0) return wrong(fmt::format("output {} ({}) has no data", i, slot.name));
    want += rank;
  }
  return Unit{};
}

std::vector<std::vector<int64_t>> BoundProgram::outputShapes(const Binding& binding) const {
  std::vector<std::vector<int64_t>> shapes;
  auto extent = binding.outputExtents.begin();
  for (int i = 0; i < flat_->outputCount(); ++i) {
    const auto end = extent + static_cast<int64_t>(flat_->output(i).shape.size());
    shapes.emplace_back(extent, end);
    extent = end;
  }
  return shapes;
}

}  // namespace tokamak::runtime
