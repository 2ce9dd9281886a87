#include "codegen/llvm/arithmetic.h"

#include <llvm/IR/Constants.h>

namespace tokamak::codegen {

namespace {

llvm::Type* scalarType(llvm::LLVMContext& context, DType dtype, bool inMemory) {
  switch (dtype) {
    case DType::boolean: return llvm::Type::getIntNTy(context, inMemory ? 8 : 1);
    case DType::f32: return llvm::Type::getFloatTy(context);
    case DType::f64: return llvm::Type::getDoubleTy(context);
    default: return llvm::Type::getIntNTy(context, bitWidth(dtype));
  }
}

llvm::Type* vectorOf(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

llvm::APInt halfBits(DType dtype, double value) {
  llvm::APFloat f(value);
  bool inexact = false;
  f.convert(dtype == DType::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
            llvm::APFloat::rmNearestTiesToEven, &inexact);
  return f.bitcastToAPInt();
}

}  // namespace

llvm::Type* registerType(llvm::LLVMContext& context, kernel::ValueType type) {
  return vectorOf(scalarType(context, type.dtype, false), type.lanes);
}

llvm::Type* memoryType(llvm::LLVMContext& context, kernel::ValueType type) {
  return vectorOf(scalarType(context, type.dtype, true), type.lanes);
}

llvm::Type* withLanesOf(llvm::Type* like, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

int lanesOf(const llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Constant* immediate(llvm::LLVMContext& context, kernel::ValueType type, const Scalar& value) {
  llvm::Type* element = scalarType(context, type.dtype, false);
  llvm::Constant* scalar = nullptr;
  if (isHalf(type.dtype)) {
    scalar = llvm::ConstantInt::get(element, halfBits(type.dtype, value.asDouble()));
  } else if (isFloat(type.dtype)) {
    // An integer goes straight to f32: through float64 it would be rounded twice.
    scalar = value.isFloat ? llvm::ConstantFP::get(element, value.d)
                           : llvm::ConstantFP::get(element, type.dtype == DType::f32
                                                                ? static_cast<double>(static_cast<float>(value.i))
                                                                : static_cast<double>(value.i));
  } else {
    scalar = llvm::ConstantInt::getSigned(element, wrapTo(type.dtype, value.asInt()));
  }
  if (type.lanes == 1) return scalar;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(type.lanes), scalar);
}

llvm::Value* splat(Builder& b, llvm::Value* scalar, int lanes) {
  return lanes == 1 || scalar->getType()->isVectorTy() ? scalar : b.CreateVectorSplat(lanes, scalar);
}

llvm::Value* emitUnary(Builder& b, UnaryKind kind, DType dtype, llvm::Value* a) {
  TK_CHECK(!isHalf(dtype), "halves are only loaded, stored and converted");
  return isFloat(dtype) ? detail::emitFloatUnary(b, kind, a) : detail::emitIntegerUnary(b, kind, dtype, a);
}

llvm::Value* emitBinary(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* y) {
  TK_CHECK(!isHalf(dtype), "halves are only loaded, stored and converted");
  return isFloat(dtype) ? detail::emitFloatBinary(b, kind, x, y) : detail::emitIntegerBinary(b, kind, dtype, x, y);
}

}  // namespace tokamak::codegen
