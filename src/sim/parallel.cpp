#include "sim/parallel.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "sparse/stream/run/engine.h"

namespace tokamak::sim {

namespace {

using stream::Channel;
using stream::Network;
using stream::Timed;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

uint64_t stepsOf(const Network<Timed>& network) {
  uint64_t steps = 0;
  for (const auto& node : network.nodes()) steps += node->steps();
  return steps;
}

/// What a network does on one thread.
struct Pace {
  std::vector<double> seconds;  // of each node
  double stepsASecond = 0;
};

/// Rounds on one thread, the first half with each node timed; whether the run came to its end.
Result<bool> runTimed(Network<Timed>& network, uint64_t rounds, Pace& pace) {
  pace.seconds.assign(network.nodes().size(), 1e-9);
  for (uint64_t left = rounds / 2; left > 0; --left) {
    bool moved = false, finished = true;
    for (size_t n = 0; n < network.nodes().size(); ++n) {
      stream::RunNode<Timed>& node = *network.nodes()[n];
      if (node.done()) continue;
      finished = false;
      const auto begin = Clock::now();
      moved = node.advance() || moved;
      pace.seconds[n] += secondsSince(begin);
      if (node.fault()) return *node.fault();
    }
    if (finished) return true;
    if (!moved) TK_RETURN_IF_ERROR(growSmallest(network));
  }
  const uint64_t before = stepsOf(network);
  const auto start = Clock::now();
  TK_TRY(const bool ended, stream::runRounds(network, rounds - rounds / 2));
  pace.stepsASecond = static_cast<double>(stepsOf(network) - before) / secondsSince(start);
  return ended;
}

/// Where threads wait for each other between rounds: these are too short to sleep in between.
class Meeting {
 public:
  explicit Meeting(size_t threads) : threads_(threads) {}

  /// Returns when all have come; the last one does `work` before that.
  template <class Work>
  void meet(const Work& work) {
    const uint64_t turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      work();
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (int look = 0; turn_.load(std::memory_order_acquire) == turn; ++look)
      if (look >= kLooks) std::this_thread::yield();  // another's core may be taken
  }

 private:
  static constexpr int kLooks = 20000;
  size_t threads_;
  std::atomic<size_t> arrived_ = 0;
  std::atomic<uint64_t> turn_ = 0;
};

class Crew {
 public:
  Crew(Network<Timed>& network, unsigned threads, const Pace& pace, const std::function<bool()>& pause)
      : network_(network),
        pace_(pace),
        pause_(pause),
        moved_(threads),
        firsts_(threads + 1, 0),
        stepsBefore_(stepsOf(network)),
        end_(threads) {
    shareOut(threads);
    shareChannels();
  }

  /// Whether the run came to its end; else one thread does better.
  Result<bool> run() {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < moved_.size(); ++i) others.emplace_back([this, i] { work(i); });
    work(0);
    others.clear();
    for (const auto& [channel, capacity] : shared_) {
      channel->share(false);
      channel->shrink(capacity);
    }
    for (const auto& node : nodes())
      for (Channel::Reader* reader : node->site().inputs) reader->abroad = false;
    if (!outcome_) return outcome_.error();
    return !givenUp_;
  }

 private:
  struct Shared {
    Channel* channel;
    size_t capacity;  // that it had, and gets again
  };
  struct alignas(64) Moved {
    bool any = false;
  };

  const std::vector<std::unique_ptr<stream::RunNode<Timed>>>& nodes() const { return network_.nodes(); }

  /// Stretches that take about as long each.
  void shareOut(unsigned threads) {
    const double all = std::accumulate(pace_.seconds.begin(), pace_.seconds.end(), 0.0);
    double sum = 0;
    size_t part = 1;
    for (size_t n = 0; n < nodes().size() && part < threads; ++n) {
      const double half = pace_.seconds[n] / 2;  // a node goes where most of it lies
      while (part < threads && (sum + half) * threads >= all * static_cast<double>(part)) firsts_[part++] = n;
      sum += 2 * half;
    }
    for (; part <= threads; ++part) firsts_[part] = nodes().size();
  }

  void shareChannels() {
    std::unordered_map<const Channel*, size_t> home;
    const auto partOf = [&](size_t n) { return std::ranges::upper_bound(firsts_, n) - firsts_.begin(); };
    for (size_t n = 0; n < nodes().size(); ++n)
      for (const Channel* channel : nodes()[n]->site().outputs) home[channel] = static_cast<size_t>(partOf(n));
    for (size_t n = 0; n < nodes().size(); ++n)
      for (Channel::Reader* reader : nodes()[n]->site().inputs) {
        if (home.at(reader->channel) == static_cast<size_t>(partOf(n))) continue;
        reader->abroad = true;
        if (std::ranges::find(shared_, reader->channel, &Shared::channel) != shared_.end()) continue;
        shared_.push_back({reader->channel, reader->channel->capacity()});
        if (reader->channel->elements() == 0)
          while (reader->channel->capacity() < kShared) reader->channel->grow();
        reader->channel->share(true);
      }
  }

  void work(size_t part) {
    while (!stop_) {
      bool moved = false;
      for (int pass = 0; pass < kPasses; ++pass) {
        bool now = false;
        for (size_t n = firsts_[part]; n < firsts_[part + 1]; ++n)
          if (!nodes()[n]->done() && !nodes()[n]->fault()) now = nodes()[n]->advance() || now;
        moved = moved || now;
        if (!now) break;
      }
      moved_[part].any = moved;
      end_.meet([this] { endRound(); });
    }
  }

  /// One thread sees to everything between two rounds.
  void endRound() {
    bool moved = false, finished = true;
    for (const auto& node : nodes()) {
      finished = finished && node->done();
      if (!node->fault()) continue;
      outcome_ = *node->fault();
      stop_ = true;
      return;
    }
    for (const Moved& one : moved_) moved = moved || one.any;
    for (const Shared& one : shared_) one.channel->publish();
    if (finished) stop_ = true;
    if (!finished && !moved) {
      outcome_ = growSmallest(network_);
      stop_ = !outcome_;
    }
    if (++rounds_ % 64 == 0) network_.cool();
    if (rounds_ % 64 == 0 && pause_ && !pause_()) stop_ = true;
    if (rounds_ == kTrial && !stop_) {
      const double steps = static_cast<double>(stepsOf(network_) - stepsBefore_);
      givenUp_ = stop_ = steps / secondsSince(start_) < pace_.stepsASecond;
    }
  }

  static constexpr size_t kShared = 32768;  // tokens of a stream between threads
  static constexpr int kPasses = 16;
  static constexpr uint64_t kTrial = 256;  // rounds after which it is known whether threads pay

  Network<Timed>& network_;
  const Pace& pace_;
  const std::function<bool()>& pause_;
  std::vector<Moved> moved_;    // by thread
  std::vector<size_t> firsts_;  // of the nodes of each thread, and their end
  std::vector<Shared> shared_;
  Result<> outcome_ = Unit{};
  bool stop_ = false, givenUp_ = false;  // written between rounds only
  uint64_t rounds_ = 0, stepsBefore_;
  Clock::time_point start_ = Clock::now();
  Meeting end_;
};

}  // namespace

Result<> runOnThreads(Network<Timed>& network, unsigned threads, const std::function<bool()>& pause,
                      uint64_t roundsAlone) {
  const auto most = static_cast<unsigned>(std::max<size_t>(network.nodes().size() / 2, 1));
  threads = std::min(threads, most);
  if (threads <= 1) return stream::runNetwork(network, pause);
  Pace pace;
  TK_TRY(const bool ended, runTimed(network, roundsAlone, pace));
  if (ended) return Unit{};
  TK_TRY(const bool finished, Crew(network, threads, pace, pause).run());
  return finished ? Result<>(Unit{}) : stream::runNetwork(network, pause);
}

}  // namespace tokamak::sim
