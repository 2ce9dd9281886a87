// Parts of tensors: slices with offsets and strides, a row, padding with nothing and with a value, tensors side by side, a slice
// put into another tensor.
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @main(%A: tensor<6x8xf32, #CSR>, %B: tensor<6x3xf32>, %C: tensor<?x8xf32>)
    -> (tensor<3x4xf32>, tensor<8xf32>, tensor<8x9xf32>, tensor<7x8xf32>, tensor<6x11xf32>, tensor<6x8xf32>, tensor<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %D = sparse_tensor.convert %A : tensor<6x8xf32, #CSR> to tensor<6x8xf32>
  %part = tensor.extract_slice %D[1, 0] [3, 4] [2, 1] : tensor<6x8xf32> to tensor<3x4xf32>
  %row = tensor.extract_slice %D[4, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<8xf32>
  %wide = tensor.pad %D low[2, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %none : f32
  } : tensor<6x8xf32> to tensor<8x9xf32>
  %framed = tensor.pad %D low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %two : f32
  } : tensor<6x8xf32> to tensor<7x8xf32>
  %beside = tensor.concat dim(1) %D, %B : (tensor<6x8xf32>, tensor<6x3xf32>) -> tensor<6x11xf32>
  %patched = tensor.insert_slice %B into %D[0, 5] [6, 3] [1, 1] : tensor<6x3xf32> into tensor<6x8xf32>
  %n = tensor.dim %C, %c0 : tensor<?x8xf32>
  %ends = tensor.extract_slice %C[0, 6] [%n, 2] [1, 1] : tensor<?x8xf32> to tensor<?x2xf32>
  return %part, %row, %wide, %framed, %beside, %patched, %ends : tensor<3x4xf32>, tensor<8xf32>, tensor<8x9xf32>,
    tensor<7x8xf32>, tensor<6x11xf32>, tensor<6x8xf32>, tensor<?x2xf32>
}
