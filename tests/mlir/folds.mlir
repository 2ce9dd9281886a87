// Folds: into a tensor that holds values, from a start that is not neutral, subtracted, by select, of truths, two results.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @main(%A: tensor<4x5xf32, #CSR>, %B: tensor<5x3xf32>, %C: tensor<4x3xf32>)
    -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) {
  %five = arith.constant 5.0 : f32
  %zero = arith.constant 0.0 : f32
  %false = arith.constant false
  %e4 = tensor.empty() : tensor<4xf32>
  %et = tensor.empty() : tensor<4xi1>
  %five4 = linalg.fill ins(%five : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %zero4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %no = linalg.fill ins(%false : i1) outs(%et : tensor<4xi1>) -> tensor<4xi1>
  %onto = linalg.matmul ins(%A, %B : tensor<4x5xf32, #CSR>, tensor<5x3xf32>) outs(%C : tensor<4x3xf32>) -> tensor<4x3xf32>
  %rest = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%five4 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.subf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %least = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%five4 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.cmpf olt, %in, %out : f32
    %1 = arith.select %0, %in, %out : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %any = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%no : tensor<4xi1>) {
  ^bb0(%in: f32, %out: i1):
    %0 = arith.cmpf une, %in, %zero : f32
    %1 = arith.ori %0, %out : i1
    linalg.yield %1 : i1
  } -> tensor<4xi1>
  %both:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%zero4, %zero4 : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32, %out_0: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %out, %in : f32
    %2 = arith.addf %out_0, %0 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %onto, %rest, %least, %any, %both#0, %both#1 : tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>,
      tensor<4xf32>, tensor<4xf32>
}
