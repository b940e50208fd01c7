// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/source_file.cpp - opening, recognizing and containing.
#include "tools/import/onnx/source_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/files/input_file.h"
#include "tools/files/mapped_pages.h"
#include "tools/files/spill_file.h"
#include "tools/graph/graph.h"

namespace ingot::onnx {
namespace {

// below, a copy is cheap and cannot be cut short by another process
constexpr size_t kMapFrom = 256u << 20;

using graph::fail_corrupt;
using graph::fail_unavailable;
using graph::fail_unsafe;

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool starts_with_word(std::string_view bytes, std::string_view word) {  // ASCII, any case
  if (bytes.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); i++) {
    const char c = bytes[i] >= 'A' && bytes[i] <= 'Z' ? char(bytes[i] - 'A' + 'a') : bytes[i];
    if (c != word[i]) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<const SourceFile> SourceFile::open(const std::string& path) {
  Descriptor file;
  file.fd = host::open_input(path, O_NONBLOCK);
  if (file.fd < 0) fail_unavailable(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.fd, &status) != 0)
    fail_unavailable(path, std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    fail_unavailable(path, "is a directory, expected a model file; name the .onnx file inside it");
  if (!S_ISREG(status.st_mode)) fail_unavailable(path, "is no regular file, expected a model file");
  std::shared_ptr<SourceFile> out(new SourceFile());
  out->size_ = size_t(status.st_size);
  if (out->size_ == 0) return out;
  if (out->size_ >= kMapFrom) {
    out->mapping_ = ::mmap(nullptr, out->size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (out->mapping_ == MAP_FAILED) {
      out->mapping_ = nullptr;
      fail_unavailable(
          path, "cannot be mapped (" + std::to_string(out->size_) + " B): " + std::strerror(errno));
    }
    out->data_ = static_cast<const char*>(out->mapping_);
    host::add_mapped_file(out->mapping_, out->size_);
    return out;
  }
  out->copy_.reset(new char[out->size_]);
  size_t done = 0;
  while (done < out->size_) {
    constexpr size_t kPiece = size_t{1} << 20;
    const ssize_t got =
        ::read(file.fd, out->copy_.get() + done, std::min(kPiece, out->size_ - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_unavailable(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    done += size_t(got);
    host::note_touched(uint64_t(got));
  }
  out->size_ = done;
  out->data_ = out->copy_.get();
  return out;
}

SourceFile::~SourceFile() {
  if (!mapping_) return;
  host::remove_mapped_file(mapping_);
  ::munmap(mapping_, size_);
}

std::string why_no_model(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty (0 B), expected an ONNX model; download it again";
  if (starts_with_word(bytes, "version https://git-lfs")) {
    return "this is a git-LFS pointer of " + std::to_string(bytes.size()) +
           " B, not the model; run: git lfs pull";
  }
  std::string_view text = bytes.substr(0, 512);
  if (starts_with_word(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::strchr(" \t\r\n", text.front())) text.remove_prefix(1);
  if (starts_with_word(text, "<!doctype") || starts_with_word(text, "<html") ||
      starts_with_word(text, "<?xml") || starts_with_word(text, "<head")) {
    return "this is a web page or XML, not a model (a failed download?); fetch the file itself";
  }
  if (starts_with_word(bytes, "pk\x03\x04"))
    return "this is a zip archive, not an ONNX model; unpack it first";
  if (starts_with_word(bytes, "\x1f\x8b"))
    return "this is a gzip file, not an ONNX model; unpack it first";
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3")
    return "this is a TensorFlow Lite model, not an ONNX model";
  return "";
}

std::string_view ExternalData::read(const std::string& owner, const std::string& location,
                                    int64_t offset, int64_t length) {
  namespace fs = std::filesystem;
  const std::string where = "external data of '" + owner + "': location '" + location + "'";
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos)
    fail_corrupt(where, "is no file name");
  if (relative.is_absolute())
    fail_unsafe(where, "is absolute, expected a path inside the folder of the model");
  for (const fs::path& part : relative) {
    if (part == "..") fail_unsafe(where, "leaves the folder of the model by '..'");
  }
  auto& file = files_[location];
  if (!file) {
    std::error_code error;
    const fs::path folder = fs::canonical(directory_.empty() ? "." : directory_, error);
    if (error) fail_unavailable(where, "the folder of the model is not there: " + error.message());
    const fs::path target = fs::canonical(folder / relative, error);
    if (error)
      fail_unavailable(where,
                       "cannot be opened: " + error.message() + "; it belongs beside the model");
    const fs::path inside = target.lexically_relative(folder);
    if (inside.empty() || *inside.begin() == "..") {
      fail_unsafe(where,
                  "a link leads out of the folder of the model; replace the link by the file");
    }
    file = SourceFile::open(target.string());
    if (const std::string problem = why_no_model(file->bytes());
        file->bytes().size() < 1024 && !problem.empty() &&
        problem.find("LFS") != std::string::npos) {
      fail_corrupt(where, problem);
    }
  }
  const uint64_t size = file->bytes().size();
  const std::string range =
      "bytes [" + std::to_string(offset) + ", +" + std::to_string(length) + ")";
  if (offset < 0 || uint64_t(offset) > size) {
    fail_corrupt(where, range + " start past the end of the file (" + std::to_string(size) +
                            " B); truncated?");
  }
  if (length < 0) length = int64_t(size - uint64_t(offset));
  if (uint64_t(length) > size - uint64_t(offset)) {
    fail_corrupt(where,
                 range + " pass the end of the file (" + std::to_string(size) + " B); truncated?");
  }
  return file->bytes().substr(size_t(offset), size_t(length));
}

}  // namespace ingot::onnx
