#include "sparse/stream/wire.h"

#include <bit>
#include <cstdint>

namespace tokamak::stream {

namespace {

std::optional<uint64_t> readVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<uint64_t> readFixed(std::string_view& bytes, size_t size) {
  if (bytes.size() < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(size);
  return value;
}

std::optional<WireField> readField(std::string_view& bytes) {
  const auto key = readVarint(bytes);
  if (!key || *key >> 3 == 0 || *key >> 3 > 0x1fffffff) return std::nullopt;
  WireField field{static_cast<uint32_t>(*key >> 3), 0, {}, false};
  const auto keep = [&](std::optional<uint64_t> value) -> std::optional<WireField> {
    if (!value) return std::nullopt;
    field.varint = *value;
    return field;
  };
  switch (*key & 7) {
    case 0: return keep(readVarint(bytes));
    case 1: return keep(readFixed(bytes, 8));
    case 5: return keep(readFixed(bytes, 4));
    case 2: break;
    default: return std::nullopt;
  }
  const auto size = readVarint(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  field.bytes = bytes.substr(0, *size);
  field.isBytes = true;
  bytes.remove_prefix(*size);
  return field;
}

}  // namespace

std::optional<WireMessage> WireMessage::parse(std::string_view bytes, size_t* fault) {
  WireMessage message;
  const size_t size = bytes.size();
  while (!bytes.empty()) {
    if (fault) *fault = size - bytes.size();
    const auto field = readField(bytes);
    if (!field) return std::nullopt;
    message.fields_.push_back(*field);
  }
  return message;
}

const WireField* WireMessage::find(uint32_t number) const {
  const WireField* last = nullptr;  // a field that comes twice counts as it came last
  for (const WireField& field : fields_)
    if (field.number == number) last = &field;
  return last;
}

uint64_t WireMessage::varint(uint32_t number) const {
  const WireField* field = find(number);
  return field != nullptr && !field->isBytes ? field->varint : 0;
}

double WireMessage::number(uint32_t number) const { return std::bit_cast<double>(varint(number)); }

std::string_view WireMessage::bytes(uint32_t number) const {
  const WireField* field = find(number);
  return field != nullptr ? field->bytes : std::string_view();
}

std::optional<std::vector<WireMessage>> WireMessage::messages(uint32_t number) const {
  std::vector<WireMessage> result;
  for (const WireField& field : fields_) {
    if (field.number != number) continue;
    auto message = parse(field.bytes);
    if (!field.isBytes || !message) return std::nullopt;
    result.push_back(std::move(*message));
  }
  return result;
}

void WireWriter::raw(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

WireWriter& WireWriter::varint(uint32_t number, uint64_t value) {
  if (value == 0) return *this;
  raw(uint64_t{number} << 3);
  raw(value);
  return *this;
}

WireWriter& WireWriter::number(uint32_t number, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (bits == 0) return *this;
  raw(uint64_t{number} << 3 | 1);
  for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  return *this;
}

WireWriter& WireWriter::text(uint32_t number, std::string_view value) {
  if (value.empty()) return *this;
  raw(uint64_t{number} << 3 | 2);
  raw(value.size());
  bytes_ += value;
  return *this;
}

WireWriter& WireWriter::message(uint32_t number, const WireWriter& value) {
  raw(uint64_t{number} << 3 | 2);
  raw(value.bytes().size());
  bytes_ += value.bytes();
  return *this;
}

}  // namespace tokamak::stream
