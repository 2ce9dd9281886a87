#include "schedule/emitter.h"

#include <fmt/format.h>

#include "fusion/reshape_groups.h"
#include "support/hash.h"

namespace tokamak::schedule {

size_t Emitter::KeyHash::operator()(const Key& key) const {
  uint64_t h = hashMix(key.value, static_cast<uint64_t>(key.at.lanes) << 32 | key.at.mask.index);
  h = hashMix(h, key.at.tail.index);
  for (const auto& i : key.at.index)
    h = hashMix(h, hashMix(static_cast<uint64_t>(i.base.index) << 32 | i.lanes.index, static_cast<uint64_t>(i.stride)));
  return h;
}

/// A place that is the same in all lanes is wanted once.
At Emitter::normal(Writer& w, const At& at) {
  for (const Index& i : at.index)
    if (!i.uniform()) return at;
  return {at.index, 1, at.mask && w.lanes(at.mask) > 1 ? w.fold(BinaryKind::bit_or, at.mask) : at.mask, {}};
}

ExprId Emitter::value(ValueId v, const At& wanted) {
  const At at = normal(w, wanted);
  Key key{v.index, at};
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (auto it = scope->values.find(key); it != scope->values.end()) return it->second;
  const ExprId e = w.let("v" + std::to_string(v.index), compute(v, at));
  scopes_.back().values.emplace(std::move(key), e);
  return e;
}

void Emitter::loop(std::string_view name, ExprId begin, ExprId end, int64_t step, kernel::Binding binding,
                   const Writer::Body& body, int64_t grain) {
  w.loop(
      name, begin, end, step, binding,
      [&](ExprId i) {
        scopes_.emplace_back();
        body(i);
        scopes_.pop_back();
      },
      grain);
}

void Emitter::scope(const std::function<void()>& body) {
  scopes_.emplace_back();
  body();
  scopes_.pop_back();
}

std::function<void()> Emitter::scoped(std::function<void()> body) {
  return [this, body = std::move(body)] { scope(body); };
}

void Emitter::setFlat(const Shape& shape, const std::vector<Index>& index, const Index& flat,
                      std::optional<WiderLoads> wider) {
  scopes_.back().flats.push_back({shape, index, flat, wider});
}

const Emitter::Flat* Emitter::known(const Shape& shape, const At& at) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    for (const Flat& flat : scope->flats)
      if (flat.index == at.index && flat.shape == shape) return &flat;
  return nullptr;
}

ExprId Emitter::castTo(ExprId x, DType to, bool keepRounding) {
  if (isHalf(to))
    return keepRounding ? w.convert(w.convert(w.convert(x, DType::f32), to), DType::f32) : w.convert(x, DType::f32);
  return w.convert(x, to);
}

ExprId Emitter::compute(ValueId v, const At& at) {
  if (auto it = sources_.find(v.index); it != sources_.end()) return it->second(at);
  const Node& node = graph_.node(v);
  if (auto it = buffers_.find(v.index); it != buffers_.end()) {
    At from = at;
    if (const Flat* flat = known(node.type.shape, at); flat && flat->wider && flat->wider->mask == at.mask)
      from.mask = flat->wider->loads;
    return loadFlat(it->second, flatten(node.type.shape, at), from, node.type.dtype);
  }
  const DType type = computeType(node.type.dtype);
  auto m = math(at);
  if (auto* op = std::get_if<Full>(&node.op)) {
    const Scalar value = isFloat(type) ? Scalar::of(roundTo(node.type.dtype, op->value.asDouble()))
                                       : Scalar::of(wrapTo(type, op->value.asInt()));
    return w.imm(value, type);
  }
  if (auto* op = std::get_if<Constant>(&node.op)) {
    TK_CHECK(op->data->size() == 1, "a constant of more than one element has a buffer");
    return w.imm(isFloat(type) ? Scalar::of(op->data->getDouble(0)) : Scalar::of(op->data->getInt(0)), type);
  }
  if (auto* op = std::get_if<Iota>(&node.op)) return w.convert(m.expr(at.index[op->axis]), type);
  if (auto* op = std::get_if<Random>(&node.op)) return random(node, *op, at);
  if (auto* op = std::get_if<Pad>(&node.op)) return pad(node, *op, at);
  if (auto* op = std::get_if<Concat>(&node.op)) return concat(node, *op, at);
  if (std::holds_alternative<Gather>(node.op) || std::holds_alternative<IndexSelect>(node.op)) return pick(node, at);
  if (auto* op = std::get_if<Pool>(&node.op)) return pool(v, *op, at);
  if (auto* op = std::get_if<AdaptivePool>(&node.op)) return adaptivePool(v, *op, at);
  if (auto* op = std::get_if<Resize>(&node.op)) return resize(v, *op, at);
  if (isElementwise(node.op)) return elementwise(node, at);
  return value(node.operands[0], viewed(node, at));
}

ExprId Emitter::elementwise(const Node& node, const At& at) {
  std::vector<ExprId> x;
  x.reserve(node.operands.size());
  for (ValueId operand : node.operands) x.push_back(value(operand, at));
  if (auto* op = std::get_if<Unary>(&node.op)) return w.unary(op->kind, x[0]);
  if (auto* op = std::get_if<Binary>(&node.op)) return w.binary(op->kind, x[0], x[1]);
  if (std::holds_alternative<Select>(node.op)) return w.select(x[0], x[1], x[2]);
  if (std::holds_alternative<Clamp>(node.op))
    return w.binary(BinaryKind::min, w.binary(BinaryKind::max, x[0], x[1]), x[2]);
  return castTo(x[0], node.type.dtype, !std::get<Cast>(node.op).synthetic);
}

void Emitter::hold(std::vector<bool> buffers) {
  holds_ = std::move(buffers);
  held_.clear();
}

Index Emitter::flatten(const Shape& shape, const At& at) {
  if (const Flat* flat = known(shape, at)) return flat->flat;
  auto m = math(at);
  Index flat = m.constant(0);
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (!shape[i].is(1)) flat = m.add(flat, m.mul(at.index[i], stride));
    stride = stride * shape[i];
  }
  return flat;
}

ExprId Emitter::loadFlat(BufferId buffer, const Index& flat, const At& at, DType dtype) {
  return w.convert(loadAs(buffer, flat, at), computeType(dtype));
}

ExprId Emitter::loadAs(BufferId buffer, const Index& flat, const At& at) {
  ExprId mask = at.mask, loaded;
  if (flat.uniform()) {
    if (mask && w.lanes(mask) > 1) mask = w.fold(BinaryKind::bit_or, mask);
    loaded = w.load(buffer, flat.base, 1, mask);
  } else {
    mask = w.both(mask, at.tail);
    if (mask) mask = w.splat(mask, at.lanes);
    const auto among = [&](const std::vector<bool>& buffers) {
      return buffer.index < buffers.size() && buffers[buffer.index];
    };
    const kernel::Cache keep = among(cached)                                        ? cache
                               : among(streamed) && !flat.lanes && flat.stride == 1 ? kernel::Cache::streaming
                                                                                    : kernel::Cache::normal;
    loaded = !flat.lanes && flat.stride == 1 ? w.load(buffer, flat.base, at.lanes, mask, keep)
                                             : w.load(buffer, math(at).expr(flat), at.lanes, mask, keep);
    if (among(holds_)) {
      auto [it, fresh] = held_.try_emplace(loaded.index);
      if (fresh) it->second = w.let("held", loaded);
      loaded = it->second;
    }
  }
  return loaded;
}

void Emitter::storeFlat(BufferId buffer, const Index& flat, const At& at, ExprId given, DType dtype, bool streaming) {
  const ExprId stored = w.splat(w.convert(given, dtype), at.lanes);
  ExprId mask = w.both(at.mask, at.tail);
  if (mask) mask = w.splat(mask, at.lanes);
  if (at.lanes == 1 || (!flat.lanes && flat.stride == 1))
    w.store(buffer, flat.base ? flat.base : flat.lanes, stored, mask, streaming);
  else
    w.store(buffer, math(at).expr(flat), stored, mask);
}

At Emitter::viewed(const Node& node, const At& at) {
  const Shape& from = graph_.type(node.operands[0]).shape;
  auto m = math(at);
  At out{{}, at.lanes, at.mask, at.tail};
  if (auto* op = std::get_if<Broadcast>(&node.op)) {
    for (size_t i = 0; i < from.size(); ++i) out.index.push_back(from[i].is(1) ? m.constant(0) : at.index[op->axes[i]]);
  } else if (auto* op = std::get_if<Transpose>(&node.op)) {
    out.index.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) out.index[op->perm[i]] = at.index[i];
  } else if (auto* op = std::get_if<Slice>(&node.op)) {
    for (size_t i = 0; i < from.size(); ++i)
      out.index.push_back(m.add(m.mul(at.index[i], Dim(op->stride[i])), op->start[i]));
  } else if (auto* op = std::get_if<Flip>(&node.op)) {
    out.index = at.index;
    for (Axis a : op->axes) out.index[a] = m.add(m.negate(at.index[a]), from[a] - Dim(1));
  } else {
    TK_CHECK(std::holds_alternative<Reshape>(node.op),
             fmt::format("{} has no source in this region", mnemonic(node.op)));
    out.index = reshaped(from, node.type.shape, at);
  }
  return out;
}

/// Index into `from` of the element that stands at `at` in `to`: only what the reshape really splits or merges is
/// divided.
std::vector<Index> Emitter::reshaped(const Shape& from, const Shape& to, const At& at) {
  auto m = math(at);
  std::vector<Index> out(from.size(), m.constant(0));
  for (const ReshapeGroup& group : reshapeGroups(from, to)) {
    Index rest = m.constant(0);
    Dim stride = 1;
    for (size_t k = group.toEnd; k-- > group.toBegin;) {
      if (!to[k].is(1)) rest = m.add(rest, m.mul(at.index[k], stride));
      stride = stride * to[k];
    }
    std::vector<size_t> wide;  // axes of `from` with more than one element, outermost first
    for (size_t k = group.fromBegin; k < group.fromEnd; ++k)
      if (!from[k].is(1)) wide.push_back(k);
    while (wide.size() > 1) {
      out[wide.back()] = m.mod(rest, from[wide.back()]);
      rest = m.div(rest, from[wide.back()]);
      wide.pop_back();
    }
    if (!wide.empty()) out[wide[0]] = rest;
  }
  return out;
}

}  // namespace tokamak::schedule
