// SPDX-License-Identifier: Apache-2.0
#include "tools/session/file_parts.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/byte_order.h"
#include "tools/files/failure.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

uint64_t aligned(uint64_t at, uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

[[noreturn]] void fail_hash(const std::string& path) {
  fail(Exit::kCorrupt, path + ": bytes of the file are not those that were written; copy it again");
}

}  // namespace

FileParts::FileParts(const std::string& path) : path_(path) {
  stream_.open(path);
  uint8_t head[kHeaderFixedBytes] = {};
  stream_.read(reinterpret_cast<char*>(head), sizeof head);
  minor_ = load_little<uint16_t>(head + 10);
  file_bytes_ = load_little<uint64_t>(head + 16);
  segment_alignment_ = load_little<uint32_t>(head + 24);
  const uint32_t count = load_little<uint32_t>(head + 28);
  for (uint32_t i = 0; stream_ && i < count; i++) {
    uint8_t entry[kPartEntryBytes];
    stream_.read(reinterpret_cast<char*>(entry), sizeof entry);
    FilePart part;
    part.kind = PartKind(load_little<uint32_t>(entry));
    part.from = load_little<uint64_t>(entry + 8);
    part.bytes = load_little<uint64_t>(entry + 16);
    std::memcpy(part.sha256, entry + 32, sizeof part.sha256);
    parts_.push_back(part);
  }
  if (!stream_) fail(Exit::kUnavailable, path + ": cannot be read to its end: " + strerror(errno));
}

void FileParts::raise_minor(uint16_t minor) { minor_ = std::max(minor_, minor); }

bool FileParts::has(PartKind kind) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const FilePart& part) { return part.kind == kind; });
}

template <class Take>
void FileParts::each_block(uint64_t from, uint64_t bytes, Take take) {
  std::vector<char> block(1 << 20);
  stream_.clear();
  stream_.seekg(std::streamoff(from));
  while (bytes > 0) {
    const size_t count = size_t(std::min<uint64_t>(bytes, block.size()));
    if (!stream_.read(block.data(), std::streamsize(count)))
      fail(Exit::kUnavailable, path_ + ": cannot be read to its end: " + strerror(errno));
    take(block.data(), count);
    bytes -= count;
  }
}

std::vector<uint8_t> FileParts::read(PartKind kind) {
  std::vector<uint8_t> bytes;
  for (const FilePart& part : parts_) {
    if (part.kind != kind) continue;
    each_block(part.from, part.bytes,
               [&](const char* at, size_t count) { bytes.insert(bytes.end(), at, at + count); });
    uint8_t digest[kSha256Bytes];
    sha256(bytes.data(), bytes.size(), digest);
    if (!same_digest(digest, part.sha256)) fail_hash(path_);
  }
  return bytes;
}

void FileParts::put(PartKind kind, std::vector<uint8_t> bytes, size_t behind) {
  FilePart part;
  part.kind = kind;
  part.bytes = bytes.size();
  part.fresh = std::move(bytes);
  sha256(part.fresh.data(), part.fresh.size(), part.sha256);
  const auto old =
      std::find_if(parts_.begin(), parts_.end(), [&](const FilePart& p) { return p.kind == kind; });
  if (old != parts_.end())
    *old = std::move(part);
  else
    parts_.insert(
        behind < parts_.size() ? parts_.begin() + std::ptrdiff_t(behind) + 1 : parts_.end(),
        std::move(part));
}

void FileParts::check_hashes() {
  for (const FilePart& part : parts_) {
    Sha256 hash;
    uint8_t digest[kSha256Bytes];
    each_block(part.from, part.bytes,
               [&](const char* at, size_t count) { hash.update(at, count); });
    hash.finish(digest);
    if (!same_digest(digest, part.sha256)) fail_hash(path_);
  }
}

/// As tools/compile/write/file_writer.cpp does.
std::vector<uint8_t> FileParts::lay_out() {
  const uint64_t header_bytes = kHeaderFixedBytes + parts_.size() * kPartEntryBytes;
  std::vector<uint8_t> header(header_bytes);
  uint64_t end = header_bytes;
  for (size_t i = 0; i < parts_.size(); i++) {
    FilePart& part = parts_[i];
    part.offset = aligned(end, part.kind == PartKind::kWeights ? segment_alignment_ : 16);
    end = part.offset + part.bytes;
    uint8_t* entry = header.data() + kHeaderFixedBytes + i * kPartEntryBytes;
    store_little<uint32_t>(entry, uint32_t(part.kind));
    store_little<uint64_t>(entry + 8, part.offset);
    store_little<uint64_t>(entry + 16, part.bytes);
    std::memcpy(entry + 32, part.sha256, kSha256Bytes);
  }
  uint8_t* p = header.data();
  std::memcpy(p, kMagic, sizeof kMagic);
  store_little<uint16_t>(p + 8, kFormatMajor);
  store_little<uint16_t>(p + 10, minor_);
  store_little<uint32_t>(p + 12, uint32_t(header_bytes));
  store_little<uint64_t>(p + 16, end);
  store_little<uint32_t>(p + 24, segment_alignment_);
  store_little<uint32_t>(p + 28, uint32_t(parts_.size()));
  sha256(p, header.size(), p + 32);  // taken with these 32 bytes as zero, which they are
  return header;
}

void FileParts::write(host::OutputFile* to) {
  const std::vector<uint8_t> header = lay_out();
  to->write(header.data(), header.size());
  for (const FilePart& part : parts_) {
    const std::vector<uint8_t> gap(part.offset - to->size());
    to->write(gap.data(), gap.size());
    if (part.fresh.empty())
      each_block(part.from, part.bytes,
                 [&](const char* at, size_t count) { to->write(at, count); });
    else
      to->write(part.fresh.data(), part.fresh.size());
  }
}

void FileParts::copy(host::OutputFile* to) {
  each_block(0, file_bytes_, [&](const char* at, size_t count) { to->write(at, count); });
}

}  // namespace ingot::cli
