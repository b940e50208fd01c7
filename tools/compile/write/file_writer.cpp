// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/file_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "tools/compile/write/program_encoder.h"
#include "tools/files/output_file.h"
#include "tools/files/spill_file.h"
#include "tools/graph/graph.h"

namespace ingot::convert {
namespace {

using Digest = std::array<uint8_t, kSha256Bytes>;

uint64_t align(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

/// Calls each(from, count) for the bytes in order, so that no more of them than a piece is resident
/// because of it.
template <class Each>
void in_pieces(const std::vector<uint8_t>& bytes, Each each) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const size_t count = std::min(kPiece, bytes.size() - at);
    each(bytes.data() + at, count);
    host::note_touched(count);
  }
}

Digest digest_of(const std::vector<uint8_t>& bytes) {
  Digest digest;
  Sha256 hash;
  in_pieces(bytes, [&](const uint8_t* from, size_t count) { hash.update(from, count); });
  hash.finish(digest.data());
  return digest;
}

struct MemoryOutput {
  std::vector<uint8_t> bytes;
  void write(const void* from, size_t count) {
    host::note_touched(count);
    bytes.insert(bytes.end(), static_cast<const uint8_t*>(from),
                 static_cast<const uint8_t*>(from) + count);
  }
  void write_at(uint64_t offset, const void* from, size_t count) {
    memcpy(bytes.data() + offset, from, count);
  }
};

struct Part {
  PartKind kind;
  uint64_t offset = 0, bytes = 0;
  Digest digest{};
};

/// Writes front to back; what stands before the weights is written last, once their offsets are
/// known.
template <class Output>
class Writer {
 public:
  Writer(const FileSpec& spec, Output* output)
      : spec_(spec), output_(output), places_(spec.program.values.size()) {}

  WrittenFile write() {
    const uint32_t segments = segment_count();
    const uint32_t part_count =
        2 + segments + (spec_.goldens.empty() ? 0 : 1) + (spec_.text.empty() ? 0 : 1);
    const uint64_t header_bytes = kHeaderFixedBytes + part_count * kPartEntryBytes;
    std::vector<uint8_t> program = encode_program(spec_.program, {});
    const std::vector<uint8_t> metadata = encode_metadata(spec_.metadata);
    parts_ = {{PartKind::kProgram, align(header_bytes, 16), program.size()}};
    parts_.push_back(
        {PartKind::kMetadata, align(end_of_parts(), 16), metadata.size(), digest_of(metadata)});
    pad_to(end_of_parts());
    for (uint32_t segment = 0; segment < segments; segment++) write_segment(segment);
    if (!spec_.goldens.empty()) write_golden();
    if (!spec_.text.empty()) append_part(PartKind::kText, spec_.text);
    const size_t expected = program.size();
    program = encode_program(spec_.program, places_);
    if (program.size() != expected)
      graph::fail_internal("the program changed its size while it was written");
    parts_[0].digest = digest_of(program);
    output_->write_at(parts_[0].offset, program.data(), program.size());
    output_->write_at(parts_[1].offset, metadata.data(), metadata.size());
    const std::vector<uint8_t> header = encode_header(header_bytes);
    output_->write_at(0, header.data(), header.size());
    written_.file_bytes = position_;
    written_.program_bytes = program.size();
    written_.metadata_bytes = metadata.size();
    return written_;
  }

 private:
  uint64_t end_of_parts() const { return parts_.back().offset + parts_.back().bytes; }

  uint32_t segment_count() const {
    uint32_t count = 0;
    for (const ValueSpec& v : spec_.program.values)
      if (v.kind == ValueKind::kConstant && !v.inline_data) count = std::max(count, v.segment + 1);
    return count;
  }

  void append(const void* bytes, size_t count) {
    output_->write(bytes, count);
    position_ += count;
  }
  void pad_to(uint64_t position) {
    static constexpr uint8_t kZeros[4096] = {};
    while (position_ < position)
      append(kZeros, size_t(std::min<uint64_t>(sizeof kZeros, position - position_)));
  }

  void write_segment(uint32_t segment) {
    const uint64_t start = align(position_, spec_.segment_alignment);
    const uint64_t alignment = spec_.segment_alignment < 64 ? 16 : 64;
    pad_to(start);
    Sha256 hash;
    // content and size to offset; equal bytes of equal size share
    std::map<Digest, uint64_t> known;
    std::map<const void*, Digest> held;  // of bytes that several values may have
    for (size_t i = 0; i < spec_.program.values.size(); i++) {
      const ValueSpec& v = spec_.program.values[i];
      if (v.kind != ValueKind::kConstant || v.inline_data || v.segment != segment) continue;
      const auto bytes = store_constant(v);
      Digest fresh{};
      Digest& digest = bytes == v.bytes.held ? held[bytes.get()] : fresh;
      if (digest == Digest{}) digest = digest_of(*bytes);
      const auto [entry, is_new] = known.try_emplace(digest, align(position_ - start, alignment));
      places_[i].segment_offset = entry->second;
      if (!is_new) {
        written_.shared_bytes += bytes->size();
        continue;
      }
      static constexpr uint8_t kZeros[64] = {};
      hash.update(kZeros, size_t(start + entry->second - position_));
      pad_to(start + entry->second);
      in_pieces(*bytes, [&](const uint8_t* from, size_t count) {
        hash.update(from, count);
        append(from, count);
      });
    }
    parts_.push_back({PartKind::kWeights, start, position_ - start});
    hash.finish(parts_.back().digest.data());
    written_.weight_bytes += parts_.back().bytes;
  }

  void write_golden() {
    const std::vector<uint8_t> golden = encode_golden(spec_.goldens);
    append_part(PartKind::kGolden, golden);
    written_.golden_bytes = golden.size();
  }
  void append_part(PartKind kind, const std::vector<uint8_t>& bytes) {
    pad_to(align(position_, 16));
    parts_.push_back({kind, position_, bytes.size(), digest_of(bytes)});
    append(bytes.data(), bytes.size());
  }

  std::vector<uint8_t> encode_header(uint64_t header_bytes) const {
    std::vector<uint8_t> header(header_bytes);
    uint8_t* p = header.data();
    memcpy(p, kMagic, sizeof kMagic);
    store_little<uint16_t>(p + 8, kFormatMajor);
    store_little<uint16_t>(p + 10, spec_.text.empty() ? 0 : kTextMinor);  // without tunings
    store_little<uint32_t>(p + 12, uint32_t(header_bytes));
    store_little<uint64_t>(p + 16, position_);
    store_little<uint32_t>(p + 24, spec_.segment_alignment);
    store_little<uint32_t>(p + 28, uint32_t(parts_.size()));
    for (size_t i = 0; i < parts_.size(); i++) {
      uint8_t* entry = p + kHeaderFixedBytes + i * kPartEntryBytes;
      store_little<uint32_t>(entry, uint32_t(parts_[i].kind));
      store_little<uint64_t>(entry + 8, parts_[i].offset);
      store_little<uint64_t>(entry + 16, parts_[i].bytes);
      memcpy(entry + 32, parts_[i].digest.data(), kSha256Bytes);
    }
    const Digest digest = digest_of(header);
    memcpy(p + 32, digest.data(), kSha256Bytes);
    return header;
  }

  const FileSpec& spec_;
  Output* output_;
  std::vector<ConstantPlace> places_;
  std::vector<Part> parts_;
  WrittenFile written_;
  uint64_t position_ = 0;
};

}  // namespace

WrittenFile write_file(const FileSpec& spec, const std::string& path) {
  host::OutputFile output(path);
  const WrittenFile written = write_file(spec, &output);
  output.commit();
  return written;
}

WrittenFile write_file(const FileSpec& spec, host::OutputFile* output) {
  return Writer<host::OutputFile>(spec, output).write();
}

std::vector<uint8_t> write_memory(const FileSpec& spec, uint64_t expected_weights) {
  constexpr uint64_t kRest = uint64_t{1} << 20;
  MemoryOutput output;
  if (expected_weights >= kRest)
    output.bytes.reserve(size_t(expected_weights + expected_weights / 8 + kRest));
  Writer<MemoryOutput>(spec, &output).write();
  return std::move(output.bytes);
}

}  // namespace ingot::convert
