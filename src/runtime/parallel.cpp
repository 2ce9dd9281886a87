#include "runtime/parallel.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "runtime/alone.h"
#include "runtime/crowding.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TK_TSAN 1
#endif
#endif

extern "C" {
// GNU OpenMP's own entry points, so that no compiler support for OpenMP is needed and no other runtime is drawn in.
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
int omp_get_level(void);
void omp_set_num_threads(int threads);
#ifdef TK_TSAN
void __tsan_acquire(void* address);
void __tsan_release(void* address);
#endif
}

namespace tokamak::runtime {

namespace {

/// libgomp is not instrumented: its fork and join are told to the thread sanitizer by hand.
void published(void* address) {
#ifdef TK_TSAN
  __tsan_release(address);
#else
  (void)address;
#endif
}
void received(void* address) {
#ifdef TK_TSAN
  __tsan_acquire(address);
#else
  (void)address;
#endif
}

/// Memory of one thread that grows and never shrinks.
struct Scratch {
  std::byte* data = nullptr;
  int64_t size = 0;
  bool busy = false;

  ~Scratch() { std::free(data); }
  std::byte* atLeast(int64_t bytes) {
    if (bytes <= size) return data;
    std::free(data);
    size = (bytes + bytes / 2 + 63) & ~int64_t{63};
    data = static_cast<std::byte*>(std::aligned_alloc(64, size));
    if (!data) throw std::bad_alloc();
    return data;
  }
};

thread_local Scratch loopScratch;
thread_local Scratch callScratch;

void runPiece(int64_t begin, int64_t end, int64_t scratchBytes, ParallelBody body, void* environment) {
  if (begin >= end) return;
  if (scratchBytes <= 0) return body(environment, begin, end, nullptr);
  if (loopScratch.busy) {  // a loop inside a loop of the same thread
    Scratch own;
    return body(environment, begin, end, own.atLeast(scratchBytes));
  }
  loopScratch.busy = true;
  body(environment, begin, end, loopScratch.atLeast(scratchBytes));
  loopScratch.busy = false;
}

struct Job {
  int64_t count, scratchBytes;
  ParallelBody body;
  void* environment;
  int64_t begun = 0, own = 0;  // when; how long the caller took for its piece
  bool watched = false;        // `own` is time on the processor
  char forked = 0, joined = 0;
};

int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// How long this thread has had a processor.
int64_t processorTime() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Whether others were given this thread's processor since it last asked.
bool wasSwitchedOut() {
  thread_local long seen = 0;
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return std::exchange(seen, usage.ru_nivcsw) != usage.ru_nivcsw;
}

/// Of the process, as the machine and OpenMP's threads are.
Crowding crowding;

void runJob(void* data) {
  Job& job = *static_cast<Job*>(data);
  received(&job.forked);
  // OpenMP may give fewer threads than asked for, so the pieces are cut here.
  const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
  const int64_t share = job.count / threads, rest = job.count % threads;
  const int64_t begin = thread * share + std::min(thread, rest);
  const int64_t from = thread > 0 ? 0 : job.watched ? processorTime() : job.begun;
  runPiece(begin, begin + share + (thread < rest), job.scratchBytes, job.body, job.environment);
  if (thread == 0) job.own = (job.watched ? processorTime() : now()) - from;
  published(&job.joined);
}

/// Whether this process was forked from one that had a host: a property of the process, like the threads it lost.
std::atomic<bool> forked = false;

void watchForks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    forked = true;
    omp_set_num_threads(1);  // for the library's loops
  });
  (void)registered;
}

}  // namespace

ParallelHost::ParallelHost(int threads) : threads_(std::max(0, threads)) {
  parallelFor = &ParallelHost::run;
  countThreads = [](const KernelHost* host) { return static_cast<const ParallelHost*>(host)->threads(); };
  watchForks();
}

int ParallelHost::threads() const {
  if (forked.load(std::memory_order_relaxed)) return 1;
  return threads_ > 0 ? threads_ : std::max(1, omp_get_max_threads());
}

void ParallelHost::run(const KernelHost* host, int64_t count, int64_t grain, int64_t scratchBytes, ParallelBody body,
                       void* environment) {
  if (count <= 0) return;
  const int64_t most = static_cast<const ParallelHost*>(host)->threads();
  const int64_t threads = most == 1 ? 1 : std::min(most, count / std::max<int64_t>(1, grain));
  if (threads <= 1 || omp_get_level() > 0 || crowding.alone(now))
    return runPiece(0, count, scratchBytes, body, environment);
  Job job{count, scratchBytes, body, environment, now()};
  job.watched = crowding.isWatched(job.begun);
  published(&job.forked);
  GOMP_parallel(&runJob, &job, static_cast<unsigned>(threads), 0);
  received(&job.joined);
  const int64_t end = now();
  if (crowding.joined(threads, job.begun, job.own, end) && wasSwitchedOut()) crowding.watch(end);
}

CallerAlone::CallerAlone(bool when) {
  if (!when || omp_get_max_threads() == 1) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
}

CallerAlone::~CallerAlone() {
  if (before_ > 0) omp_set_num_threads(before_);
}

std::byte* threadScratch(int64_t bytes) { return callScratch.atLeast(bytes); }

}  // namespace tokamak::runtime
