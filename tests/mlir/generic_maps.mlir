// Any indexing maps: permuted, strided windows (a convolution), a diagonal, one row, a kept axis of size 1.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
#window = affine_map<(d0, d1) -> (d0 * 2 + d1)>
#out0 = affine_map<(d0, d1) -> (d0)>
#in1 = affine_map<(d0, d1) -> (d1)>
#diagonal = affine_map<(d0) -> (d0, d0)>
#one = affine_map<(d0) -> (d0)>
#row = affine_map<(d0) -> (2, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#kept = affine_map<(d0, d1) -> (d0, 0)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%signal: tensor<9xf32>, %filter: tensor<3xf32>, %A: tensor<6x6xf32, #CSR>)
    -> (tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e4 = tensor.empty() : tensor<4xf32>
  %e6 = tensor.empty() : tensor<6xf32>
  %e61 = tensor.empty() : tensor<6x1xf32>
  %e66 = tensor.empty() : tensor<6x6xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %z61 = linalg.fill ins(%zero : f32) outs(%e61 : tensor<6x1xf32>) -> tensor<6x1xf32>
  %conv = linalg.generic {indexing_maps = [#window, #in1, #out0], iterator_types = ["parallel", "reduction"]}
      ins(%signal, %filter : tensor<9xf32>, tensor<3xf32>) outs(%z4 : tensor<4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.mulf %in, %in_0 : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %diag = linalg.generic {indexing_maps = [#diagonal, #one], iterator_types = ["parallel"]}
      ins(%A : tensor<6x6xf32, #CSR>) outs(%e6 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  %third = linalg.generic {indexing_maps = [#row, #one], iterator_types = ["parallel"]}
      ins(%A : tensor<6x6xf32, #CSR>) outs(%e6 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  %total = linalg.generic {indexing_maps = [#id, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<6x6xf32, #CSR>) outs(%z61 : tensor<6x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<6x1xf32>
  %centred = linalg.generic {indexing_maps = [#swapped, #kept, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %total : tensor<6x6xf32, #CSR>, tensor<6x1xf32>) outs(%e66 : tensor<6x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %0 = arith.subf %in, %in_0 : f32
    linalg.yield %0 : f32
  } -> tensor<6x6xf32>
  return %conv, %diag, %third, %centred : tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6x6xf32>
}
