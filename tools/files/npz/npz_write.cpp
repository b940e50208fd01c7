// SPDX-License-Identifier: Apache-2.0
// A zip archive of stored members, written front to back. 64-bit fields are used only where a
// number needs them, so that files below 4 GiB read everywhere. Layout and numbers: PKWARE APPNOTE
// 6.3, sections 4.3 and 4.5.3.
#include <array>
#include <bit>
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/npz/npz.h"
#include "tools/files/output_file.h"

namespace ingot::host {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are written as they lie in memory");

constexpr uint64_t kNarrow = 0xffffffff;
constexpr uint16_t kUtf8Names = 0x800;
// 1980-01-01, the earliest, so that equal arrays give equal bytes
constexpr uint16_t kDosDate = 0x21;

constexpr std::array<std::array<uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    tables[0][i] = c;
  }
  for (size_t t = 1; t < 8; t++) {
    for (size_t i = 0; i < 256; i++)
      tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}
constexpr auto kCrc = make_crc_tables();

uint32_t crc32(uint32_t crc, const void* bytes, size_t count) {
  auto* p = static_cast<const uint8_t*>(bytes);
  crc = ~crc;
  for (; count >= 8; p += 8, count -= 8) {
    uint32_t low, high;
    memcpy(&low, p, 4);
    memcpy(&high, p + 4, 4);
    low ^= crc;
    crc = kCrc[7][low & 255] ^ kCrc[6][low >> 8 & 255] ^ kCrc[5][low >> 16 & 255] ^
          kCrc[4][low >> 24] ^ kCrc[3][high & 255] ^ kCrc[2][high >> 8 & 255] ^
          kCrc[1][high >> 16 & 255] ^ kCrc[0][high >> 24];
  }
  for (; count > 0; p++, count--) crc = crc >> 8 ^ kCrc[0][(crc ^ *p) & 255];
  return ~crc;
}

struct Record {
  std::string bytes;
  Record& put(uint64_t value, int width) {
    for (int i = 0; i < width; i++) bytes += char(value >> (8 * i) & 255);
    return *this;
  }
};

struct Member {
  std::string name;
  uint32_t crc;
  uint64_t size, offset;
};

uint64_t narrow(uint64_t value) { return value < kNarrow ? value : kNarrow; }

std::string local_header(const Member& m) {
  Record r;
  const bool wide = m.size >= kNarrow;
  r.put(0x04034b50, 4)
      .put(wide ? 45 : 20, 2)
      .put(kUtf8Names, 2)
      .put(0, 2)
      .put(0, 2)
      .put(kDosDate, 2)
      .put(m.crc, 4);
  r.put(narrow(m.size), 4).put(narrow(m.size), 4).put(m.name.size(), 2).put(wide ? 20 : 0, 2);
  r.bytes += m.name;
  if (wide) r.put(1, 2).put(16, 2).put(m.size, 8).put(m.size, 8);
  return r.bytes;
}

std::string central_header(const Member& m) {
  Record extra, r;
  if (m.size >= kNarrow) extra.put(m.size, 8).put(m.size, 8);
  if (m.offset >= kNarrow) extra.put(m.offset, 8);
  const bool wide = !extra.bytes.empty();
  r.put(0x02014b50, 4)
      .put(wide ? 45 : 20, 2)
      .put(wide ? 45 : 20, 2)
      .put(kUtf8Names, 2)
      .put(0, 2)
      .put(0, 2)
      .put(kDosDate, 2);
  r.put(m.crc, 4).put(narrow(m.size), 4).put(narrow(m.size), 4).put(m.name.size(), 2);
  r.put(wide ? extra.bytes.size() + 4 : 0, 2)
      .put(0, 2)
      .put(0, 2)
      .put(0, 2)
      .put(0, 4)
      .put(narrow(m.offset), 4);
  r.bytes += m.name;
  if (wide) {
    r.put(1, 2).put(extra.bytes.size(), 2);
    r.bytes += extra.bytes;
  }
  return r.bytes;
}

std::string end_records(uint64_t members, uint64_t start, uint64_t bytes) {
  Record r;
  if (members >= 0xffff || start >= kNarrow || bytes >= kNarrow) {
    r.put(0x06064b50, 4)
        .put(44, 8)
        .put(45, 2)
        .put(45, 2)
        .put(0, 4)
        .put(0, 4)
        .put(members, 8)
        .put(members, 8);
    r.put(bytes, 8).put(start, 8);
    r.put(0x07064b50, 4).put(0, 4).put(start + bytes, 8).put(1, 4);
  }
  const uint64_t count = members < 0xffff ? members : 0xffff;
  r.put(0x06054b50, 4)
      .put(0, 2)
      .put(0, 2)
      .put(count, 2)
      .put(count, 2)
      .put(narrow(bytes), 4)
      .put(narrow(start), 4)
      .put(0, 2);
  return r.bytes;
}

}  // namespace

void write_npz(const std::string& path, const std::vector<Array>& arrays) {
  OutputFile file(path);
  std::vector<Member> members;
  for (const Array& array : arrays) {
    const std::string header = npy_header(array);
    const size_t payload = size_t(array.elements()) * size_t(dtype_bytes(array.dtype));
    if (array.bytes.size() != payload)
      fail(Exit::kInternal, "npz: '" + array.name + "' has not the bytes of its shape");
    Member m{array.name + ".npy", 0, header.size() + payload, file.size()};
    if (m.name.size() > 0xffff)
      fail(Exit::kMismatch, path + ": an array name is longer than 65,535 bytes");
    m.crc = crc32(crc32(0, header.data(), header.size()), array.bytes.data(), payload);
    const std::string local = local_header(m);
    file.write(local.data(), local.size());
    file.write(header.data(), header.size());
    file.write(array.bytes.data(), payload);
    members.push_back(std::move(m));
  }
  const uint64_t start = file.size();
  for (const Member& m : members) {
    const std::string central = central_header(m);
    file.write(central.data(), central.size());
  }
  const std::string end = end_records(members.size(), start, file.size() - start);
  file.write(end.data(), end.size());
  file.commit();
}

const Array* find_array(const std::vector<Array>& arrays, const std::string& name) {
  for (const Array& array : arrays) {
    if (array.name == name) return &array;
  }
  return nullptr;
}

}  // namespace ingot::host
