// ingot upgrade - writes a file of an older version as this version writes it; the program and the weights keep their bytes.
#include <cstring>
#include <fstream>
#include <memory>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "tools/cast/program_encoder.h"
#include "tools/cli/command.h"
#include "tools/cli/engine.h"
#include "tools/cli/terminal.h"
#include "tools/files/file_kind.h"
#include "tools/files/output_file.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

struct Arguments {
  std::string file, output;
};

struct Part {
  PartKind kind = PartKind::kProgram;
  uint64_t from = 0, bytes = 0;  // in the old file
  std::vector<uint8_t> fresh{};  // instead, where this version makes the part
  uint8_t sha256[kSha256Bytes] = {};
  uint64_t offset = 0;  // in the new file
};

struct OldFile {
  std::ifstream stream;
  uint16_t minor = 0;
  uint32_t segment_alignment = 0;
  std::vector<Part> parts;
};

/// @pre the file was opened, so that every field is sound.
OldFile read_old(const std::string& path) {
  OldFile old;
  old.stream.open(path, std::ios::binary);
  uint8_t head[kHeaderFixedBytes];
  old.stream.read(reinterpret_cast<char*>(head), sizeof head);
  old.minor = load_little<uint16_t>(head + 10);
  old.segment_alignment = load_little<uint32_t>(head + 24);
  const uint32_t count = load_little<uint32_t>(head + 28);
  for (uint32_t i = 0; old.stream && i < count; i++) {
    uint8_t entry[kPartEntryBytes];
    old.stream.read(reinterpret_cast<char*>(entry), sizeof entry);
    Part part;
    part.kind = PartKind(load_little<uint32_t>(entry));
    part.from = load_little<uint64_t>(entry + 8);
    part.bytes = load_little<uint64_t>(entry + 16);
    std::memcpy(part.sha256, entry + 32, sizeof part.sha256);
    old.parts.push_back(part);
  }
  if (!old.stream) fail(Exit::kUnavailable, path + ": cannot be read");
  return old;
}

bool has_part(const OldFile& old, PartKind kind) {
  for (const Part& part : old.parts)
    if (part.kind == kind) return true;
  return false;
}

/// What this version writes and the file lacks, one word group each; the parts are changed accordingly.
std::vector<std::string> bring_up_to_date(OldFile* old) {
  std::vector<std::string> changes;
  if (old->minor < kFormatMinor)
    changes.push_back("format " + std::to_string(kFormatMajor) + "." + std::to_string(old->minor) + " is now " +
                      std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor));
  if (!has_part(*old, PartKind::kMetadata)) {
    cast::MetadataSpec spec;
    spec.producer = std::string("ingot ") + ingot_version() + ", upgraded";
    Part metadata;
    metadata.kind = PartKind::kMetadata;
    metadata.fresh = cast::encode_metadata(spec);
    metadata.bytes = metadata.fresh.size();
    sha256(metadata.fresh.data(), metadata.fresh.size(), metadata.sha256);
    old->parts.insert(old->parts.begin() + 1, std::move(metadata));
    changes.push_back("metadata added");
  }
  return changes;
}

uint64_t aligned(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

/// Header and part table as tools/cast/file_writer.cpp lays them out.
std::vector<uint8_t> lay_out(OldFile* old) {
  const uint64_t header_bytes = kHeaderFixedBytes + old->parts.size() * kPartEntryBytes;
  std::vector<uint8_t> header(header_bytes);
  uint64_t end = header_bytes;
  for (size_t i = 0; i < old->parts.size(); i++) {
    Part& part = old->parts[i];
    part.offset = aligned(end, part.kind == PartKind::kWeights ? old->segment_alignment : 16);
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
  store_little<uint16_t>(p + 10, kFormatMinor);
  store_little<uint32_t>(p + 12, uint32_t(header_bytes));
  store_little<uint64_t>(p + 16, end);
  store_little<uint32_t>(p + 24, old->segment_alignment);
  store_little<uint32_t>(p + 28, uint32_t(old->parts.size()));
  sha256(p, header.size(), p + 32);  // taken with these 32 bytes as zero, which they are
  return header;
}

void copy_bytes(std::ifstream* from, uint64_t at, uint64_t bytes, const std::string& path, host::OutputFile* to) {
  std::vector<char> block(1 << 20);
  from->clear();
  from->seekg(std::streamoff(at));
  while (bytes > 0) {
    const size_t count = size_t(std::min<uint64_t>(bytes, block.size()));
    if (!from->read(block.data(), std::streamsize(count))) fail(Exit::kUnavailable, path + ": cannot be read");
    to->write(block.data(), count);
    bytes -= count;
  }
}

void write_new(OldFile* old, const std::string& path, const std::string& output) {
  const std::vector<uint8_t> header = lay_out(old);
  host::OutputFile file(output);
  file.write(header.data(), header.size());
  for (const Part& part : old->parts) {
    const std::vector<uint8_t> gap(part.offset - file.size());
    file.write(gap.data(), gap.size());
    if (part.fresh.empty())
      copy_bytes(&old->stream, part.from, part.bytes, path, &file);
    else
      file.write(part.fresh.data(), part.fresh.size());
  }
  file.commit();
}

/// Everything about the file but that this machine can run it.
void prove(const std::string& path) {
  ingot_open_options options = open_options(chosen_kernels());
  const Result<Model> opened = Model::open(path.c_str(), options);
  if (!opened.ok() && opened.error().code != INGOT_NO_KERNEL) (void)open_model(path);  // fails with its line
}

/// Every part has the bytes that its hash was taken of.
void prove_hashes(OldFile* old, const std::string& path) {
  std::vector<char> block(1 << 20);
  for (const Part& part : old->parts) {
    Sha256 hash;
    uint8_t digest[kSha256Bytes];
    old->stream.clear();
    old->stream.seekg(std::streamoff(part.from));
    for (uint64_t left = part.bytes; left > 0;) {
      const size_t count = size_t(std::min<uint64_t>(left, block.size()));
      if (!old->stream.read(block.data(), std::streamsize(count))) fail(Exit::kUnavailable, path + ": cannot be read");
      hash.update(block.data(), count);
      left -= count;
    }
    hash.finish(digest);
    if (!same_digest(digest, part.sha256))
      fail(Exit::kCorrupt, path + ": bytes of the file are not those that were written; copy it again");
  }
}

int upgrade(const Arguments& a) {
  prove(a.file);
  OldFile old = read_old(a.file);
  prove_hashes(&old, a.file);
  const std::string version = std::to_string(kFormatMajor) + "." + std::to_string(old.minor);
  if (old.minor > kFormatMinor)
    fail(Exit::kUnsupported, a.file + ": format " + version + " is newer than this ingot writes (" +
                                 std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor) +
                                 "); there is nothing to upgrade to");
  const std::vector<std::string> changes = bring_up_to_date(&old);
  const std::string output = a.output.empty() ? a.file : a.output;
  if (changes.empty()) {
    if (output != a.file && !host::same_file(a.file, output)) {
      host::OutputFile file(output);
      copy_bytes(&old.stream, 0, host::file_bytes(a.file), a.file, &file);
      file.commit();
    }
    printf("%s: format %s is the current one, nothing to change%s\n", a.file.c_str(), version.c_str(),
           output == a.file ? "" : ("; " + output + " has the same bytes").c_str());
    return 0;
  }
  if (has_part(old, PartKind::kSignature))
    fail(Exit::kUnsupported, a.file +
                                 ": is signed, and the signature holds for the old bytes only; take the unsigned "
                                 "file, upgrade it and sign it anew");
  write_new(&old, a.file, output);
  prove(output);
  std::string said;
  for (const std::string& change : changes) said += (said.empty() ? "" : ", ") + change;
  printf("%s: %s; %s bytes\n", output.c_str(), said.c_str(), grouped(host::file_bytes(output)).c_str());
  return 0;
}

}  // namespace

void add_upgrade(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, chosen, "upgrade", "Write a file of an older version as this version writes it",
                                  "  ingot upgrade old.ingot -o new.ingot\n"
                                  "  ingot upgrade model.ingot            # in place, whole or not at all",
                                  [a] { return upgrade(*a); });
  command->add_option("FILE", a->file, "the .ingot file")->required()->type_name("");
  command->add_option("-o,--output", a->output, "file to write; without it FILE itself")->type_name("OUT.ingot");
}

}  // namespace ingot::cli
