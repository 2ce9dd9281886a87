#include "graph/op.h"

#include <bit>
#include <cmath>
#include <limits>

#include "graph/ops/reflect.h"
#include "support/hash.h"

namespace tokamak {

namespace {

uint64_t hashValue(bool v) { return v ? 1 : 2; }
uint64_t hashValue(int64_t v) { return static_cast<uint64_t>(v); }

/// Equal numbers hash alike: all NaNs are one, and so are both zeros.
uint64_t hashValue(double v) {
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  if (v == 0) v = 0;
  return std::bit_cast<uint64_t>(v);
}

uint64_t hashValue(const Scalar& v) {
  return v.isFloat ? hashMix(1, hashValue(v.d)) : hashMix(2, static_cast<uint64_t>(v.i));
}

uint64_t hashValue(const Dim& v) { return v.hash(); }

uint64_t hashValue(const std::shared_ptr<const Array>& v) {
  if (!v) return 0;
  uint64_t h = hashMix(static_cast<uint64_t>(v->dtype()), v->shape().size());
  for (int64_t extent : v->shape()) h = hashMix(h, static_cast<uint64_t>(extent));
  return hashBytes({static_cast<const char*>(v->data()), static_cast<size_t>(v->bytes())}, h);
}

template <NamedEnum E>
uint64_t hashValue(E v) {
  return hashBytes(nameOf(v));
}

template <class T>
uint64_t hashValue(const std::vector<T>& values) {
  uint64_t h = values.size();
  for (const auto& v : values) h = hashMix(h, hashValue(v));
  return h;
}

}  // namespace

std::string_view mnemonic(const Op& op) {
  return std::visit([](const auto& o) { return mnemonicOf(o); }, op);
}

uint64_t hashOf(const Op& op) {
  return std::visit(
      [](const auto& o) {
        uint64_t h = hashBytes(mnemonicOf(o));
        forEachField(o, [&](std::string_view, const auto& member) { h = hashMix(h, hashValue(member)); });
        return h;
      },
      op);
}

bool isComposite(const Op& op) {
  return std::holds_alternative<Softmax>(op) || std::holds_alternative<Norm>(op) ||
         std::holds_alternative<Activation>(op) || std::holds_alternative<CrossEntropy>(op) ||
         std::holds_alternative<Dropout>(op);
}

bool isElementwise(const Op& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) ||
         std::holds_alternative<Select>(op) || std::holds_alternative<Clamp>(op) || std::holds_alternative<Cast>(op);
}

}  // namespace tokamak
