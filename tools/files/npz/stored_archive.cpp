// SPDX-License-Identifier: Apache-2.0
#include "tools/files/npz/stored_archive.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"

namespace ingot::host {
namespace {

constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kMaxComment = 65535;
constexpr uint64_t kMaxDirectory = uint64_t{64} << 20;

uint64_t little(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

struct StoredMember {
  std::string name;
  uint64_t begin = 0, bytes = 0;  // in the file
  uint32_t crc = 0;
};

struct CloseStored {
  void operator()(FILE* file) const { fclose(file); }
};

class Archive {
 public:
  explicit Archive(const std::string& path) : file_(open_input_stream(path)), path_(path) {
    if (!file_) fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(errno));
    if (fseeko(file_.get(), 0, SEEK_END) != 0) damaged("its size cannot be found");
    size_ = uint64_t(ftello(file_.get()));
  }
  FILE* file() const { return file_.get(); }
  [[noreturn]] void damaged(const std::string& why) const {
    fail(Exit::kCorrupt,
         path_ + ": is a damaged .npz archive: " + why + "; write it again with numpy.savez");
  }
  uint64_t size() const { return size_; }
  std::vector<uint8_t> read(uint64_t at, uint64_t bytes) const {
    if (at > size_ || bytes > size_ - at) damaged("a part lies beyond its end");
    std::vector<uint8_t> out(bytes);
    if (fseeko(file(), off_t(at), SEEK_SET) != 0 || fread(out.data(), 1, bytes, file()) != bytes)
      damaged("it cannot be read to its end");
    return out;
  }

 private:
  std::unique_ptr<FILE, CloseStored> file_;
  std::string path_;
  uint64_t size_ = 0;
};

struct Directory {
  uint64_t begin = 0, bytes = 0, count = 0;
};

Directory find_directory(const Archive& archive) {
  const uint64_t tail_bytes = std::min<uint64_t>(archive.size(), kEndBytes + kMaxComment);
  const uint64_t tail_begin = archive.size() - tail_bytes;
  const std::vector<uint8_t> tail = archive.read(tail_begin, tail_bytes);
  for (size_t at = tail.size(); at-- > 0;) {
    if (tail.size() - at < kEndBytes || memcmp(&tail[at], "PK\x05\x06", 4) != 0) continue;
    if (at + kEndBytes + little(&tail[at + 20], 2) != tail.size()) continue;
    Directory d = {little(&tail[at + 16], 4), little(&tail[at + 12], 4), little(&tail[at + 10], 2)};
    if (d.begin == 0xffffffff || d.bytes == 0xffffffff || d.count == 0xffff) {
      if (at < 20 || memcmp(&tail[at - 20], "PK\x06\x07", 4) != 0)
        archive.damaged("its 64-bit directory is missing");
      const std::vector<uint8_t> end = archive.read(little(&tail[at - 12], 8), 56);
      if (memcmp(end.data(), "PK\x06\x06", 4) != 0)
        archive.damaged("its 64-bit directory is missing");
      d = {little(&end[48], 8), little(&end[40], 8), little(&end[32], 8)};
    }
    if (d.bytes > kMaxDirectory) archive.damaged("its directory is larger than 64 MiB");
    return d;
  }
  archive.damaged("it has no directory");
}

/// Sizes and offset of an entry that are in its extra field for want of room.
void widen(const Archive& archive, const uint8_t* extra, size_t bytes, uint64_t* fields[3]) {
  for (size_t at = 0; at + 4 <= bytes;) {
    const size_t kind = little(extra + at, 2), length = little(extra + at + 2, 2);
    if (length > bytes - at - 4) archive.damaged("an extra field is cut");
    if (kind == 1) {
      size_t next = at + 4;
      for (int i = 0; i < 3; i++) {
        if (*fields[i] != 0xffffffff) continue;
        if (next + 8 > at + 4 + length) archive.damaged("a 64-bit size is missing");
        *fields[i] = little(extra + next, 8);
        next += 8;
      }
      return;
    }
    at += 4 + length;
  }
}

std::vector<StoredMember> list_members(const Archive& archive, const std::string& path,
                                       size_t most) {
  const Directory d = find_directory(archive);
  if (d.count > most)
    fail(Exit::kUnavailable, path + ": " + std::to_string(d.count) + " members; at most " +
                                 std::to_string(most) + " are read");
  const std::vector<uint8_t> bytes = archive.read(d.begin, d.bytes);
  std::vector<StoredMember> members;
  size_t at = 0;
  for (uint64_t i = 0; i < d.count; i++) {
    if (bytes.size() - at < kEntryBytes || memcmp(&bytes[at], "PK\x01\x02", 4) != 0)
      archive.damaged("its directory is cut");
    const uint8_t* entry = &bytes[at];
    const size_t name = little(entry + 28, 2), extra = little(entry + 30, 2),
                 comment = little(entry + 32, 2);
    if (bytes.size() - at - kEntryBytes < name + extra + comment)
      archive.damaged("its directory is cut");
    StoredMember m;
    m.name.assign(reinterpret_cast<const char*>(entry + kEntryBytes), name);
    uint64_t packed = little(entry + 20, 4), local = little(entry + 42, 4);
    m.bytes = little(entry + 24, 4);
    uint64_t* fields[3] = {&m.bytes, &packed, &local};
    widen(archive, entry + kEntryBytes + name, extra, fields);
    m.crc = uint32_t(little(entry + 16, 4));
    const std::string where = path + ": member '" + m.name + "'";
    if (little(entry + 8, 2) & 1)
      fail(Exit::kUnsupported, where + ": is encrypted; save it without a password");
    if (little(entry + 10, 2) != 0)
      fail(Exit::kUnsupported,
           where +
               ": is packed, which this build does not read (made without libzip); write it with "
               "numpy.savez, not savez_compressed");
    if (packed != m.bytes) archive.damaged("sizes of '" + m.name + "' contradict each other");
    const std::vector<uint8_t> header = archive.read(local, kLocalBytes);
    if (memcmp(header.data(), "PK\x03\x04", 4) != 0)
      archive.damaged("'" + m.name + "' does not begin where it should");
    m.begin = local + kLocalBytes + little(&header[26], 2) + little(&header[28], 2);
    if (m.begin > archive.size() || m.bytes > archive.size() - m.begin)
      archive.damaged("'" + m.name + "' is cut");
    members.push_back(m);
    at += kEntryBytes + name + extra + comment;
  }
  return members;
}

/// CRC-32; begins with 0 and is given on.
uint32_t zip_crc(uint32_t crc, const uint8_t* bytes, size_t count) {
  struct Table {
    uint32_t of[256];
    Table() {
      for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320u ^ value >> 1 : value >> 1;
        of[i] = value;
      }
    }
  };
  static const Table table;
  crc = ~crc;
  for (size_t i = 0; i < count; i++) crc = table.of[(crc ^ bytes[i]) & 255] ^ crc >> 8;
  return ~crc;
}

/// The bytes of a member, wherever another one stands in the same file.
struct StoredSource {
  std::shared_ptr<const Archive> archive;
  StoredMember member;
  uint64_t given = 0;
  uint32_t crc = 0;

  size_t operator()(void* out, size_t count) {
    const uint64_t rest = member.bytes - given;
    if (rest == 0) return 0;
    FILE* const file = archive->file();
    const off_t at = off_t(member.begin + given);  // of several members that are read side by side
    if (ftello(file) != at && fseeko(file, at, SEEK_SET) != 0)
      archive->damaged(std::string("it cannot be read: ") + strerror(errno));
    const size_t got = fread(out, 1, size_t(std::min<uint64_t>(count, rest)), file);
    given += got;
    crc = zip_crc(crc, static_cast<const uint8_t*>(out), got);
    if (given == member.bytes && crc != member.crc)
      archive->damaged("member '" + member.name + "' is not what was written");
    return got;
  }
};

}  // namespace

std::string array_name(const std::string& path, const std::string& member,
                       std::set<std::string>* seen) {
  if (member.size() <= 4 || member.compare(member.size() - 4, 4, ".npy") != 0)
    fail(Exit::kMismatch,
         path + ": member '" + member + "' is no .npy array; is this a model rather than an .npz?");
  const std::string name = member.substr(0, member.size() - 4);
  if (!seen->insert(name).second)
    fail(Exit::kCorrupt, path + ": array '" + name + "' is there twice");
  return name;
}

std::vector<Array> read_all(std::vector<NpzMember> members, const NpzLimits& limits) {
  std::vector<Array> arrays;
  uint64_t left = limits.total_bytes;
  for (NpzMember& member : members) {
    Array read = read_npy(member.source, member.where, left);
    left -= read.bytes.size();
    read.name = member.name;
    arrays.push_back(std::move(read));
    member.source = nullptr;  // and its decoder
  }
  return arrays;
}

std::vector<NpzMember> open_stored_npz(const std::string& path, const NpzLimits& limits) {
  const auto archive = std::make_shared<const Archive>(path);
  std::vector<NpzMember> members;
  std::set<std::string> seen;
  for (const StoredMember& stored : list_members(*archive, path, limits.members)) {
    NpzMember member;
    member.name = array_name(path, stored.name, &seen);
    member.where = path + ": array '" + member.name + "'";
    member.source = StoredSource{archive, stored};
    members.push_back(std::move(member));
  }
  return members;
}

std::vector<Array> read_stored_npz(const std::string& path, const NpzLimits& limits) {
  return read_all(open_stored_npz(path, limits), limits);
}

}  // namespace ingot::host
