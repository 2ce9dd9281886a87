#include "search/measure.h"

#include <algorithm>

namespace tokamak::search {

bool cannotRun(const Diagnostic& why) { return why.code.starts_with("T098"); }

Measurement measurementOf(const sim::Report& report) {
  Measurement out;
  out.cycles = static_cast<double>(report.cycles);
  out.tokens = static_cast<double>(report.tokens);
  out.seconds = report.seconds;
  for (const sim::NodeReport& node : report.nodes) {
    out.operations += static_cast<double>(node.operations);
    out.workspace = std::max(out.workspace, static_cast<double>(node.workspace));
  }
  for (const sim::TensorReport& tensor : report.tensors) {
    out.bytesRead += static_cast<double>(tensor.bytesRead);
    out.bytesWritten += static_cast<double>(tensor.bytesWritten);
  }
  return out;
}

Result<Measurement> measure(const Choice& choice, const Data& data, const sim::Options& options) {
  std::vector<std::shared_ptr<const sparse::Tensor>> keep;
  const stream::Inputs inputs = data.views(choice.table, keep);
  TK_TRY(const sim::Report report, sim::simulate(choice.graph, inputs, options));
  return measurementOf(report);
}

}  // namespace tokamak::search
