#include "sparse/io/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace tokamak::sparse {

namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kZip64Extra = 0x0001;
constexpr uint32_t kWideEnd = 0x06064b50, kWideLocator = 0x07064b50;
constexpr size_t kWideEndSize = 56, kWideLocatorSize = 20;

uint64_t little(std::string_view bytes, size_t at, size_t width) {
  uint64_t out = 0;
  for (size_t i = width; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

/// One file as the central directory lists it.
struct Member {
  std::string name;
  uint64_t method = 0, checksum = 0, packed = 0, size = 0, offset = 0;
};

class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& name, size_t limit) : bytes_(bytes), name_(name), left_(limit) {}

  Result<std::map<std::string, std::string>> run() {
    TK_TRY(const size_t end, endRecord());
    uint64_t count = little(bytes_, end + 10, 2);
    size_t at = little(bytes_, end + 16, 4);
    if (count == 0xffff || at == 0xffffffff) TK_RETURN_IF_ERROR(wideEnd(end, count, at));
    std::map<std::string, std::string> out;
    for (uint64_t i = 0; i < count; ++i) {
      TK_TRY(const Member member, central(at));
      TK_TRY(std::string file, content(member));
      out[member.name] = std::move(file);
    }
    return out;
  }

 private:
  Diagnostic fail(std::string message) const {
    return {"T0907", {name_, 0, 0}, std::move(message), "the archive is damaged or cut short: write it again"};
  }

  Result<size_t> endRecord() const {
    if (bytes_.size() < 22) return fail("it is too short for an archive");
    const size_t last = bytes_.size() - 22, first = last > 0xffff ? last - 0xffff : 0;
    for (size_t at = last + 1; at-- > first;)
      if (little(bytes_, at, 4) == kEnd) return at;
    return fail("it has no directory at its end");
  }

  /// Many files, or a directory behind 4 GiB: a wider record says where, and a locator before the end where that is.
  Result<> wideEnd(size_t end, uint64_t& count, size_t& at) const {
    if (end < kWideLocatorSize || little(bytes_, end - kWideLocatorSize, 4) != kWideLocator) return Unit{};
    const size_t record = little(bytes_, end - kWideLocatorSize + 8, 8);
    if (record > end || end - record < kWideEndSize || little(bytes_, record, 4) != kWideEnd)
      return fail("its directory is not where its end says");
    count = little(bytes_, record + 32, 8);
    at = little(bytes_, record + 48, 8);
    return Unit{};
  }

  Result<Member> central(size_t& at) const {
    if (at > bytes_.size() || bytes_.size() - at < 46 || little(bytes_, at, 4) != kCentral)
      return fail("its directory is damaged");
    Member out;
    if (little(bytes_, at + 8, 2) & 1) return fail("it is encrypted");
    out.method = little(bytes_, at + 10, 2);
    out.checksum = little(bytes_, at + 16, 4);
    out.packed = little(bytes_, at + 20, 4);
    out.size = little(bytes_, at + 24, 4);
    const size_t nameLength = little(bytes_, at + 28, 2), extra = little(bytes_, at + 30, 2),
                 comment = little(bytes_, at + 32, 2);
    out.offset = little(bytes_, at + 42, 4);
    if (at + 46 + nameLength + extra + comment > bytes_.size()) return fail("its directory is cut short");
    out.name = bytes_.substr(at + 46, nameLength);
    TK_RETURN_IF_ERROR(wideSizes(bytes_.substr(at + 46 + nameLength, extra), out));
    at += 46 + nameLength + extra + comment;
    return out;
  }

  /// Sizes of 4 GiB and more stand in an extra field.
  Result<> wideSizes(std::string_view extra, Member& out) const {
    for (size_t at = 0; at + 4 <= extra.size();) {
      const size_t length = little(extra, at + 2, 2);
      if (at + 4 + length > extra.size()) return fail("its directory is damaged");
      if (little(extra, at, 2) == kZip64Extra) {
        size_t field = at + 4;
        for (uint64_t* value : {&out.size, &out.packed, &out.offset}) {
          if (*value != 0xffffffff) continue;
          if (field + 8 > at + 4 + length) return fail("its directory is damaged");
          *value = little(extra, field, 8);
          field += 8;
        }
      }
      at += 4 + length;
    }
    return Unit{};
  }

  Result<std::string> content(const Member& member) {
    const size_t at = member.offset;
    if (at > bytes_.size() || bytes_.size() - at < 30 || little(bytes_, at, 4) != kLocal)
      return fail(fmt::format("{} is not where the directory says", member.name));
    const size_t begin = at + 30 + little(bytes_, at + 26, 2) + little(bytes_, at + 28, 2);
    if (begin > bytes_.size() || member.packed > bytes_.size() - begin)
      return fail(fmt::format("{} is cut short", member.name));
    if (member.size > left_) return fail(fmt::format("{} claims {} bytes", member.name, member.size));
    const std::string_view packed = bytes_.substr(begin, member.packed);
    std::string out;
    if (member.method == 0) {
      if (member.packed != member.size) return fail(fmt::format("{} has two sizes", member.name));
      out = packed;
    } else if (member.method == 8) {
      TK_TRY(out, inflated(packed, member));
    } else {
      return fail(fmt::format("{} is compressed by method {}, not deflate", member.name, member.method));
    }
    if (checksum(out) != member.checksum) return fail(fmt::format("the checksum of {} is wrong", member.name));
    left_ -= out.size();
    return out;
  }

  Result<std::string> inflated(std::string_view packed, const Member& member) const {
    z_stream zip{};
    if (inflateInit2(&zip, -MAX_WBITS) != Z_OK) return fail("zlib does not start");
    std::string out;
    char chunk[1 << 16];
    zip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    size_t fed = 0;
    int status = Z_OK;
    while (status == Z_OK && out.size() <= member.size) {
      if (zip.avail_in == 0) {
        const size_t more = std::min<size_t>(packed.size() - fed, 1u << 30);
        zip.avail_in = static_cast<uInt>(more);
        fed += more;
      }
      zip.next_out = reinterpret_cast<Bytef*>(chunk);
      zip.avail_out = sizeof chunk;
      status = inflate(&zip, Z_NO_FLUSH);
      out.append(chunk, sizeof chunk - zip.avail_out);
      if (status == Z_BUF_ERROR) break;
    }
    inflateEnd(&zip);
    if (status != Z_STREAM_END || out.size() != member.size)
      return fail(fmt::format("{} does not unpack to its size", member.name));
    return out;
  }

 public:
  static uint64_t checksum(std::string_view bytes) {
    uLong out = crc32(0, nullptr, 0);
    for (size_t at = 0; at < bytes.size(); at += 1u << 30)
      out = crc32(out, reinterpret_cast<const Bytef*>(bytes.data() + at),
                  static_cast<uInt>(std::min<size_t>(bytes.size() - at, 1u << 30)));
    return out;
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
  size_t left_;
};

void append(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i, value >>= 8) out.push_back(static_cast<char>(value));
}

class ZipWriter {
 public:
  explicit ZipWriter(uint64_t wide) : wide_(wide) {}

  std::string run(const std::map<std::string, std::string>& files) {
    for (const auto& [name, content] : files) add(name, content);
    const uint64_t begin = out_.size(), size = directory_.size(), count = files.size();
    out_ += directory_;
    if (begin >= wide_ || size >= wide_ || count >= 0xffff) wideEnd(begin, size, count);
    append(out_, kEnd, 4);
    append(out_, 0, 4);
    for (int i = 0; i < 2; ++i) append(out_, std::min<uint64_t>(count, 0xffff), 2);
    append(out_, narrow(size), 4);
    append(out_, narrow(begin), 4);
    append(out_, 0, 2);
    return std::move(out_);
  }

 private:
  /// A number as four bytes say it: all ones where the eight-byte one counts.
  uint64_t narrow(uint64_t value) const { return value >= wide_ ? 0xffffffff : value; }

  /// The extra field with those of the numbers that four bytes cannot say.
  std::string extra(std::initializer_list<uint64_t> values) const {
    std::string wide, out;
    for (const uint64_t value : values)
      if (value >= wide_) append(wide, value, 8);
    if (wide.empty()) return out;
    append(out, kZip64Extra, 2);
    append(out, wide.size(), 2);
    return out + wide;
  }

  void add(const std::string& name, const std::string& content) {
    const uint64_t offset = out_.size(), size = content.size(), sum = ZipReader::checksum(content);
    const auto common = [&](std::string& to, size_t extraSize) {
      append(to, extraSize > 0 ? 45 : 20, 2);  // version needed
      append(to, 0, 4);                        // flags, method: stored
      append(to, 0x210000, 4);                 // 1 January 1980
      append(to, sum, 4);
      append(to, narrow(size), 4);
      append(to, narrow(size), 4);
      append(to, name.size(), 2);
      append(to, extraSize, 2);
    };
    const std::string sizes = extra({size, size}), all = extra({size, size, offset});
    append(out_, kLocal, 4);
    common(out_, sizes.size());
    out_ += name;
    out_ += sizes;
    out_ += content;
    append(directory_, kCentral, 4);
    append(directory_, 45, 2);
    common(directory_, all.size());
    append(directory_, 0, 10);  // comment, disk, attributes
    append(directory_, narrow(offset), 4);
    directory_ += name;
    directory_ += all;
  }

  void wideEnd(uint64_t begin, uint64_t size, uint64_t count) {
    const uint64_t record = out_.size();
    append(out_, kWideEnd, 4);
    append(out_, kWideEndSize - 12, 8);
    append(out_, 45, 2);
    append(out_, 45, 2);
    append(out_, 0, 8);  // disks
    append(out_, count, 8);
    append(out_, count, 8);
    append(out_, size, 8);
    append(out_, begin, 8);
    append(out_, kWideLocator, 4);
    append(out_, 0, 4);
    append(out_, record, 8);
    append(out_, 1, 4);
  }

  uint64_t wide_;
  std::string out_, directory_;
};

}  // namespace

Result<std::map<std::string, std::string>> parseZip(std::string_view bytes, const std::string& name, size_t limit) {
  return ZipReader(bytes, name, limit).run();
}

std::string formatZip(const std::map<std::string, std::string>& files, uint64_t wide) {
  return ZipWriter(wide).run(files);
}

}  // namespace tokamak::sparse
