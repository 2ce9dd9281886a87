#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "library/cublaslt_api.h"
#include "support/dtype.h"

/// A libcublasLt for machines without a GPU: products by plain loops over the host's memory, in column-major order as
/// the real one has it. It refuses what the header says is an error.
namespace tokamak::library::lt {

struct HandleStruct {};
struct MatmulDescStruct {
  Operation transposeA = kPlain, transposeB = kPlain;
  uint32_t epilogue = kNoEpilogue;
  const void* bias = nullptr;
};
struct LayoutStruct {
  DataType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct PreferenceStruct {
  std::map<int, uint64_t> values;
};

namespace {

constexpr Status kInvalid = 7, kNotSupported = 15;
constexpr uint64_t kScratch = 768;

DType dtypeOf(DataType t) {
  return t == kDouble ? DType::f64 : t == kHalf ? DType::f16 : t == kBfloat ? DType::bf16 : DType::f32;
}

double get(const void* data, DataType t, int64_t i) {
  switch (t) {
    case kDouble: return static_cast<const double*>(data)[i];
    case kHalf: return halfToFloat(static_cast<const uint16_t*>(data)[i]);
    case kBfloat: return bfloatToFloat(static_cast<const uint16_t*>(data)[i]);
    default: return static_cast<const float*>(data)[i];
  }
}

void put(void* data, DataType t, int64_t i, double v) {
  switch (t) {
    case kDouble: static_cast<double*>(data)[i] = v; return;
    case kHalf: static_cast<uint16_t*>(data)[i] = floatToHalf(static_cast<float>(v)); return;
    case kBfloat: static_cast<uint16_t*>(data)[i] = floatToBfloat(static_cast<float>(v)); return;
    default: static_cast<float*>(data)[i] = static_cast<float>(v);
  }
}

double applied(const MatmulDescStruct& desc, DataType t, double v, uint64_t row) {
  if (desc.epilogue & kBias) v += get(desc.bias, t, static_cast<int64_t>(row));
  if (desc.epilogue & kRelu) v = v < 0 ? 0 : v;
  if (desc.epilogue & kGelu) v = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  return v;
}

bool fits(const MatmulDescStruct& desc, const LayoutStruct& a, const LayoutStruct& b, const LayoutStruct& d) {
  const uint64_t m = desc.transposeA ? a.columns : a.rows, k = desc.transposeA ? a.rows : a.columns;
  const uint64_t n = desc.transposeB ? b.rows : b.columns, k2 = desc.transposeB ? b.columns : b.rows;
  return m == d.rows && n == d.columns && k == k2 && k > 0 && a.batch == d.batch && b.batch == d.batch;
}

template <class T>
Status copyTo(T& to, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) return kInvalid;
  std::memcpy(static_cast<void*>(&to), value, bytes);
  return 0;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130100; }
/// One for everybody: who has a handle keeps it to the process's end.
Status cublasLtCreate(Handle* handle) {
  static HandleStruct theOne;
  return *handle = &theOne, 0;
}
Status cublasLtDestroy(Handle) { return 0; }
Status cublasLtMatmulDescCreate(MatmulDesc* desc, ComputeType compute, DataType scale) {
  if ((compute == kComputeDouble) != (scale == kDouble)) return kInvalid;
  return *desc = new MatmulDescStruct, 0;
}
Status cublasLtMatmulDescDestroy(MatmulDesc desc) { return delete desc, 0; }
Status cublasLtMatmulDescSetAttribute(MatmulDesc desc, DescAttribute which, const void* value, size_t bytes) {
  switch (which) {
    case kTransposeA: return copyTo(desc->transposeA, value, bytes);
    case kTransposeB: return copyTo(desc->transposeB, value, bytes);
    case kEpilogue: return copyTo(desc->epilogue, value, bytes);
    case kBiasPointer: return copyTo(desc->bias, value, bytes);
    default: return kNotSupported;
  }
}
Status cublasLtMatrixLayoutCreate(Layout* layout, DataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  if (rows == 0 || columns == 0 || ld < static_cast<int64_t>(rows)) return kInvalid;
  return *layout = new LayoutStruct{type, rows, columns, ld}, 0;
}
Status cublasLtMatrixLayoutDestroy(Layout layout) { return delete layout, 0; }
Status cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute which, const void* value, size_t bytes) {
  return which == kBatchCount ? copyTo(layout->batch, value, bytes) : copyTo(layout->stride, value, bytes);
}
Status cublasLtMatmulPreferenceCreate(Preference* preference) { return *preference = new PreferenceStruct, 0; }
Status cublasLtMatmulPreferenceDestroy(Preference preference) { return delete preference, 0; }
Status cublasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute which, const void* value,
                                            size_t bytes) {
  if (bytes != (which == kMaxWorkspace ? 8 : 4)) return kInvalid;
  std::memcpy(&preference->values[which], value, bytes);
  return 0;
}
Status cublasLtMatmulAlgoGetHeuristic(Handle, MatmulDesc desc, Layout a, Layout b, Layout, Layout d,
                                      Preference preference, int requested, HeuristicResult* results, int* returned) {
  const bool sound = preference->values.size() == 5 && requested >= 1 && fits(*desc, *a, *b, *d);
  *returned = sound ? 1 : 0;
  *results = {};
  // Long sums are quicker with scratch, where it is to be had.
  if (sound && (desc->transposeA ? a->rows : a->columns) > 4 && preference->values[kMaxWorkspace] >= kScratch)
    results->workspaceBytes = results->algorithm.data[0] = kScratch;
  return sound ? 0 : kNotSupported;
}

Status cublasLtMatmul(Handle, MatmulDesc desc, const void* alpha, const void* a, Layout aLayout, const void* b,
                      Layout bLayout, const void* beta, const void* c, Layout cLayout, void* d, Layout dLayout,
                      const Algorithm* algorithm, void* workspace, size_t workspaceBytes, void*) {
  if (!algorithm || !fits(*desc, *aLayout, *bLayout, *dLayout)) return kInvalid;
  const uint64_t wanted = algorithm->data[0];
  if (wanted > workspaceBytes || (wanted && !workspace)) return kInvalid;
  if (wanted) std::memset(workspace, 0xff, wanted);
  const DataType t = dLayout->type;
  const double scale = t == kDouble ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double keep = t == kDouble ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  const int64_t k = static_cast<int64_t>(desc->transposeA ? aLayout->rows : aLayout->columns);
  const auto width = static_cast<int64_t>(byteWidth(dtypeOf(t)));
  for (int64_t batch = 0; batch < dLayout->batch; ++batch)
    for (int64_t j = 0; j < static_cast<int64_t>(dLayout->columns); ++j)
      for (int64_t i = 0; i < static_cast<int64_t>(dLayout->rows); ++i) {
        double sum = 0;
        const auto* x = static_cast<const char*>(a) + batch * aLayout->stride * width;
        const auto* y = static_cast<const char*>(b) + batch * bLayout->stride * width;
        for (int64_t l = 0; l < k; ++l)
          sum += get(x, t, desc->transposeA ? i * aLayout->ld + l : l * aLayout->ld + i) *
                 get(y, t, desc->transposeB ? l * bLayout->ld + j : j * bLayout->ld + l);
        sum *= scale;
        if (keep != 0) sum += keep * get(c, t, batch * cLayout->stride + j * cLayout->ld + i);
        put(d, t, batch * dLayout->stride + j * dLayout->ld + i, applied(*desc, t, sum, static_cast<uint64_t>(i)));
      }
  return 0;
}

}  // extern "C"

}  // namespace tokamak::library::lt
