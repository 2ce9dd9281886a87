// What depends on which entries are stored: unary, binary and select of sparse_tensor, and its reduce.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @main(%A: tensor<4x5xf32, #CSR>, %B: tensor<4x5xf32, #CSR>)
    -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %large = arith.constant 1.0e+9 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%large : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %shifted = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = sparse_tensor.unary %in : f32 to f32
      present = {
      ^bb0(%x: f32):
        %1 = arith.addf %x, %one : f32
        sparse_tensor.yield %1 : f32
      }
      absent = {}
    linalg.yield %0 : f32
  } -> tensor<4x5xf32>
  %complement = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = sparse_tensor.unary %in : f32 to f32
      present = {}
      absent = {
        sparse_tensor.yield %one : f32
      }
    linalg.yield %0 : f32
  } -> tensor<4x5xf32>
  %mixed = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %B : tensor<4x5xf32, #CSR>, tensor<4x5xf32, #CSR>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = sparse_tensor.binary %a, %b : f32, f32 to f32
      overlap = {
      ^bb0(%x: f32, %y: f32):
        %1 = arith.mulf %x, %y : f32
        sparse_tensor.yield %1 : f32
      }
      left = identity
      right = {
      ^bb0(%y: f32):
        %1 = arith.negf %y : f32
        sparse_tensor.yield %1 : f32
      }
    linalg.yield %0 : f32
  } -> tensor<4x5xf32>
  %above = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = sparse_tensor.select %in : f32 {
    ^bb0(%x: f32):
      %1 = arith.cmpf ogt, %x, %zero : f32
      sparse_tensor.yield %1 : i1
    }
    linalg.yield %0 : f32
  } -> tensor<4x5xf32>
  %least = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%A : tensor<4x5xf32, #CSR>) outs(%start : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = sparse_tensor.reduce %in, %out, %large : f32 {
    ^bb0(%x: f32, %y: f32):
      %1 = arith.minimumf %x, %y : f32
      sparse_tensor.yield %1 : f32
    }
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %shifted, %complement, %mixed, %above, %least : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>,
    tensor<4xf32>
}
