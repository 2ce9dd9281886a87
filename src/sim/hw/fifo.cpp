#include "sim/hw/fifo.h"

#include <cstring>

namespace tokamak::sim {

void Fifo::resize(size_t capacity) {
  std::unique_ptr<Word[]> words(new Word[capacity]);
  std::unique_ptr<Stamp[]> stamps(new Stamp[capacity]);
  std::unique_ptr<double[]> blocks(elements_ > 0 ? new double[capacity * elements_] : nullptr);
  for (size_t i = 0; i < size_; ++i) {
    words[i] = words_[slot(i)];
    stamps[i] = stamps_[slot(i)];
    if (elements_ > 0) std::memcpy(&blocks[i * elements_], block(i), elements_ * sizeof(double));
  }
  words_ = std::move(words);
  stamps_ = std::move(stamps);
  blocks_ = std::move(blocks);
  capacity_ = capacity;
  head_ = 0;
}

}  // namespace tokamak::sim
