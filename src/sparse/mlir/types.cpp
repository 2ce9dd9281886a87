#include "sparse/mlir/types.h"

#include <fmt/format.h>
#include <mlir/Dialect/SparseTensor/IR/SparseTensor.h>

namespace tokamak::sparse {

namespace {

namespace st = mlir::sparse_tensor;

Diagnostic refuse(std::string message, std::string hint) { return {"T0853", {}, std::move(message), std::move(hint)}; }

Result<LevelKind> kindOf(const st::SparseTensorEncodingAttr& encoding, uint64_t l) {
  switch (encoding.getLvlType(l).getLvlFmt()) {
    case st::LevelFormat::Dense:
    case st::LevelFormat::Batch: return LevelKind::dense;
    case st::LevelFormat::Compressed: return LevelKind::compressed;
    case st::LevelFormat::Singleton: return LevelKind::singleton;
    default: break;
  }
  const std::string name = st::toMLIRString(encoding.getLvlType(l));
  return refuse(fmt::format("level {} is {}, which is not supported", l, name),
                "use dense, compressed, singleton or batch levels");
}

/// One level from the part of an axis that it holds: `d`, `d floordiv c` or `d mod c`.
Result<Level> levelOf(mlir::AffineExpr part, uint64_t l) {
  Level out;
  if (const auto whole = mlir::dyn_cast<mlir::AffineDimExpr>(part)) {
    out.axis = static_cast<int>(whole.getPosition());
    return out;
  }
  const auto split = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(part);
  const auto axis = split ? mlir::dyn_cast<mlir::AffineDimExpr>(split.getLHS()) : mlir::AffineDimExpr(nullptr);
  const auto block =
      split ? mlir::dyn_cast<mlir::AffineConstantExpr>(split.getRHS()) : mlir::AffineConstantExpr(nullptr);
  const bool outer = split && split.getKind() == mlir::AffineExprKind::FloorDiv;
  const bool inner = split && split.getKind() == mlir::AffineExprKind::Mod;
  if (!axis || !block || (!outer && !inner))
    return refuse(fmt::format("level {} is neither an axis nor a block of one", l),
                  "write d0, d0 floordiv 16 or d0 mod 16");
  out.axis = static_cast<int>(axis.getPosition());
  out.part = outer ? LevelPart::outer : LevelPart::inner;
  out.block = block.getValue();
  return out;
}

}  // namespace

std::optional<DType> dtypeOf(mlir::Type element) {
  if (element.isF64()) return DType::f64;
  if (element.isF32()) return DType::f32;
  if (element.isF16()) return DType::f16;
  if (element.isBF16()) return DType::bf16;
  if (element.isIndex() || element.isInteger(64)) return DType::i64;
  if (element.isInteger(32)) return DType::i32;
  if (element.isInteger(16)) return DType::i16;
  if (element.isInteger(8)) return element.isUnsignedInteger(8) ? DType::u8 : DType::i8;
  if (element.isInteger(1)) return DType::boolean;
  return std::nullopt;
}

Result<std::optional<Format>> formatOf(mlir::RankedTensorType type) {
  const auto encoding = mlir::dyn_cast_or_null<st::SparseTensorEncodingAttr>(type.getEncoding());
  if (!encoding) return std::optional<Format>();
  if (!encoding.getDimSlices().empty())
    return refuse("slices of a sparse tensor are not supported", "pass the slice as a tensor of its own");
  Format out;
  const mlir::AffineMap map = encoding.getDimToLvl();
  const uint64_t levels = encoding.getLvlRank();
  for (uint64_t l = 0; l < levels; ++l) {
    TK_TRY(const LevelKind kind, kindOf(encoding, l));
    Level level{.axis = static_cast<int>(l)};
    if (map) { TK_TRY(level, levelOf(map.getResult(static_cast<unsigned>(l)), l)); }
    level.kind = kind;
    level.unique = encoding.isUniqueLvl(l);
    out.levels.push_back(level);
  }
  if (const Decision fits = out.isWellFormed(); !fits)
    return refuse(fmt::format("the levels are no format that can be stored: {}", fits.reason()),
                  "each axis once, or as floordiv above mod with one block size; singletons below compressed levels");
  return std::optional(std::move(out));
}

}  // namespace tokamak::sparse
