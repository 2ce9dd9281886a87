// Weights: lists, splats, sparse elements converted to CSR, hex, integers, booleans, resources, elided ones.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %list = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [-1.0, 0.0, 0.5, 0.25]]> : tensor<3x4xf32>
  %splat = arith.constant dense<0.125> : tensor<3x4xf32>
  %entries = arith.constant sparse<[[0, 1], [2, 3]], [2.5, -1.5]> : tensor<3x4xf32>
  %stored = sparse_tensor.convert %entries : tensor<3x4xf32> to tensor<3x4xf32, #CSR>
  %whole = arith.constant dense<[[1, -2, 3, 4], [5, 6, 7, 8], [9, 10, 11, -12]]> : tensor<3x4xi32>
  %mask = arith.constant dense<[[true, false, true, true], [false, false, true, true], [true, true, false, false]]> : tensor<3x4xi1>
  %named = arith.constant dense_resource<w> : tensor<3x4xf16>
  %missing = arith.constant dense_resource<__elided__> : tensor<3x4xf32>
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %list, %splat, %stored, %whole, %mask, %named, %missing : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>,
          tensor<3x4xf32, #CSR>, tensor<3x4xi32>, tensor<3x4xi1>, tensor<3x4xf16>, tensor<3x4xf32>)
      outs(%e : tensor<3x4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %in_3: i32, %in_4: i1, %in_5: f16, %in_6: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %0, %in_1 : f32
    %2 = arith.addf %1, %in_2 : f32
    %3 = arith.sitofp %in_3 : i32 to f32
    %4 = arith.addf %2, %3 : f32
    %5 = arith.extf %in_5 : f16 to f32
    %6 = arith.select %in_4, %4, %5 : f32
    %7 = arith.addf %6, %in_6 : f32
    linalg.yield %7 : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x02000000003C00400042004400C000380034003400B80048004A0000"
    }
  }
#-}
