// SPDX-License-Identifier: Apache-2.0
#include "tools/files/npz/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/checked_math.h"
#include "tools/files/failure.h"

namespace ingot::host {
namespace {

// numpy itself refuses beyond 10,000 characters unless told otherwise
constexpr uint32_t kMaxHeaderBytes = 64 * 1024;
constexpr size_t kMaxNumpyRank = 64;
constexpr size_t kPieceBytes = size_t{16} << 20;

/// The dictionary in the header is a Python literal; this reads the subset that numpy writes.
class Literal {
 public:
  Literal(const std::string& text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader read() {
    NpyHeader header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !seen[0]) {
        seen[0] = true;
        if (peek() == '[')
          fail(Exit::kUnsupported, where_ + ": structured arrays are not read; save plain arrays");
        header.descr = string();
      } else if (key == "fortran_order" && !seen[1]) {
        seen[1] = true;
        header.fortran = boolean();
      } else if (key == "shape" && !seen[2]) {
        seen[2] = true;
        header.dims = tuple();
      } else {
        corrupt("key '" + printable(key) + "' in the array header is unknown or repeated");
      }
      if (!accept(',') && peek() != '}') corrupt("array header: expected ',' or '}'");
    }
    skip_space();
    if (at_ != text_.size()) corrupt("text behind the array header's dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
      corrupt("array header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void corrupt(const std::string& what) {
    fail(Exit::kCorrupt, where_ + ": " + what + "; the file is damaged or not written by numpy");
  }
  static std::string printable(const std::string& raw) {
    std::string out;
    for (const char c : raw.substr(0, 40)) out += c >= 32 && c < 127 ? c : '?';
    return out;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      at_++;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      corrupt(std::string("array header: expected '") + c + "' at character " +
              std::to_string(at_));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      corrupt("array header: expected a string at character " + std::to_string(at_));
    const size_t end = text_.find(quote, ++at_);
    if (end == std::string::npos) corrupt("array header: a string has no end");
    std::string out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const char* word = value ? "True" : "False";
      if (text_.compare(at_, strlen(word), word) == 0) {
        at_ += strlen(word);
        return value;
      }
    }
    corrupt("array header: fortran_order is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      int64_t n = 0;
      if (peek() < '0' || peek() > '9') corrupt("array header: a dimension is no natural number");
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        if (!checked_mul<int64_t>(n, 10, &n) || !checked_add<int64_t>(n, text_[at_] - '0', &n)) {
          corrupt("array header: a dimension passes 2^63");
        }
        at_++;
      }
      accept('L');  // Python 2 wrote 3L
      dims.push_back(n);
      if (dims.size() > kMaxNumpyRank) corrupt("array header: more than 64 dimensions");
      if (!accept(',') && peek() != ')') corrupt("array header: expected ',' or ')' in the shape");
    }
    return dims;
  }

  const std::string& text_;
  const std::string& where_;
  size_t at_ = 0;
};

struct Element {
  DType dtype = DType::kInvalid;
  uint64_t bytes = 0;  // of one element
  bool text = false;
  bool swap = false;
};

Element element_of(const std::string& descr, const std::string& where) {
  Element element;
  size_t at = 0;
  bool big = false;
  if (at < descr.size() && strchr("<>|=", descr[at])) big = descr[at++] == '>';
  const char kind = at < descr.size() ? descr[at++] : '\0';
  uint64_t size = 0;
  if (at == descr.size() || descr.size() - at > 9) size = ~uint64_t{0};
  for (size_t i = at; i < descr.size() && size != ~uint64_t{0}; i++) {
    if (descr[i] < '0' || descr[i] > '9')
      size = ~uint64_t{0};
    else
      size = size * 10 + uint64_t(descr[i] - '0');
  }
  if (kind == 'O') {
    fail(Exit::kUnsafe,
         where + ": holds pickled Python objects, which can run code; save it as a plain array");
  }
  if (size == ~uint64_t{0})
    fail(Exit::kCorrupt,
         where + ": array header: element type cannot be read; the file is damaged");
  struct Known {
    char kind;
    uint64_t size;
    DType dtype;
  };
  static constexpr Known kKnown[] = {
      {'f', 2, DType::kF16}, {'f', 4, DType::kF32}, {'f', 8, DType::kF64}, {'i', 1, DType::kI8},
      {'i', 2, DType::kI16}, {'i', 4, DType::kI32}, {'i', 8, DType::kI64}, {'u', 1, DType::kU8},
      {'u', 2, DType::kU16}, {'u', 4, DType::kU32}, {'u', 8, DType::kU64}, {'b', 1, DType::kBool},
      {'V', 2, DType::kBF16}};
  for (const Known& known : kKnown) {
    if (known.kind == kind && known.size == size) {
      element.dtype = known.dtype;
      element.bytes = size;
    }
  }
  if (kind == 'U') {
    element.text = true;
    element.bytes = size * 4;  // at most 4e9: nine digits
  }
  if (element.dtype == DType::kInvalid && !element.text) {
    fail(Exit::kUnsupported,
         where + ": element type '" + std::string(1, kind >= 32 && kind < 127 ? kind : '?') +
             std::to_string(size) + "' is not read; save as float, int, uint or bool");
  }
  element.swap = big != (std::endian::native == std::endian::big) && element.bytes > 1;
  return element;
}

void read_whole(const ByteSource& source, void* out, size_t count, const std::string& where) {
  auto* next = static_cast<uint8_t*>(out);
  while (count > 0) {
    const size_t got = source(next, count);
    if (got == 0)
      fail(Exit::kCorrupt,
           where + ": ends " + std::to_string(count) + " bytes early; the file is truncated");
    next += got;
    count -= got;
  }
}

void swap_elements(std::vector<uint8_t>* bytes, size_t size) {
  for (size_t i = 0; i + size <= bytes->size(); i += size)
    std::reverse(bytes->begin() + i, bytes->begin() + i + size);
}

/// Column-major to row-major.
std::vector<uint8_t> to_c_order(const std::vector<uint8_t>& bytes, const std::vector<int64_t>& dims,
                                size_t size) {
  std::vector<uint8_t> out(bytes.size());
  uint64_t strides[kMaxNumpyRank] = {1};
  for (size_t i = 1; i < dims.size(); i++) strides[i] = strides[i - 1] * uint64_t(dims[i - 1]);
  int64_t index[kMaxNumpyRank] = {};
  uint64_t from = 0;
  for (size_t to = 0; to < bytes.size(); to += size) {
    memcpy(out.data() + to, bytes.data() + from * size, size);
    for (size_t axis = dims.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < dims[axis]) break;
      from -= strides[axis] * uint64_t(dims[axis]);
      index[axis] = 0;
    }
  }
  return out;
}

std::string utf8(const std::vector<uint8_t>& utf32, const std::string& where) {
  std::string out;
  for (size_t i = 0; i + 4 <= utf32.size(); i += 4) {
    uint32_t c;
    memcpy(&c, utf32.data() + i, 4);
    if (c == 0) break;  // padding
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      fail(Exit::kCorrupt, where + ": text holds an invalid character");
    if (c < 0x80) {
      out += char(c);
    } else if (c < 0x800) {
      out += {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      out += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    } else {
      out += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
              char(0x80 | (c & 63))};
    }
  }
  return out;
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "<f4";
    case DType::kF16: return "<f2";
    case DType::kBF16: return "|V2";
    case DType::kF64: return "<f8";
    case DType::kI8: return "|i1";
    case DType::kU8: return "|u1";
    case DType::kI16: return "<i2";
    case DType::kU16: return "<u2";
    case DType::kI32: return "<i4";
    case DType::kU32: return "<u4";
    case DType::kI64: return "<i8";
    case DType::kU64: return "<u8";
    case DType::kBool: return "|b1";
    case DType::kInvalid: break;
  }
  fail(Exit::kInternal, "npy: an array without element type was to be written");
}

}  // namespace

int64_t Array::elements() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); i++) out += (i ? "," : "") + std::to_string(dims[i]);
  return out + "]";
}

std::string describe(const Array& array) {
  return (array.is_text ? "text" : array_dtype_name(array.dtype)) + (" " + dims_text(array.dims));
}

const char* array_dtype_name(DType dtype) {
  static constexpr const char* kNames[] = {"invalid", "f32", "f16", "bf16", "f64", "i8",  "u8",
                                           "i16",     "u16", "i32", "u32",  "i64", "u64", "bool"};
  return size_t(dtype) < std::size(kNames) ? kNames[size_t(dtype)] : "invalid";
}

NpyHeader read_npy_header(const ByteSource& source, const std::string& where) {
  uint8_t start[12];
  read_whole(source, start, 10, where);
  if (memcmp(start, "\x93NUMPY", 6) != 0)
    fail(Exit::kCorrupt, where + ": is no numpy array (wrong first bytes)");
  const int major = start[6];
  if (major < 1 || major > 3) {
    fail(Exit::kUnsupported,
         where + ": npy format " + std::to_string(major) + "; versions 1 to 3 are read");
  }
  uint32_t bytes = uint32_t(start[8]) | uint32_t(start[9]) << 8;
  if (major > 1) {
    read_whole(source, start + 10, 2, where);
    bytes |= uint32_t(start[10]) << 16 | uint32_t(start[11]) << 24;
  }
  if (bytes > kMaxHeaderBytes) {
    fail(Exit::kCorrupt, where + ": array header of " + std::to_string(bytes) +
                             " bytes; at most 65536 are accepted");
  }
  std::string text(bytes, '\0');
  read_whole(source, text.data(), text.size(), where);
  NpyHeader header = Literal(text, where).read();
  header.bytes = (major > 1 ? 12u : 10u) + uint64_t(bytes);
  return header;
}

NpyReader::NpyReader(ByteSource source, std::string where)
    : source_(std::move(source)), where_(std::move(where)) {
  const NpyHeader header = read_npy_header(source_, where_);
  const Element element = element_of(header.descr, where_);
  type_.dtype = element.dtype, type_.dims = header.dims, type_.is_text = element.text;
  fortran_ = header.fortran, swap_ = element.swap, element_bytes_ = element.bytes;
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t d : type_.dims) empty |= d == 0;
  for (const int64_t d : type_.dims) {
    if (!checked_mul<uint64_t>(count, uint64_t(d == 0 ? 1 : d), &count) ||
        count > (uint64_t{1} << 62)) {
      fail(Exit::kCorrupt, where_ + ": shape " + dims_text(type_.dims) + " overflows");
    }
  }
  if (empty) count = 0;
  if (!checked_mul<uint64_t>(count, element.bytes, &total_bytes_))
    fail(Exit::kCorrupt, where_ + ": shape " + dims_text(type_.dims) + " overflows");
  if (element.text && count != 1)
    fail(Exit::kUnsupported, where_ + ": an array of strings; only a single text is read");
}

bool NpyReader::has_rows() const {
  return !type_.dims.empty() && !type_.is_text && !(fortran_ && type_.dims.size() > 1);
}

Array NpyReader::read(std::vector<int64_t> dims, uint64_t bytes) {
  Array array;
  array.dtype = type_.dtype, array.dims = std::move(dims), array.is_text = type_.is_text;
  // Memory grows with what really arrives, so that a lying shape costs nothing.
  for (uint64_t done = 0; done < bytes;) {
    const size_t piece =
        size_t(std::min<uint64_t>(bytes - done, std::max<uint64_t>(kPieceBytes, done)));
    array.bytes.resize(size_t(done) + piece);
    read_whole(source_, array.bytes.data() + done, piece, where_);
    done += piece;
  }
  if (swap_) swap_elements(&array.bytes, array.is_text ? 4 : size_t(element_bytes_));
  if (array.dtype == DType::kBool)
    for (uint8_t& b : array.bytes) b = b != 0;
  return array;
}

Array NpyReader::next(int64_t rows) {
  std::vector<int64_t> dims = type_.dims;
  const uint64_t row = dims[0] ? total_bytes_ / uint64_t(dims[0]) : 0;
  dims[0] = rows, given_ += rows;
  return read(std::move(dims), row * uint64_t(rows));
}

Array NpyReader::rest() {
  Array array;
  if (given_ > 0)
    array = next(type_.dims[0] - given_);
  else
    array = read(type_.dims, total_bytes_);
  uint8_t extra;
  if (source_(&extra, 1) != 0)
    fail(Exit::kCorrupt, where_ + ": bytes behind the end of the array; the shape does not fit");
  if (fortran_ && array.dims.size() > 1)
    array.bytes = to_c_order(array.bytes, array.dims, size_t(element_bytes_));
  if (array.is_text) {
    array.text = utf8(array.bytes, where_);
    array.bytes.clear();
  }
  return array;
}

Array read_npy(const ByteSource& source, const std::string& where, uint64_t limit_bytes) {
  NpyReader reader(source, where);
  if (reader.total_bytes() > limit_bytes) {
    fail(Exit::kUnavailable, where + ": needs " + std::to_string(reader.total_bytes()) +
                                 " bytes, " + std::to_string(limit_bytes) +
                                 " are allowed; is this file a decompression bomb?");
  }
  return reader.rest();
}

std::string npy_header(const Array& array) {
  if (array.is_text) fail(Exit::kInternal, "npy: text is read only");
  std::string shape = "(";
  for (const int64_t d : array.dims) shape += std::to_string(d) + ", ";
  if (array.dims.size() == 1) shape.pop_back();               // (3,)
  if (array.dims.size() > 1) shape.resize(shape.size() - 2);  // (3, 4)
  std::string text = std::string("{'descr': '") + descr_of(array.dtype) +
                     "', 'fortran_order': False, 'shape': " + shape + "), }";
  const size_t prefix = text.size() + 65 < 65536 ? 10 : 12;
  const size_t whole = (prefix + text.size() + 1 + 63) / 64 * 64;
  text.append(whole - prefix - text.size() - 1, ' ');
  text += '\n';
  std::string out = std::string("\x93NUMPY", 6) + (prefix == 10 ? '\1' : '\2') + '\0';
  for (size_t i = 0; i < prefix - 8; i++) out += char(text.size() >> (8 * i) & 255);
  return out + text;
}

}  // namespace ingot::host
