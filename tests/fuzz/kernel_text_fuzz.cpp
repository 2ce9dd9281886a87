#include <cstdint>
#include <string_view>

#include "kernel/kernel.h"
#include "support/check.h"

/// Any text is a diagnostic or a kernel, and a kernel's text comes back the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tokamak::kernel;
  auto kernel = parseKernel({reinterpret_cast<const char*>(data), size}, "fuzz.tk");
  if (!kernel.ok()) return 0;
  (void)verify(*kernel).ok();
  const std::string text = print(*kernel);
  auto again = parseKernel(text);
  TK_CHECK(again.ok(), text);
  TK_CHECK(print(*again) == text, text);
  return 0;
}
