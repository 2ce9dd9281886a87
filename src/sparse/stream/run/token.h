#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace tokamak::stream {

/// One token in 8 bytes. Coordinates and references are non-negative integers, values the bits of a double; what is at
/// or above `kControl` is a control token. As a double that range holds only NaNs with a payload that no arithmetic
/// makes; values from outside pass through `valueWord`, which gives every NaN the common bits.
///
/// A stop knows how many of its innermost levels are *hollow*: a scan that meets S(n) without a reference before it has
/// no fiber to end there, and what it puts, S(n+1) with one more hollow level, ends only the fibers above. So a reducer
/// can tell the end of an empty fiber (a value, zero) from the absence of one (no value).
using Word = uint64_t;
using Stamp = uint64_t;

constexpr Word kControl = 0xFFFC'0000'0000'0000;
constexpr Word kAbsent = kControl | 1u << 16;  // N
constexpr Word kDone = kControl | 2u << 16;    // D
constexpr Word kHollow = 1u << 8;              // one hollow level
constexpr Word kHollowMask = 0xff00;

constexpr bool isControl(Word w) { return w >= kControl; }
constexpr bool isStop(Word w) { return w - kControl < 1u << 16; }
constexpr Word stop(unsigned level) { return kControl | level; }
constexpr unsigned stopLevel(Word w) { return static_cast<unsigned>(w & 0xff); }
constexpr unsigned hollowLevels(Word w) { return static_cast<unsigned>(w >> 8 & 0xff); }
/// Equal tokens; of stops only the level counts.
constexpr bool sameControl(Word a, Word b) { return ((a ^ b) & ~kHollowMask) == 0; }
/// The stop one level up that a scan or repeat puts for a stop without a value before it.
constexpr Word raisedHollow(Word w) { return w + 1 + kHollow; }
/// What is left of a stop S(n), n > 0, once its innermost level is folded.
constexpr Word loweredStop(Word w) { return w - 1 - ((w & kHollowMask) != 0 ? kHollow : 0); }

constexpr Word bitsOf(double value) { return std::bit_cast<Word>(value); }
constexpr double valueOf(Word word) { return std::bit_cast<double>(word); }
constexpr Word valueWord(double value) { return value == value ? bitsOf(value) : Word{0x7FF8'0000'0000'0000}; }

/// `17`, `S1`, `N`, `D`: for diagnostics.
std::string tokenText(Word word, bool isValue);

}  // namespace tokamak::stream
