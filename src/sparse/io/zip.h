#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tokamak::sparse {

/// The files of a zip archive by name, stored or deflated, checksums checked. T0907 says what is wrong with it. Sizes
/// in the archive are not believed: nothing is allocated beyond `limit` bytes in all.
Result<std::map<std::string, std::string>> parseZip(std::string_view bytes, const std::string& name,
                                                    size_t limit = size_t{1} << 36);
/// An archive with the files stored. Sizes and places from `wide` on are written with eight bytes (zip64), as the
/// format demands of those that four bytes cannot say.
std::string formatZip(const std::map<std::string, std::string>& files, uint64_t wide = 0xffffffff);

}  // namespace tokamak::sparse
