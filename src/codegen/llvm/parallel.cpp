#include "codegen/llvm/function_emitter.h"

namespace tokamak::codegen {

using namespace kernel;

namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kStackBytes = 16 << 10;  // the largest local buffer that goes on the stack

/// One value handed to a parallel loop's function, and how to bind it there.
struct Capture {
  llvm::Value* value;
  std::function<void(FunctionEmitter&, llvm::Value*)> bind;
};

}  // namespace

bool FunctionEmitter::isSmall(const Buffer& buffer) {
  auto size = buffer.size.constant();
  return size && *size <= kStackBytes / byteWidth(buffer.dtype);
}

llvm::Value* FunctionEmitter::paddedBytes(const Buffer& buffer) {
  llvm::Value* bytes = b_.CreateMul(emitDim(buffer.size), b_.getInt64(byteWidth(buffer.dtype)));
  return b_.CreateAnd(b_.CreateAdd(bytes, b_.getInt64(kCacheLine - 1)), b_.getInt64(-kCacheLine));
}

llvm::Value* FunctionEmitter::scratchBytes(const std::set<BufferId>& buffers) {
  llvm::Value* total = b_.getInt64(0);
  for (BufferId id : buffers)
    if (const Buffer& buffer = kernel_.buffer(id); buffer.scope == Scope::local && !isSmall(buffer))
      total = b_.CreateAdd(total, paddedBytes(buffer));
  return total;
}

void FunctionEmitter::bindLocals(const std::set<BufferId>& buffers, llvm::Value* scratch) {
  for (BufferId id : buffers) {
    const Buffer& buffer = kernel_.buffer(id);
    if (buffer.scope != Scope::local) continue;
    if (isSmall(buffer)) {
      llvm::Type* element = memoryType(b_.getContext(), {buffer.dtype, 1});
      bindBuffer(id, allocate(llvm::ArrayType::get(element, *buffer.size.constant()), buffer.name, kCacheLine));
    } else {
      TK_CHECK(scratch, buffer.name);
      bindBuffer(id, scratch);
      scratch = b_.CreateGEP(b_.getInt8Ty(), scratch, paddedBytes(buffer));
    }
  }
}

void FunctionEmitter::emitParallel(const For& s) {
  llvm::Value* begin = value(s.begin);
  llvm::Value* end = value(s.end);
  llvm::Value* extent = b_.CreateSub(end, begin);
  llvm::Value* positive = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent, b_.getInt64(0));
  llvm::Value* count = b_.CreateUDiv(b_.CreateAdd(positive, b_.getInt64(s.step - 1)), b_.getInt64(s.step));
  Uses uses = usesOf(kernel_, s.body);
  outline(uses, count, s.grain, {begin},
          [&](FunctionEmitter& inner, llvm::Value* first, llvm::Value* last, const std::vector<llvm::Value*>& extra) {
            Builder& b = inner.b_;
            auto indexOf = [&](llvm::Value* iteration) {
              return b.CreateAdd(extra[0], b.CreateMul(iteration, b.getInt64(s.step)));
            };
            inner.emitLoop(s.var, indexOf(first), indexOf(last), s.step, s.body);
          });
  changed();
}

void FunctionEmitter::emitAsOneIteration(const Block& block) {
  outline(usesOf(kernel_, block), b_.getInt64(1), 1, {},
          [&](FunctionEmitter& inner, llvm::Value*, llvm::Value*, const auto&) { inner.emitBlock(block); });
}

void FunctionEmitter::outline(const Uses& uses, llvm::Value* count, int64_t grain,
                              const std::vector<llvm::Value*>& extra, const Fill& fill) {
  std::vector<Capture> captures;
  for (BufferId id : uses.buffers)
    if (kernel_.buffer(id).scope == Scope::global)
      captures.push_back({buffers_.at(id), [id](FunctionEmitter& inner, llvm::Value* v) { inner.bindBuffer(id, v); }});
  for (const std::string& name : uses.symbols)
    captures.push_back(
        {symbols_.at(name), [&name](FunctionEmitter& inner, llvm::Value* v) { inner.bindSymbol(name, v); }});
  for (VarId id : uses.variables) {
    // A mutable variable from outside is read-only inside: its value at the loop's start.
    llvm::Value* outside = nullptr;
    if (auto slot = slots_.find(id); slot != slots_.end())
      outside = b_.CreateLoad(slot->second->getAllocatedType(), slot->second);
    else if (auto bound = values_.find(id); bound != values_.end())
      outside = bound->second;
    if (outside)
      captures.push_back({outside, [id](FunctionEmitter& inner, llvm::Value* v) { inner.bindVariable(id, v); }});
  }
  std::vector<llvm::Value*> inside;
  for (llvm::Value* v : extra)
    captures.push_back({v, [&inside](FunctionEmitter&, llvm::Value* w) { inside.push_back(w); }});

  std::vector<llvm::Type*> fields;
  fields.reserve(captures.size());
  for (const Capture& capture : captures) fields.push_back(capture.value->getType());
  auto* layout = llvm::StructType::get(b_.getContext(), fields);
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* bodyType = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64, i64, pointer}, false);
  std::string name = (function_->getName() + ".parallel" + llvm::Twine(context_.parallelLoops++)).str();
  llvm::Function* function = context_.makeFunction(bodyType, name, false);

  FunctionEmitter inner(context_, function);
  for (size_t i = 0; i < captures.size(); ++i) {
    llvm::Value* field = inner.b_.CreateStructGEP(layout, function->getArg(0), i);
    captures[i].bind(inner, inner.b_.CreateLoad(fields[i], field));
  }
  inner.bindLocals(uses.buffers, function->getArg(3));
  fill(inner, function->getArg(1), function->getArg(2), inside);
  inner.finish();

  llvm::AllocaInst* environment = allocate(layout, "environment");
  for (size_t i = 0; i < captures.size(); ++i)
    b_.CreateStore(captures[i].value, b_.CreateStructGEP(layout, environment, i));
  auto* callType = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64, i64, i64, pointer, pointer}, false);
  llvm::Value* parallelFor = b_.CreateLoad(pointer, host_);  // the first member of KernelHost
  b_.CreateCall(callType, parallelFor,
                {host_, count, b_.getInt64(grain), scratchBytes(uses.buffers), function, environment});
}

}  // namespace tokamak::codegen
