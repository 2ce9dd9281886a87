// A graph convolution as Torch-MLIR prints it: sparse adjacency, weights as resources, a bias, ReLU.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed), posWidth = 64, crdWidth = 64 }>
module attributes {torch.debug_module_name = "GCN"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func @forward(%arg0: tensor<?x?xf32, #CSR>, %arg1: tensor<?x4xf32>) -> tensor<?x3xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = arith.constant dense_resource<torch_tensor_4_3_torch.float32> : tensor<4x3xf32>
    %1 = arith.constant dense<[0.5, -1.0, 0.25]> : tensor<3xf32>
    %dim = tensor.dim %arg1, %c0 : tensor<?x4xf32>
    %2 = tensor.empty(%dim) : tensor<?x3xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %4 = linalg.matmul ins(%arg1, %0 : tensor<?x4xf32>, tensor<4x3xf32>) outs(%3 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %dim_0 = tensor.dim %arg0, %c0 : tensor<?x?xf32, #CSR>
    %dim_1 = tensor.dim %arg0, %c1 : tensor<?x?xf32, #CSR>
    %5 = arith.cmpi eq, %dim_1, %dim : index
    cf.assert %5, "mismatching contracting dimension"
    %6 = tensor.empty(%dim_0) : tensor<?x3xf32>
    %7 = linalg.fill ins(%cst : f32) outs(%6 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %8 = linalg.matmul ins(%arg0, %4 : tensor<?x?xf32, #CSR>, tensor<?x3xf32>) outs(%7 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]}
        ins(%8, %1 : tensor<?x3xf32>, tensor<3xf32>) outs(%6 : tensor<?x3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %11 = arith.addf %in, %in_2 : f32
      linalg.yield %11 : f32
    } -> tensor<?x3xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%9 : tensor<?x3xf32>) outs(%6 : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.cmpf ugt, %in, %cst : f32
      %12 = arith.select %11, %in, %cst : f32
      linalg.yield %12 : f32
    } -> tensor<?x3xf32>
    return %10 : tensor<?x3xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_4_3_torch.float32: "0x040000000000803F0000004000004040000080BF0000803E000000BF000000400000803F000000000000803F0000003F000080BE"
    }
  }
#-}
