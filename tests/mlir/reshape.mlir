// Axes of size 1 that come and go, axes put together and taken apart, casts, an axis numbered by linalg.index.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
#id = affine_map<(d0, d1) -> (d0, d1)>
#unit = affine_map<(d0, d1) -> (0, d1)>
func.func @main(%A: tensor<4x6xf32, #CSR>, %b: tensor<6xf32>, %h: tensor<4x6xf32>)
    -> (tensor<4x6xf32>, tensor<4x2x3xf32>, tensor<24xf32>, tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %row = tensor.expand_shape %b [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
  %free = tensor.cast %row : tensor<1x6xf32> to tensor<1x?xf32>
  %fixed = tensor.cast %free : tensor<1x?xf32> to tensor<1x6xf32>
  %biased = linalg.generic {indexing_maps = [#id, #unit, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %fixed : tensor<4x6xf32, #CSR>, tensor<1x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.addf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %heads = tensor.expand_shape %h [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %flat = tensor.collapse_shape %h [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %again = tensor.collapse_shape %row [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
  %ge = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %again : tensor<4x6xf32, #CSR>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %0 = arith.cmpi sge, %i, %j : index
    %1 = arith.select %0, %in, %in_0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x6xf32>
  return %biased, %heads, %flat, %ge : tensor<4x6xf32>, tensor<4x2x3xf32>, tensor<24xf32>, tensor<4x6xf32>
}
