#include "sim/parallel.h"

#include <barrier>
#include <thread>
#include <unordered_map>

#include "sparse/stream/run/engine.h"

namespace tokamak::sim {

namespace {

using stream::Channel;
using stream::Network;
using stream::Timed;

class Crew {
 public:
  Crew(Network<Timed>& network, unsigned threads, const std::function<bool()>& pause)
      : network_(network), pause_(pause), moved_(threads), firsts_(threads + 1, 0), end_(threads, EndRound{this}) {
    shareOut(threads);
    shareChannels();
  }

  Result<> run() {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < moved_.size(); ++i) others.emplace_back([this, i] { work(i); });
    work(0);
    others.clear();
    for (Channel* channel : shared_) channel->share(false);
    return std::move(outcome_);
  }

 private:
  struct EndRound {
    Crew* crew;
    void operator()() noexcept { crew->endRound(); }
  };
  struct alignas(64) Moved {
    bool any = false;
  };

  const std::vector<std::unique_ptr<stream::RunNode<Timed>>>& nodes() const { return network_.nodes(); }

  /// Stretches with about as many steps each, as far as steps were made.
  void shareOut(unsigned threads) {
    uint64_t all = 0, sum = 0;
    for (const auto& node : nodes()) all += node->steps() + 1;
    size_t part = 1;
    for (size_t n = 0; n < nodes().size() && part < threads; ++n) {
      sum += nodes()[n]->steps() + 1;
      while (part < threads && sum * threads >= all * part) firsts_[part++] = n + 1;
    }
    for (; part <= threads; ++part) firsts_[part] = nodes().size();
  }

  void shareChannels() {
    std::unordered_map<const Channel*, size_t> home;
    const auto partOf = [&](size_t n) { return std::ranges::upper_bound(firsts_, n) - firsts_.begin(); };
    for (size_t n = 0; n < nodes().size(); ++n)
      for (const Channel* channel : nodes()[n]->site().outputs) home[channel] = static_cast<size_t>(partOf(n));
    for (size_t n = 0; n < nodes().size(); ++n)
      for (const Channel::Reader* reader : nodes()[n]->site().inputs) {
        if (home.at(reader->channel) == static_cast<size_t>(partOf(n))) continue;
        if (std::ranges::find(shared_, reader->channel) != shared_.end()) continue;
        if (reader->channel->elements() == 0)
          while (reader->channel->capacity() < kShared) reader->channel->grow();
        reader->channel->share(true);
        shared_.push_back(reader->channel);
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
      end_.arrive_and_wait();
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
    for (Channel* channel : shared_) channel->publish();
    if (finished) stop_ = true;
    if (!finished && !moved) {
      outcome_ = growSmallest(network_);
      stop_ = !outcome_;
    }
    if (++rounds_ % 64 == 0) network_.cool();
    if (rounds_ % 64 == 0 && pause_ && !pause_()) stop_ = true;
  }

  static constexpr size_t kShared = 16384;  // tokens of a stream between threads
  static constexpr int kPasses = 8;

  Network<Timed>& network_;
  const std::function<bool()>& pause_;
  std::vector<Moved> moved_;    // by thread
  std::vector<size_t> firsts_;  // of the nodes of each thread, and their end
  std::vector<Channel*> shared_;
  Result<> outcome_ = Unit{};
  bool stop_ = false;  // written between rounds only
  uint64_t rounds_ = 0;
  std::barrier<EndRound> end_;
};

}  // namespace

Result<> runOnThreads(Network<Timed>& network, unsigned threads, const std::function<bool()>& pause,
                      uint64_t roundsAlone) {
  const auto most = static_cast<unsigned>(std::max<size_t>(network.nodes().size() / 2, 1));
  threads = std::min(threads, most);
  if (threads <= 1) return stream::runNetwork(network, pause);
  TK_TRY(const bool finished, stream::runRounds(network, roundsAlone));
  return finished ? Result<>(Unit{}) : Crew(network, threads, pause).run();
}

}  // namespace tokamak::sim
