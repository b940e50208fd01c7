// SPDX-License-Identifier: Apache-2.0
#include "tools/files/file_kind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/format/file_layout.h"
#include "runtime/format/state_file.h"
#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/whole_file.h"

namespace ingot::host {
namespace {

constexpr size_t kPrefixBytes = 64 * 1024;
constexpr uint8_t kPickleStart = 0x80;  // of protocols since 2

std::vector<uint8_t> read_prefix(const std::string& path) {
  const int descriptor = open_readable(path);
  std::vector<uint8_t> bytes(kPrefixBytes);
  size_t got = 0;
  ssize_t piece = 0;
  while (got < bytes.size() &&
         (piece = read(descriptor, bytes.data() + got, bytes.size() - got)) > 0)
    got += size_t(piece);
  const int error = errno;
  close(descriptor);
  if (piece < 0) fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(error));
  bytes.resize(got);
  return bytes;
}

bool starts(const std::vector<uint8_t>& bytes, const char* text, size_t count, size_t offset = 0) {
  return bytes.size() >= offset + count && memcmp(bytes.data() + offset, text, count) == 0;
}
bool starts(const std::vector<uint8_t>& bytes, const char* text) {
  return starts(bytes, text, strlen(text));
}

/// Its superblock stands at the start, or behind a block of the writer's own of 512, 1024, ...
/// bytes (JLD2).
bool is_hdf5(const std::vector<uint8_t>& bytes) {
  for (size_t at = 0; at + 8 <= bytes.size(); at = at ? at * 2 : 512)
    if (starts(bytes, "\x89HDF\r\n\x1a\n", 8, at)) return true;
  return false;
}

/// A document as long as the file (or a file that is named so), then a value under a printable
/// name, as BSON.jl begins.
bool is_bson(const std::vector<uint8_t>& bytes, const std::string& path) {
  if (bytes.size() < 8 ||
      (bytes[4] != 3 && bytes[4] != 4 && bytes[4] != 2 && bytes[4] != 16 && bytes[4] != 18))
    return false;
  const uint32_t length = uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
                          uint32_t(bytes[3]) << 24;
  const bool named = path.size() > 5 && path.compare(path.size() - 5, 5, ".bson") == 0;
  if (length < 8 || (length != file_bytes(path) && !named)) return false;
  for (size_t at = 5; at < bytes.size() && at < 69; at++) {
    if (bytes[at] == 0) return at > 5;
    if (bytes[at] < 0x20 || bytes[at] == 0x7f) return false;
  }
  return false;
}

bool is_markup(const std::vector<uint8_t>& bytes) {
  size_t at = 0;
  if (starts(bytes, "\xef\xbb\xbf")) at = 3;
  while (at < bytes.size() && strchr(" \t\r\n", bytes[at]) && bytes[at]) at++;
  std::string word;
  for (; at < bytes.size() && word.size() < 15; at++)
    word += char(bytes[at] >= 'A' && bytes[at] <= 'Z' ? bytes[at] + 32 : bytes[at]);
  for (const char* opening : {"<!doctype html", "<html", "<head", "<body", "<?xml", "<!--"}) {
    if (word.rfind(opening, 0) == 0) return true;
  }
  return false;
}

bool is_text(const std::vector<uint8_t>& bytes) {
  const size_t count = std::min<size_t>(bytes.size(), 512);
  return std::all_of(bytes.begin(), bytes.begin() + count,
                     [](uint8_t b) { return b >= 32 || b == '\n' || b == '\r' || b == '\t'; });
}

std::string pointer_size(const std::vector<uint8_t>& bytes) {
  const std::string text(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), 1024));
  const size_t at = text.find("\nsize ");
  if (at == std::string::npos) return "";
  size_t end = at + 6;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') end++;
  return " of a file of " + text.substr(at + 6, end - at - 6) + " bytes";
}

bool read_varint(const uint8_t* bytes, size_t count, size_t* at, uint64_t* out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < count; shift += 7) {
    const uint8_t b = bytes[(*at)++];
    *out |= uint64_t(b & 127) << shift;
    if (b < 128) return true;
  }
  return false;
}

struct Signature {
  const char* bytes;
  size_t count, offset;
  const char* text;
};
// What people hand in by mistake, or what a later importer will read.
constexpr Signature kSignatures[] = {
    {"\x89PNG", 4, 0, "a PNG image"},
    {"\xff\xd8\xff", 3, 0, "a JPEG image"},
    {"RIFF", 4, 0, "a RIFF file (audio or image)"},
    {"\x1f\x8b", 2, 0, "a gzip archive; unpack it first"},
    {"ustar", 5, 257, "a tar archive; unpack it first"},
    {"\xfd"
     "7zXZ",
     5, 0, "an xz archive; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, 0, "a zstd archive; unpack it first"},
    {"\x7f"
     "ELF",
     4, 0, "a program"},
    {"7767517", 7, 0, "an ncnn parameter file; export the source model to ONNX"},
    {"{", 1, 0, "JSON text"},
};

}  // namespace

bool looks_like_onnx(const uint8_t* bytes, size_t count) {
  // Walks the top-level fields of ModelProto: 1 ir_version, 5 model_version are varints; 2 3 4 6 7
  // 8 14 20 25 26 have lengths.
  size_t at = 0;
  int fields = 0;
  while (at < count) {
    uint64_t tag, value;
    if (!read_varint(bytes, count, &at, &tag)) return fields > 0 && at >= count;
    const uint64_t field = tag >> 3, wire = tag & 7;
    const bool varint = field == 1 || field == 5;
    const bool length = field == 2 || field == 3 || field == 4 || (field >= 6 && field <= 8) ||
                        field == 14 || field == 20 || field == 25 || field == 26;
    if (!(varint && wire == 0) && !(length && wire == 2)) return false;
    if (!read_varint(bytes, count, &at, &value)) return fields > 0;
    fields++;
    if (wire == 2) {
      if (value > count - at) return true;  // the rest lies behind the prefix
      at += size_t(value);
    }
  }
  return fields > 0;
}

bool is_rank_shard(const std::string& name) {
  const std::string begin = "shard-", end = ".safetensors";
  return name.size() > begin.size() + end.size() && name.compare(0, begin.size(), begin) == 0 &&
         name.compare(name.size() - end.size(), std::string::npos, end) == 0;
}

bool is_distributed_checkpoint(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return false;
  const std::string description = path + "/.metadata";
  if (std::filesystem::is_regular_file(description, failed)) {
    InputStream file(description);
    if (file.get() == kPickleStart) return true;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
    const std::filesystem::path name = entry.path().filename();
    if (name.extension() == ".distcp" || is_rank_shard(name.string())) return true;
  }
  return false;
}

FileKind file_kind(const std::string& path) {
  if (is_distributed_checkpoint(path)) return FileKind::kDistributed;
  const std::vector<uint8_t> bytes = read_prefix(path);
  if (bytes.empty())
    fail(Exit::kCorrupt,
         path + ": is empty (0 bytes), expected a model; was the download interrupted?");
  if (starts(bytes, reinterpret_cast<const char*>(kMagic), sizeof kMagic)) return FileKind::kIngot;
  if (starts(bytes, reinterpret_cast<const char*>(kStateMagic), sizeof kStateMagic))
    return FileKind::kIngotState;
  if (starts(bytes, "version https://git-lfs.github.com/spec/")) {
    fail(Exit::kCorrupt, path + ": is a git-LFS pointer" + pointer_size(bytes) +
                             ", not the model itself; fetch it: git lfs pull");
  }
  if (is_markup(bytes)) {
    fail(Exit::kCorrupt, path +
                             ": is an HTML or XML page, not a model (an error page saved under its "
                             "name?); download it again");
  }
  if (starts(bytes, "TFL3", 4, 4)) return FileKind::kTflite;
  if (starts(bytes, "ORTM", 4, 4)) return FileKind::kOnnx;  // the same model in FlatBuffers (.ort)
  if (starts(bytes, "PTMF", 4, 4)) return FileKind::kMobile;
  if (starts(bytes, "\x93NUMPY")) return FileKind::kNumpyArray;
  if (starts(bytes, "PK\x03\x04") || starts(bytes, "PK\x05\x06")) return FileKind::kZip;
  if (is_hdf5(bytes)) return FileKind::kHdf5;
  if (is_bson(bytes, path)) return FileKind::kBson;
  if (starts(bytes, "GGUF")) return FileKind::kGguf;
  if (bytes.size() > 9 && bytes[8] == '{' && bytes[6] == 0 && bytes[7] == 0)
    return FileKind::kSafetensors;
  if (bytes[0] == kPickleStart && bytes.size() > 1 && bytes[1] >= 2 && bytes[1] <= 5)
    return FileKind::kPickle;
  if (looks_like_onnx(bytes.data(), bytes.size())) return FileKind::kOnnx;
  return FileKind::kOther;
}

std::string kind_text(const std::string& path, FileKind kind) {
  switch (kind) {
    case FileKind::kIngot: return "an .ingot file";
    case FileKind::kIngotState: return "the saved state of a session";
    case FileKind::kOnnx: return "an ONNX model";
    case FileKind::kTflite: return "a TFLite model";
    case FileKind::kNumpyArray: return "a numpy array";
    case FileKind::kZip: return "a zip archive (a PyTorch checkpoint, an .npz or the like)";
    case FileKind::kPickle: return "a Python pickle (an old PyTorch checkpoint)";
    case FileKind::kSafetensors: return "a safetensors file";
    case FileKind::kGguf: return "a GGUF file";
    case FileKind::kBson: return "a BSON file (Flux)";
    case FileKind::kMobile: return "a program of PyTorch Mobile (FlatBuffers)";
    case FileKind::kDistributed: return "a torch.distributed checkpoint (a folder)";
    case FileKind::kHdf5: return "an HDF5 file (Keras, JLD2)";
    case FileKind::kOther: break;
  }
  const std::vector<uint8_t> bytes = read_prefix(path);
  for (const Signature& s : kSignatures) {
    if (starts(bytes, s.bytes, s.count, s.offset)) return s.text;
  }
  return is_text(bytes) ? "text" : "no format that is known here";
}

uint64_t file_bytes(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? uint64_t(found.st_size) : 0;
}

}  // namespace ingot::host
