#pragma once

#include <string>
#include <string_view>

namespace tokamak::kernel {

/// `[A-Za-z_][A-Za-z0-9_]*`: what buffers, variables, symbols and kernels are called in text.
bool isIdentifier(std::string_view name);

/// Words with a meaning of their own in kernel text. No variable or buffer bears one; a symbol that does is written
/// `$load`.
bool isReserved(std::string_view name);

/// The nearest identifier: `%3` becomes `_3`. Empty gives `v`.
std::string asIdentifier(std::string_view name);

}  // namespace tokamak::kernel
