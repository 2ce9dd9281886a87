#include "codegen/llvm/math/expr.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "support/check.h"

namespace tokamak::codegen::math {

using llvm::Intrinsic::ID;

unsigned Expr::lanes() const {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type());
  return vector ? vector->getNumElements() : 1;
}

Expr Expr::constant(double c) const { return with(llvm::ConstantFP::get(type(), c)); }

Expr Expr::integer(int64_t c) const {
  return with(llvm::ConstantInt::get(type(), static_cast<uint64_t>(c), /*IsSigned=*/true));
}

llvm::Type* Expr::sameLanes(llvm::Type* scalar) const {
  return type()->isVectorTy() ? llvm::FixedVectorType::get(scalar, lanes()) : scalar;
}

namespace {

/// The integer type of the same width and lanes as the float type of x, or the reverse.
llvm::Type* twin(Expr x) {
  llvm::Type* scalar = x.type()->getScalarType();
  llvm::LLVMContext& context = scalar->getContext();
  if (scalar->isFloatTy()) return x.sameLanes(llvm::Type::getInt32Ty(context));
  if (scalar->isDoubleTy()) return x.sameLanes(llvm::Type::getInt64Ty(context));
  TK_CHECK(scalar->isIntegerTy(32) || scalar->isIntegerTy(64), "vector math is for 32 and 64 bits");
  return x.sameLanes(scalar->isIntegerTy(32) ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context));
}

Expr unaryIntrinsic(ID id, Expr x) { return x.with(x.builder().CreateUnaryIntrinsic(id, x.value())); }

Expr compare(llvm::CmpInst::Predicate floats, llvm::CmpInst::Predicate integers, Expr a, Expr b) {
  return a.with(a.isFloat() ? a.builder().CreateFCmp(floats, a.value(), b.value())
                            : a.builder().CreateICmp(integers, a.value(), b.value()));
}

}  // namespace

Expr operator-(Expr a) {
  return a.with(a.isFloat() ? a.builder().CreateFNeg(a.value()) : a.builder().CreateNeg(a.value()));
}
Expr operator~(Expr a) { return a.with(a.builder().CreateNot(a.value())); }

Expr operator+(Expr a, Expr b) {
  return a.with(a.isFloat() ? a.builder().CreateFAdd(a.value(), b.value())
                            : a.builder().CreateAdd(a.value(), b.value()));
}
Expr operator-(Expr a, Expr b) {
  return a.with(a.isFloat() ? a.builder().CreateFSub(a.value(), b.value())
                            : a.builder().CreateSub(a.value(), b.value()));
}
Expr operator*(Expr a, Expr b) {
  return a.with(a.isFloat() ? a.builder().CreateFMul(a.value(), b.value())
                            : a.builder().CreateMul(a.value(), b.value()));
}
Expr operator/(Expr a, Expr b) { return a.with(a.builder().CreateFDiv(a.value(), b.value())); }

Expr operator&(Expr a, Expr b) { return a.with(a.builder().CreateAnd(a.value(), b.value())); }
Expr operator|(Expr a, Expr b) { return a.with(a.builder().CreateOr(a.value(), b.value())); }
Expr operator^(Expr a, Expr b) { return a.with(a.builder().CreateXor(a.value(), b.value())); }

Expr operator<(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, a, b); }
Expr operator>(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, a, b); }
Expr operator<=(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, a, b); }
Expr operator>=(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, a, b); }
Expr operator==(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, a, b); }
Expr operator!=(Expr a, Expr b) { return compare(llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, a, b); }

Expr operator<<(Expr a, int count) { return a.with(a.builder().CreateShl(a.value(), count)); }
Expr operator>>(Expr a, int count) { return a.with(a.builder().CreateAShr(a.value(), count)); }

Expr fma(Expr a, Expr b, Expr c) {
  return a.with(a.builder().CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.value(), b.value(), c.value()}));
}

Expr select(Expr c, Expr a, Expr b) { return a.with(a.builder().CreateSelect(c.value(), a.value(), b.value())); }

// Written so that a NaN in x fails the comparison and is chosen: one max or min instruction on x86.
Expr atLeast(Expr x, Expr bound) { return select(bound > x, bound, x); }
Expr atMost(Expr x, Expr bound) { return select(bound < x, bound, x); }

Expr abs(Expr x) { return unaryIntrinsic(llvm::Intrinsic::fabs, x); }
Expr sqrt(Expr x) { return unaryIntrinsic(llvm::Intrinsic::sqrt, x); }
Expr floor(Expr x) { return unaryIntrinsic(llvm::Intrinsic::floor, x); }
Expr trunc(Expr x) { return unaryIntrinsic(llvm::Intrinsic::trunc, x); }
Expr copySign(Expr magnitude, Expr sign) {
  return magnitude.with(magnitude.builder().CreateCopySign(magnitude.value(), sign.value()));
}
Expr isNaN(Expr x) { return x.with(x.builder().CreateFCmpUNO(x.value(), x.value())); }

Expr asInteger(Expr x) { return x.with(x.builder().CreateBitCast(x.value(), twin(x))); }
Expr asFloat(Expr x) { return x.with(x.builder().CreateBitCast(x.value(), twin(x))); }
Expr toFloat(Expr x) { return x.with(x.builder().CreateSIToFP(x.value(), twin(x))); }

Expr toDouble(Expr x) {
  return x.with(x.builder().CreateFPExt(x.value(), x.sameLanes(llvm::Type::getDoubleTy(x.builder().getContext()))));
}
Expr toSingle(Expr x) {
  return x.with(x.builder().CreateFPTrunc(x.value(), x.sameLanes(llvm::Type::getFloatTy(x.builder().getContext()))));
}

Expr polynomial(Expr x, std::initializer_list<double> c) {
  const double* next = c.end() - 1;
  Expr sum = x.constant(*next);
  while (next != c.begin()) sum = fma(sum, x, *--next);
  return sum;
}

Expr anyLane(Expr c) { return c.type()->isVectorTy() ? c.with(c.builder().CreateOrReduce(c.value())) : c; }

Expr unlikelyBranch(Expr rare, Expr fast, llvm::function_ref<Expr()> slow) {
  llvm::IRBuilderBase& builder = rare.builder();
  llvm::Value* taken = anyLane(rare).value();
  llvm::BasicBlock* head = builder.GetInsertBlock();
  llvm::Function* function = head->getParent();
  llvm::BasicBlock* join = nullptr;
  if (builder.GetInsertPoint() == head->end()) {
    join = llvm::BasicBlock::Create(builder.getContext(), "math.join", function, head->getNextNode());
  } else {
    join = head->splitBasicBlock(builder.GetInsertPoint(), "math.join");
    head->getTerminator()->eraseFromParent();
  }
  llvm::BasicBlock* rareBlock = llvm::BasicBlock::Create(builder.getContext(), "math.rare", function, join);

  builder.SetInsertPoint(head);
  builder.CreateCondBr(taken, rareBlock, join, llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights());
  builder.SetInsertPoint(rareBlock);
  Expr slowValue = slow();
  llvm::BasicBlock* slowEnd = builder.GetInsertBlock();
  builder.CreateBr(join);

  builder.SetInsertPoint(join, join->begin());
  llvm::PHINode* phi = builder.CreatePHI(fast.type(), 2, "math.result");
  phi->addIncoming(fast.value(), head);
  phi->addIncoming(slowValue.value(), slowEnd);
  return fast.with(phi);
}

Expr repeatWhileAny(Expr start, llvm::function_ref<std::pair<Expr, Expr>(Expr)> step) {
  llvm::IRBuilderBase& builder = start.builder();
  llvm::BasicBlock* before = builder.GetInsertBlock();
  TK_CHECK(builder.GetInsertPoint() == before->end(), "a loop is emitted at the end of a block");
  llvm::Function* function = before->getParent();
  auto* loop = llvm::BasicBlock::Create(builder.getContext(), "math.loop", function, before->getNextNode());
  auto* after = llvm::BasicBlock::Create(builder.getContext(), "math.after", function, loop->getNextNode());
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* phi = builder.CreatePHI(start.type(), 2);
  phi->addIncoming(start.value(), before);
  auto [next, again] = step(start.with(phi));
  llvm::Value* anyAgain = anyLane(again).value();
  phi->addIncoming(next.value(), builder.GetInsertBlock());
  builder.CreateCondBr(anyAgain, loop, after);
  builder.SetInsertPoint(after);
  return next;
}

}  // namespace tokamak::codegen::math
