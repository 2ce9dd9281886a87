// The functions of arith and math, comparisons, casts, a captured number and a captured size.
#id = affine_map<(d0, d1) -> (d0, d1)>
#DCSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : compressed) }>
func.func @main(%A: tensor<?x4xf32, #DCSR>, %B: tensor<?x4xf32>, %scale: f32) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xi1>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %A, %c0 : tensor<?x4xf32, #DCSR>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %et = tensor.empty(%n) : tensor<?x4xi1>
  %f = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %B : tensor<?x4xf32, #DCSR>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = math.exp %a : f32
    %1 = math.tanh %b : f32
    %2 = math.absf %b : f32
    %3 = arith.addf %2, %one : f32
    %4 = math.log %3 : f32
    %5 = math.sqrt %3 : f32
    %6 = math.rsqrt %3 : f32
    %7 = math.erf %a : f32
    %8 = math.sin %a : f32
    %9 = math.cos %b : f32
    %10 = math.powf %3, %b : f32
    %11 = arith.negf %7 : f32
    %12 = arith.maximumf %a, %b : f32
    %13 = arith.minimumf %a, %b : f32
    %14 = arith.divf %12, %3 : f32
    %15 = math.log1p %2 : f32
    %16 = math.expm1 %a : f32
    %17 = math.exp2 %b : f32
    %18 = math.fma %a, %b, %scale : f32
    %19 = arith.divf %18, %nf : f32
    %s0 = arith.addf %0, %1 : f32
    %s1 = arith.addf %s0, %4 : f32
    %s2 = arith.mulf %s1, %5 : f32
    %s3 = arith.subf %s2, %6 : f32
    %s4 = arith.addf %s3, %8 : f32
    %s5 = arith.addf %s4, %9 : f32
    %s6 = arith.addf %s5, %10 : f32
    %s7 = arith.addf %s6, %11 : f32
    %s8 = arith.addf %s7, %13 : f32
    %s9 = arith.addf %s8, %14 : f32
    %s10 = arith.addf %s9, %15 : f32
    %s11 = arith.addf %s10, %16 : f32
    %s12 = arith.addf %s11, %17 : f32
    %s13 = arith.addf %s12, %19 : f32
    linalg.yield %s13 : f32
  } -> tensor<?x4xf32>
  // A sigmoid as Torch-MLIR writes it, and a ReLU by maximum.
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A : tensor<?x4xf32, #DCSR>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.negf %a : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %one, %2 : f32
    %4 = arith.maximumf %a, %zero : f32
    %5 = arith.mulf %3, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<?x4xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%A, %B : tensor<?x4xf32, #DCSR>, tensor<?x4xf32>) outs(%et : tensor<?x4xi1>) {
  ^bb0(%a: f32, %b: f32, %out: i1):
    %0 = arith.cmpf ogt, %a, %b : f32
    %1 = arith.cmpf ole, %b, %zero : f32
    %2 = arith.andi %0, %1 : i1
    %3 = arith.xori %2, %0 : i1
    linalg.yield %3 : i1
  } -> tensor<?x4xi1>
  return %f, %g, %t : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xi1>
}
