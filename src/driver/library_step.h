#pragma once

#include <array>

#include "fusion/region.h"
#include "library/library.h"
#include "runtime/program.h"

namespace tokamak {

/// A library region as a call: which values it reads, in order (the result comes last), and the extents it needs.
struct LibraryStep {
  std::shared_ptr<const runtime::Call> call;
  std::vector<ValueId> operands;  // then the region's output
  std::vector<Dim> dims;
  Dim scratchBytes = 0;
};

/// A product as a library takes it: its description, the values it reads, in order, and batch, m, n, k.
struct MatMulRegion {
  library::MatMulDesc desc;
  std::vector<ValueId> operands;
  std::array<Dim, 4> dims;
};
MatMulRegion describeMatMul(const Graph& graph, ValueId product, const std::vector<EpilogueStep>& epilogue);

/// The same of a convolution; batch, channels, output channels, and image and kernel of each spatial axis.
struct ConvRegion {
  library::ConvDesc desc;
  std::vector<ValueId> operands;
  std::vector<Dim> dims;
};
ConvRegion describeConv(const Graph& graph, ValueId product, const std::vector<EpilogueStep>& epilogue);

Result<LibraryStep> makeLibraryStep(const Graph& graph, const Region& region, const library::Library& library);

}  // namespace tokamak
