#include "support/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace tokamak {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLongestHeader = 1 << 20;

struct Header {
  DType dtype = DType::f32;
  bool bigEndian = false, fortranOrder = false;
  std::vector<int64_t> shape;
  int64_t elements = 1;
  size_t dataOffset = 0;
};

Diagnostic damaged(const std::string& file, std::string_view why) {
  return {"T0302", {file, 0, 0}, fmt::format("not a readable .npy file: {}", why), "write it with numpy.save"};
}

/// The header's Python dictionary, of which only what NumPy itself writes is understood.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Header> parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!take('{')) return fail("its header is not a dictionary");
    while (!take('}')) {
      TK_TRY(const std::string_view key, quoted());
      if (!take(':')) return fail("a key in its header has no value");
      if (key == "descr" && !descr) {
        TK_RETURN_IF_ERROR(parseType(header));
        descr = true;
      } else if (key == "fortran_order" && !order) {
        if (takeWord("True"))
          header.fortranOrder = true;
        else if (!takeWord("False"))
          return fail("fortran_order is neither True nor False");
        order = true;
      } else if (key == "shape" && !shape) {
        TK_RETURN_IF_ERROR(parseShape(header));
        shape = true;
      } else {
        return fail(fmt::format("its header has an unexpected or repeated key '{}'", printable(key)));
      }
      if (!take(',') && !peek('}')) return fail("its header's dictionary is not closed");
    }
    skipSpace();
    if (at_ != text_.size()) return fail("there is text behind its header's dictionary");
    if (!descr || !order || !shape) return fail("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  Diagnostic fail(std::string_view why) const { return damaged(file_, why); }
  static std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '?';
    return out;
  }
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char c) {
    skipSpace();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  Result<std::string_view> quoted() {
    skipSpace();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return fail("its header lacks a quoted word");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return fail("a quoted word in its header does not end");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  Result<> parseType(Header& header) {
    if (peek('[')) return unsupported("a structured type");
    TK_TRY(const std::string_view descr, quoted());
    std::string_view type = descr;
    char order = '|';
    if (!type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
      order = type[0];
      type.remove_prefix(1);
    }
    static constexpr std::pair<std::string_view, DType> kTypes[] = {
        {"b1", DType::boolean}, {"?", DType::boolean}, {"i1", DType::i8},   {"i2", DType::i16},
        {"i4", DType::i32},     {"i8", DType::i64},    {"u1", DType::u8},   {"f2", DType::f16},
        {"f4", DType::f32},     {"f8", DType::f64},    {"V2", DType::bf16}, {"bfloat16", DType::bf16}};
    for (const auto& [name, dtype] : kTypes) {
      if (type != name) continue;
      header.dtype = dtype;
      header.bigEndian = order == '>' && byteWidth(dtype) > 1;
      return Unit{};
    }
    return unsupported(fmt::format("dtype '{}'", printable(descr)));
  }

  Result<> unsupported(std::string_view what) const {
    return Diagnostic{
        "T0303",
        {file_, 0, 0},
        fmt::format("{} is not supported", what),
        "convert it with array.astype to bool, int8, int16, int32, int64, uint8, float16, float32 or float64"};
  }

  Result<> parseShape(Header& header) {
    if (!take('(')) return fail("shape is not a tuple");
    bool empty = false, overflow = false;
    while (!take(')')) {
      skipSpace();
      int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0) return fail("an extent in its shape is not a number from 0 to 2^63 - 1");
      at_ += end - begin;
      takeWord("L");  // Python 2
      if (header.shape.size() == 64) return fail("its shape has more than 64 axes");
      header.shape.push_back(extent);
      empty |= extent == 0;
      overflow |= __builtin_mul_overflow(header.elements, extent, &header.elements);
      if (!take(',') && !peek(')')) return fail("its shape is not closed");
    }
    if (empty)
      header.elements = 0;
    else if (overflow || header.elements > (INT64_MAX >> 4))
      return fail("its shape is larger than any memory");
    return Unit{};
  }

  std::string_view text_;
  size_t at_ = 0;
  const std::string& file_;
};

/// `bytes` holds at least the header; `total` is the whole file's size.
Result<Header> parseHeader(std::string_view bytes, const std::string& file) {
  if (!bytes.starts_with(kMagic)) return damaged(file, "it does not begin with \\x93NUMPY");
  if (bytes.size() < 10) return damaged(file, "it ends inside its header");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) return damaged(file, fmt::format("its format version {} is unknown", major));
  const size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix) return damaged(file, "it ends inside its header");
  size_t length = 0;
  for (size_t i = prefix; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kLongestHeader) return damaged(file, fmt::format("its header claims {} bytes", length));
  if (bytes.size() < prefix + length) return damaged(file, "it ends inside its header");
  TK_TRY(Header header, HeaderParser(bytes.substr(prefix, length), file).parse());
  header.dataOffset = prefix + length;
  return header;
}

Result<> checkSize(const Header& header, int64_t have, const std::string& file) {
  const int64_t want = header.elements * byteWidth(header.dtype);
  if (have == want) return Unit{};
  return Diagnostic{"T0304",
                    {file, 0, 0},
                    fmt::format("{}[{}] needs {} bytes of data, the file has {}", nameOf(header.dtype),
                                fmt::join(header.shape, ", "), want, have),
                    have < want ? "the file is cut short: write it again" : "write it again with numpy.save"};
}

void swapBytes(std::byte* data, int64_t elements, int64_t width) {
  for (int64_t i = 0; i < elements; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

Array fromFortran(const Array& stored, const std::vector<int64_t>& shape) {
  Array out(stored.dtype(), shape);
  const int64_t width = byteWidth(stored.dtype());
  std::vector<int64_t> index(shape.size(), 0);
  const auto* from = static_cast<const std::byte*>(stored.data());
  auto* to = static_cast<std::byte*>(out.data());
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t at = 0;
    for (size_t axis = shape.size(); axis-- > 0;) at = at * shape[axis] + index[axis];
    std::memcpy(to + i * width, from + at * width, width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

Array finish(Array array, const Header& header) {
  if (header.bigEndian) swapBytes(static_cast<std::byte*>(array.data()), array.size(), byteWidth(header.dtype));
  if (header.dtype == DType::boolean) {
    auto* values = array.as<uint8_t>();
    for (int64_t i = 0; i < array.size(); ++i) values[i] = values[i] != 0;
  }
  if (header.fortranOrder && header.shape.size() > 1) return fromFortran(array, header.shape);
  return array;
}

struct File {
  int fd;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

/// Up to `bytes`; fewer at the end of the file, -1 on failure.
int64_t readFully(int fd, void* to, int64_t bytes) {
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t got = read(fd, static_cast<char*>(to) + done, std::min<int64_t>(bytes - done, 1 << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

bool writeFully(int fd, const void* from, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t put = write(fd, static_cast<const char*>(from) + done, std::min<int64_t>(bytes - done, 1 << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += put;
  }
  return true;
}

std::string headerText(DType dtype, const std::vector<int64_t>& shape) {
  static constexpr std::string_view kDescr[] = {"|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<f2", "<V2", "<f4", "<f8"};
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", kDescr[static_cast<int>(dtype)],
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t padding = 63 - (10 + dictionary.size()) % 64;  // data begins at a multiple of 64
  dictionary.append(padding, ' ').push_back('\n');
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  return out + dictionary;
}

Diagnostic unreadable(const std::string& path, std::string_view why) {
  return {"T0301", {path, 0, 0}, fmt::format("cannot read the file: {}", why), "check the path and its permissions"};
}

}  // namespace

Result<Array> parseNpy(std::string_view bytes, const std::string& name) {
  TK_TRY(const Header header, parseHeader(bytes, name));
  const std::string_view data = bytes.substr(header.dataOffset);
  TK_RETURN_IF_ERROR(checkSize(header, static_cast<int64_t>(data.size()), name));
  Array array(header.dtype, header.shape);
  if (!data.empty()) std::memcpy(array.data(), data.data(), data.size());
  return finish(std::move(array), header);
}

Result<Array> readNpy(const std::string& path) {
  File file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info{};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) return unreadable(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return unreadable(path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a plain file");
  std::string head(std::min<int64_t>(info.st_size, 4096), '\0');
  if (readFully(file.fd, head.data(), head.size()) != static_cast<int64_t>(head.size()))
    return unreadable(path, "it ends early");
  if (info.st_size > 4096 && head.starts_with(kMagic)) {  // a longer header, rarely
    const int64_t longest = std::min<int64_t>(info.st_size, 12 + static_cast<int64_t>(kLongestHeader));
    if (!parseHeader(head, path)) {
      head.resize(longest);
      const int64_t more = readFully(file.fd, head.data() + 4096, longest - 4096);
      if (more < 0) return unreadable(path, std::strerror(errno));
      head.resize(4096 + more);
    }
  }
  TK_TRY(const Header header, parseHeader(head, path));
  TK_RETURN_IF_ERROR(checkSize(header, info.st_size - static_cast<int64_t>(header.dataOffset), path));
  Array array(header.dtype, header.shape);
  if (lseek(file.fd, static_cast<off_t>(header.dataOffset), SEEK_SET) < 0)
    return unreadable(path, std::strerror(errno));
  if (readFully(file.fd, array.data(), array.bytes()) != array.bytes()) return unreadable(path, "it ends early");
  return finish(std::move(array), header);
}

std::string formatNpy(const Array& array) {
  std::string out = headerText(array.dtype(), array.shape());
  out.append(static_cast<const char*>(array.data()), array.bytes());
  return out;
}

Result<> writeNpy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, const void* data) {
  int64_t bytes = byteWidth(dtype);
  for (const int64_t extent : shape) bytes *= extent;
  auto failed = [&](const std::string& what) {
    return Diagnostic{
        "T0305", {path, 0, 0}, fmt::format("cannot write the file: {}", what), "check the folder and its space"};
  };
  const std::string header = headerText(dtype, shape);
  const std::string temporary = fmt::format("{}.{}.part", path, getpid());
  File file{open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file.fd < 0) return failed(std::strerror(errno));
  if (!writeFully(file.fd, header.data(), header.size()) || !writeFully(file.fd, data, bytes) ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    unlink(temporary.c_str());
    return failed(why);
  }
  return Unit{};
}

Result<> writeNpy(const std::string& path, const Array& array) {
  return writeNpy(path, array.dtype(), array.shape(), array.data());
}

}  // namespace tokamak
