#include "search/data.h"

#include <fmt/format.h>

#include "sparse/lower/execute.h"
#include "support/hash.h"

namespace tokamak::search {

namespace {

template <class T>
uint64_t hashOf(const std::vector<T>& items, uint64_t seed) {
  return hashBytes({reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)}, seed);
}

}  // namespace

std::shared_ptr<const sparse::Tensor> Data::tensor(const sparse::TableTensor& wanted) const {
  const std::string key = fmt::format("{} {} {}", wanted.of, static_cast<int>(wanted.source), wanted.format.str());
  {
    const std::lock_guard guard(lock_);
    if (const auto known = converted_.find(key); known != converted_.end()) return known->second;
  }
  const auto from = tensors_.find(wanted.of);
  if (from != tensors_.end() && wanted.source == sparse::TableSource::data && from->second.format == wanted.format)
    return {std::shared_ptr<void>(), &from->second};
  auto made = std::make_shared<const sparse::Tensor>(
      sparse::tableInput(wanted, from == tensors_.end() ? nullptr : &from->second));
  const std::lock_guard guard(lock_);
  return converted_.try_emplace(key, std::move(made)).first->second;
}

stream::Inputs Data::views(const sparse::Table& table, std::vector<std::shared_ptr<const sparse::Tensor>>& keep) const {
  stream::Inputs out;
  for (const sparse::TableTensor& wanted : table.tensors) {
    if (wanted.source == sparse::TableSource::result) continue;
    keep.push_back(tensor(wanted));
    out[wanted.name] = sparse::viewOf(*keep.back());
  }
  return out;
}

uint64_t Data::digest(const std::string& name) const {
  const std::lock_guard guard(lock_);
  const auto [known, added] = digests_.try_emplace(name, 0);
  if (!added) return known->second;
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return 0;  // a range: its size says all
  uint64_t hash = hashBytes(found->second.format.str());
  for (const sparse::LevelStorage& level : found->second.levels)
    hash = hashOf(level.crd, hashOf(level.pos, hashMix(hash, static_cast<uint64_t>(level.size))));
  return known->second = hash;
}

uint64_t Data::digest(const sparse::Table& table) const {
  uint64_t hash = 0;
  for (const sparse::TableTensor& tensor : table.tensors)
    if (tensor.source != sparse::TableSource::result)
      hash = hashMix(hash, hashMix(digest(tensor.of), hashBytes(tensor.format.str())));
  return hash;
}

}  // namespace tokamak::search
