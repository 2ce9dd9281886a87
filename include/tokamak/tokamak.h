#pragma once

/// Tokamak's C++ API: build a graph, compile it, run it.
///
///   tokamak::Builder b("gelu_bias");
///   auto x = b.input("x", tokamak::DType::f32, {tokamak::Dim::symbol("M"), 64});
///   auto bias = b.input("bias", tokamak::DType::f32, {64});
///   b.output(b.gelu(b.add(x, bias)));
///
///   tokamak::Engine engine;                                            // memory, threads, kernel cache
///   auto program = tokamak::compile(*b.finish(), engine).value();      // one compilation for every M
///   auto outputs = program.executable->run({{tokamak::refTo(xs), tokamak::refTo(biases)}}).value();
///
/// What this header names is stable; other names in the headers it includes may change. What can go wrong through the
/// caller's doing comes back as a `Result` with a `Diagnostic`. A guide is in docs/guide.

#include "driver/compile.h"         // Engine, EngineOptions, compile, CompileOptions, Compiled
#include "driver/compile_cuda.h"    // compileCuda, CompiledCuda, runOnDevice
#include "driver/explain.h"         // explainTable, explainKernels, explainJson, explainHtml
#include "graph/builder.h"          // Builder
#include "graph/graph.h"            // Graph, parseGraph, print, verify
#include "graph/interp/evaluate.h"  // evaluate: the reference evaluator
#include "runtime/executable.h"     // Executable, RunOptions, Profile
#include "runtime/npy.h"            // readNpy, writeNpy
#include "runtime/tensor.h"         // Tensor, TensorRef
#include "support/array.h"          // Array
#include "support/result.h"         // Result, Diagnostic, TK_TRY

namespace tokamak {

using runtime::copyOf;
using runtime::Executable;
using runtime::Profile;
using runtime::readNpy;
using runtime::refTo;
using runtime::RunOptions;
using runtime::Tensor;
using runtime::TensorRef;
using runtime::writeNpy;

}  // namespace tokamak
