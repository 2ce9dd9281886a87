#pragma once

#include <functional>

#include "driver/compile.h"
#include "driver/library_step.h"
#include "runtime/program.h"

namespace tokamak {

/// How the steps of a program are made for a device.
struct StepFactory {
  /// Launch `launch` of region `region`; name, operands, symbols and bytes are filled in by the writer.
  std::function<runtime::Step(size_t region, size_t launch)> kernel;
  std::function<Result<LibraryStep>(const Region& region)> library;
  std::shared_ptr<const runtime::Call> copy;  // as runtime::makeCopyCall has it
};

/// Lays a lowered graph out as slots and steps.
Result<runtime::Program> writeProgram(const Lowered& lowered, const StepFactory& steps);

}  // namespace tokamak
