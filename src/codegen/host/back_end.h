#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/host_target.h"
#include "codegen/llvm/load.h"

/// The way to `codegen/llvm`, which is a shared object of its own, libtokamak_llvm.so: relocating LLVM takes 40 MB and
/// tens of milliseconds, and who simulates or asks for help wants neither. The program links none of LLVM.
namespace tokamak::codegen {

/// What `codegen/llvm` offers; what each function promises is written there. Valid as long as the process lives.
struct BackEnd {
  decltype(&codegen::compileObject) compileObject;
  decltype(&codegen::symbolName) symbolName;
  decltype(&codegen::compilerVersion) compilerVersion;
  decltype(&codegen::loadObject) loadObject;
  decltype(&HostTarget::detectUpTo) detectUpTo;
};

/// Opens the component: `path`, or where that is empty the one beside the program or library that this code is part of.
/// T0505: it is not there, or belongs to another build.
Result<const BackEnd*> openBackEnd(const std::string& path = {});

}  // namespace tokamak::codegen
