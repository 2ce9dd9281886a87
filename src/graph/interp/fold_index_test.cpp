#include <gtest/gtest.h>

#include "graph/interp/testing.h"

/// Every number here was computed by PyTorch 2.13 on the CPU.
namespace tokamak {
namespace {

using testing::array;
using testing::expectResult;
using testing::kInf;
using testing::kNaN;

TEST(TorchValues, Folds) {
  expectResult(
      Reduce{ReduceKind::sum, {0}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {3, 4}, {1.75, 0.75, -2.5, -0.75, 2.25, 4.5, 0, 6.5, -2.75, -4.75, -6.25, -0.75}));
  expectResult(
      Reduce{ReduceKind::sum, {1}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {2, 4}, {4, 3, -4.75, 2, -2.75, -2.5, -4, 3}));
  expectResult(
      Reduce{ReduceKind::sum, {2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {2, 3}, {5.75, 1, -2.5, -6.5, 12.25, -12}));
  expectResult(
      Reduce{ReduceKind::sum, {0, 2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {3}, {-0.75, 13.25, -14.5}));
  expectResult(
      Reduce{ReduceKind::sum, {0, 1, 2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {}, {-2}));
  expectResult(
      Reduce{ReduceKind::mean, {0, 2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {3}, {-0.09375, 1.65625, -1.8125}));
  expectResult(
      Reduce{ReduceKind::max, {1}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {2, 4}, {2.25, 2.5, 1, 0.75, 2, 2.75, 1.5, 6}));
  expectResult(
      Reduce{ReduceKind::min, {0, 1}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {4}, {-5, -3.5, -4.25, -1.5}));
  expectResult(
      Reduce{ReduceKind::prod, {2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {2, 3}, {2.8125, -0.328125, 8.96484375, -2.296875, 49.5, 52.5}));
  expectResult(
      Reduce{ReduceKind::argmax, {1}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::i64, {2, 4}, {2, 0, 0, 0, 1, 1, 1, 1}));
  expectResult(
      Reduce{ReduceKind::argmin, {0, 1, 2}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::i64, {}, {20}));
  expectResult(
      Reduce{ReduceKind::var, {2}, 1},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {2, 3}, {0.598958313, 1.79166663, 7.89583349, 2.35416675, 4.09895849, 2.5}));
  expectResult(
      Reduce{ReduceKind::var, {0, 1}},
      {array(DType::f32, {2, 3, 4}, {1.5,  2.5,   1,    0.75, 0.25, 1.75, -1.5, 0.5, 2.25, -1.25, -4.25, 0.75,
                                     0.25, -1.75, -3.5, -1.5, 2,    2.75, 1.5,  6,   -5,   -3.5,  -2,    -1.5})},
      array(DType::f32, {4}, {6.02951384, 5.61805534, 4.50868034, 6.28472233}));
  expectResult(Reduce{ReduceKind::var, {0}, 3}, {array(DType::f32, {2}, {1, 2})}, array(DType::f32, {}, {kInf}));
  expectResult(Reduce{ReduceKind::var, {0}, 1}, {array(DType::f32, {1}, {1})}, array(DType::f32, {}, {kNaN}));
  expectResult(Reduce{ReduceKind::argmax, {0}}, {array(DType::f32, {4}, {1, kNaN, 5, kNaN})},
               array(DType::i64, {}, {1}));
  expectResult(Reduce{ReduceKind::argmin, {0}}, {array(DType::f32, {4}, {1, kNaN, 5, kNaN})},
               array(DType::i64, {}, {1}));
  expectResult(Reduce{ReduceKind::max, {0}}, {array(DType::f32, {4}, {1, kNaN, 5, kNaN})},
               array(DType::f32, {}, {kNaN}));
  expectResult(Reduce{ReduceKind::any, {0}}, {array(DType::f32, {4}, {1, kNaN, 5, kNaN})},
               array(DType::boolean, {}, {1}));
  expectResult(Reduce{ReduceKind::sum, {0}}, {array(DType::boolean, {2, 2}, {1, 0, 1, 1})},
               array(DType::i64, {2}, {2, 1}));
  expectResult(Reduce{ReduceKind::all, {1}}, {array(DType::boolean, {2, 2}, {1, 0, 1, 1})},
               array(DType::boolean, {2}, {0, 1}));
  expectResult(Reduce{ReduceKind::max, {0}}, {array(DType::boolean, {2, 2}, {1, 0, 1, 1})},
               array(DType::boolean, {2}, {1, 1}));
  expectResult(Reduce{ReduceKind::any, {1}}, {array(DType::boolean, {2, 2}, {1, 0, 1, 1})},
               array(DType::boolean, {2}, {1, 1}));
  expectResult(Reduce{ReduceKind::sum, {0}}, {array(DType::u8, {3}, {200, 100, 3})}, array(DType::i64, {}, {303}));
  expectResult(Reduce{ReduceKind::prod, {0}}, {array(DType::u8, {3}, {200, 100, 3})}, array(DType::i64, {}, {60000}));
  expectResult(Reduce{ReduceKind::argmax, {0}}, {array(DType::u8, {3}, {200, 100, 3})}, array(DType::i64, {}, {0}));
  expectResult(Reduce{ReduceKind::min, {0}}, {array(DType::u8, {3}, {200, 100, 3})}, array(DType::u8, {}, {3}));
  expectResult(Reduce{ReduceKind::argmax, {0}}, {array(DType::i64, {3}, {3, 5, 5})}, array(DType::i64, {}, {1}));
  expectResult(Reduce{ReduceKind::sum, {1}}, {array(DType::f32, {2, 0}, {})}, array(DType::f32, {2}, {0, 0}));
  expectResult(Reduce{ReduceKind::prod, {1}}, {array(DType::f32, {2, 0}, {})}, array(DType::f32, {2}, {1, 1}));
  expectResult(Reduce{ReduceKind::mean, {1}}, {array(DType::f32, {2, 0}, {})}, array(DType::f32, {2}, {kNaN, kNaN}));
  expectResult(Reduce{ReduceKind::all, {1}}, {array(DType::f32, {2, 0}, {})}, array(DType::boolean, {2}, {1, 1}));
}

TEST(TorchValues, Scans) {
  expectResult(
      Scan{ScanKind::sum, 1},
      {array(DType::f32, {2, 3, 2}, {-2.25, -0.25, 0.5, -5, -1, 2.5, -0.5, -0, 1, -0.25, -2.75, -1})},
      array(DType::f32, {2, 3, 2}, {-2.25, -0.25, -1.75, -5.25, -2.75, -2.75, -0.5, 0, 0.5, -0.25, -2.25, -1.25}));
  expectResult(Scan{ScanKind::prod, 0},
               {array(DType::f32, {2, 3, 2}, {-2.25, -0.25, 0.5, -5, -1, 2.5, -0.5, -0, 1, -0.25, -2.75, -1})},
               array(DType::f32, {2, 3, 2}, {-2.25, -0.25, 0.5, -5, -1, 2.5, 1.125, 0, 0.5, 1.25, 2.75, -2.5}));
  expectResult(
      Scan{ScanKind::sum, 1, true},
      {array(DType::f32, {2, 3, 2}, {-2.25, -0.25, 0.5, -5, -1, 2.5, -0.5, -0, 1, -0.25, -2.75, -1})},
      array(DType::f32, {2, 3, 2}, {-2.75, -2.75, -0.5, -2.5, -1, 2.5, -2.25, -1.25, -1.75, -1.25, -2.75, -1}));
  expectResult(Scan{ScanKind::max, 0}, {array(DType::f32, {7}, {1, 3, 3, kNaN, 2, kNaN, 5})},
               array(DType::f32, {7}, {1, 3, 3, kNaN, kNaN, kNaN, kNaN}));
  expectResult(Scan{ScanKind::argmax, 0}, {array(DType::f32, {7}, {1, 3, 3, kNaN, 2, kNaN, 5})},
               array(DType::i64, {7}, {0, 1, 2, 3, 3, 5, 5}));
  expectResult(Scan{ScanKind::min, 0}, {array(DType::f32, {7}, {3, 1, 1, 2, kNaN, kNaN, 0})},
               array(DType::f32, {7}, {3, 1, 1, 1, kNaN, kNaN, kNaN}));
  expectResult(Scan{ScanKind::argmin, 0}, {array(DType::f32, {7}, {3, 1, 1, 2, kNaN, kNaN, 0})},
               array(DType::i64, {7}, {0, 1, 2, 2, 4, 5, 5}));
  expectResult(Scan{ScanKind::argmax, 0}, {array(DType::i64, {6}, {2, 1, 2, 2, 5, 0})},
               array(DType::i64, {6}, {0, 0, 2, 3, 4, 4}));
  expectResult(Scan{ScanKind::argmin, 0}, {array(DType::i64, {6}, {2, 1, 2, 2, 5, 0})},
               array(DType::i64, {6}, {0, 1, 1, 1, 1, 5}));
  expectResult(Scan{ScanKind::argmax, 0, true}, {array(DType::i64, {6}, {2, 1, 2, 2, 5, 0})},
               array(DType::i64, {6}, {4, 4, 4, 4, 4, 5}));
  expectResult(Scan{ScanKind::sum, 0}, {array(DType::i8, {3}, {100, 100, 100})},
               array(DType::i64, {3}, {100, 200, 300}));
  expectResult(Scan{ScanKind::sum, 0}, {array(DType::boolean, {3}, {1, 1, 0})}, array(DType::i64, {3}, {1, 2, 2}));
  expectResult(Scan{ScanKind::min, 0}, {array(DType::boolean, {3}, {1, 1, 0})}, array(DType::boolean, {3}, {1, 1, 0}));
}

TEST(TorchValues, Indexing) {
  expectResult(Gather{1},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 2}, {0, 3, 2, 2})},
               array(DType::f32, {2, 2}, {3.25, 1, -3, -3}));
  expectResult(Gather{0},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {1, 4}, {0, 2, 1, 0})},
               array(DType::f32, {1, 4}, {3.25, 1.5, -3, 1}));
  expectResult(IndexSelect{0},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 2}, {2, 0, 1, 1})},
               array(DType::f32, {2, 2, 4},
                     {-2, 1.5, -0.5, 1, 3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, 0.75, 2.5, -3, -1.25}));
  expectResult(IndexSelect{1},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 2}, {2, 0, 1, 1})},
               array(DType::f32, {3, 2, 2}, {-1.75, 3.25, -2.5, -2.5, -3, 0.75, 2.5, 2.5, -0.5, -2, 1.5, 1.5}));
  expectResult(Scatter{1, ScatterKind::set},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 2}, {0, 3, 2, 1}),
                array(DType::f32, {3, 4}, {-0.25, -0.25, 4, 0.25, 0.75, 6, 0, -0.5, 3.75, 0.5, 2, -1.75})},
               array(DType::f32, {3, 4}, {-0.25, -2.5, -1.75, -0.25, 0.75, 6, 0.75, -1.25, -2, 1.5, -0.5, 1}));
  expectResult(Scatter{0, ScatterKind::add},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 4}, {0, 0, 1, 2, 0, 1, 1, 2}),
                array(DType::f32, {2, 4}, {-0.25, -0.25, 4, 0.25, 0.75, 6, 0, -0.5})},
               array(DType::f32, {3, 4}, {3.75, -2.75, -1.75, 1, 0.75, 8.5, 1, -1.25, -2, 1.5, -0.5, 0.75}));
  expectResult(Scatter{0, ScatterKind::mul},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 4}, {0, 0, 1, 2, 0, 1, 1, 2}),
                array(DType::f32, {2, 4}, {-0.25, -0.25, 4, 0.25, 0.75, 6, 0, -0.5})},
               array(DType::f32, {3, 4}, {-0.609375, 0.625, -1.75, 1, 0.75, 15, -0, -1.25, -2, 1.5, -0.5, -0.125}));
  expectResult(Scatter{0, ScatterKind::max},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 4}, {0, 0, 1, 2, 0, 1, 1, 2}),
                array(DType::f32, {2, 4}, {-0.25, -0.25, 4, 0.25, 0.75, 6, 0, -0.5})},
               array(DType::f32, {3, 4}, {3.25, -0.25, -1.75, 1, 0.75, 6, 4, -1.25, -2, 1.5, -0.5, 1}));
  expectResult(Scatter{0, ScatterKind::min},
               {array(DType::f32, {3, 4}, {3.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, 1}),
                array(DType::i64, {2, 4}, {0, 0, 1, 2, 0, 1, 1, 2}),
                array(DType::f32, {2, 4}, {-0.25, -0.25, 4, 0.25, 0.75, 6, 0, -0.5})},
               array(DType::f32, {3, 4}, {-0.25, -2.5, -1.75, 1, 0.75, 2.5, -3, -1.25, -2, 1.5, -0.5, -0.5}));
}

}  // namespace
}  // namespace tokamak
