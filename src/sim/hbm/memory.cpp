#include "sim/hbm/memory.h"

#include <algorithm>

namespace tokamak::sim {

void Hbm::serve(const std::vector<MemoryClient*>& batches) {
  for (size_t first = 0; first < batches.size();) {
    const Stamp time = batches[first]->time();
    size_t request = 0;
    for (; first < batches.size() && batches[first]->time() == time; ++first) {
      Stamp last = 0;
      for (unsigned n = batches[first]->count(); n > 0; --n, ++request) {
        index_ = (index_ + request) % kChannels;
        const Stamp start = std::max(free_[index_], time + 2);
        free_[index_] = start + 2;
        last = std::max(last, start + 17);
      }
      batches[first]->answer(last);
    }
    index_ = (index_ + request) % kChannels;
  }
}

}  // namespace tokamak::sim
