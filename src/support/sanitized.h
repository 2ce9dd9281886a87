#pragma once

namespace tokamak {

/// Whether this is a build with the address or the thread sanitizer, for tests: everything takes several times as long,
/// so they try fewer seeds and allow more time.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tokamak
