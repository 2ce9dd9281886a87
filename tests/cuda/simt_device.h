#pragma once

#include <gtest/gtest.h>

#include "cuda/fake/fake_cuda.h"
#include "kernel/kernel.h"
#include "runtime/cuda/device.h"

/// A device whose kernels run in the SIMT interpreter: the fake libcuda, and code that is the kernel's text.
namespace tokamak::fake {

/// The fake driver, opened from its library, with launches going to the interpreter. Faults of kernels are failures of
/// the test. Its log and what it was told to fail are empty.
std::shared_ptr<const runtime::cuda::Driver> openDriver();
Cuda& cuda();

/// Runs one launch: parses the image, checks that grid, block and shared memory are those the kernel wants.
void runLaunch(const Launch& launch);

}  // namespace tokamak::fake
