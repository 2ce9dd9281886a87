// Every encoding that has a format here: csr, csc, dcsr, coo, bsr, csf, batched csr, and csc by a permuted map.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
#CSC = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>
#DCSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : compressed) }>
#COO = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed(nonunique), d1 : singleton(soa)) }>
#BSR = #sparse_tensor.encoding<{ map = (i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed,
                                                  i mod 2 : dense, j mod 3 : dense) }>
#CSF = #sparse_tensor.encoding<{ map = (i, j, k) -> (i : compressed, j : compressed, k : compressed) }>
#COO3 = #sparse_tensor.encoding<{ map = (i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique),
                                                      k : singleton) }>
#Batched = #sparse_tensor.encoding<{ map = (b, i, j) -> (b : batch, i : dense, j : compressed) }>
#map = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @main(%a: tensor<4x6xf32, #CSR>, %b: tensor<4x6xf32, #CSC>, %c: tensor<4x6xf32, #DCSR>,
                %d: tensor<4x6xf32, #COO>, %e: tensor<4x6xf32, #BSR>, %f: tensor<3x4x6xf32, #CSF>,
                %g: tensor<3x4x6xf32, #COO3>, %h: tensor<3x4x6xf32, #Batched>)
    -> (tensor<4x6xf32, #CSR>, tensor<3x4x6xf32>) {
  %0 = tensor.empty() : tensor<4x6xf32, #CSR>
  %sum = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c, %d, %e : tensor<4x6xf32, #CSR>, tensor<4x6xf32, #CSC>, tensor<4x6xf32, #DCSR>,
          tensor<4x6xf32, #COO>, tensor<4x6xf32, #BSR>) outs(%0 : tensor<4x6xf32, #CSR>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %in_3: f32, %out: f32):
    %1 = arith.addf %in, %in_0 : f32
    %2 = arith.mulf %in_1, %in_2 : f32
    %3 = arith.subf %1, %2 : f32
    %4 = arith.addf %3, %in_3 : f32
    linalg.yield %4 : f32
  } -> tensor<4x6xf32, #CSR>
  %5 = tensor.empty() : tensor<3x4x6xf32>
  %deep = linalg.generic {indexing_maps = [#map3, #map3, #map3, #map12, #map3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%f, %g, %h, %sum : tensor<3x4x6xf32, #CSF>, tensor<3x4x6xf32, #COO3>, tensor<3x4x6xf32, #Batched>,
          tensor<4x6xf32, #CSR>) outs(%5 : tensor<3x4x6xf32>) {
  ^bb0(%in: f32, %in_0: f32, %in_1: f32, %in_2: f32, %out: f32):
    %6 = arith.addf %in, %in_0 : f32
    %7 = arith.mulf %in_1, %in_2 : f32
    %8 = arith.addf %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<3x4x6xf32>
  return %sum, %deep : tensor<4x6xf32, #CSR>, tensor<3x4x6xf32>
}
