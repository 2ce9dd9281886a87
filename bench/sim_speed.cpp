#include "bench/sim_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "sim/simulate.h"
#include "sparse/lower/execute.h"
#include "sparse/testing/random_program.h"

namespace tokamak::bench {

namespace {

using namespace tokamak::sparse;

struct Model {
  const char* name;
  const char* text;
  double density;
};

constexpr Model kModels[] = {
    {"spmm_1024",
     "dim N = 1024, K = 1024, M = 64\ninput A[N, K]: csr\ninput B[K, M]\noutput Y[N, M]\nY[i, j] = A[i, k] * B[k, j]\n",
     0.05},
    {"sddmm_1024",
     "dim N = 1024, M = 1024, K = 64\ninput A[N, M]: csr\ninput B[N, K]\ninput C[M, K]\noutput Y[N, M]: csr\n"
     "Y[i, j] = A[i, j] * sum(k: B[i, k] * C[j, k])\n",
     0.05},
    {"softmax_2048",
     "dim N = 2048, M = 2048\ninput A[N, M]: csr\noutput P[N, M]: csr\nm[i] = max(j in A[i, j]: A[i, j])\n"
     "E[i, j] = exp(A[i, j] - m[i]) where A[i, j]\ns[i] = sum(j: E[i, j])\nP[i, j] = E[i, j] / s[i]\n",
     0.2},
    {"gcn_layer_2048",
     "dim N = 2048, F = 256, H = 16\ninput A[N, N]: csr\ninput X[N, F]: csr\ninput W[F, H]\ninput b[H]\n"
     "output Y[N, H]\nT[i, h] = X[i, f] * W[f, h]\nY[i, h] = relu(sum(k: A[i, k] * T[k, h]) + b[h])\n",
     0.05},
};

struct Wanted {
  sim::Profile profile;
  double tokens;  // millions a second
};
constexpr Wanted kWanted[] = {{sim::Profile::comal, 100}, {sim::Profile::comal_hbm, 40}, {sim::Profile::hw, 15}};

/// Sparse operands at the model's density, dense ones full.
Bindings inputsOf(const Program& program, double density) {
  std::mt19937_64 random(1), full(2);
  Bindings out = randomInputs(program, density, random);
  for (const auto& [name, tensor] : randomInputs(program, 1, full))
    if (tensor.format.isDense()) out[name] = tensor;
  return out;
}

/// Tokens of all regions over their time, in millions a second.
double pace(const Compiled& compiled, const Bindings& inputs, sim::Profile profile) {
  double tokens = 0, seconds = 0;
  const Result<Bindings> ran = executeWith(
      compiled, inputs, [&](const CompiledRegion& region, const stream::Inputs& reads) -> Result<stream::Storages> {
        sim::Options options{.profile = profile};
        options.machine.fifoDepth = 4096;  // softmax holds a row until its maximum is known
        TK_TRY(sim::Report report, sim::simulate(region.graph, reads, options));
        tokens += static_cast<double>(report.tokens);
        seconds += report.seconds;
        return std::move(report.outputs);
      });
  TK_CHECK(ran.ok(), ran.ok() ? "" : ran.error().str());
  return tokens / seconds / 1e6;
}

}  // namespace

void simulatorSpeed(const std::string& filter, nlohmann::json& report) {
  if (!std::regex_search("sim", std::regex(filter))) return;
  for (const Model& model : kModels) {
    const Result<Source> source = parseSource(model.text);
    TK_CHECK(source.ok(), model.name);
    const Bindings inputs = inputsOf(source->program, model.density);
    const Result<Compiled> compiled = compile(source->program, automatic(), &inputs);
    TK_CHECK(compiled.ok(), model.name);
    for (const Wanted& wanted : kWanted) {
      double best = 0;
      for (int i = 0; i < 3; ++i) best = std::max(best, pace(*compiled, inputs, wanted.profile));
      const std::string name = fmt::format("sim/{}/{}", model.name, nameOf(wanted.profile));
      const bool met = best >= wanted.tokens;
      report["sim"].push_back(
          {{"case", name}, {"value", best}, {"unit", "million tokens/s"}, {"target", wanted.tokens}, {"met", met}});
      fmt::print("{:44} {:9.3f} million tokens/s  (target at least {}){}\n", name, best, wanted.tokens,
                 met ? "" : "  MISSED");
      std::fflush(stdout);
    }
  }
}

}  // namespace tokamak::bench
