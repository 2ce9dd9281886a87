#include "sparse/io/io.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "sparse/io/zip.h"

namespace tokamak::sparse {

namespace {

Entries sample() {
  Entries out{{3, 4}, {}, {}};
  out.add({0, 1}, 1.5);
  out.add({2, 0}, -2);
  out.add({2, 3}, 4);
  return out;
}

void expectSample(const Result<Entries>& got) {
  ASSERT_TRUE(got.ok()) << got.error().str();
  const Entries wanted = sample();
  EXPECT_EQ(got->shape, wanted.shape);
  EXPECT_EQ(got->at, wanted.at);
  EXPECT_EQ(got->values, wanted.values);
}

TEST(MatrixMarket, RoundTrip) { expectSample(parseMatrixMarket(formatMatrixMarket(sample()), "a.mtx")); }

TEST(MatrixMarket, KindsOfFiles) {
  const auto symmetric =
      parseMatrixMarket("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 3\n", "s");
  ASSERT_TRUE(symmetric.ok()) << symmetric.error().str();
  EXPECT_EQ(symmetric->at, (std::vector<int32_t>{1, 0, 0, 1, 2, 2}));
  const auto skew = parseMatrixMarket("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n", "s");
  EXPECT_EQ(skew->values, (std::vector<double>{5, -5}));
  const auto array = parseMatrixMarket("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "s");
  EXPECT_EQ(toDense(*pack(*array, Format::dense(2))), (std::vector<double>{1, 3, 2, 4}));
}

TEST(MatrixMarket, SaysWhere) {
  const auto error = [](std::string_view text) { return parseMatrixMarket(text, "x.mtx").error(); };
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_EQ(error("hello").location.line, 1);
  EXPECT_EQ(error(head).code, "T0906");
  EXPECT_EQ(error(head + "2 2 2\n1 1 1\n").message, "2 entries are announced, 1 are there");
  EXPECT_EQ(error(head + "2 2 1\n1 3 1\n").location.line, 3);
  EXPECT_EQ(error(head + "2 2 1\n1 1 nan\n").message, "the value is not a number");
  EXPECT_EQ(error(head + "2 2 1\n1 1 1 1\n").message, "this is not `row column value`");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate complex general\n1 1 0\n").message,
            "values of field 'complex' are not supported");
}

TEST(Tns, RoundTrip) { expectSample(parseTns(formatTns(sample()), "a.tns", {3, 4})); }

TEST(Tns, SaysWhere) {
  EXPECT_EQ(parseTns("1 1 1 2.5\n1 1 2.5\n", "x").error().location.line, 2);
  EXPECT_EQ(parseTns("0 1 1 2.5\n", "x").error().message, "0 is no coordinate");
  EXPECT_EQ(parseTns("# nothing\n", "x").error().code, "T0906");
}

TEST(Npz, RoundTrip) { expectSample(parseNpz(formatNpz(sample()), "a.npz")); }

TEST(Npz, DamageIsSeen) {
  const std::string bytes = formatNpz(sample());
  for (size_t cut = 0; cut < bytes.size(); cut += 7) EXPECT_FALSE(parseNpz(bytes.substr(0, cut), "x").ok()) << cut;
  std::string changed = bytes;
  changed[changed.find("NUMPY")] ^= 1;
  EXPECT_EQ(parseNpz(changed, "x").error().code, "T0907");
}

TEST(Zip, SizesOfEightBytes) {
  const std::map<std::string, std::string> files = {{"a", "first"}, {"b", ""}, {"c", std::string(300, 'x')}};
  const std::string narrow = formatZip(files);
  for (const uint64_t wide : {0, 5, 6, 200, 395}) {
    const std::string bytes = formatZip(files, wide);
    EXPECT_GT(bytes.size(), narrow.size()) << wide;
    const auto got = parseZip(bytes, "wide.zip");
    ASSERT_TRUE(got.ok()) << wide << ": " << got.error().str();
    EXPECT_EQ(*got, files) << wide;
    for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(parseZip(bytes.substr(0, cut), "x").ok()) << cut;
    for (size_t at = 0; at < bytes.size(); ++at)  // whatever a byte is made to say: an answer, and no crash
      for (const char byte : {'\x00', '\x7f', '\xff'}) {
        std::string changed = bytes;
        changed[at] = byte;
        (void)parseZip(changed, "x");
      }
  }
}

TEST(Zip, MoreFilesThanTwoBytesCount) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 70000; ++i) files[std::to_string(i)] = "";
  const auto got = parseZip(formatZip(files), "many.zip");
  ASSERT_TRUE(got.ok()) << got.error().str();
  EXPECT_EQ(*got, files);
}

TEST(Files, ByEndingAndSamFolder) {
  char name[] = "/tmp/tokamak_io_XXXXXX";
  const std::string folder = mkdtemp(name);
  const Tensor tensor = *pack(sample(), *namedFormat("csr", 2), DType::f64);
  for (const char* ending : {"mtx", "tns", "npz", "npy"}) {
    const std::string path = folder + "/a." + ending;
    ASSERT_TRUE(writeTensor(path, tensor).ok());
    const auto got = readTensor(path);
    ASSERT_TRUE(got.ok()) << got.error().str();
    EXPECT_EQ(got->values, sample().values) << ending;
  }
  ASSERT_TRUE(writeSamTensor(folder, "S", tensor).ok());
  EXPECT_EQ(readSamTensor(folder, "S")->levels, tensor.levels);
  expectSample(readFromFolder(folder, "S"));
  EXPECT_EQ(readFromFolder(folder, "none").error().code, "T0904");
  for (const std::string& place : {folder + "/none", folder + "/a.mtx", std::string(5000, 'x')})
    EXPECT_TRUE(readFromFolder(place, "S").error().message.starts_with("the folder cannot be read")) << place;
  ASSERT_TRUE(writeWholeFile(folder + "/tensor_S_mode_1_crd", "1e300\n").ok());
  EXPECT_EQ(readSamTensor(folder, "S").error().code, "T0906");
  std::filesystem::remove_all(folder);
}

}  // namespace

}  // namespace tokamak::sparse
