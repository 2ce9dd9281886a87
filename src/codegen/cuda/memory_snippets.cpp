#include "codegen/cuda/snippet_tables.h"

namespace tokamak::codegen::cuda {

const std::vector<Snippet>& memorySnippets() {
  static const std::vector<Snippet> snippets = {
      // ---- clusters of blocks: the first wait is for all of them to have begun ----
      {"cluster_arrive",
       {},
       R"(D void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
)"},
      {"cluster_wait",
       {},
       R"(D void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
)"},
      {"cluster_barrier",
       {},
       R"(D void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)"},
      {"store_cluster",
       {},
       R"(template <int N, class T> D void store_cluster(T& at, T value) {
  const unsigned here = (unsigned)__cvta_generic_to_shared(&at);
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof(T));
#pragma unroll
  for (int rank = 0; rank < N; ++rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    if constexpr (sizeof(T) == 8) asm volatile("st.shared::cluster.b64 [%0], %1;" : : "r"(there), "l"(bits) : "memory");
    else if constexpr (sizeof(T) == 4) asm volatile("st.shared::cluster.b32 [%0], %1;" : : "r"(there), "r"((unsigned)bits) : "memory");
    else if constexpr (sizeof(T) == 2) asm volatile("st.shared::cluster.b16 [%0], %1;" : : "r"(there), "h"((unsigned short)bits) : "memory");
    else asm volatile("st.shared::cluster.b8 [%0], %1;" : : "r"(there), "h"((unsigned short)bits) : "memory");
  }
}
)"},
      // ---- inboxes: memory of a cluster's first block, whose barrier counts the bytes that come ----
      {"cluster_rank",
       {},
       R"(D unsigned cluster_rank() { unsigned rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); return rank; }
)"},
      {"inbox_begin",
       {"cluster_rank"},
       R"(D void inbox_begin(unsigned long long* came, unsigned bytes) {
  if (cluster_rank() == 0 && (threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(came);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(at), "r"(bytes) : "memory");
  }
  __syncwarp();
}
)"},
      {"store_inbox",
       {},
       R"(template <class T> D void store_inbox(T& at, T value, unsigned long long* came) {
  unsigned there, count;
  asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&at)));
  asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(count) : "r"((unsigned)__cvta_generic_to_shared(came)));
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof(T));
  if constexpr (sizeof(T) == 8)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" : : "r"(there), "l"(bits), "r"(count) : "memory");
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" : : "r"(there), "r"((unsigned)bits), "r"(count) : "memory");
}
)"},
      {"inbox_barrier",
       {"cluster_rank"},
       R"(D void inbox_barrier(unsigned long long* came) {
  __syncthreads();
  if (cluster_rank() != 0) return;
  const unsigned at = (unsigned)__cvta_generic_to_shared(came);
  unsigned done = 0;
  while (!done)
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(done) : "r"(at) : "memory");
}
)"},
      // ---- halves that stay as they are in memory: what was made of them before is not kept ----
      {"packed",
       {},
       R"(template <class T, int N> D void packed(T (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    unsigned pair;
    memcpy(&pair, x + i, 4);
    asm volatile("" : "+r"(pair));
    memcpy(x + i, &pair, 4);
  }
}
)"},
      // ---- lanes from and to memory, in pieces of `A` bytes ----
      {"piece",
       {},
       R"(template <int A> struct Piece;
template <> struct Piece<1> { typedef unsigned char type; };
template <> struct Piece<2> { typedef unsigned short type; };
template <> struct Piece<4> { typedef unsigned type; };
template <> struct Piece<8> { typedef uint2 type; };
template <> struct Piece<16> { typedef uint4 type; };
)"},
      // Streaming: of data that will not be read again, which no cache need keep.
      {"fetch",
       {},
       R"(template <bool streaming, class P> D P fetch(const P* from) {
  if constexpr (streaming) return __ldcs(from);
  else return *from;
}
)"},
      {"load",
       {"piece", "fetch"},
       R"(template <int A, bool streaming = false, class T, int N> D void load(T (&to)[N], const T* from) {
  typedef typename Piece<A>::type P;
#pragma unroll
  for (int i = 0; i < N; i += A / sizeof(T)) {
    const P piece = fetch<streaming>((const P*)(from + i));
    memcpy(to + i, &piece, A);
  }
}
)"},
      // Of halves that begin at any of them: pieces of eight bytes, each of which holds some that are wanted, and
      // shifts.
      {"load_anywhere",
       {},
       R"(template <class T, int N> D void load_anywhere(T (&to)[N], const T* from) {
  const unsigned long long at = (unsigned long long)from;
  const uint2* pieces = (const uint2*)(at & ~7ull);
  unsigned words[N / 2 + 2];
#pragma unroll
  for (int i = 0; i <= N / 4; ++i) {
    uint2 piece = make_uint2(0, 0);
    if (i < N / 4 || at % 8 != 0) piece = pieces[i];
    memcpy(words + 2 * i, &piece, 8);
  }
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const unsigned low = at & 4 ? words[i + 1] : words[i], high = at & 4 ? words[i + 2] : words[i + 1];
    const unsigned pair = __funnelshift_r(low, high, at & 2 ? 16 : 0);
    memcpy(to + 2 * i, &pair, 4);
  }
}
)"},
      // Of data that no one writes while the kernel runs.
      {"load_evict_last",
       {"load"},
       R"(template <class T, int N> D void fetch_evict_last(T (&to)[N], const T* from, uint4& p) {
  asm("ld.global.nc.L1::evict_last.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(p.x), "=r"(p.y), "=r"(p.z), "=r"(p.w) : "l"(from));
}
template <int A, class T, int N> D void load_evict_last(T (&to)[N], const T* from) {
  if constexpr (A < 16) return load<A>(to, from);
#pragma unroll
  for (int i = 0; i < N; i += 16 / sizeof(T)) {
    uint4 piece;
    fetch_evict_last(to, from + i, piece);
    memcpy(to + i, &piece, 16);
  }
}
)"},
      {"load_evict_first",
       {"load"},
       R"(template <class T, int N> D void fetch_evict_first(T (&to)[N], const T* from, uint4& p) {
  asm("ld.global.nc.L1::evict_first.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(p.x), "=r"(p.y), "=r"(p.z), "=r"(p.w) : "l"(from));
}
template <int A, class T, int N> D void load_evict_first(T (&to)[N], const T* from) {
  if constexpr (A < 16) return load<A>(to, from);
#pragma unroll
  for (int i = 0; i < N; i += 16 / sizeof(T)) {
    uint4 piece;
    fetch_evict_first(to, from + i, piece);
    memcpy(to + i, &piece, 16);
  }
}
)"},
      {"clear",
       {},
       R"(template <class T, int N> D void clear(T (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = T{0};
}
)"},
      {"all",
       {},
       R"(template <int N> D bool all(const bool (&mask)[N], int first, int count) {
  bool every = true;
#pragma unroll
  for (int i = 0; i < count; ++i) every = every && mask[first + i];
  return every;
}
)"},
      {"load_masked",
       {"piece", "fetch", "all"},
       R"(template <int A, bool streaming = false, class T, int N>
D void load_masked(T (&to)[N], const T* from, const bool (&mask)[N]) {
  typedef typename Piece<A>::type P;
  constexpr int n = A / sizeof(T);
#pragma unroll
  for (int i = 0; i < N; i += n) {
    if (all(mask, i, n)) {
      const P piece = fetch<streaming>((const P*)(from + i));
      memcpy(to + i, &piece, A);
      continue;
    }
#pragma unroll
    for (int j = i; j < i + n; ++j) to[j] = mask[j] ? from[j] : T{0};
  }
}
)"},
      {"store_masked",
       {"piece", "all"},
       R"(template <int A, class T, int N> D void store_masked(T* to, const T (&from)[N], const bool (&mask)[N]) {
  typedef typename Piece<A>::type P;
  constexpr int n = A / sizeof(T);
#pragma unroll
  for (int i = 0; i < N; i += n) {
    if (all(mask, i, n)) {
      P piece;
      memcpy(&piece, from + i, A);
      *(P*)(to + i) = piece;
      continue;
    }
#pragma unroll
    for (int j = i; j < i + n; ++j)
      if (mask[j]) to[j] = from[j];
  }
}
)"},
      // ---- threads of a warp ----
      {"lane", {}, R"(D int lane() { int r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
)"},
      {"shuffle_xor",
       {},
       R"(template <class T> D T shuffle_xor(T x, int d) { return T(__shfl_xor_sync(0xffffffffu, (int)x, d)); }
template <> D float shuffle_xor(float x, int d) { return __shfl_xor_sync(0xffffffffu, x, d); }
template <> D double shuffle_xor(double x, int d) { return __shfl_xor_sync(0xffffffffu, x, d); }
template <> D long long shuffle_xor(long long x, int d) { return __shfl_xor_sync(0xffffffffu, x, d); }
)"},
      {"shuffle_up",
       {},
       R"(template <int W, class T> D T shuffle_up(T x, int d) { return T(__shfl_up_sync(0xffffffffu, (int)x, d, W)); }
template <int W> D float shuffle_up(float x, int d) { return __shfl_up_sync(0xffffffffu, x, d, W); }
template <int W> D double shuffle_up(double x, int d) { return __shfl_up_sync(0xffffffffu, x, d, W); }
template <int W> D long long shuffle_up(long long x, int d) { return __shfl_up_sync(0xffffffffu, x, d, W); }
)"},
      {"store",
       {"piece"},
       R"(template <int A, class T, int N> D void store(T* to, const T (&from)[N]) {
  typedef typename Piece<A>::type P;
#pragma unroll
  for (int i = 0; i < N; i += A / sizeof(T)) {
    P piece;
    memcpy(&piece, from + i, A);
    *(P*)(to + i) = piece;
  }
}
)"},
      {"store_streaming",
       {"piece"},
       R"(template <int A, class T, int N> D void store_streaming(T* to, const T (&from)[N]) {
  typedef typename Piece<A>::type P;
#pragma unroll
  for (int i = 0; i < N; i += A / sizeof(T)) {
    P piece;
    memcpy(&piece, from + i, A);
    __stcs((P*)(to + i), piece);
  }
}
)"},
      {"prefetch",
       {},
       R"(D void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" : : "l"(at)); }
)"},
      {"prefetch_near",
       {},
       R"(D void prefetch_near(const void* at) { asm volatile("prefetch.global.L1 [%0];" : : "l"(at)); }
)"},
  };
  return snippets;
}

}  // namespace tokamak::codegen::cuda
