#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "sparse/io/io.h"
#include "sparse/lower/execute.h"
#include "sparse/mlir/read.h"

namespace tokamak::sparse {

namespace {

const std::string kFolder = std::string(TOKAMAK_SOURCE_DIR) + "/tests/mlir";

Result<ImportedProgram> import(const std::string& name, const MlirOptions& options = {}) {
  return translateMlir(readWholeFile(kFolder + "/" + name).value(), name, options);
}

/// Sizes that the text leaves open are 5; inputs without values are random.
Bindings inputsFor(const ImportedProgram& imported, Program& program, double density, uint64_t seed) {
  for (Dim& dim : program.dims())
    if (dim.size < 0) dim.size = 5;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(-2, 2), chance(0, 1);
  Bindings out;
  for (const TensorDecl& decl : program.tensors()) {
    if (decl.role != Role::input || imported.weights.contains(decl.name)) continue;
    const auto derived = std::any_of(imported.derived.begin(), imported.derived.end(),
                                     [&](const DerivedInput& d) { return d.name == decl.name; });
    if (derived) continue;
    const std::vector<int64_t> shape = program.shape(program.findTensor(decl.name));
    int64_t size = 1;
    for (const int64_t s : shape) size *= s;
    std::vector<double> values(static_cast<size_t>(size), 0.0);
    for (double& v : values)
      if (chance(random) < density) v = roundTo(decl.dtype, value(random));
    out[decl.name] = fromDense(values, shape, decl.format.value_or(Format::dense(static_cast<int>(shape.size()))));
  }
  EXPECT_TRUE(completeInputs(imported, program, out).ok());
  EXPECT_TRUE(bindSizes(program, out).ok());
  return inDeclaredFormats(program, std::move(out)).value();
}

void runEverySchedule(const ImportedProgram& imported, double density, uint64_t seed) {
  Program program = imported.program;
  const Bindings inputs = inputsFor(imported, program, density, seed);
  for (const Schedule& schedule : {unfused(), automatic()}) {
    const Result<Compiled> compiled = compile(program, schedule, &inputs);
    ASSERT_TRUE(compiled.ok()) << schedule.name << ": " << compiled.error().str();
    const Result<Execution> execution = execute(*compiled, inputs);
    ASSERT_TRUE(execution.ok()) << schedule.name << ": " << execution.error().str();
    for (const Comparison& c : compareWithDense(program, *compiled, inputs, execution->results))
      EXPECT_TRUE(c.close) << schedule.name << ", density " << density << ": " << c.tensor << " differs by " << c.worst;
  }
}

class MlirFile : public testing::TestWithParam<std::string> {};

/// The program that a text becomes stands beside it: `TOKAMAK_UPDATE_GOLDEN=1` writes it anew.
TEST_P(MlirFile, BecomesTheProgramBesideIt) {
  const Result<ImportedProgram> imported = import(GetParam() + ".mlir");
  ASSERT_TRUE(imported.ok()) << imported.error().str();
  const std::string path = kFolder + "/" + GetParam() + ".ein", text = print(imported->program);
  if (std::getenv("TOKAMAK_UPDATE_GOLDEN")) ASSERT_TRUE(writeWholeFile(path, text).ok());
  EXPECT_EQ(readWholeFile(path).value(), text);
  const Result<Program> parsed = parseProgram(text, path);
  ASSERT_TRUE(parsed.ok()) << parsed.error().str();
  EXPECT_EQ(print(*parsed), text);
}

TEST_P(MlirFile, EqualsItsDenseForm) {
  const Result<ImportedProgram> imported = import(GetParam() + ".mlir");
  ASSERT_TRUE(imported.ok()) << imported.error().str();
  uint64_t seed = 1;
  for (const double density : {0.0, 0.3, 1.0}) runEverySchedule(*imported, density, seed++);
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".mlir") out.push_back(entry.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

/// The first line and column, and the code, of what is refused.
std::string refusal(const std::string& text) {
  const Result<ImportedProgram> imported = translateMlir(text, "t.mlir", {});
  if (imported.ok()) return "accepted";
  const Diagnostic& error = imported.error();
  EXPECT_FALSE(error.hint.empty()) << error.str();
  return fmt::format("{}:{} {}", error.location.line, error.location.column, error.code);
}

std::string function(const std::string& arguments, const std::string& body) {
  return "func.func @main(" + arguments + ") -> tensor<4xf32> {\n" + body + "\n  return %r : tensor<4xf32>\n}\n";
}

std::string folding(const std::string& body, const std::string& out = "(d0)") {
  return function("%a: tensor<4x4xf32>, %z: tensor<4xf32>",
                  "  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> " +
                      out +
                      ">], iterator_types = [\"parallel\", \"reduction\"]} ins(%a : tensor<4x4xf32>) "
                      "outs(%z : tensor<4xf32>) {\n  ^bb0(%in: f32, %out: f32):\n" +
                      body + "\n  } -> tensor<4xf32>");
}

TEST(MlirRefusals, NotMlir) {
  EXPECT_EQ(refusal("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %b : tensor<4xf32>\n}"),
            "2:10 T0851");
  EXPECT_EQ(refusal("func.func @main(\xC3\x28"), "1:17 T0851");
  EXPECT_EQ(refusal(std::string("ML\xEFR", 4)), "1:3 T0851");
  EXPECT_EQ(refusal("func.func @main(%a: tensor<4xf32>) -> tensor<5xf32> {\n  return %a : tensor<4xf32>\n}"),
            "2:3 T0851");
  EXPECT_EQ(refusal(""), "1:1 T0855");
}

TEST(MlirRefusals, OperationsThatAreNotKnown) {
  const std::string a = "%a: tensor<4xf32>";
  EXPECT_EQ(refusal(function(a, "  %r = tm_tensor.scan %a : tensor<4xf32>")), "2:8 T0852");
  EXPECT_EQ(refusal(function(a, "  %r = \"a.b\"(%a) : (tensor<4xf32>) -> tensor<4xf32>")), "2:8 T0852");
  EXPECT_EQ(refusal(function(a + ", %e: tensor<4xf32>",
                             "  %r = linalg.floor ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>"))
                .substr(4),
            "T0852");
}

TEST(MlirRefusals, LoopsThatAreNoNotation) {
  EXPECT_EQ(refusal(folding("    %0 = arith.mulf %in, %out : f32\n    linalg.yield %0 : f32")), "4:10 T0854");
  EXPECT_EQ(refusal(folding("    linalg.yield %in : f32")), "2:8 T0854");
  EXPECT_EQ(refusal(folding("    %0 = arith.subf %in, %out : f32\n    linalg.yield %0 : f32")), "4:10 T0854");
}

std::string encoded(const std::string& levels, const std::string& rest = "") {
  return "#E = #sparse_tensor.encoding<{ map = (d0, d1) -> (" + levels + ")" + rest + " }>\n" +
         "func.func @main(%a: tensor<4x4xf32, #E>) -> tensor<4x4xf32, #E> {\n  return %a : tensor<4x4xf32, #E>\n}";
}

TEST(MlirRefusals, Encodings) {
  EXPECT_EQ(refusal(encoded("d0 : dense, d1 : loose_compressed")), "2:17 T0853");
  EXPECT_EQ(refusal(encoded("d0 : dense, d1 floordiv 4 : dense, d1 mod 4 : structured[2, 4]")), "2:17 T0853");
  EXPECT_EQ(refusal(encoded("d0 : dense, d1 : compressed", ", implicitVal = 1.0 : f32")), "2:39 T0851");
  EXPECT_EQ(refusal(encoded("d0 : dense, d1 : squashed")).substr(5), "T0851");
}

TEST(MlirRefusals, Functions) {
  const std::string body = "(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n";
  EXPECT_EQ(refusal("func.func @a" + body + "func.func @b" + body), "4:1 T0855");
  EXPECT_EQ(refusal("func.func @main(%a: tensor<*xf32>) -> tensor<*xf32> {\n  return %a : tensor<*xf32>\n}"),
            "1:17 T0855");
  EXPECT_EQ(refusal("func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {\n"
                    "  return %a : tensor<4xcomplex<f32>>\n}"),
            "1:17 T0855");
  EXPECT_TRUE(translateMlir("func.func @a" + body + "func.func @b" + body, "t.mlir", {.function = "b"}).ok());
}

TEST(MlirRefusals, SizesAndWeights) {
  EXPECT_EQ(refusal("func.func @main(%a: tensor<?xf32>, %b: tensor<3xf32>) -> tensor<4xf32> {\n"
                    "  %x = tensor.cast %a : tensor<?xf32> to tensor<4xf32>\n"
                    "  %y = tensor.cast %a : tensor<?xf32> to tensor<5xf32>\n  return %x : tensor<4xf32>\n}"),
            "3:8 T0856");
  EXPECT_EQ(
      refusal("func.func @main() -> tensor<4xf32> {\n  %w = arith.constant dense_resource<w> : tensor<4xf32>\n"
              "  return %w : tensor<4xf32>\n}\n{-# dialect_resources: { builtin: { w: \"0x0400000000000000\" } } #-}"),
      "2:8 T0857");
}

/// Cut anywhere, a text is refused with a place or means something; nothing else happens.
TEST(MlirRefusals, TruncatedAnywhere) {
  const std::string text = readWholeFile(kFolder + "/folds.mlir").value();
  for (size_t length = 0; length < text.size(); length += 13) {
    const Result<ImportedProgram> imported = translateMlir(text.substr(0, length), "t.mlir", {});
    if (imported.ok()) continue;
    EXPECT_GT(imported.error().location.line, 0) << length << ": " << imported.error().str();
  }
}

TEST(Mlir, ElidedWeightsComeFromTheSeed) {
  const Result<ImportedProgram> a = import("weights.mlir", {.seed = 1}), b = import("weights.mlir", {.seed = 1}),
                                c = import("weights.mlir", {.seed = 2});
  EXPECT_EQ(a->weights.at("missing"), b->weights.at("missing"));
  EXPECT_NE(a->weights.at("missing"), c->weights.at("missing"));
  EXPECT_EQ(a->weights.at("named"), c->weights.at("named"));
  EXPECT_EQ(toDense(a->weights.at("named"))[4], -2.0);
  EXPECT_EQ(a->weights.at("entries").format.str(), "csr");
  EXPECT_EQ(a->weights.at("entries").stored(), 2);
  ASSERT_EQ(a->notes.size(), 1u);
  EXPECT_NE(a->notes[0].find("missing"), std::string::npos);
}

TEST(Mlir, WindowsDiagonalsAndRowsPickTheirEntries) {
  const Result<ImportedProgram> imported = import("generic_maps.mlir");
  ASSERT_TRUE(imported.ok()) << imported.error().str();
  Program program = imported->program;
  Bindings inputs = inputsFor(*imported, program, 1, 7);
  const DenseValues values = evaluate(program, inputs);
  const std::vector<double> signal = toDense(inputs.at("signal")), filter = toDense(inputs.at("filter"));
  const std::vector<double> a = toDense(inputs.at("A"));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(
        values.at("conv")[i],
        signal[2 * i] * filter[0] + signal[2 * i + 1] * filter[1] + (2 * i + 2 < 9 ? signal[2 * i + 2] * filter[2] : 0),
        1e-12);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(values.at("diag")[i], a[i * 7]);
    EXPECT_EQ(values.at("third")[i], a[12 + i]);
    double total = 0;
    for (size_t j = 0; j < 6; ++j) total += a[i * 6 + j];
    for (size_t j = 0; j < 6; ++j) EXPECT_NEAR(values.at("centred")[i * 6 + j], a[j * 6 + i] - total, 1e-12);
  }
}

TEST(Mlir, SlicesPaddingAndNeighboursAreWhereTheyBelong) {
  const Result<ImportedProgram> imported = import("slices.mlir");
  ASSERT_TRUE(imported.ok()) << imported.error().str();
  Program program = imported->program;
  const Bindings inputs = inputsFor(*imported, program, 0.6, 3);
  const DenseValues values = evaluate(program, inputs);
  const std::vector<double> a = toDense(inputs.at("A")), b = toDense(inputs.at("B")), c = toDense(inputs.at("C"));
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 4; ++j) EXPECT_EQ(values.at("part")[i * 4 + j], a[(1 + 2 * i) * 8 + j]);
  for (size_t j = 0; j < 8; ++j) EXPECT_EQ(values.at("row")[j], a[4 * 8 + j]);
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 9; ++j)
      EXPECT_EQ(values.at("wide")[i * 9 + j], i < 2 || j == 8 ? 0 : a[(i - 2) * 8 + j]) << i << " " << j;
  for (size_t i = 0; i < 7; ++i)
    for (size_t j = 0; j < 8; ++j) EXPECT_EQ(values.at("framed")[i * 8 + j], i == 6 ? 2 : a[i * 8 + j]);
  for (size_t i = 0; i < 6; ++i) {
    for (size_t j = 0; j < 11; ++j) EXPECT_EQ(values.at("beside")[i * 11 + j], j < 8 ? a[i * 8 + j] : b[i * 3 + j - 8]);
    for (size_t j = 0; j < 8; ++j) EXPECT_EQ(values.at("patched")[i * 8 + j], j < 5 ? a[i * 8 + j] : b[i * 3 + j - 5]);
  }
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 2; ++j) EXPECT_EQ(values.at("ends")[i * 2 + j], c[i * 8 + 6 + j]);
}

TEST(Mlir, StoredEntriesAreToldFromAbsentOnes) {
  const Result<ImportedProgram> imported = import("stored.mlir");
  ASSERT_TRUE(imported.ok()) << imported.error().str();
  Program program = imported->program;
  Bindings inputs = inputsFor(*imported, program, 0.5, 4);
  Entries stored{{4, 5}, {}, {}};
  stored.add({0, 1}, 0);  // stored, and zero
  stored.add({0, 2}, -3);
  stored.add({2, 0}, 5);
  inputs["A"] = *pack(stored, *namedFormat("csr", 2), DType::f32);
  const DenseValues values = evaluate(program, inputs);
  const std::vector<double> b = toDense(inputs.at("B"));
  for (size_t e = 0; e < 20; ++e) {
    const bool has = e == 1 || e == 2 || e == 10;
    const double a = e == 2 ? -3 : e == 10 ? 5 : 0;
    EXPECT_EQ(values.at("shifted")[e], has ? a + 1 : 0) << e;
    EXPECT_EQ(values.at("complement")[e], has ? 0 : 1) << e;
    EXPECT_EQ(values.at("above")[e], a > 0 ? a : 0) << e;
    EXPECT_EQ(values.at("mixed")[e], has ? (b[e] != 0 ? a * b[e] : a) : -b[e]) << e;
  }
  EXPECT_EQ(values.at("least")[0], -3);
  EXPECT_EQ(values.at("least")[2], 5);
}

TEST(MlirRefusals, PartsThatAreNotTold) {
  const std::string slice = "func.func @main(%a: tensor<9xf32>, %n: index) -> tensor<4xf32> {\n";
  EXPECT_EQ(refusal(slice + "  %r = tensor.extract_slice %a[%n] [4] [1] : tensor<9xf32> to tensor<4xf32>\n"
                            "  return %r : tensor<4xf32>\n}"),
            "2:8 T0856");
  EXPECT_EQ(refusal(function("%a: tensor<3xf32>",
                             "  %r = tensor.pad %a low[1] high[0] {\n  ^bb0(%i: index):\n"
                             "    %1 = arith.index_cast %i : index to i32\n    %2 = arith.sitofp %1 : i32 to f32\n"
                             "    tensor.yield %2 : f32\n  } : tensor<3xf32> to tensor<4xf32>")),
            "2:8 T0854");
}

TEST(Mlir, ProductWithCsrIsTheProgramOfTheNotation) {
  const Result<ImportedProgram> imported = import("matmul.mlir");
  const Result<Program> written =
      parseProgram("dim A_0\ninput A[A_0, 16]: csr\ninput B[16, 8]\noutput C[A_0, 8]\nC[i, j] = A[i, k] * B[k, j]");
  ASSERT_TRUE(imported.ok() && written.ok());
  EXPECT_EQ(print(imported->program), print(*written));
}

INSTANTIATE_TEST_SUITE_P(Forms, MlirFile, testing::ValuesIn(files()), [](const auto& info) { return info.param; });

}  // namespace

}  // namespace tokamak::sparse
