#include <gtest/gtest.h>

#include "graph/interp/testing.h"

/// Every number here was computed by PyTorch 2.13 on the CPU.
namespace tokamak {
namespace {

using testing::array;
using testing::expectResult;
using testing::kInf;
using testing::kNaN;

TEST(TorchValues, Pools) {
  expectResult(Pool{PoolKind::max, {3}, {2}, {1}, {1}, {1}, {}, true, 0},
               {array(DType::f32, {1, 2, 7},
                      {3, -0.5, -4.25, kNaN, -2.25, -2.75, 0.75, 1.75, -1.5, -0.75, -1.25, 0.25, -1.75, 2.25})},
               array(DType::f32, {1, 2, 4}, {3, kNaN, kNaN, 0.75, 1.75, -0.75, 0.25, 2.25}));
  expectResult(Pool{PoolKind::argmax, {3}, {2}, {1}, {1}, {1}, {}, true, 0},
               {array(DType::f32, {1, 2, 7},
                      {3, -0.5, -4.25, kNaN, -2.25, -2.75, 0.75, 1.75, -1.5, -0.75, -1.25, 0.25, -1.75, 2.25})},
               array(DType::i64, {1, 2, 4}, {0, 3, 3, 6, 0, 2, 4, 6}));
  expectResult(
      Pool{PoolKind::max, {2, 3}, {1, 2}, {1, 1}, {1, 1}, {2, 1}, {}, true, 0},
      {array(DType::f32, {1, 1, 5, 6},
             {0.25, 1.75, -0.25, -0.25, -1.25, 0,     -1,   0.5,   1.25, -0.75, -1.75, -4.75, -0.25, 1.5,   -1.25,
              -1,   1.25, 3,     1,     -1.25, -1.25, 1.75, -0.25, -1,   -3,    -0.5,  1,     2.75,  -3.25, -1})},
      array(DType::f32, {1, 1, 5, 3}, {0.5, 1.25, -0.75, 1.75, 1.75, 3, 1, 1.75, 1.75, 1.5, 2.75, 3, 1, 1.75, 1.75}));
  expectResult(Pool{PoolKind::argmax, {2, 3}, {1, 2}, {1, 1}, {1, 1}, {2, 1}, {}, true, 0},
               {array(DType::f32, {1, 1, 5, 6}, {0.25,  1.75,  -0.25, -0.25, -1.25, 0,    -1,   0.5,  1.25,  -0.75,
                                                 -1.75, -4.75, -0.25, 1.5,   -1.25, -1,   1.25, 3,    1,     -1.25,
                                                 -1.25, 1.75,  -0.25, -1,    -3,    -0.5, 1,    2.75, -3.25, -1})},
               array(DType::i64, {1, 1, 5, 3}, {7, 8, 9, 1, 1, 17, 18, 21, 21, 13, 27, 17, 18, 21, 21}));
  expectResult(Pool{PoolKind::max, {2}, {1}, {0}, {0}, {1}, {}, true, 0},
               {array(DType::f32, {1, 1, 6}, {kNaN, kNaN, 5, 2, -kInf, -kInf})},
               array(DType::f32, {1, 1, 5}, {kNaN, kNaN, 5, 2, -kInf}));
  expectResult(Pool{PoolKind::argmax, {2}, {1}, {0}, {0}, {1}, {}, true, 0},
               {array(DType::f32, {1, 1, 6}, {kNaN, kNaN, 5, 2, -kInf, -kInf})},
               array(DType::i64, {1, 1, 5}, {1, 1, 2, 3, 4}));
  expectResult(Pool{PoolKind::argmax, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {}, true, 0},
               {array(DType::f32, {1, 1, 2, 3, 2}, {-3.5, 0.5, -1, 1.25, 3.25, 0.75, -1.25, 2, -4, 0.75, 6.75, 1.75})},
               array(DType::i64, {1, 1, 1, 2, 1}, {7, 10}));
  expectResult(Pool{PoolKind::avg, {3}, {2}, {1}, {2}, {1}, {1}, true, 0},
               {array(DType::f32, {1, 1, 6}, {2.5, -2.25, -0, 1.25, 3.5, -0.25})},
               array(DType::f32, {1, 1, 4}, {0.0833333358, -0.333333343, 1.5, -0.125}));
  expectResult(Pool{PoolKind::avg, {3}, {2}, {1}, {2}, {1}, {1}, false, 0},
               {array(DType::f32, {1, 1, 6}, {2.5, -2.25, -0, 1.25, 3.5, -0.25})},
               array(DType::f32, {1, 1, 4}, {0.125, -0.333333343, 1.5, -0.25}));
  expectResult(
      Pool{PoolKind::avg, {3, 3}, {2, 2}, {1, 1}, {2, 2}, {1, 1}, {1, 1}, true, 0},
      {array(DType::f32, {1, 1, 6, 6}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35})},
      array(DType::f32, {1, 1, 4, 4},
            {1.55555558, 3.33333325, 4.66666651, 2.66666675, 8.33333302, 14, 16, 8.5, 16.333334, 26, 28, 14.5,
             10.166667, 16, 17, 8.75}));
  expectResult(
      Pool{PoolKind::avg, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {}, false, 0},
      {array(DType::f32, {1, 1, 6, 6}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35})},
      array(DType::f32, {1, 1, 3, 3}, {3.5, 5, 7, 12.5, 14, 16, 24.5, 26, 28}));
  expectResult(
      Pool{PoolKind::avg, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {}, true, 3},
      {array(DType::f32, {1, 1, 6, 6}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35})},
      array(DType::f32, {1, 1, 3, 3},
            {4.66666651, 7.33333349, 10, 20.666666, 23.333334, 26, 36.6666679, 39.3333321, 42}));
  expectResult(Pool{PoolKind::max, {2}, {1}, {1}, {1}, {1}, {}, true, 0}, {array(DType::i64, {1, 1, 4}, {1, 3, 2, -5})},
               array(DType::i64, {1, 1, 5}, {1, 3, 3, 2, -5}));
}

TEST(TorchValues, AdaptivePools) {
  expectResult(
      AdaptivePool{PoolKind::avg, 1},
      {array(DType::f32, {1, 2, 7}, {-1.75, 2, -0, -0.25, -2.25, -1.25, 1.25, 0.25, 2.75, -0, 1.25, 1.5, 0.75, -0.75})},
      array(DType::f32, {1, 2, 3}, {0.0833333358, -0.833333313, -0.75, 1, 0.916666687, 0.5}));
  expectResult(
      AdaptivePool{PoolKind::max, 1},
      {array(DType::f32, {1, 2, 7}, {-1.75, 2, -0, -0.25, -2.25, -1.25, 1.25, 0.25, 2.75, -0, 1.25, 1.5, 0.75, -0.75})},
      array(DType::f32, {1, 2, 3}, {2, -0, 1.25, 2.75, 1.5, 1.5}));
  expectResult(
      AdaptivePool{PoolKind::argmax, 1},
      {array(DType::f32, {1, 2, 7}, {-1.75, 2, -0, -0.25, -2.25, -1.25, 1.25, 0.25, 2.75, -0, 1.25, 1.5, 0.75, -0.75})},
      array(DType::i64, {1, 2, 3}, {1, 2, 6, 1, 4, 4}));
  expectResult(AdaptivePool{PoolKind::avg, 2},
               {array(DType::f32, {1, 1, 5, 4}, {1.5, -3.75, -0, 2.75, -0.25, -0.75, 2,     -2,   0.5,   -0.25,
                                                 2,   -1,    2,  -1.5, 0.75,  0.5,   -0.25, 0.75, -0.75, -2.25})},
               array(DType::f32, {1, 1, 3, 6},
                     {0.625, -0.8125, -2.25, 1, 0.6875, 0.375, 0.75, -0.0416666679, -0.833333313, 1.58333337, 0.375,
                      -0.833333313, 0.875, 0.25, -0.375, 0, -0.4375, -0.875}));
  expectResult(AdaptivePool{PoolKind::max, 2},
               {array(DType::f32, {1, 1, 5, 4}, {1.5, -3.75, -0, 2.75, -0.25, -0.75, 2,     -2,   0.5,   -0.25,
                                                 2,   -1,    2,  -1.5, 0.75,  0.5,   -0.25, 0.75, -0.75, -2.25})},
               array(DType::f32, {1, 1, 2, 3}, {1.5, 2, 2.75, 2, 2, 2}));
  expectResult(AdaptivePool{PoolKind::argmax, 2},
               {array(DType::f32, {1, 1, 5, 4}, {1.5, -3.75, -0, 2.75, -0.25, -0.75, 2,     -2,   0.5,   -0.25,
                                                 2,   -1,    2,  -1.5, 0.75,  0.5,   -0.25, 0.75, -0.75, -2.25})},
               array(DType::i64, {1, 1, 2, 3}, {0, 6, 3, 12, 10, 10}));
  expectResult(AdaptivePool{PoolKind::argmax, 1}, {array(DType::f32, {1, 1, 6}, {kNaN, kNaN, 5, 2, 7, 7})},
               array(DType::i64, {1, 1, 2}, {1, 4}));
}

/// Far beyond what there is: the last element, whose distance no integer holds.
TEST(TorchValues, ResizesByATinyScale) {
  const Array x = array(DType::f32, {1, 1, 3}, {1, 2, 3});
  Resize nearest{ResizeKind::nearest, 1}, linear{ResizeKind::linear, 1};
  nearest.scale = {1e-300}, linear.scale = {1e-20};
  expectResult(nearest, {x}, array(DType::f32, {1, 1, 2}, {1, 3}));
  expectResult(linear, {x}, array(DType::f32, {1, 1, 2}, {3, 3}));
}

TEST(TorchValues, Resizes) {
  expectResult(Resize{ResizeKind::nearest, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 1}, {-2}));
  expectResult(Resize{ResizeKind::linear, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 1}, {0.75}));
  expectResult(Resize{ResizeKind::linear, 1, true}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 1}, {-2}));
  expectResult(Resize{ResizeKind::nearest, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 3}, {-2, 1.5, 2}));
  expectResult(Resize{ResizeKind::linear, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 3}, {-0.833333373, 0.75, 2.5}));
  expectResult(Resize{ResizeKind::linear, 1, true}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 3}, {-2, 0.75, 2.75}));
  expectResult(Resize{ResizeKind::nearest, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 7}, {-2, -2, 1.5, 0.75, 0.75, 2, 2.75}));
  expectResult(Resize{ResizeKind::linear, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 7}, {-2, 1.1920929e-07, 1.28571415, 0.75, 1.64285731, 2.32142854, 2.75}));
  expectResult(Resize{ResizeKind::linear, 1, true}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 7}, {-2, 0.333333373, 1.25, 0.75, 1.58333349, 2.25, 2.75}));
  expectResult(Resize{ResizeKind::nearest, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 12}, {-2, -2, -2, 1.5, 1.5, 0.75, 0.75, 0.75, 2, 2, 2.75, 2.75}));
  expectResult(Resize{ResizeKind::linear, 1}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 12},
                     {-2, -1.5625, -0.104166806, 1.35416663, 1.21875, 0.90625006, 1.01041651, 1.53125, 2.03125, 2.34375,
                      2.65625, 2.75}));
  expectResult(Resize{ResizeKind::linear, 1, true}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 12},
                     {-2, -0.727272689, 0.545454621, 1.43181813, 1.15909088, 0.886363566, 0.977272809, 1.43181813,
                      1.88636374, 2.2045455, 2.47727275, 2.75}));
  expectResult(Resize{ResizeKind::nearest, 1, false, {1.7}}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 8}, {-2, -2, 1.5, 1.5, 0.75, 0.75, 2, 2.75}));
  expectResult(Resize{ResizeKind::linear, 1, false, {1.7}}, {array(DType::f32, {1, 1, 5}, {-2, 1.5, 0.75, 2, 2.75})},
               array(DType::f32, {1, 1, 8},
                     {-2, -0.661764622, 1.3970592, 1.08088231, 0.933823705, 1.66911793, 2.24264717, 2.68382359}));
  expectResult(Resize{ResizeKind::linear, 2},
               {array(DType::f32, {1, 1, 3, 4}, {-3.5, 3, 0.75, 0.5, 1, 1.25, 2.75, -1, -0.75, 3, -0.5, -2})},
               array(DType::f32, {1, 1, 5, 3},
                     {-2.41666651, 1.875, 0.541666627, -1.03333318, 1.92500007, 0.174999714, 1.04166663, 2,
                      -0.375000596, 0.34166652, 1.54999995, -1.20000064, -0.124999925, 1.25, -1.75000024}));
  expectResult(Resize{ResizeKind::linear, 2, true},
               {array(DType::f32, {1, 1, 3, 4}, {-3.5, 3, 0.75, 0.5, 1, 1.25, 2.75, -1, -0.75, 3, -0.5, -2})},
               array(DType::f32, {1, 1, 2, 7},
                     {-3.5, -0.25, 3, 1.875, 0.75, 0.625, 0.5, -0.75, 1.125, 3, 1.25, -0.5, -1.25, -2}));
  expectResult(
      Resize{ResizeKind::nearest, 2},
      {array(DType::f32, {1, 1, 3, 4}, {-3.5, 3, 0.75, 0.5, 1, 1.25, 2.75, -1, -0.75, 3, -0.5, -2})},
      array(DType::f32, {1, 1, 5, 3}, {-3.5, 3, 0.75, -3.5, 3, 0.75, 1, 1.25, 2.75, 1, 1.25, 2.75, -0.75, 3, -0.5}));
  expectResult(Resize{ResizeKind::linear, 3},
               {array(DType::f32, {1, 1, 2, 2, 2}, {-0.75, 2.25, -0.5, 4, -0.75, 0.5, 3.25, -2.25})},
               array(DType::f32, {1, 1, 3, 2, 3},
                     {-0.75, 0.75, 2.25, -0.5, 1.75, 4, -0.75, 0.3125, 1.375, 1.375, 1.125, 0.875, -0.75, -0.125, 0.5,
                      3.25, 0.5, -2.25}));
  expectResult(Resize{ResizeKind::nearest, 1}, {array(DType::u8, {1, 1, 12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
               array(DType::u8, {1, 1, 7}, {0, 1, 3, 5, 6, 8, 10}));
}

}  // namespace
}  // namespace tokamak
