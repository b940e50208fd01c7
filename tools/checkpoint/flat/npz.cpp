// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/npz.cpp - numpy's archives and single arrays. An array is a view of its
// member: Fortran order is strides, the other byte order is noted, and nothing is read before it is
// asked for. Texts become facts; pickled objects are refused.
#include <algorithm>
#include <cstring>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/npz/npy.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kMaxNpzHeader = 65536 + 12;
constexpr uint64_t kMaxNpzText = 1 << 20;

struct Spelling {
  char kind;
  uint64_t bytes;
  ElementType type;
};
constexpr Spelling kSpellings[] = {{'f', 2, ElementType::kF16}, {'f', 4, ElementType::kF32},
                                   {'f', 8, ElementType::kF64}, {'i', 1, ElementType::kI8},
                                   {'i', 2, ElementType::kI16}, {'i', 4, ElementType::kI32},
                                   {'i', 8, ElementType::kI64}, {'u', 1, ElementType::kU8},
                                   {'u', 2, ElementType::kU16}, {'u', 4, ElementType::kU32},
                                   {'u', 8, ElementType::kU64}, {'b', 1, ElementType::kBool},
                                   {'c', 8, ElementType::kC64}, {'c', 16, ElementType::kC128},
                                   {'V', 2, ElementType::kBf16}};  // as ml_dtypes stores it

/// "<f4" taken apart.
struct Description {
  bool big = false;
  char kind = 0;
  uint64_t bytes = 0;  // of one element; of a text, characters
};

Description take_apart(const std::string& descr, const std::string& where) {
  Description d;
  size_t at = 0;
  if (at < descr.size() && std::strchr("<>|=", descr[at])) d.big = descr[at++] == '>';
  if (at < descr.size()) d.kind = descr[at++];
  bool sound = at < descr.size() && descr.size() - at <= 9;
  for (size_t i = at; i < descr.size() && sound; i++) {
    sound = descr[i] >= '0' && descr[i] <= '9';
    d.bytes = d.bytes * 10 + uint64_t(descr[i] - '0');
  }
  if (d.kind == 'O')
    host::fail(
        host::Exit::kUnsafe,
        where + ": holds pickled Python objects, which can run code; save it as a plain array");
  if (!sound)
    host::fail(host::Exit::kCorrupt,
               where + ": its element type cannot be read; the file is damaged");
  return d;
}

void append_utf8(uint32_t c, std::string* out) {
  if (c < 0x80) return void(*out += char(c));
  if (c < 0x800) return void(*out += {char(0xc0 | c >> 6), char(0x80 | (c & 63))});
  if (c < 0x10000)
    return void(*out += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))});
  *out += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
           char(0x80 | (c & 63))};
}

/// A single text: 'U' is UTF-32, 'S' bytes; zeros pad both.
std::string text_of(const Bytes& bytes, const Description& d, const std::string& where) {
  std::string out;
  if (d.kind == 'S') {
    out.assign(reinterpret_cast<const char*>(bytes.data), size_t(bytes.size));
    return out.substr(0, out.find('\0'));
  }
  for (uint64_t i = 0; i + 4 <= bytes.size; i += 4) {
    uint32_t c = 0;
    for (uint64_t b = 0; b < 4; b++) c |= uint32_t(bytes.data[i + b]) << (8 * (d.big ? 3 - b : b));
    if (c == 0) break;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      host::fail(host::Exit::kCorrupt,
                 where + ": its text holds an invalid character; the file is damaged");
    append_utf8(c, &out);
  }
  return out;
}

/// `start` is the beginning of the array's file, `whole` all of it.
void add_array(const std::string& name, const std::vector<uint8_t>& start,
               std::shared_ptr<const Storage> whole, const std::string& where,
               const ReadLimits& limits, Checkpoint* out) {
  size_t at = 0;
  const host::NpyHeader header = host::read_npy_header(
      [&](void* to, size_t count) {
        count = std::min(count, start.size() - at);
        if (count > 0) std::memcpy(to, start.data() + at, count);
        at += count;
        return count;
      },
      where);
  const Description d = take_apart(header.descr, where);
  const uint64_t held = whole->size() - header.bytes;
  if (d.kind == 'U' || d.kind == 'S') {
    const uint64_t width = d.kind == 'U' ? d.bytes * 4 : d.bytes;
    bool single = true;
    for (const int64_t n : header.dims) single &= n == 1;
    if (!single) {
      out->note("'" + name + "' is an array of texts, which is no weight");
      return;
    }
    if (held != width || width > kMaxNpzText)
      host::fail(host::Exit::kCorrupt, where + ": its text takes " + std::to_string(width) +
                                           " bytes, " + std::to_string(held) +
                                           " are there; the file is damaged");
    out->say({name}, text_of(part_of(whole, header.bytes, held)->load(), d, where));
    return;
  }
  const Spelling* spelling = nullptr;
  for (const Spelling& s : kSpellings)
    if (s.kind == d.kind && s.bytes == d.bytes) spelling = &s;
  if (!spelling)
    host::fail(host::Exit::kUnsupported,
               where + ": its element type is '" + header.descr.substr(0, 40) +
                   "', which is not read; save it as float, int, uint, bool or complex");
  Tensor t;
  t.path = {name};
  t.type = spelling->type;
  t.swapped = d.big && d.bytes > 1;
  t.dims = header.dims;
  t.strides.assign(t.dims.size(), 0);
  uint64_t count = 1;
  for (size_t i = 0; i < t.dims.size(); i++) {
    const size_t axis = header.fortran ? i : t.dims.size() - 1 - i;
    t.strides[axis] = int64_t(count);
    if (__builtin_mul_overflow(count, uint64_t(t.dims[axis]), &count) ||
        count > (uint64_t{1} << 56))
      host::fail(host::Exit::kCorrupt, where + ": its shape overflows; the file is damaged");
  }
  if (count * d.bytes != held)
    host::fail(host::Exit::kCorrupt, where + ": its shape says " + std::to_string(count * d.bytes) +
                                         " bytes, " + std::to_string(held) +
                                         " are there; the file is damaged");
  t.storage = part_of(std::move(whole), header.bytes, held);
  validate_view(t, limits, where);
  out->add(std::move(t));
}

}  // namespace

bool is_npz(const Archive& archive) {
  for (const std::string& name : archive.names())
    if (name.size() <= 4 || name.compare(name.size() - 4, 4, ".npy") != 0) return false;
  return !archive.names().empty();
}

Checkpoint read_npz(const std::shared_ptr<Archive>& archive, const std::string& path,
                    const ReadLimits& limits) {
  Checkpoint out;
  out.file = path;
  out.format = "npz";
  for (const std::string& member : archive->names()) {
    const std::string name = member.substr(0, member.size() - 4),
                      where = path + ": array '" + name + "'";
    add_array(name, archive->read_start(member, kMaxNpzHeader), Archive::member(archive, member),
              where, limits, &out);
  }
  return out;
}

Checkpoint read_npy(const std::string& path, const ReadLimits& limits) {
  Checkpoint out;
  out.file = path;
  out.format = "npy";
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::vector<uint8_t> start(file->data(),
                                   file->data() + std::min<uint64_t>(file->size(), kMaxNpzHeader));
  add_array("array", start, mapped_storage(file, 0, file->size()), path, limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
