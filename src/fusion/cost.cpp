#include "fusion/cost.h"

#include <set>

namespace tokamak {

double likely(const Dim& dim, const DimBindings& hints) {
  if (auto c = dim.constant()) return static_cast<double>(*c);
  std::set<std::string, std::less<>> symbols;
  dim.collectSymbols(symbols);
  DimBindings bindings;
  for (const auto& symbol : symbols) {
    auto it = hints.find(symbol);
    bindings[symbol] = it == hints.end() ? 1024 : it->second;
  }
  const auto value = dim.eval(bindings);
  return value ? static_cast<double>(*value) : 1024.0;
}

}  // namespace tokamak
