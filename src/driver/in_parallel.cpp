#include "driver/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace tokamak {

Result<> forEachInParallel(size_t count, const std::function<Result<>(size_t)>& work) {
  std::vector<std::optional<Diagnostic>> errors(count);
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++)
      if (auto done = work(i); !done) errors[i] = done.error();
  };
  std::vector<std::thread> helpers;
  const size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  try {
    for (size_t t = 1; t < threads; ++t) helpers.emplace_back(loop);
  } catch (const std::system_error&) {}  // fewer threads than hoped for do it too
  loop();
  for (auto& t : helpers) t.join();
  for (auto& error : errors)
    if (error) return *error;
  return Unit{};
}

}  // namespace tokamak
