#include "sim/hbm/nodes.h"

namespace tokamak::sim {

using stream::isControl;
using stream::isStop;
using stream::kAbsent;
using stream::kDone;

// ---- scan ----

void HbmScanNode::askNext() {
  phase_ = at_ < end_ ? Phase::batch : Phase::stop;
  if (phase_ == Phase::batch) ask(std::min<size_t>(kBatch, static_cast<size_t>(end_ - at_)));
}

void HbmScanNode::answered() {
  if (phase_ == Phase::batch) {
    Out crd(output(0)), ref(output(1));
    for (const int64_t last = std::min<int64_t>(end_, at_ + static_cast<int64_t>(kBatch)); at_ < last; ++at_) {
      clock_.put(crd, static_cast<Word>(level_.crd[static_cast<size_t>(at_)]));
      clock_.put(ref, static_cast<Word>(at_));
      ++work_;
    }
  }
  askNext();
}

void HbmScanNode::go() {
  In in(input(0));
  Out crd(output(0)), ref(output(1));
  const auto putBoth = [&](Word word) {
    clock_.put(crd, word);
    clock_.put(ref, word);
  };
  while (!in.empty() && crd.room() >= kBatch && ref.room() >= kBatch) {
    const Word head = in.head();
    clock_.see(in);
    ++steps_;
    if (phase_ == Phase::stop) {
      putBoth(isStop(head) ? head + 1 : stream::stop(0));
      if (isStop(head)) in.pop(clock_);
      clock_.tick();
      phase_ = Phase::idle;
      continue;
    }
    if (!isControl(head) && head + 1 >= level_.pos.size()) {
      fail("T0961", 0, in, fmt::format("reference {} into a level with {} fibers", head, level_.pos.size() - 1),
           "the stream belongs to another tensor or level");
      return;
    }
    in.pop(clock_);
    if (!isControl(head)) {
      at_ = level_.pos[head];
      end_ = level_.pos[head + 1];
      phase_ = Phase::segment;
      ++fibers_;
      ask(2);
      return;
    }
    if (head == kDone) {
      putBoth(kDone);
      done_ = true;
      return;
    }
    if (head == kAbsent)
      phase_ = Phase::stop;
    else
      putBoth(stream::raisedHollow(head));
    clock_.tick();
  }
}

// ---- array ----

void HbmArrayNode::answered() {
  Out out(output(0));
  for (Word reference : pending_) clock_.put(out, stream::valueWord(values_[reference]));
  work_ += pending_.size();
  if (pending_.size() == kBatch) clock_.tick();  // the last one's step
  pending_.clear();
}

void HbmArrayNode::go() {
  In in(input(0));
  Out out(output(0));
  while (!in.empty() && out.room() >= kBatch + 1) {
    const Word head = in.head();
    clock_.see(in);
    ++steps_;
    if (isControl(head)) {
      if (!pending_.empty()) return ask(pending_.size());
      clock_.put(out, head == kAbsent ? stream::bitsOf(0.0) : head);
      if (head == kDone) {
        done_ = true;
        return;
      }
    } else if (head < values_.size()) {
      pending_.push_back(head);
    } else {
      return fail("T0961", 0, in, fmt::format("reference {} into {} values", head, values_.size()),
                  "the stream belongs to another tensor or level");
    }
    in.pop(clock_);
    if (pending_.size() == kBatch) return ask(kBatch);
    clock_.tick();
  }
}

// ---- writes ----

/// One more word to write. The eighth is sent with the others, and its step ends with the answer.
bool HbmWriteLevelNode::count(size_t& pending) {
  if (++pending < kBatch) {
    clock_.tick();
    return false;
  }
  pending = 0;
  owesTick_ = true;
  ask(kBatch);
  return true;
}

void HbmWriteLevelNode::answered() {
  if (std::exchange(owesTick_, false)) clock_.tick();
}

/// Sends what is pending, coordinates first; whether there was anything.
bool HbmWriteLevelNode::flush() {
  size_t& pending = coordinates_ > 0 ? coordinates_ : segments_;
  if (pending == 0) return false;
  ask(std::exchange(pending, 0));
  return true;
}

void HbmWriteLevelNode::go() {
  In in(input(0));
  while (!in.empty()) {
    const Word head = in.head();
    clock_.see(in);
    ++steps_;
    if (!isControl(head)) {
      level_->crd.push_back(static_cast<int32_t>(head));
      afterStop_ = false;
      in.pop(clock_);
      if (count(coordinates_)) return;
    } else if (isStop(head) && !afterStop_) {
      if (stream::hollowLevels(head) == 0) level_->pos.push_back(static_cast<int64_t>(level_->crd.size()));
      afterStop_ = true;
      in.pop(clock_);
      if (count(segments_)) return;
    } else {
      if (flush()) return;
      if (head == kDone) {
        done_ = true;
        return;
      }
      if (stream::hollowLevels(head) == 0) level_->pos.push_back(static_cast<int64_t>(level_->crd.size()));
      in.pop(clock_);
    }
  }
}

void HbmWriteValuesNode::go() {
  In in(input(0));
  while (!in.empty()) {
    const Word head = in.head();
    clock_.see(in);
    ++steps_;
    in.pop(clock_);
    if (isStop(head)) continue;
    if (head == kDone) {
      clock_.tick();
      done_ = true;
      return;
    }
    values_->push_back(head == kAbsent ? 0.0 : stream::valueOf(head));
    return ask(1);
  }
}

}  // namespace tokamak::sim
