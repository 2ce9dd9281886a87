#include "sim/hw/storage.h"

#include <algorithm>

namespace tokamak::sim {

MemoryArray::MemoryArray(std::string tensor, uint64_t address, int64_t elements, int64_t elementBytes,
                         const HwConfig& config)
    : tensor_(std::move(tensor)),
      address_(address),
      elements_(elements),
      elementBytes_(elementBytes),
      burst_(config.dram.burstBytes),
      banks_(static_cast<size_t>(config.scratchpad.banks), 0) {}

Stamp MemoryArray::fetch(int64_t line, Stamp now, Dram& dram, bool write) {
  ++(write ? written_ : read_);
  return dram.access(addressOf(line), now, write);
}

Stamp MemoryArray::readResident(int64_t element, Stamp now, Dram& dram) {
  Stamp& there = fetched_[static_cast<size_t>(lineOf(element))];
  if (there == 0) there = fetch(lineOf(element), now, dram, false);
  Stamp& bank = banks_[static_cast<size_t>(element) % banks_.size()];
  const Stamp from = std::max(now, bank);
  conflicts_ += from - now;
  bank = from + 1;
  return std::max(from + 1, there);
}

Stamp ReadPort::line(int64_t line, Stamp now) {
  Line* oldest = &lines_[0];
  for (Line& kept : lines_) {
    if (kept.line == line) {
      kept.used = now;
      return std::max(kept.ready, now + 1);
    }
    if (kept.used < oldest->used || kept.line < 0) oldest = &kept;
  }
  *oldest = {line, array_->fetch(line, now, *dram_, false), now};
  return oldest->ready;
}

Stamp ReadPort::read(int64_t element, Stamp now) {
  if (array_->isResident()) return array_->readResident(element, now, *dram_);
  return line(array_->lineOf(element), now);
}

void ReadPort::prefetch(int64_t element, Stamp now) {
  const int64_t next = array_->lineOf(element) + 1;
  if (array_->isResident() || lines_.size() < 2 || next >= array_->lines()) return;
  line(next, now);
}

bool WritePort::hasRoom(Stamp now) {
  while (!flying_.empty() && flying_.front() <= now) flying_.pop_front();
  return flying_.size() < outstanding_;
}

void WritePort::write(Stamp now) {
  const int64_t line = array_->lineOf(element_);
  if (array_->lineOf(++element_) != line) flying_.push_back(array_->fetch(line, now, *dram_, true));
}

Stamp WritePort::finish(Stamp now) {
  if (element_ > 0 && (element_ % array_->elementsPerLine()) != 0)
    flying_.push_back(array_->fetch(array_->lineOf(element_), now, *dram_, true));
  return flying_.empty() ? now : *std::ranges::max_element(flying_);
}

}  // namespace tokamak::sim
