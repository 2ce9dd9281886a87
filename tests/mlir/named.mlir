// Named operations: transpose, broadcast, reduce, map, elementwise ones, matvec, batch_matmul, dot, softmax, fill.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @main(%A: tensor<5x7xf64, #CSR>, %x: tensor<7xf64>, %B: tensor<2x5x3xf64>, %C: tensor<2x3x4xf64>, %y: tensor<5xf64>)
    -> (tensor<7x5xf64>, tensor<5xf64>, tensor<2x5x4xf64>, tensor<f64>, tensor<5x7xf64>, tensor<5x7xf64>, tensor<7xf64>) {
  %zero = arith.constant 0.0 : f64
  %lowest = arith.constant 0xFFF0000000000000 : f64
  %e57 = tensor.empty() : tensor<5x7xf64>
  %e75 = tensor.empty() : tensor<7x5xf64>
  %e5 = tensor.empty() : tensor<5xf64>
  %e7 = tensor.empty() : tensor<7xf64>
  %e0 = tensor.empty() : tensor<f64>
  %e254 = tensor.empty() : tensor<2x5x4xf64>
  %z5 = linalg.fill ins(%zero : f64) outs(%e5 : tensor<5xf64>) -> tensor<5xf64>
  %z0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<f64>) -> tensor<f64>
  %z254 = linalg.fill ins(%zero : f64) outs(%e254 : tensor<2x5x4xf64>) -> tensor<2x5x4xf64>
  %low7 = linalg.fill ins(%lowest : f64) outs(%e7 : tensor<7xf64>) -> tensor<7xf64>
  %At = linalg.transpose ins(%A : tensor<5x7xf64, #CSR>) outs(%e75 : tensor<7x5xf64>) permutation = [1, 0]
  %Ax = linalg.matvec ins(%A, %x : tensor<5x7xf64, #CSR>, tensor<7xf64>) outs(%z5 : tensor<5xf64>) -> tensor<5xf64>
  %D = linalg.batch_matmul ins(%B, %C : tensor<2x5x3xf64>, tensor<2x3x4xf64>) outs(%z254 : tensor<2x5x4xf64>) -> tensor<2x5x4xf64>
  %dot = linalg.dot ins(%Ax, %y : tensor<5xf64>, tensor<5xf64>) outs(%z0 : tensor<f64>) -> tensor<f64>
  %spread = linalg.broadcast ins(%x : tensor<7xf64>) outs(%e57 : tensor<5x7xf64>) dimensions = [0]
  %scaled = linalg.mul ins(%A, %spread : tensor<5x7xf64, #CSR>, tensor<5x7xf64>) outs(%e57 : tensor<5x7xf64>) -> tensor<5x7xf64>
  %more = linalg.map { arith.addf } ins(%scaled, %spread : tensor<5x7xf64>, tensor<5x7xf64>) outs(%e57 : tensor<5x7xf64>)
  %soft = linalg.softmax dimension(1) ins(%more : tensor<5x7xf64>) outs(%e57 : tensor<5x7xf64>) -> tensor<5x7xf64>
  %exp = linalg.exp ins(%scaled : tensor<5x7xf64>) outs(%e57 : tensor<5x7xf64>) -> tensor<5x7xf64>
  %largest = linalg.reduce { arith.maximumf } ins(%A : tensor<5x7xf64, #CSR>) outs(%low7 : tensor<7xf64>) dimensions = [0]
  return %At, %Ax, %D, %dot, %soft, %exp, %largest : tensor<7x5xf64>, tensor<5xf64>, tensor<2x5x4xf64>, tensor<f64>,
      tensor<5x7xf64>, tensor<5x7xf64>, tensor<7xf64>
}
