#include "driver/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace tokamak {

Result<> forEachInParallel(size_t count, const std::function<Result<>(size_t)>& work) {
  std::vector<std::optional<Diagnostic>> errors(count);
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        if (auto done = work(i); !done) errors[i] = done.error();
      } catch (...) { thrown[i] = std::current_exception(); }
    }
  };
  std::vector<std::thread> helpers;
  size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  helpers.reserve(threads);
  try {
    while (helpers.size() + 1 < threads) helpers.emplace_back(loop);
  } catch (const std::system_error&) {
    threads = helpers.size() + 1;  // fewer than hoped for do it too
  }
  loop();
  for (auto& t : helpers) t.join();
  for (const auto& exception : thrown)
    if (exception) std::rethrow_exception(exception);
  for (auto& error : errors)
    if (error) return *error;
  return Unit{};
}

}  // namespace tokamak
