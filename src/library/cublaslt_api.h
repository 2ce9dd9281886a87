#pragma once

#include <cstddef>
#include <cstdint>

/// The part of cublasLt.h that is used, declared here so that no toolkit is needed to build; values are the header's,
/// which have stood since CUDA 11.
namespace tokamak::library::lt {

using Status = int;  // 0: success
using Handle = struct HandleStruct*;
using MatmulDesc = struct MatmulDescStruct*;
using Layout = struct LayoutStruct*;
using Preference = struct PreferenceStruct*;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

enum DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat = 14 };
enum ComputeType : int { kComputeFloat = 68, kComputeDouble = 70 };
enum Operation : int32_t { kPlain = 0, kTransposed = 1 };
enum DescAttribute : int { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8, kBiasType = 26 };
enum LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
enum PreferenceAttribute : int {
  kMaxWorkspace = 1,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8
};
/// Bits: a bias, then one of the activations.
enum Epilogue : uint32_t { kNoEpilogue = 1, kRelu = 2, kBias = 4, kGelu = 32 };

#define TK_CUBLASLT_FUNCTIONS(F)                                                                                       \
  F(cublasLtGetVersion, size_t, ())                                                                                    \
  F(cublasLtCreate, Status, (Handle * handle))                                                                         \
  F(cublasLtDestroy, Status, (Handle handle))                                                                          \
  F(cublasLtMatmulDescCreate, Status, (MatmulDesc * desc, ComputeType compute, DataType scale))                        \
  F(cublasLtMatmulDescDestroy, Status, (MatmulDesc desc))                                                              \
  F(cublasLtMatmulDescSetAttribute, Status, (MatmulDesc desc, DescAttribute which, const void* value, size_t bytes))   \
  F(cublasLtMatrixLayoutCreate, Status, (Layout * layout, DataType type, uint64_t rows, uint64_t columns, int64_t ld)) \
  F(cublasLtMatrixLayoutDestroy, Status, (Layout layout))                                                              \
  F(cublasLtMatrixLayoutSetAttribute, Status, (Layout layout, LayoutAttribute which, const void* value, size_t bytes)) \
  F(cublasLtMatmulPreferenceCreate, Status, (Preference * preference))                                                 \
  F(cublasLtMatmulPreferenceDestroy, Status, (Preference preference))                                                  \
  F(cublasLtMatmulPreferenceSetAttribute, Status,                                                                      \
    (Preference preference, PreferenceAttribute which, const void* value, size_t bytes))                               \
  F(cublasLtMatmulAlgoGetHeuristic, Status,                                                                            \
    (Handle handle, MatmulDesc desc, Layout a, Layout b, Layout c, Layout d, Preference preference, int requested,     \
     HeuristicResult* results, int* returned))                                                                         \
  F(cublasLtMatmul, Status,                                                                                            \
    (Handle handle, MatmulDesc desc, const void* alpha, const void* a, Layout aLayout, const void* b, Layout bLayout,  \
     const void* beta, const void* c, Layout cLayout, void* d, Layout dLayout, const Algorithm* algorithm,             \
     void* workspace, size_t workspaceBytes, void* stream))

struct Api {
#define TK_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  TK_CUBLASLT_FUNCTIONS(TK_DECLARE)
#undef TK_DECLARE
};

}  // namespace tokamak::library::lt
