#pragma once

#include <atomic>
#include <cstdint>

namespace tokamak::runtime {

/// Whether other programs hold the cores, told from how long loops wait to be joined.
///
/// A thread that is woken on a taken core begins when the scheduler next comes round to it, milliseconds later, and
/// whoever shared a loop with it waits as long. Such a stall sends loops to their caller's thread alone for a few times
/// as long; then one loop is shared again, to see. Stalls that follow one another double that time, so that cores that
/// are taken for long cost few of them and cores that were taken for a moment are soon used again.
///
///   if (crowding.alone(now)) return runHere();
///   if (crowding.joined(threads, begun, own, now()) && wasSwitchedOut()) crowding.watch(now());
///
/// A caller that was itself switched out, for its helper as likely as not, seems to have worked long. Once that was
/// seen, loops are watched for a while: their callers' time on the processor is asked for, which takes longer than to
/// look at a clock.
///
/// Times are nanoseconds of any one clock. One object serves any number of threads; what they tell it at once may get
/// lost, which costs one more stall.
class Crowding {
 public:
  /// Whether a loop that begins now stays on its caller's thread. `now` is a clock, asked where there has been a stall.
  template <class Clock>
  bool alone(const Clock& now) {
    const int64_t until = until_.load(std::memory_order_relaxed);
    if (until == 0) return false;
    if (now() < until) return true;
    until_.store(0, std::memory_order_relaxed);
    return false;
  }

  /// Of a loop that `threads` threads shared: when it was begun, how long its caller took for its own part, and when
  /// all had done theirs. Whether it took so long that there may have been a stall all the same.
  bool joined(int64_t threads, int64_t begun, int64_t own, int64_t end) {
    if (end - begun < kStall) [[likely]]
      return false;
    const int64_t lost = (end - begun) - threads * own;  // against the caller alone
    if (lost >= kStall) stalled(lost, end);
    return lost < kStall;
  }

  void watch(int64_t now) { watched_.store(now + kWatched, std::memory_order_relaxed); }
  bool isWatched(int64_t now) const { return now < watched_.load(std::memory_order_relaxed); }

 private:
  /// Waking a thread on a free core takes a tenth of it, a turn of the scheduler several times as long.
  static constexpr int64_t kStall = 500'000;
  static constexpr int64_t kTimesLost = 4, kLongest = 1'000'000'000, kWatched = 2 * kLongest;

  void stalled(int64_t lost, int64_t end);

  std::atomic<int64_t> until_ = 0;    // loops are run alone until then; 0: they are shared
  std::atomic<int64_t> last_ = 0;     // end of the last such time
  std::atomic<int64_t> length_ = 0;   // of it
  std::atomic<int64_t> watched_ = 0;  // until then
};

}  // namespace tokamak::runtime
