#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokamak::stream {

/// Protocol-buffer wire format, as much of it as the SAM exchange needs: a message is a list of fields, a field a
/// varint, a double, or bytes (a string or another message).
struct WireField {
  uint32_t number = 0;
  uint64_t varint = 0;     // of wire type 0; the bits of types 1 and 5
  std::string_view bytes;  // of wire type 2
  bool isBytes = false;
};

class WireMessage {
 public:
  /// Nothing where the bytes are cut or no message; `fault` is where the field begins that is not whole.
  static std::optional<WireMessage> parse(std::string_view bytes, size_t* fault = nullptr);

  const std::vector<WireField>& fields() const { return fields_; }
  const WireField* find(uint32_t number) const;
  bool has(uint32_t number) const { return find(number) != nullptr; }
  /// Zero, empty, or an empty message where the field is missing, as the format has it.
  uint64_t varint(uint32_t number) const;
  double number(uint32_t number) const;
  std::string_view bytes(uint32_t number) const;
  std::optional<WireMessage> message(uint32_t number) const { return parse(bytes(number)); }
  /// Every occurrence of a repeated message; nothing if one of them is none.
  std::optional<std::vector<WireMessage>> messages(uint32_t number) const;

 private:
  std::vector<WireField> fields_;
};

/// Appends fields to a message. Zeros and empty strings are left out, as the format has it; messages are always
/// written.
class WireWriter {
 public:
  WireWriter& varint(uint32_t number, uint64_t value);
  WireWriter& number(uint32_t number, double value);
  WireWriter& text(uint32_t number, std::string_view value);
  WireWriter& message(uint32_t number, const WireWriter& value);
  const std::string& bytes() const { return bytes_; }

 private:
  void raw(uint64_t value);
  std::string bytes_;
};

}  // namespace tokamak::stream
