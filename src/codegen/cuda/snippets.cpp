#include "codegen/cuda/snippets.h"

#include "codegen/cuda/snippet_tables.h"
#include "support/check.h"

namespace tokamak::codegen::cuda {

/// In order of definition.
static const std::vector<Snippet>& table() {
  static const std::vector<Snippet> all = [] {
    std::vector<Snippet> out = arithmeticSnippets();
    out.insert(out.end(), memorySnippets().begin(), memorySnippets().end());
    return out;
  }();
  return all;
}

void Snippets::add(std::string_view name) {
  const auto& all = table();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    if (used_.insert(i).second)
      for (std::string_view need : all[i].needs) add(need);
    return;
  }
  failCheck("a snippet of the table", __FILE__, __LINE__, name);
}

std::string Snippets::use(std::string_view name) {
  add(name);
  return "tk::" + std::string(name);
}

std::string Snippets::text() const {
  if (used_.empty()) return {};
  std::string out = "#define D __device__ __forceinline__\nnamespace tk {\n";
  for (size_t i : used_) out += table()[i].text;
  return out + "}  // namespace tk\n";
}

}  // namespace tokamak::codegen::cuda
