#include <gtest/gtest.h>

#include <cmath>

#include "sparse/einsum/evaluate.h"

namespace tokamak::sparse {

namespace {

Program parsed(std::string_view text) {
  Result<Program> out = parseProgram(text, "t.ein");
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().str());
  return out.ok() ? std::move(*out) : Program{};
}

std::string valueOf(std::string_view rest) {
  const Program program = parsed(
      "dim N, M, K\ninput A[N, K]: csr\ninput B[K, M]\ninput C[N, M]: dcsr\ninput b[M]\ninput s\n" + std::string(rest));
  return program.statements().empty() ? "" : print(program, program.statements().back().value);
}

std::string codeOf(std::string_view rest) {
  const auto out =
      parseProgram("dim N, M, K\ninput A[N, K]: csr\ninput B[K, M]\ninput b[M]\n" + std::string(rest), "t.ein");
  return out.ok() ? "" : out.error().code;
}

TEST(Ein, SumsTermsOverWhatIsNotOnTheLeft) {
  EXPECT_EQ(valueOf("Y[i, j] = A[i, k] * B[k, j]"), "sum(k: A[i, k] * B[k, j])");
  EXPECT_EQ(valueOf("Y[i, j] = A[i, k] * B[k, j] + C[i, j]"), "sum(k: A[i, k] * B[k, j]) + C[i, j]");
  EXPECT_EQ(valueOf("Y[i, j] = relu(A[i, k] * B[k, j] + b[j]) * s"), "relu(sum(k: A[i, k] * B[k, j]) + b[j]) * s");
  EXPECT_EQ(valueOf("y[i] = A[i, k]"), "sum(k: A[i, k])");
  EXPECT_EQ(valueOf("y[i, j] = A[i, k] * (B[k, j] + 1)"), "sum(k: A[i, k] * (B[k, j] + 1))");
  EXPECT_EQ(valueOf("s2 = A[i, k] * B[k, j]"), "sum(i, k, j: A[i, k] * B[k, j])");
}

TEST(Ein, KeepsStructureOfOperators) {
  EXPECT_EQ(valueOf("Y[i, j] = C[i, j] - (C[i, j] - b[j]) - 2"), "C[i, j] - (C[i, j] - b[j]) - 2");
  EXPECT_EQ(valueOf("Y[i, j] = C[i, j] / (b[j] * s)"), "C[i, j] / (b[j] * s)");
  EXPECT_EQ(valueOf("Y[i, j] = -C[i, j]^2 * -3"), "-C[i, j]^2 * -3");
  EXPECT_EQ(valueOf("Y[i, j] = (-C[i, j])^(b[j] + 1) < 1 / M"), "(-C[i, j])^(b[j] + 1) < 1 / M");
  EXPECT_EQ(valueOf("Y[i, j] = select(C[i, j] > 0, max(C[i, j], s), 0.5)"),
            "select(C[i, j] > 0, max(C[i, j], s), 0.5)");
  EXPECT_EQ(valueOf("m[i] = max(j in C[i, j]: C[i, j] * b[j])"), "max(j in C[i, j]: C[i, j] * b[j])");
  EXPECT_EQ(valueOf("E[i, j] = exp(C[i, j]) where C[i, j]"), "where(C[i, j], exp(C[i, j]))");
}

TEST(Ein, PrintsBackEqual) {
  const Program program = parsed(R"(
    dim N, F = 8   // F is fixed
    input A[N, N]: csr
    input X[N, F]: f64 {compressed 1, dense 0}
    input M[N, N]: bcsr(2, 2)
    temp T[N, F]: csr
    output Y[N, F]
    output loss: f64
    T[i, f] = A[i, k] * X[k, f]
    Z[i, f] = T[i, f] * 3 / mean(j in M[i, j]: A[i, j])
    Y[i, f] = select(Z[i, f] >= 0, Z[i, f], exp(Z[i, f]) - 1)
    loss = sum(i, f: Y[i, f]^2) / N)");
  const std::string text = print(program);
  EXPECT_EQ(print(parsed(text)), text);
  EXPECT_TRUE(parsed(text) == program);
}

TEST(Ein, RefusesWithCodeAndPlace) {
  EXPECT_EQ(codeOf("Y[i, j] = A[i, k] $ B[k, j]"), "T0920");
  EXPECT_EQ(codeOf("Y[i, j] = A[i, k * B[k, j]"), "T0921");
  EXPECT_EQ(codeOf("input Q[N, M, K]: csr\n"), "T0922");
  EXPECT_EQ(codeOf("Y[i, j] = rleu(B[i, j])"), "T0923");
  EXPECT_EQ(codeOf("dim N\n"), "T0924");
  EXPECT_EQ(codeOf("input D[Q]\n"), "T0925");
  EXPECT_EQ(codeOf("output Y[N]\n"), "T0926");
  EXPECT_EQ(codeOf("A[i, k] = B[k, i]"), "T0926");
  EXPECT_EQ(codeOf("Y[i, j] = relu(A[i, j])\nY[i, j] = A[i, j]"), "T0926");
  EXPECT_EQ(codeOf("Y[i, j, l] = A[i, j]"), "T0927");
  EXPECT_EQ(codeOf("Y[i] = relu(A[i, j])"), "T0927");
  EXPECT_EQ(codeOf("Y[i] = A[i]"), "T0928");
  EXPECT_EQ(codeOf("Y[i] = Q[i]"), "T0929");
  EXPECT_EQ(codeOf("Y[i, j] = A[i, k] * B[j, k]"), "T0930");
  EXPECT_EQ(codeOf("T[i, k] = A[i, k]\nY[i, k] = T[i, k] where T[i, k]"), "T0931");
  const auto error = parseProgram("dim N\ninput A[N]\nY[i] = A[i] + Bb[i]", "f.ein").error();
  EXPECT_EQ(error.location, (Location{"f.ein", 3, 15}));
}

TEST(Evaluate, MeansTheDenseProgram) {
  Program program = parsed(R"(
    dim N, M
    input A[N, M]: csr
    input b[M]
    output y[N]
    output m[N]
    output p[N, M]
    output q[N, M]
    y[i] = A[i, j] * b[j]
    m[i] = max(j: A[i, j])
    n[i] = max(j in A[i, j]: A[i, j])
    p[i, j] = A[i, j] + b[j]
    q[i, j] = exp(A[i, j] - n[i]) where A[i, j])");
  Entries a{{2, 3}, {}, {}};
  a.add({0, 0}, -1);
  a.add({0, 2}, -2);
  const Bindings inputs = {{"A", *pack(a, *namedFormat("csr", 2))}, {"b", fromDense({1, 2, 3}, {3}, Format::dense(1))}};
  ASSERT_TRUE(bindSizes(program, inputs).ok());
  DenseValues values = evaluate(program, inputs);
  EXPECT_EQ(values["y"], (std::vector<double>{-7, 0}));
  EXPECT_EQ(values["m"], (std::vector<double>{0, 0}));  // the absent entry counts
  EXPECT_EQ(values["n"], (std::vector<double>{-1, 0}));
  EXPECT_EQ(values["p"], (std::vector<double>{0, 2, 1, 1, 2, 3}));  // the bias reaches the empty row
  EXPECT_EQ(values["q"], (std::vector<double>{1, 0, std::exp(-1.0), 0, 0, 0}));
}

}  // namespace

}  // namespace tokamak::sparse
