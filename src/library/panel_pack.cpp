#include "library/panel_pack.h"

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>

#define TK_AVX512 [[gnu::target("avx512f")]]

namespace tokamak::library {

namespace {

/// r[i][j] becomes r[j][i].
TK_AVX512 [[gnu::always_inline]] inline void transpose(std::array<__m512, 16>& r) {
  std::array<__m512, 16> t;
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88),
                 even1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    const __m512 odd0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd),
                 odd1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_f32x4(even0, even1, 0x88);
    t[4 + j] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
    t[8 + j] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
    t[12 + j] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
  }
  r = t;
}

/// r[j] = terms p.. of row j of `rows` rows, zeros beyond them and beyond `length`.
TK_AVX512 [[gnu::always_inline]] inline void loadBlock(const float* from, int64_t stride, int64_t rows, int64_t p,
                                                       int64_t length, std::array<__m512, 16>& r) {
  if (rows >= kLanes && p + kLanes <= length) {
#pragma GCC unroll 16
    for (int64_t j = 0; j < kLanes; ++j) r[j] = _mm512_loadu_ps(from + j * stride + p);
    return;
  }
  const __mmask16 mask = firstLanes(length - p);
#pragma GCC unroll 16
  for (int64_t j = 0; j < kLanes; ++j)
    r[j] = j < rows ? _mm512_maskz_loadu_ps(mask, from + j * stride + p) : _mm512_setzero_ps();
}

/// The first `count` of eight.
TK_AVX512 inline __m256 loadEight(const float* from, int64_t count) {
  return count >= 8 ? _mm256_loadu_ps(from) : _mm512_castps512_ps256(_mm512_maskz_loadu_ps(firstLanes(count), from));
}

/// to[p][i] = rows[i][p] for eight rows of `length` terms; zeros for those that are not there.
TK_AVX512 void packEightRows(const RowPointers& rows, int64_t length, float* to) {
  for (int64_t p = 0; p < length; p += 8) {
    std::array<__m512, 4> r, t;  // rows i and i + 4 beside each other
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto row = [&](int j) __attribute__((target("avx512f"))) {
        return _mm256_castps_pd(rows[j] ? loadEight(rows[j] + p, length - p) : _mm256_setzero_ps());
      };
      r[i] = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(row(i)), row(i + 4), 1));
    }
    for (int i = 0; i < 4; i += 2) {
      t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    r = {_mm512_shuffle_ps(t[0], t[2], 0x44), _mm512_shuffle_ps(t[0], t[2], 0xee), _mm512_shuffle_ps(t[1], t[3], 0x44),
         _mm512_shuffle_ps(t[1], t[3], 0xee)};
    // Of term j of the first four and of the second: eight rows of it, and of the next one.
    t = {_mm512_shuffle_f32x4(r[0], r[1], 0x88), _mm512_shuffle_f32x4(r[2], r[3], 0x88),
         _mm512_shuffle_f32x4(r[0], r[1], 0xdd), _mm512_shuffle_f32x4(r[2], r[3], 0xdd)};
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; ++j)
      if (p + 2 * j < length) _mm512_mask_storeu_ps(to + (p + 2 * j) * 8, firstLanes((length - p) * 8 - j * 16), t[j]);
  }
}

/// to[p][i] = from[i][p] for `width` rows of `length` terms; up to `panel` with zeros.
TK_AVX512 void packRows(const float* from, int64_t stride, int64_t width, int64_t length, float* to, int64_t panel,
                        const Panel& following) {
  if (panel == kPanelA) {
    RowPointers rows{};
    for (int64_t i = 0; i < width; ++i) rows[i] = from + i * stride;
    return packEightRows(rows, length, to);
  }
  const int64_t blocks = panel / kLanes * ((length + kLanes - 1) / kLanes);
  int64_t block = 0;
  for (int64_t i = 0; i < panel; i += kLanes)
    for (int64_t p = 0; p < length; p += kLanes) {
      following.fetch(block++, blocks);
      std::array<__m512, 16> r;
      loadBlock(from + i * stride, stride, width - i, p, length, r);
      transpose(r);
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j)
        if (p + j < length) _mm512_store_ps(to + (p + j) * panel + i, r[j]);
    }
}

/// to[p][i] = from[p][i] for `width` columns of `length` terms; up to `panel` with zeros.
TK_AVX512 void packColumns(const float* from, int64_t stride, int64_t width, int64_t length, float* to, int64_t panel) {
  for (int64_t p = 0; p < length; ++p)
    for (int64_t i = 0; i < panel; i += kLanes) {
      const float* const at = from + p * stride + i;
      const __m512 some = i + kLanes <= width ? _mm512_loadu_ps(at) : _mm512_maskz_loadu_ps(firstLanes(width - i), at);
      _mm512_mask_storeu_ps(to + p * panel + i, firstLanes(panel - i), some);
    }
}

}  // namespace

void Panel::pack(float* to, int64_t panel, const Panel& following) const {
  if (termsInRows)
    packRows(from, stride, width, length, to, panel, following);
  else
    packColumns(from, stride, width, length, to, panel);
}

void Panel::fetch(int64_t part, int64_t parts) const {
  const int64_t rows = termsInRows ? width : length, lines = ((termsInRows ? length : width) + kLanes - 1) / kLanes;
  const int64_t begin = part * rows * lines / parts, end = (part + 1) * rows * lines / parts;
  if (begin == end) return;
  const float* row = from + begin / lines * stride;
  for (int64_t i = begin, line = begin % lines; i < end; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(row + line * kLanes), _MM_HINT_T1);
    if (++line == lines) line = 0, row += stride;
  }
}

TK_AVX512 bool packKernels(const Panel& kernels, int64_t channels, float* to, const Panel& following) {
  const float* const from = kernels.from;
  const int64_t width = kernels.width, length = kernels.length, taps = length / channels;
  const int64_t blocks = kPanelB / kLanes * ((length + kLanes - 1) / kLanes);
  int64_t block = 0;
  const __m512 largest = _mm512_set1_ps(std::numeric_limits<float>::max());
  __mmask16 finite = 0xffff;
  for (int64_t i = 0; i < kPanelB; i += kLanes)
    for (int64_t p = 0; p < length; p += kLanes) {
      following.fetch(block++, blocks);
      std::array<__m512, 16> r;
      loadBlock(from + i * length, length, width - i, p, length, r);
#pragma GCC unroll 16
      for (const __m512 x : r) finite &= _mm512_cmp_ps_mask(_mm512_abs_ps(x), largest, _CMP_LE_OQ);
      transpose(r);
      int64_t channel = p / taps, tap = p % taps;
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j) {
        if (p + j >= length) continue;
        _mm512_store_ps(to + (tap * channels + channel) * kPanelB + i, r[j]);
        if (++tap == taps) tap = 0, ++channel;
      }
    }
  return finite == 0xffff;
}

bool takesRuns(const PanelImage& image) {
  return image.kernel[2] > 1 && image.dilation[2] == 1 && image.kernel[2] * image.channels <= ImageRows::kLongestRun;
}

ImageRows::ImageRows(const PanelImage& image, const float* from, int64_t row, int64_t count)
    : image_(image),
      from_(from),
      count_(count),
      beside_(takesRuns(image) ? image.kernel[2] : 1),
      run_(beside_ * image.channels) {
  std::array<int64_t, 3> place;
  int64_t item = row;
  for (int axis = 2; axis >= 0; --axis) place[axis] = item % image.output[axis], item /= image.output[axis];
  for (int64_t i = 0; i < count; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      first_[i][axis] = place[axis] * image.stride[axis] - image.low[axis];
      inside_ &=
          first_[i][axis] >= 0 && first_[i][axis] + (image.kernel[axis] - 1) * image.dilation[axis] < image.input[axis];
    }
    origin_[i] = (item * image.input[0] * image.input[1] * image.input[2] + flat(first_[i])) * image.channels;
    int axis = 2;
    while (axis >= 0 && ++place[axis] == image.output[axis]) place[axis--] = 0;
    item += axis < 0;
  }
}

void ImageRows::pack(int64_t begin, int64_t end, float* to) {
  for (int64_t p = begin; p < end;) {
    const int64_t length = std::min(end - p, run_ - p % run_);
    packEightRows(at(p / run_, p % run_), length, to + (p - begin) * kPanelA);
    p += length;
  }
}

RowPointers ImageRows::at(int64_t run, int64_t offset) {
  int64_t tap = run * beside_;
  std::array<int64_t, 3> ahead;
  for (int axis = 2; axis >= 0; --axis) {
    ahead[axis] = tap % image_.kernel[axis] * image_.dilation[axis];
    tap /= image_.kernel[axis];
  }
  const int64_t distance = flat(ahead) * image_.channels;
  RowPointers out{};
  if (inside_) {
    for (int64_t i = 0; i < count_; ++i) out[i] = from_ + origin_[i] + distance + offset;
    return out;
  }
  for (int64_t i = 0; i < count_; ++i) {
    const auto [z, y, x] = std::array{first_[i][0] + ahead[0], first_[i][1] + ahead[1], first_[i][2] + ahead[2]};
    const bool inside = z >= 0 && z < image_.input[0] && y >= 0 && y < image_.input[1] && x < image_.input[2];
    if (!inside || x + beside_ <= 0) continue;
    const int64_t first = origin_[i] + distance;
    const int64_t left = std::max<int64_t>(0, -x), right = std::min(beside_, image_.input[2] - x);
    if (left == 0 && right == beside_) {
      out[i] = from_ + first + offset;
      continue;
    }
    edges_[i].fill(0);
    std::copy_n(from_ + first + left * image_.channels, (right - left) * image_.channels,
                &edges_[i][left * image_.channels]);
    out[i] = &edges_[i][offset];
  }
  return out;
}

}  // namespace tokamak::library
#endif
