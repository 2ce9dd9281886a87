#include "sim/hw/memory_nodes.h"

namespace tokamak::sim {

using stream::isStop;
using stream::kAbsent;
using stream::kDone;

// ---- scan ----

/// Asks for the segment of one more reference that waits in the input.
void HwScanNode::askAhead() {
  Fifo& fifo = *input(0);
  const size_t next = asked_.size();
  if (next >= lookahead_ || !fifo.has(next)) return;
  const Word word = fifo.word(next);
  Stamp ready = clock_.now;
  if (!isControl(word) && level_.format == stream::LevelFormat::compressed && word + 1 < level_.pos.size()) {
    ready = positions_.read(static_cast<int64_t>(word), clock_.now);
    ready = std::max(ready, positions_.read(static_cast<int64_t>(word) + 1, clock_.now));
  }
  asked_.push_back(ready);
  ++steps_;
}

void HwScanNode::take(FifoIn& in) {
  in.pop(clock_);
  if (!asked_.empty()) asked_.pop_front();
}

void HwScanNode::step() {
  wait_ = 0;
  FifoIn in(input(0));
  FifoOut crd(output(0)), ref(output(1));
  askAhead();
  if (phase_ == Phase::idle) {
    if (in.empty()) return;
    if (isControl(in.head())) {
      if (!crd.full() && !ref.full()) control(in, crd, ref);
      return;
    }
    if (!open(in)) return;
  }
  if (phase_ == Phase::fiber && at_ < end_) return walk(crd, ref);
  phase_ = Phase::stop;
  if (!in.empty() && !crd.full() && !ref.full()) end(in, crd, ref);
}

bool HwScanNode::open(FifoIn& in) {
  const auto parent = static_cast<size_t>(in.head());
  const size_t count = level_.format == stream::LevelFormat::compressed ? level_.pos.size() - 1 : level_.crd.size();
  if (parent >= count) {
    fail("T0961", 0, in, fmt::format("reference {} into a level with {} fibers", parent, count),
         "the stream belongs to another tensor or level");
    return false;
  }
  if (asked_.empty() || asked_.front() > clock_.now) {
    wait_ = asked_.empty() ? 0 : asked_.front();
    return false;
  }
  const bool single = level_.format == stream::LevelFormat::singleton;
  at_ = single ? static_cast<int64_t>(parent) : level_.pos[parent];
  end_ = single ? at_ + 1 : level_.pos[parent + 1];
  ready_ = 0;
  phase_ = Phase::fiber;
  ++fibers_;
  take(in);
  ++steps_;
  return true;
}

void HwScanNode::walk(FifoOut& crd, FifoOut& ref) {
  if (ready_ == 0) {
    ready_ = coordinates_.read(at_, clock_.now);
    coordinates_.prefetch(at_, clock_.now);
    ++steps_;
  }
  if (ready_ > clock_.now) {
    wait_ = ready_;
    return;
  }
  if (crd.full() || ref.full()) return;
  clock_.put(crd, static_cast<Word>(level_.crd[static_cast<size_t>(at_)]));
  clock_.put(ref, static_cast<Word>(at_));
  ++at_;
  ++work_;
  ready_ = at_ < end_ ? coordinates_.read(at_, clock_.now) : 0;
  clock_.tick();
  ++steps_;
}

void HwScanNode::end(FifoIn& in, FifoOut& crd, FifoOut& ref) {
  const Word head = in.head();
  const Word word = isStop(head) ? head + 1 : stream::stop(0);
  if (isStop(head)) take(in);
  clock_.put(crd, word);
  clock_.put(ref, word);
  clock_.tick();
  ++steps_;
  phase_ = Phase::idle;
}

void HwScanNode::control(FifoIn& in, FifoOut& crd, FifoOut& ref) {
  const Word head = in.head();
  ++steps_;
  if (head == kAbsent) {
    phase_ = Phase::stop;
  } else {
    const Word word = head == kDone ? head : stream::raisedHollow(head);
    clock_.put(crd, word);
    clock_.put(ref, word);
    done_ = head == kDone;
  }
  take(in);
  if (!done_) clock_.tick();
}

// ---- array ----

bool HwArrayNode::accept(FifoIn& in, size_t elements) {
  const Word head = in.head();
  const size_t width = std::max<size_t>(elements, 1);
  if (isControl(head)) {
    flying_.push_back({head == kAbsent && elements == 0 ? stream::bitsOf(0.0) : head, -1, clock_.now});
  } else if (head < values_.size() / width) {
    const auto first = static_cast<int64_t>(head * width);
    Stamp ready = port_.read(first, clock_.now);
    if (width > 1) ready = std::max(ready, port_.read(first + static_cast<int64_t>(width) - 1, clock_.now));
    const Word word = elements == 0 ? stream::valueWord(values_[head]) : 0;
    work_ += width;
    flying_.push_back({word, static_cast<int64_t>(head), ready});
  } else {
    fail("T0961", 0, in, fmt::format("reference {} into {} values", head, values_.size() / width),
         "the stream belongs to another tensor or level");
    return false;
  }
  in.pop(clock_);
  ++steps_;
  return true;
}

void HwArrayNode::put(FifoOut& out) {
  Load load = flying_.front();
  flying_.pop_front();
  const size_t elements = out.elements();
  if (elements > 0 && load.reference >= 0)
    std::copy_n(values_.data() + static_cast<size_t>(load.reference) * elements, elements, out.block());
  if (elements > 0 && load.word == kAbsent) {
    std::fill_n(out.block(), elements, 0.0);
    load.word = 0;
  }
  if (elements > 0 && !isControl(load.word)) {
    clock_.putLate(out, load.word, elements);
    clock_.tick(elements);
  } else {
    clock_.put(out, load.word);
    clock_.tick(load.word == kDone ? 0 : 1);
  }
  ++steps_;
  done_ = load.word == kDone;
}

void HwArrayNode::step() {
  FifoIn in(input(0));
  FifoOut out(output(0));
  if (!in.empty() && flying_.size() < outstanding_ && !accept(in, out.elements())) return;
  if (clock_.may() && !flying_.empty() && flying_.front().ready <= clock_.now && !out.full()) put(out);
}

// ---- writes ----

void HwWriteNode::store(const FifoIn& in, Word head) {
  if (level_ != nullptr) {
    level_->crd.push_back(static_cast<int32_t>(head));
    return entries_.write(clock_.now);
  }
  const size_t elements = input(0)->elements();
  if (elements == 0) {
    values_->push_back(head == kAbsent ? 0.0 : stream::valueOf(head));
    return entries_.write(clock_.now);
  }
  const std::vector<double> zeros(elements, 0.0);
  const double* block = head == kAbsent ? zeros.data() : in.block();
  values_->insert(values_->end(), block, block + elements);
  for (size_t i = 0; i < elements; ++i) entries_.write(clock_.now);
  clock_.tick(elements - 1);
}

void HwWriteNode::step() {
  wait_ = 0;
  FifoIn in(input(0));
  if (in.empty()) return;
  for (WritePort* port : {&entries_, &segments_})
    if (!port->hasRoom(clock_.now)) {
      wait_ = port->freeAt();
      return;
    }
  const Word head = in.head();
  ++steps_;
  if (head == kDone) {
    clock_.t = std::max({clock_.t, entries_.finish(clock_.now), segments_.finish(clock_.now)});
    done_ = true;
  } else if (!isStop(head)) {
    store(in, head);
  } else if (level_ != nullptr && stream::hollowLevels(head) == 0) {
    level_->pos.push_back(static_cast<int64_t>(level_->crd.size()));
    segments_.write(clock_.now);
  }
  in.pop(clock_);
  if (!done_) clock_.tick();
}

// ---- broadcast ----

void HwBroadcastNode::step() {
  FifoIn in(input(0));
  if (in.empty() || std::ranges::any_of(site().outputs, [](const Fifo* fifo) { return fifo->room() == 0; })) return;
  for (Fifo* fifo : site().outputs) {
    FifoOut out(fifo);
    stream::copyBlock(in, out);
    clock_.put(out, in.head());
  }
  done_ = in.head() == kDone;
  in.pop(clock_);
  clock_.move();
  ++steps_;
}

}  // namespace tokamak::sim
