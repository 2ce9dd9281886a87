// A named product with a CSR operand and a dynamic size.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
module attributes {torch.debug_module_name = "Net"} {
  func.func @main(%A: tensor<?x16xf32, #CSR>, %B: tensor<16x8xf32>) -> tensor<?x8xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %A, %c0 : tensor<?x16xf32, #CSR>
    %empty = tensor.empty(%n) : tensor<?x8xf32>
    %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
    %C = linalg.matmul ins(%A, %B : tensor<?x16xf32, #CSR>, tensor<16x8xf32>)
                       outs(%filled : tensor<?x8xf32>) -> tensor<?x8xf32>
    return %C : tensor<?x8xf32>
  }
}
