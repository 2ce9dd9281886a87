#include "sparse/algebra/algebra.h"

#include <gtest/gtest.h>

namespace tokamak::sparse {

namespace {

std::string rewritten(std::string_view text, const std::map<std::string, double>& densities = {}) {
  const Result<Program> program = parseProgram(text);
  EXPECT_TRUE(program.ok()) << program.error().str();
  const std::string all = print(rewriteAlgebra(*program, densities).program);
  return all.substr(all.find("\n\n") + 2);
}

constexpr const char* kGcn =
    "dim N = 2708, F = 1433, H = 16\ninput A[N, N]: csr\ninput X[N, F]: csr\ninput W[F, H]\ninput b[H]\n"
    "output Y[N, H]\n";

TEST(Algebra, WeightsBeforeNeighbours) {
  EXPECT_EQ(rewritten(std::string(kGcn) + "T[i, f] = A[i, k] * X[k, f]\nY[i, h] = relu(T[i, f] * W[f, h] + b[h])",
                      {{"A", 0.0018}, {"X", 0.0127}}),
            "T[k, h] = sum(f: X[k, f] * W[f, h])\nY[i, h] = relu(sum(k: A[i, k] * T[k, h]) + b[h])\n");
}

TEST(Algebra, GoodOrderStays) {
  const std::string text = "T[i, h] = sum(f: X[i, f] * W[f, h])\nY[i, h] = relu(sum(k: A[i, k] * T[k, h]) + b[h])\n";
  EXPECT_EQ(rewritten(std::string(kGcn) + text, {{"A", 0.0018}, {"X", 0.0127}}), text);
}

TEST(Algebra, NestsSumsInOneStatement) {
  EXPECT_EQ(rewritten(std::string(kGcn) + "Y[i, h] = A[i, k] * X[k, f] * W[f, h]", {{"A", 0.0018}, {"X", 0.0127}}),
            "Y[i, h] = sum(k: A[i, k] * sum(f: X[k, f] * W[f, h]))\n");
}

TEST(Algebra, CommonFactors) {
  EXPECT_EQ(rewritten("dim N = 100\ninput A[N, N]\ninput B[N, N]\ninput C[N, N]\noutput Y[N, N]\n"
                      "Y[i, j] = A[i, k] * B[k, j] + A[i, k] * C[k, j]"),
            "Y[i, j] = sum(k: A[i, k] * (B[k, j] + C[k, j]))\n");
}

TEST(Algebra, CommonFactorsOfTermsApart) {
  EXPECT_EQ(rewritten("dim N = 100\ninput A[N, N]\ninput B[N, N]\ninput C[N, N]\ninput D[N, N]\noutput Y[N, N]\n"
                      "Y[i, j] = A[i, k] * B[k, j] - D[i, j] - A[i, k] * C[k, j]"),
            "Y[i, j] = sum(k: A[i, k] * (B[k, j] - C[k, j])) - D[i, j]\n");
}

constexpr const char* kLowRank =
    "dim N = 1000, R = 4\ninput A[N, N]: csr\ninput S[N, N]: csr\ninput U[N, R]\ninput V[R, N]\noutput Y[N, N]\n";

TEST(Algebra, DistributesOverASumThatIsCheaperApart) {
  EXPECT_EQ(rewritten(std::string(kLowRank) + "Y[i, j] = sum(k: A[i, k] * (S[k, j] + sum(r: U[k, r] * V[r, j])))",
                      {{"A", 0.01}, {"S", 0.01}}),
            "Y[i, j] = sum(k: A[i, k] * S[k, j]) + sum(r: sum(k: A[i, k] * U[k, r]) * V[r, j])\n");
}

TEST(Algebra, DistributesOverATempThatIsASum) {
  EXPECT_EQ(rewritten(std::string(kLowRank) +
                          "T[k, j] = S[k, j] - sum(i: U[k, i] * V[i, j])\nY[i, j] = sum(k: A[i, k] * T[k, j])",
                      {{"A", 0.01}, {"S", 0.01}}),
            "Y[i, j] = sum(k: A[i, k] * S[k, j]) - sum(i_T: sum(k: A[i, k] * U[k, i_T]) * V[i_T, j])\n");
}

TEST(Algebra, SumsThatAreCheapTogetherStay) {
  const std::string text = "Y[i, j] = sum(k: A[i, k] * (S[k, j] + sum(r: U[k, r] * V[r, j])))\n";
  EXPECT_EQ(rewritten("dim N = 4, R = 4\ninput A[N, N]\ninput S[N, N]\ninput U[N, R]\ninput V[R, N]\n"
                      "output Y[N, N]\n" +
                      text),
            text);
}

TEST(Algebra, TheLedgerShowsTheRewriting) {
  const Result<Program> program =
      parseProgram(std::string(kLowRank) + "Y[i, j] = sum(k: A[i, k] * (S[k, j] + sum(r: U[k, r] * V[r, j])))");
  const AlgebraResult result = rewriteAlgebra(*program, {{"A", 0.01}, {"S", 0.01}});
  ASSERT_EQ(result.ledger.size(), 1u);
  EXPECT_EQ(result.ledger[0].rule, "distribute");
  EXPECT_LT(result.ledger[0].operationsAfter, 0.5 * result.ledger[0].operationsBefore);
}

/// What a temp binds inside a function is not mistaken for a variable of the statement that it is put into.
TEST(Algebra, VariablesInsideFunctionsStayApart) {
  EXPECT_EQ(rewritten("dim N = 6, M = 40\ninput B[N, N]\ninput A[M]\ninput D[M, N]\noutput Y[N, N]\n"
                      "T[r, c] = exp(sum(k: B[r, k])) * A[c]\nY[k, j] = sum(c: T[k, c] * D[c, j])"),
            "T[j] = sum(c: A[c] * D[c, j])\nY[k, j] = exp(sum(k_T: B[k, k_T])) * T[j]\n");
}

TEST(Algebra, TempsOfSeveralUsesAndDeclaredOnesStay) {
  const std::string twice =
      "T[i, f] = sum(k: A[i, k] * X[k, f])\nU[i] = sum(f: T[i, f])\n"
      "Y[i, h] = sum(f: T[i, f] * W[f, h]) * U[i]\n";
  EXPECT_EQ(rewritten(std::string(kGcn) + twice), twice);
}

}  // namespace

}  // namespace tokamak::sparse
