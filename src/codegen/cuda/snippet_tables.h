#pragma once

#include <string_view>
#include <vector>

/// The texts that Snippets writes in front of kernels.
namespace tokamak::codegen::cuda {

struct Snippet {
  std::string_view name;
  std::vector<std::string_view> needs;
  std::string_view text;
};

/// Numbers: conversions, functions, integers, random words. In order of definition: a snippet needs only those above
/// it.
const std::vector<Snippet>& arithmeticSnippets();
/// How threads reach memory and each other. In order of definition, after those of arithmetic.
const std::vector<Snippet>& memorySnippets();

}  // namespace tokamak::codegen::cuda
