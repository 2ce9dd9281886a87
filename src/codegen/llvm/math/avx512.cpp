#include "codegen/llvm/math/avx512.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <vector>

namespace tokamak::codegen::math {
namespace {

using llvm::Intrinsic::ID;

/// One instruction's intrinsics by width: 128, 256, 512 bits.
struct Family {
  std::array<ID, 3> single, wide;
};

constexpr Family scale = {
    {llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_scalef_pd_128, llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_pd_512}};
constexpr Family exponent = {
    {llvm::Intrinsic::x86_avx512_mask_getexp_ps_128, llvm::Intrinsic::x86_avx512_mask_getexp_ps_256,
     llvm::Intrinsic::x86_avx512_mask_getexp_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_getexp_pd_128, llvm::Intrinsic::x86_avx512_mask_getexp_pd_256,
     llvm::Intrinsic::x86_avx512_mask_getexp_pd_512}};
constexpr Family mantissa = {
    {llvm::Intrinsic::x86_avx512_mask_getmant_ps_128, llvm::Intrinsic::x86_avx512_mask_getmant_ps_256,
     llvm::Intrinsic::x86_avx512_mask_getmant_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_getmant_pd_128, llvm::Intrinsic::x86_avx512_mask_getmant_pd_256,
     llvm::Intrinsic::x86_avx512_mask_getmant_pd_512}};
constexpr Family reciprocalSqrt = {
    {llvm::Intrinsic::x86_avx512_rsqrt14_ps_128, llvm::Intrinsic::x86_avx512_rsqrt14_ps_256,
     llvm::Intrinsic::x86_avx512_rsqrt14_ps_512},
    {llvm::Intrinsic::x86_avx512_rsqrt14_pd_128, llvm::Intrinsic::x86_avx512_rsqrt14_pd_256,
     llvm::Intrinsic::x86_avx512_rsqrt14_pd_512}};

/// What an intrinsic takes besides the values: an immediate, a pass-through, a mask of all lanes, the current rounding.
struct Form {
  Family family;
  bool hasRounding = true;  // at 512 bits only
  int immediate = -1;
};

llvm::Value* callPiece(llvm::IRBuilderBase& builder, const Form& form, llvm::ArrayRef<llvm::Value*> values) {
  auto* type = llvm::cast<llvm::FixedVectorType>(values.front()->getType());
  unsigned bits = type->getPrimitiveSizeInBits();
  unsigned width = bits == 128 ? 0 : bits == 256 ? 1 : 2;
  ID id = (type->getElementType()->isDoubleTy() ? form.family.wide : form.family.single)[width];
  std::vector<llvm::Value*> arguments(values.begin(), values.end());
  if (form.immediate >= 0) arguments.push_back(builder.getInt32(form.immediate));
  arguments.push_back(llvm::Constant::getNullValue(type));
  unsigned maskBits = std::max(8u, type->getNumElements());
  arguments.push_back(llvm::Constant::getAllOnesValue(builder.getIntNTy(maskBits)));
  constexpr int currentRounding = 4;
  if (form.hasRounding && width == 2) arguments.push_back(builder.getInt32(currentRounding));
  return builder.CreateIntrinsic(id, {}, arguments);
}

/// Calls `emit` on pieces of at most `pieceLanes` lanes of the operands and joins the results, of type `result`.
Expr inPieces(llvm::ArrayRef<Expr> operands, llvm::Type* result, unsigned pieceLanes,
              llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> emit) {
  Expr first = operands.front();
  llvm::IRBuilderBase& builder = first.builder();
  llvm::Value* joined = llvm::PoisonValue::get(result);
  for (unsigned at = 0; at < first.lanes(); at += pieceLanes) {
    std::vector<llvm::Value*> pieces;
    for (Expr operand : operands) {
      auto* pieceType = llvm::FixedVectorType::get(operand.type()->getScalarType(), pieceLanes);
      bool isWhole = first.lanes() <= pieceLanes;
      pieces.push_back(isWhole ? operand.value()
                               : builder.CreateExtractVector(pieceType, operand.value(), builder.getInt64(at)));
    }
    llvm::Value* value = emit(pieces);
    if (first.lanes() <= pieceLanes) return first.with(value);
    joined = builder.CreateInsertVector(result, joined, value, builder.getInt64(at));
  }
  return first.with(joined);
}

Expr apply(const Form& form, std::initializer_list<Expr> operands) {
  Expr first = *operands.begin();
  return inPieces(operands, first.type(), 512 / first.type()->getScalarSizeInBits(),
                  [&](llvm::ArrayRef<llvm::Value*> pieces) { return callPiece(first.builder(), form, pieces); });
}

}  // namespace

bool hasAvx512(Expr x) {
  if (!x.type()->isVectorTy()) return false;
  unsigned bits = x.lanes() * x.type()->getScalarSizeInBits();
  if (bits != 128 && bits != 256 && bits % 512 != 0) return false;
  llvm::Function* function = x.builder().GetInsertBlock()->getParent();
  llvm::SmallVector<llvm::StringRef, 128> features;
  function->getFnAttribute("target-features").getValueAsString().split(features, ',');
  return llvm::all_of(std::array<llvm::StringRef, 3>{"+avx512f", "+avx512vl", "+avx512dq"},
                      [&](llvm::StringRef needed) { return llvm::is_contained(features, needed); });
}

Expr hardwareScale(Expr x, Expr n) { return apply({scale}, {x, n}); }
Expr hardwareExponent(Expr x) { return apply({exponent}, {x}); }

Expr hardwareMantissa(Expr x) {
  constexpr int aroundOne = 0b11;             // [0.75, 1.5)
  constexpr int positiveElseNaN = 0b11 << 2;  // a zero gives +1, a negative number NaN
  return apply({mantissa, true, positiveElseNaN | aroundOne}, {x});
}

Expr hardwareReciprocalSqrt(Expr x) { return apply({reciprocalSqrt, false}, {x}); }

bool hasHardwareLookUp(Expr x) { return hasAvx512(x) && !x.isDouble() && x.lanes() % 16 == 0; }

Expr hardwareLookUp(const float (&table)[16], Expr index) {
  llvm::IRBuilderBase& builder = index.builder();
  llvm::Constant* values = llvm::ConstantDataVector::get(builder.getContext(), llvm::ArrayRef<float>(table));
  return inPieces(index, asFloat(index).type(), 16, [&](llvm::ArrayRef<llvm::Value*> pieces) {
    return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {values, pieces.front()});
  });
}

}  // namespace tokamak::codegen::math
