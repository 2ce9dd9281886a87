#include <fmt/format.h>
#include <gtest/gtest.h>

#include "library/naive_test.h"
#include "library/panel_product.h"

namespace tokamak::library {
namespace {

std::shared_ptr<const Library> library() {
  static const std::shared_ptr<const Library> opened = Library::open();
  return opened;
}

int64_t product(std::span<const int64_t> extents) {
  int64_t out = 1;
  for (const int64_t e : extents) out *= e;
  return out;
}

/// Extents of the axes that are not there are 1, so that all convolutions are over three.
struct Full {
  std::array<int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1};
  Full(const ConvDesc& desc, const ConvDims& d) {
    for (int axis = 0; axis < desc.spatialRank; ++axis)
      in[axis] = d.input[axis], kernel[axis] = d.kernel[axis], out[axis] = convExtent(desc, d, axis);
  }
};

/// Where channel `c` of point `p` of the `n`-th image lies.
int64_t place(const ConvDesc& desc, int64_t n, int64_t c, int64_t p, int64_t channels, int64_t plane) {
  return desc.channelsLast ? (n * plane + p) * channels + c : (n * channels + c) * plane + p;
}

double naiveAt(const ConvDesc& desc, const ConvDims& d, const Full& f, std::vector<Buffer>& buffers, int64_t n,
               int64_t o, const std::array<int64_t, 3>& at) {
  const int64_t perGroup = d.channels / desc.groups, group = o / (d.outChannels / desc.groups);
  double x = 0;
  for (int64_t c = 0; c < perGroup; ++c)
    for (int64_t k = 0; k < product(f.kernel); ++k) {
      const std::array<int64_t, 3> tap = {k / (f.kernel[1] * f.kernel[2]), k / f.kernel[2] % f.kernel[1],
                                          k % f.kernel[2]};
      int64_t from = 0;
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        const bool real = axis < desc.spatialRank;
        const int64_t p = real ? at[axis] * desc.stride[axis] - desc.low[axis] + tap[axis] * desc.dilation[axis] : 0;
        inside = inside && p >= 0 && p < f.in[axis];
        from = from * f.in[axis] + p;
      }
      if (!inside) continue;
      const int64_t channel = group * perGroup + c;
      x += double(buffers[0].get(place(desc, n, channel, from, d.channels, product(f.in)))) *
           double(buffers[1].get((o * perGroup + c) * product(f.kernel) + k));
    }
  return x;
}

void expectRight(const ConvCall& call, const ConvDims& d) {
  const ConvDesc& desc = call.desc();
  const Full f(desc, d);
  Random random;
  const int64_t results = d.batch * d.outChannels * product(f.out);
  std::vector<Buffer> buffers;
  buffers.push_back(random.buffer(desc.dtype, d.batch * d.channels * product(f.in)));
  buffers.push_back(random.buffer(desc.dtype, d.outChannels * (d.channels / desc.groups) * product(f.kernel)));
  if (desc.bias) buffers.push_back(random.buffer(desc.biasType, d.outChannels));
  for (const PostOp& op : desc.postOps)
    if (hasOperand(op.kind))
      buffers.push_back(random.buffer(op.dtype, op.broadcast == Broadcast::none  ? results
                                                : op.broadcast == Broadcast::row ? d.outChannels
                                                                                 : 1));
  buffers.push_back(random.buffer(desc.dtype, results));
  const Buffer old = buffers.back();
  std::vector<void*> addresses;
  for (Buffer& buffer : buffers) addresses.push_back(buffer.data());
  auto status = call.run(d, addresses);
  ASSERT_TRUE(status) << status.error().str();
  const double scale = std::sqrt(double(d.channels / desc.groups * product(f.kernel)) + 1);
  for (int64_t j = 0; j < results; ++j) {
    const int64_t plane = product(f.out), n = j / plane / d.outChannels, o = j / plane % d.outChannels, p = j % plane;
    const int64_t i = place(desc, n, o, p, d.outChannels, plane);
    double x = naiveAt(desc, d, f, buffers, n, o, {p / (f.out[1] * f.out[2]), p / f.out[2] % f.out[1], p % f.out[2]});
    if (desc.bias) x += buffers[2].get(o);
    size_t next = desc.bias ? 3 : 2;
    for (const PostOp& op : desc.postOps) {
      double operand = op.kind == PostOpKind::sum ? old.get(i) : 0;
      if (hasOperand(op.kind))
        operand = buffers[next++].get(op.broadcast == Broadcast::none ? i : op.broadcast == Broadcast::row ? o : 0);
      x = naivePostOp(op, x, operand);
    }
    ASSERT_NEAR(buffers.back().get(i), x, tolerance(desc.dtype) * std::max(scale, std::fabs(x))) << "element " << i;
  }
}

struct ConvTest : testing::Test {
  void SetUp() override {
    if (!library()->available()) GTEST_SKIP() << library()->available().reason();
  }
};

TEST_F(ConvTest, OneToThreeAxes) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (int rank = 1; rank <= 3; ++rank)
      for (int flags = 0; flags < 4; ++flags) {
        ConvDesc desc;
        desc.spatialRank = rank;
        desc.dtype = dtype;
        desc.bias = flags & 1, desc.constantWeights = flags & 2;
        desc.stride = {2, 1, 2}, desc.low = {1, 0, 2}, desc.high = {0, 1, 1}, desc.dilation = {1, 2, 1};
        const Decision decision = library()->accepts(desc);
        ASSERT_TRUE(decision) << decision.reason();
        auto call = *library()->conv(desc);
        expectRight(*call, {2, 5, 7, {9, 8, 6}, {3, 2, 3}});
        expectRight(*call, {1, 16, 32, {6, 6, 6}, {3, 3, 3}});
        if (HasFatalFailure()) FAIL() << rank << " axes, flags " << flags;
      }
}

TEST_F(ConvTest, GroupsAndDepthwise) {
  for (const int64_t groups : {2, 16}) {
    ConvDesc desc;
    desc.groups = groups;
    desc.low = desc.high = {1, 1, 1};
    desc.constantWeights = true;
    ASSERT_TRUE(library()->accepts(desc)) << library()->accepts(desc).reason();
    expectRight(**library()->conv(desc), {2, 16, 32, {7, 9, 1}, {3, 3, 1}});
    expectRight(**library()->conv(desc), {1, 16, 16, {5, 5, 1}, {3, 3, 1}});
  }
}

TEST_F(ConvTest, LargeWeightsWhosePaddedBlocksAreFilledInTwoSteps) {
  ConvDesc desc;
  desc.spatialRank = 1;
  desc.groups = 4;
  desc.low = desc.high = {16, 0, 0};
  int twoSteps = 0;
  auto expect = [&](const ConvDims& dims) {
    const auto call = *library()->conv(desc);
    twoSteps += call->implementation(dims)->find("in two steps") != std::string::npos;
    expectRight(*call, dims);
  };
  expect({1, 188, 188, {20, 1, 1}, {32, 1, 1}});
  desc.groups = 1;
  desc.spatialRank = 2;
  desc.low = desc.high = {1, 2, 0};
  expect({1, 260, 135, {5, 6, 1}, {3, 5, 1}});
  EXPECT_GT(twoSteps, 0);
}

TEST_F(ConvTest, PostOps) {
  ConvDesc desc;
  desc.bias = desc.constantWeights = true;
  desc.low = desc.high = {1, 1, 1};
  const std::vector<std::vector<PostOp>> lists = {
      {{PostOpKind::relu}},
      {{PostOpKind::add}, {PostOpKind::relu}},
      {{.kind = PostOpKind::sum, .alpha = 0.5f}, {PostOpKind::swish}},
      {{.kind = PostOpKind::mul, .broadcast = Broadcast::row}, {.kind = PostOpKind::add, .broadcast = Broadcast::row}},
      {{.kind = PostOpKind::mul, .broadcast = Broadcast::scalar},
       {.kind = PostOpKind::hardswish, .alpha = 1.0f / 6, .beta = 0.5f}}};
  for (const auto& list : lists) {
    desc.postOps = list;
    ASSERT_TRUE(library()->accepts(desc)) << library()->accepts(desc).reason();
    auto call = *library()->conv(desc);
    expectRight(*call, {2, 16, 32, {6, 7, 1}, {3, 3, 1}});
    expectRight(*call, {1, 3, 5, {6, 7, 1}, {1, 1, 1}});
    if (HasFatalFailure()) FAIL() << nameOf(list[0].kind);
  }
}

TEST_F(ConvTest, LongSumsAreCutIntoPartsOrBlocks) {
  // What follows is none of what our own panels apply.
  const std::vector<std::vector<PostOp>> lists = {{{PostOpKind::abs}},
                                                  {{.kind = PostOpKind::mul, .broadcast = Broadcast::row},
                                                   {PostOpKind::add},
                                                   {PostOpKind::relu},
                                                   {PostOpKind::abs}}};
  for (const auto& list : lists)
    for (const bool constant : {false, true}) {
      ConvDesc desc;
      desc.channelsLast = true;
      desc.bias = list.size() > 1, desc.constantWeights = constant, desc.postOps = list;
      desc.stride = {1, 2, 1}, desc.low = {0, 2, 0}, desc.high = {1, 1, 0}, desc.dilation = {2, 1, 1};
      auto call = *library()->conv(desc);
      const ConvDims large{1, 64, 8, {64, 82, 1}, {2, 3, 1}}, small{2, 48, 20, {5, 7, 1}, {2, 3, 1}};
      EXPECT_NE(call->implementation(large)->find("in 2 parts"), std::string::npos) << *call->implementation(large);
      EXPECT_NE(call->implementation(small)->find("reorder"), std::string::npos) << *call->implementation(small);
      expectRight(*call, large);
      expectRight(*call, small);
      desc.spatialRank = 1, desc.low = {2, 0, 0}, desc.dilation = {2, 1, 1}, desc.stride = {1, 1, 1};
      expectRight(**library()->conv(desc), {1, 128, 6, {2100, 1, 1}, {5, 1, 1}});
      desc.low = desc.high = {}, desc.dilation = {1, 1, 1}, desc.stride = {2, 1, 1};
      auto unpadded = *library()->conv(desc);
      const ConvDims quarters{2, 128, 6, {1051, 1, 1}, {3, 1, 1}};
      EXPECT_NE(unpadded->implementation(quarters)->find("in 4 parts"), std::string::npos);
      expectRight(*unpadded, quarters);
      if (HasFatalFailure()) FAIL() << list.size() << " post-ops, constant weights " << constant;
    }
}

TEST_F(ConvTest, ByPanels) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  const PostOp scale{.kind = PostOpKind::mul, .broadcast = Broadcast::row},
      shift{.kind = PostOpKind::add, .broadcast = Broadcast::row}, add{PostOpKind::add}, relu{PostOpKind::relu},
      gelu{PostOpKind::gelu_erf};
  const std::vector<std::vector<PostOp>> lists = {{}, {scale, shift, relu}, {shift, add, relu}, {scale, gelu}};
  for (size_t which = 0; which < lists.size(); ++which)
    for (const bool constant : {false, true}) {
      ConvDesc desc;
      desc.channelsLast = true;
      desc.bias = which % 2 != 0, desc.constantWeights = constant, desc.postOps = lists[which];
      ASSERT_TRUE(library()->appliesInRegisters(desc));
      const auto expect = [&](const ConvDims& dims) {
        const auto call = *library()->conv(desc);
        EXPECT_EQ(call->implementation(dims)->find("panels"), 0) << *call->implementation(dims);
        SCOPED_TRACE(fmt::format("{} channels to {}, kernel {}x{}x{}", dims.channels, dims.outChannels, dims.kernel[0],
                                 dims.kernel[1], dims.kernel[2]));
        expectRight(*call, dims);
      };
      expect({2, 24, 70, {5, 9, 1}, {1, 1, 1}});    // the image itself
      expect({1, 20, 300, {6, 7, 1}, {1, 1, 1}});   // packed
      expect({2, 20, 70, {14, 19, 1}, {1, 1, 1}});  // so many places that weights are packed first
      expect({3, 80, 50, {9, 8, 1}, {3, 3, 1}});    // by elements of the kernel, in place
      expect({1, 80, 290, {5, 8, 1}, {3, 3, 1}});   // packed
      desc.low = {3, 2, 0}, desc.high = {2, 3, 0}, desc.stride = {2, 2, 1};
      expect({2, 3, 64, {11, 10, 1}, {7, 7, 1}});  // by runs of few channels, beyond all edges
      expect({1, 70, 17, {6, 5, 1}, {3, 3, 1}});
      desc.dilation = {2, 3, 1}, desc.stride = {1, 3, 1};
      expect({2, 17, 49, {8, 9, 1}, {2, 3, 1}});
      desc.spatialRank = 1, desc.low = {4, 0, 0}, desc.high = {0, 0, 0}, desc.dilation = {1, 1, 1};
      expect({2, 1, 33, {40, 1, 1}, {10, 1, 1}});
      expect({1, 5, 130, {9, 1, 1}, {13, 1, 1}});  // longer than the image
      desc.spatialRank = 3, desc.stride = {1, 2, 1}, desc.low = {0, 1, 1}, desc.high = {1, 0, 1};
      expect({2, 9, 20, {4, 5, 6}, {2, 3, 2}});
      expect({1, 33, 20, {3, 4, 4}, {2, 2, 3}});
      if (HasFatalFailure()) FAIL() << "post-ops " << which << ", constant weights " << constant;
    }
}

TEST_F(ConvTest, PanelsKeepNanAndLeaveEmptyOnes) {
  ConvDesc desc;
  desc.channelsLast = true;
  desc.low = desc.high = {1, 1, 1};
  desc.postOps = {{PostOpKind::relu}};
  const auto call = *library()->conv(desc);
  for (const ConvDims& dims : {ConvDims{0, 16, 5, {6, 7, 1}, {3, 3, 1}}, ConvDims{1, 16, 0, {6, 7, 1}, {3, 3, 1}},
                               ConvDims{1, 0, 5, {6, 7, 1}, {3, 3, 1}}, ConvDims{1, 16, 5, {0, 7, 1}, {2, 3, 1}}})
    expectRight(*call, dims);
  EXPECT_EQ(call->prepare({1, 16, 5, {2, 7, 1}, {9, 3, 1}}).error().code, "T0702");
  std::vector<float> x(16 * 4, 1), w(3 * 16 * 9, 1), y(3 * 4);
  void* buffers[] = {x.data(), w.data(), y.data()};
  const auto run = [&] { ASSERT_TRUE(call->run({1, 16, 3, {2, 2, 1}, {3, 3, 1}}, buffers)); };
  x[5] = NAN;
  run();
  for (float v : y) EXPECT_TRUE(std::isnan(v));  // every window sees it
  // The first weight of the second kernel meets the image in one place only, elsewhere what lies around it.
  x[5] = 1, w[16 * 9] = INFINITY;
  run();
  for (int place = 0; place < 4; ++place) {
    EXPECT_EQ(y[place * 3], 64);
    EXPECT_EQ(y[place * 3 + 1], place == 3 ? INFINITY : 64);
  }
}

TEST_F(ConvTest, EmptyAndWrongExtents) {
  ConvDesc desc;
  desc.bias = true;
  desc.low = desc.high = {1, 1, 1};
  desc.postOps = {{PostOpKind::relu}, {.kind = PostOpKind::add, .broadcast = Broadcast::row}};
  auto call = *library()->conv(desc);
  expectRight(*call, {0, 3, 5, {6, 7, 1}, {3, 3, 1}});
  expectRight(*call, {1, 3, 0, {6, 7, 1}, {3, 3, 1}});
  expectRight(*call, {1, 0, 5, {6, 7, 1}, {3, 3, 1}});
  expectRight(*call, {1, 3, 5, {0, 7, 1}, {3, 3, 1}});  // nothing but padding, no result
  expectRight(*call, {1, 3, 5, {0, 7, 1}, {2, 3, 1}});  // nothing but padding
  EXPECT_EQ(call->prepare({1, 3, 5, {2, 7, 1}, {9, 3, 1}}).error().code, "T0702");
  desc.groups = 2;
  EXPECT_EQ((*library()->conv(desc))->prepare({1, 3, 4, {5, 5, 1}, {3, 3, 1}}).error().code, "T0702");
}

TEST_F(ConvTest, RefusesWithReasons) {
  ConvDesc desc;
  desc.dtype = DType::i32;
  EXPECT_NE(library()->accepts(desc).reason().find("i32"), std::string::npos);
  desc.dtype = DType::f32;
  desc.low[0] = -1;
  EXPECT_FALSE(library()->accepts(desc));
  desc.low[0] = 0;
  desc.postOps = {{.kind = PostOpKind::add, .broadcast = Broadcast::column}};
  EXPECT_FALSE(library()->accepts(desc));
}

TEST_F(ConvTest, DISABLED_Speed) {
  for (const ConvDims& d : {ConvDims{4, 3, 64, {224, 224, 1}, {7, 7, 1}},
                            {4, 64, 64, {56, 56, 1}, {1, 1, 1}},
                            {4, 64, 64, {56, 56, 1}, {3, 3, 1}},
                            {4, 256, 256, {14, 14, 1}, {3, 3, 1}},
                            {4, 2048, 512, {7, 7, 1}, {1, 1, 1}}}) {
    ConvDesc desc;
    desc.bias = desc.constantWeights = true;
    desc.postOps = {{PostOpKind::relu}};
    desc.low = desc.high = {d.kernel[0] / 2, d.kernel[1] / 2, 0};
    if (d.kernel[0] == 7) desc.stride = {2, 2, 1};
    auto call = *library()->conv(desc);
    const Full f(desc, d);
    Random random;
    std::vector<Buffer> buffers;
    buffers.push_back(random.buffer(desc.dtype, d.batch * d.channels * product(f.in)));
    buffers.push_back(random.buffer(desc.dtype, d.outChannels * d.channels * product(f.kernel)));
    buffers.push_back(random.buffer(desc.dtype, d.outChannels));
    buffers.push_back(random.buffer(desc.dtype, d.batch * d.outChannels * product(f.out)));
    void* addresses[] = {buffers[0].data(), buffers[1].data(), buffers[2].data(), buffers[3].data()};
    const double best = bestSeconds([&] { ASSERT_TRUE(call->run(d, addresses)); });
    const double work = 2.0 * double(buffers[3].size()) * d.channels * product(f.kernel);
    fmt::print("conv {}x{} to {} of {}x{}, kernel {}: {:.3f} ms, {:.0f} GFLOP/s, {}\n", d.batch, d.channels,
               d.outChannels, d.input[0], d.input[1], d.kernel[0], best * 1e3, work / best * 1e-9,
               *call->implementation(d));
  }
}

}  // namespace
}  // namespace tokamak::library
