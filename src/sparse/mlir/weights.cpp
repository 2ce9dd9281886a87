#include "sparse/mlir/weights.h"

#include <fmt/format.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/DialectResourceBlobManager.h>

#include <cmath>
#include <random>

#include "sparse/mlir/types.h"

namespace tokamak::sparse {

namespace {

constexpr int64_t kMostValues = int64_t{1} << 32;

double toDouble(const llvm::APFloat& value) {
  llvm::APFloat wide = value;
  bool lost = false;
  wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return wide.convertToDouble();
}

double toDouble(const llvm::APInt& value, bool sign) {
  return sign ? static_cast<double>(value.getSExtValue()) : static_cast<double>(value.getZExtValue());
}

bool hasSign(mlir::Type element) { return !element.isInteger(1) && !element.isUnsignedInteger(); }

/// Splat, list or hex; dense or sparse.
template <class Elements>
void readElements(Elements elements, mlir::Type element, std::vector<double>& out) {
  if (mlir::isa<mlir::FloatType>(element)) {
    for (const llvm::APFloat& value : elements.template getValues<llvm::APFloat>()) out.push_back(toDouble(value));
    return;
  }
  for (const llvm::APInt& value : elements.template getValues<llvm::APInt>())
    out.push_back(toDouble(value, hasSign(element)));
}

/// The same numbers for the same name, shape and seed, of a size that keeps products of many of them near one.
std::vector<double> generate(std::string_view name, uint64_t seed, const mlir::ShapedType& type, DType dtype) {
  uint64_t state = 0xCBF29CE484222325ull ^ seed * 0x9E3779B97F4A7C15ull;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  std::mt19937_64 random(state);
  const double fan = type.getRank() > 0 ? static_cast<double>(std::max<int64_t>(1, type.getDimSize(0))) : 1;
  const double scale = isFloat(dtype) ? 1 / std::sqrt(fan) : 3;
  std::vector<double> out(static_cast<size_t>(type.getNumElements()));
  for (double& value : out) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;  // the same everywhere, unlike distributions
    value = dtype == DType::boolean ? unit < 0.5 : roundTo(dtype, (2 * unit - 1) * scale);
    if (!isFloat(dtype)) value = std::trunc(value);
  }
  return out;
}

Result<Weight> readResource(const MlirModule& module, mlir::Operation* op, mlir::DenseResourceElementsAttr resource,
                            uint64_t seed) {
  const mlir::ShapedType type = resource.getType();
  const mlir::Type element = type.getElementType();
  const std::string name = resource.getRawHandle().getKey().str();
  mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
  Weight out;
  if (!blob) {
    out.values = generate(name, seed, type, *dtypeOf(element));
    out.generated = true;
    return out;
  }
  const bool truth = element.isInteger(1);  // a byte each
  const int64_t wanted = type.getNumElements() * (truth ? 1 : byteWidth(*dtypeOf(element)));
  if (static_cast<int64_t>(blob->getData().size()) != wanted)
    return module.fail("T0857", op,
                       fmt::format("resource {} has {} bytes, its type wants {}", name, blob->getData().size(), wanted),
                       "write the weights again, or elide them");
  if (truth) {
    for (const char byte : blob->getData()) out.values.push_back(byte != 0);
    return out;
  }
  bool splat = false;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(type, blob->getData(), splat))
    return module.fail("T0857", op, fmt::format("resource {} is not what its type says", name),
                       "write the weights again");
  readElements(mlir::DenseElementsAttr::getFromRawBuffer(type, blob->getData()), element, out.values);
  return out;
}

}  // namespace

Result<Weight> readWeight(const MlirModule& module, mlir::Operation* op, uint64_t seed) {
  const mlir::Attribute value = op->getAttr("value");
  const auto type = mlir::cast<mlir::ShapedType>(op->getResult(0).getType());
  const mlir::Type element = type.getElementType();
  if (!dtypeOf(element) || type.getNumElements() > kMostValues)
    return module.fail("T0857", op, "a constant of this type cannot be read",
                       "use floats or integers of at most 64 bits");
  Weight out;
  if (const auto resource = mlir::dyn_cast_or_null<mlir::DenseResourceElementsAttr>(value))
    return readResource(module, op, resource, seed);
  if (const auto dense = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(value)) {
    if (!dense.isSplat()) {
      readElements(dense, element, out.values);
      return out;
    }
    const bool floats = mlir::isa<mlir::FloatType>(element);
    out.everywhere = floats ? toDouble(dense.getSplatValue<llvm::APFloat>())
                            : toDouble(dense.getSplatValue<llvm::APInt>(), hasSign(element));
    return out;
  }
  if (const auto sparse = mlir::dyn_cast_or_null<mlir::SparseElementsAttr>(value)) {
    readElements(sparse, element, out.values);
    return out;
  }
  return module.fail("T0857", op, "this constant holds no numbers",
                     "write dense<...>, sparse<...> or dense_resource<...>");
}

}  // namespace tokamak::sparse
