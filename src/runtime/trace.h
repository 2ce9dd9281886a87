#pragma once

#include <string>
#include <string_view>

#include "runtime/executable.h"

namespace tokamak::runtime {

/// A profile as a table for terminals, a line a step: time, bytes, GB/s and, given what a plain copy reaches, the
/// fraction of that.
///
///   kernel        time      bytes     GB/s    of a copy
///   reduce_0      27.1 us   268 MB    9900    ...
std::string profileTable(const Profile& profile, double copyBytesPerSecond = 0);

/// The same as a file for chrome://tracing and Perfetto: steps one after another on one track.
std::string chromeTrace(const Profile& profile, std::string_view program);

}  // namespace tokamak::runtime
