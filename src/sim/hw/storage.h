#pragma once

#include <deque>
#include <string>

#include "sim/hw/dram.h"

namespace tokamak::sim {

/// One array of a tensor in memory: positions or coordinates of a level, or values. An array that fits into scratchpads
/// as a whole is *resident*: each of its bursts is fetched once, then served from banked memory.
class MemoryArray {
 public:
  MemoryArray(std::string tensor, uint64_t address, int64_t elements, int64_t elementBytes, const HwConfig& config);

  void makeResident() { fetched_.assign(static_cast<size_t>(lines()), 0); }
  bool isResident() const { return !fetched_.empty(); }
  int64_t bytes() const { return elements_ * elementBytes_; }
  int64_t lines() const { return (bytes() + burst_ - 1) / burst_; }
  int64_t lineOf(int64_t element) const { return element * elementBytes_ / burst_; }
  uint64_t addressOf(int64_t line) const { return address_ + static_cast<uint64_t>(line * burst_); }
  int64_t elementsPerLine() const { return std::max<int64_t>(burst_ / elementBytes_, 1); }
  const std::string& tensor() const { return tensor_; }

  /// Of a resident array: when an element that is asked for now is there.
  Stamp readResident(int64_t element, Stamp now, Dram& dram);
  Stamp fetch(int64_t line, Stamp now, Dram& dram, bool write);

  uint64_t bytesRead() const { return read_ * static_cast<uint64_t>(burst_); }
  uint64_t bytesWritten() const { return written_ * static_cast<uint64_t>(burst_); }
  uint64_t conflictCycles() const { return conflicts_; }

 private:
  std::string tensor_;
  uint64_t address_;
  int64_t elements_, elementBytes_, burst_;
  std::vector<Stamp> fetched_;  // when a line of a resident array is there; 0 before it is asked for
  std::vector<Stamp> banks_;    // free again
  uint64_t read_ = 0, written_ = 0, conflicts_ = 0;
};

/// A node's way to an array: it keeps the bursts that it used last.
class ReadPort {
 public:
  ReadPort(MemoryArray* array, Dram* dram, const HwConfig::Ports& config)
      : array_(array), dram_(dram), lines_(static_cast<size_t>(config.lines)) {}

  /// When the element, asked for now, is there.
  Stamp read(int64_t element, Stamp now);
  /// Asks for the burst behind the one of `element`, if it is not there.
  void prefetch(int64_t element, Stamp now);

 private:
  struct Line {
    int64_t line = -1;
    Stamp ready = 0, used = 0;
  };
  Stamp line(int64_t line, Stamp now);

  MemoryArray* array_;
  Dram* dram_;
  std::vector<Line> lines_;
};

/// A node's way to write an array from front to back: full bursts go out, a bounded number at a time.
class WritePort {
 public:
  WritePort(MemoryArray* array, Dram* dram, const HwConfig::Ports& config)
      : array_(array), dram_(dram), outstanding_(static_cast<size_t>(config.outstanding)) {}

  /// Whether another element can be taken now; else `freeAt` says when.
  bool hasRoom(Stamp now);
  Stamp freeAt() const { return flying_.front(); }
  void write(Stamp now);
  /// Sends what is left; when everything is written.
  Stamp finish(Stamp now);

 private:
  MemoryArray* array_;
  Dram* dram_;
  size_t outstanding_;
  int64_t element_ = 0;
  std::deque<Stamp> flying_;  // when bursts on their way are written
};

}  // namespace tokamak::sim
