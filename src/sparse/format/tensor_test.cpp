#include "sparse/format/tensor.h"

#include <gtest/gtest.h>

namespace tokamak::sparse {

namespace {

/// | 1 . 2 |
/// | . . . |
/// | . 3 . |
/// | 4 . 5 |
Entries matrix() {
  Entries out{{4, 3}, {}, {}};
  out.add({3, 2}, 5);
  out.add({0, 0}, 1);
  out.add({0, 2}, 2);
  out.add({2, 1}, 3);
  out.add({3, 0}, 4);
  return out;
}

const std::vector<double> kDense = {1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0, 5};

TEST(Tensor, PacksCsr) {
  const Tensor tensor = *pack(matrix(), *namedFormat("csr", 2));
  EXPECT_EQ(tensor.levels[1].pos, (std::vector<int64_t>{0, 2, 2, 3, 5}));
  EXPECT_EQ(tensor.levels[1].crd, (std::vector<int32_t>{0, 2, 1, 0, 2}));
  EXPECT_EQ(tensor.values, (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(Tensor, PacksDcscWithoutEmptyColumns) {
  Entries entries{{2, 4}, {}, {}};
  entries.add({1, 3}, 7);
  entries.add({0, 1}, 8);
  const Tensor tensor = *pack(entries, *namedFormat("dcsc", 2));
  EXPECT_EQ(tensor.levels[0].crd, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(tensor.levels[1].crd, (std::vector<int32_t>{0, 1}));
}

TEST(Tensor, CooRepeatsRows) {
  const Tensor tensor = *pack(matrix(), Format::coo(2));
  EXPECT_EQ(tensor.levels[0].crd, (std::vector<int32_t>{0, 0, 2, 3, 3}));
  EXPECT_EQ(tensor.levels[1].crd, (std::vector<int32_t>{0, 2, 1, 0, 2}));
  EXPECT_TRUE(verify(tensor).ok());
}

TEST(Tensor, CooOfPiecesHasOnePositionForEach) {
  Entries entries{{3, 2, 2}, {}, {}};
  entries.add({2, 1, 0}, 3);
  entries.add({0, 1, 0}, 1);
  entries.add({0, 1, 1}, 2);
  Format format = Format::coo(2);
  format.levels.push_back({LevelKind::dense, 2});
  ASSERT_TRUE(format.isWellFormed()) << format.isWellFormed().reason();
  const Tensor tensor = *pack(entries, format);
  EXPECT_EQ(tensor.levels[0].crd, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(tensor.levels[1].crd, (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(tensor.values, (std::vector<double>{1, 2, 3, 0}));
  EXPECT_TRUE(verify(tensor).ok());
  EXPECT_EQ(toDense(tensor), (std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 0}));
}

TEST(Tensor, EveryFormatHoldsTheSameMatrix) {
  std::vector<Format> formats = {*namedFormat("bcsr", 2, {2, 2}), *namedFormat("bcsr", 2, {3, 1}),
                                 *namedFormat("bcsr", 2, {4, 3})};
  for (const char* name : {"dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf"})
    formats.push_back(*namedFormat(name, 2));
  for (const Format& format : formats) {
    ASSERT_TRUE(format.isWellFormed()) << format.isWellFormed().reason();
    const Tensor tensor = *pack(matrix(), format);
    ASSERT_TRUE(verify(tensor).ok()) << format.str() << verify(tensor).error().str();
    EXPECT_EQ(toDense(tensor), kDense) << format.str();
    for (const Format& other : formats) EXPECT_EQ(toDense(convert(tensor, other)), kDense) << other.str();
  }
}

TEST(Tensor, EmptyAndScalar) {
  EXPECT_EQ(toDense(*pack({{3}, {}, {}}, Format::csf(1))), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(toDense(*pack({{0, 5}, {}, {}}, *namedFormat("csr", 2))), std::vector<double>{});
  EXPECT_EQ(toDense(*pack({{}, {}, {2.5}}, Format::dense(0))), std::vector<double>{2.5});
}

TEST(Tensor, RefusesDuplicatesAndStrays) {
  Entries twice = matrix();
  twice.add({2, 1}, 9);
  EXPECT_EQ(pack(twice, *namedFormat("csr", 2)).error().code, "T0902");
  Entries outside = matrix();
  outside.add({4, 0}, 9);
  EXPECT_EQ(pack(outside, *namedFormat("csr", 2)).error().code, "T0901");
}

TEST(Tensor, VerifyNamesTheLevel) {
  Tensor tensor = *pack(matrix(), *namedFormat("csr", 2));
  std::swap(tensor.levels[1].crd[0], tensor.levels[1].crd[1]);
  EXPECT_NE(verify(tensor).error().message.find("level 1: coordinate 0 follows 2"), std::string::npos);
}

TEST(Format, NamesAndLists) {
  EXPECT_EQ(namedFormat("bcsr", 2, {16, 8})->str(), "bcsr(16, 8)");
  EXPECT_EQ((Format{{{LevelKind::compressed, 1}, {LevelKind::dense, 0}}}.str()), "{compressed 1, dense 0}");
  EXPECT_FALSE(namedFormat("csr", 3));
  EXPECT_FALSE((Format{{{LevelKind::dense, 0}, {LevelKind::singleton, 1}}}.isWellFormed()));
  EXPECT_FALSE((
      Format{{{LevelKind::dense, 0, LevelPart::inner, 4}, {LevelKind::dense, 0, LevelPart::outer, 4}}}.isWellFormed()));
}

}  // namespace

}  // namespace tokamak::sparse
