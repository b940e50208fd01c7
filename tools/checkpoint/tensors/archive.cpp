// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/archive.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#ifdef INGOT_HAVE_LIBZIP
#include <zip.h>
#endif

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {

#ifndef INGOT_HAVE_LIBZIP

struct Archive::Handle {};
Archive::~Archive() = default;
std::shared_ptr<Archive> Archive::open(const std::string& path) {
  host::fail(host::Exit::kUnsupported, path +
                                           ": is a zip archive, and this program was built without "
                                           "libzip; build it with libzip-dev installed");
}
bool Archive::has(const std::string&) const { return false; }
uint64_t Archive::size(const std::string&) const { return 0; }
std::vector<uint8_t> Archive::read(const std::string&, uint64_t) const { return {}; }
std::vector<uint8_t> Archive::read_start(const std::string&, uint64_t) const { return {}; }
std::shared_ptr<Archive> Archive::open_bytes(std::vector<uint8_t>, const std::string& name) {
  return open(name);
}
std::shared_ptr<Archive> Archive::open_part(std::shared_ptr<const MappedFile>, uint64_t, uint64_t,
                                            const std::string& name) {
  return open(name);
}
std::shared_ptr<const Storage> Archive::member(const std::shared_ptr<Archive>&,
                                               const std::string&) {
  return nullptr;
}

#else

namespace {

constexpr uint64_t kLargestRatio = 1100;  // deflate cannot pack tighter than 1032:1

struct Member {
  zip_uint64_t index;
  uint64_t size;
};

class MemberStorage : public Storage {
 public:
  MemberStorage(std::shared_ptr<Archive> archive, std::string name, uint64_t size)
      : archive_(std::move(archive)), name_(std::move(name)), size_(size) {}
  uint64_t size() const override { return size_; }
  Bytes load() const override {
    std::shared_ptr<const std::vector<uint8_t> > bytes = last_.lock();
    if (!bytes) bytes = std::make_shared<const std::vector<uint8_t> >(archive_->read(name_, size_));
    last_ = bytes;
    return {bytes, bytes->data(), bytes->size()};
  }

 private:
  std::shared_ptr<Archive> archive_;
  std::string name_;
  uint64_t size_;
  mutable std::weak_ptr<const std::vector<uint8_t> > last_;
};

/// An archive that lost its end is by far the most frequent damage: a download that broke off.
[[noreturn]] void refuse_archive(const std::string& path, int code) {
  if (code == ZIP_ER_NOZIP)
    host::fail(host::Exit::kCorrupt, path +
                                         ": starts like a zip archive and has no end of its "
                                         "directory: the download is incomplete; get it again");
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_OPEN || code == ZIP_ER_NOENT || code == ZIP_ER_READ)
    host::fail(host::Exit::kUnavailable, path + ": cannot be read: " + reason);
  host::fail(host::Exit::kCorrupt,
             path + ": is no sound zip archive: " + reason + "; get the file anew");
}

}  // namespace

struct Archive::Handle {
  std::vector<uint8_t> bytes;              // of an archive inside another
  std::shared_ptr<const MappedFile> file;  // of which it is a part
  zip_t* zip = nullptr;
  std::map<std::string, Member> members;
  ~Handle() {
    if (zip) zip_discard(zip);
  }
};

Archive::~Archive() = default;

std::shared_ptr<Archive> Archive::open(const std::string& path) {
  std::shared_ptr<Archive> archive(new Archive);
  archive->path_ = path;
  archive->handle_ = std::make_unique<Handle>();
  Handle& handle = *archive->handle_;
  int code = 0;
  host::remember_input(path);
  handle.zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!handle.zip) refuse_archive(path, code);
  archive->list_members();
  return archive;
}

std::shared_ptr<Archive> Archive::open_bytes(std::vector<uint8_t> bytes, const std::string& name) {
  auto handle = std::make_unique<Handle>();
  handle->bytes = std::move(bytes);
  const uint8_t* const data = handle->bytes.data();
  const uint64_t size = handle->bytes.size();
  return open_held(std::move(handle), data, size, name);
}

std::shared_ptr<Archive> Archive::open_part(std::shared_ptr<const MappedFile> file, uint64_t offset,
                                            uint64_t size, const std::string& name) {
  auto handle = std::make_unique<Handle>();
  handle->file = std::move(file);
  const uint8_t* const data = handle->file->data() + offset;
  return open_held(std::move(handle), data, size, name);
}

std::shared_ptr<Archive> Archive::open_held(std::unique_ptr<Handle> held, const uint8_t* bytes,
                                            uint64_t size, const std::string& name) {
  std::shared_ptr<Archive> archive(new Archive);
  archive->path_ = name;
  archive->handle_ = std::move(held);
  Handle& handle = *archive->handle_;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes, size, 0, &error);
  if (source) handle.zip = zip_open_from_source(source, ZIP_RDONLY, &error);
  const int code = zip_error_code_zip(&error);
  if (!handle.zip && source) zip_source_free(source);
  zip_error_fini(&error);
  if (!handle.zip) refuse_archive(name, code);
  archive->list_members();
  return archive;
}

void Archive::list_members() {
  const std::string& path = path_;
  Handle& handle = *handle_;
  const zip_int64_t count = zip_get_num_entries(handle.zip, 0);
  for (zip_int64_t i = 0; i < count; i++) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(handle.zip, zip_uint64_t(i), 0, &stat) != 0 ||
        (stat.valid & needed) != needed)
      host::fail(host::Exit::kCorrupt, path + ": member " + std::to_string(i) +
                                           " cannot be described; the archive is damaged");
    const std::string name = stat.name, where = path + ": member '" + name + "'";
    if (stat.encryption_method != ZIP_EM_NONE)
      host::fail(host::Exit::kUnsupported, where + " is encrypted; save it without a password");
    const bool stored = stat.comp_method == ZIP_CM_STORE;
    if (!stored && stat.comp_method != ZIP_CM_DEFLATE)
      host::fail(host::Exit::kUnsupported, where + " is packed with method " +
                                               std::to_string(stat.comp_method) +
                                               "; stored and deflated members are read");
    if (stored ? stat.size != stat.comp_size : stat.size / kLargestRatio > stat.comp_size)
      host::fail(host::Exit::kCorrupt, where + ": " + std::to_string(stat.size) + " bytes from " +
                                           std::to_string(stat.comp_size) +
                                           " cannot be; the archive is damaged");
    if (!handle.members.emplace(name, Member{zip_uint64_t(i), stat.size}).second)
      host::fail(host::Exit::kCorrupt, where + " is there twice; the archive was made to mislead");
    constexpr uint64_t kEntry = 200;  // in the map, and what libzip keeps of it
    host::charge_metadata(kEntry + 2 * host::text_memory(name.size()));
    names_.push_back(name);
  }
}

bool Archive::has(const std::string& name) const { return handle_->members.count(name) != 0; }

uint64_t Archive::size(const std::string& name) const {
  const auto found = handle_->members.find(name);
  return found == handle_->members.end() ? 0 : found->second.size;
}

namespace {

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

std::vector<uint8_t> Archive::read(const std::string& name, uint64_t limit) const {
  const std::string where = path_ + ": member '" + name + "'";
  const auto found = handle_->members.find(name);
  if (found == handle_->members.end())
    host::fail(host::Exit::kCorrupt, where + " is missing; the archive is damaged");
  if (found->second.size > limit)
    host::fail(host::Exit::kCorrupt, where + " has " + std::to_string(found->second.size) +
                                         " bytes, expected at most " + std::to_string(limit));
  const std::unique_ptr<zip_file_t, CloseMember> open_member(
      zip_fopen_index(handle_->zip, found->second.index, 0));
  zip_file_t* const file = open_member.get();
  if (!file)
    host::fail(host::Exit::kCorrupt, where + " cannot be unpacked: " + zip_strerror(handle_->zip));
  std::vector<uint8_t> bytes;
  const uint64_t size = found->second.size;
  host::charge_memory(size);
  host::charge_work(size / 16);
  host::require_memory(where, size);
  // Pages are taken as data arrive: a directory that lies about a size costs address space. A
  // vector that grew would have its bytes twice.
  constexpr uint64_t kStep = uint64_t{1} << 20;
  bytes.reserve(size_t(size));
  std::string damage;
  while (bytes.size() < size && damage.empty()) {
    const size_t at = bytes.size();
    bytes.resize(size_t(std::min(size, at + kStep)));
    size_t filled = at;
    while (filled < bytes.size()) {
      const zip_int64_t got = zip_fread(file, bytes.data() + filled, bytes.size() - filled);
      if (got <= 0) {
        damage = got < 0 ? zip_file_strerror(file)
                         : "it ends after " + std::to_string(filled) + " bytes";
        break;
      }
      filled += size_t(got);
    }
    host::note_touched(kStep);
  }
  uint8_t beyond;
  if (damage.empty()) {
    // reaches the end, where the CRC is compared
    const zip_int64_t got = zip_fread(file, &beyond, 1);
    if (got < 0) damage = zip_file_strerror(file);
    if (got > 0) damage = "it is longer than the directory says";
  }
  if (!damage.empty())
    host::fail(host::Exit::kCorrupt, where + " is damaged: " + damage + "; get the file anew");
  return bytes;
}

std::vector<uint8_t> Archive::read_start(const std::string& name, uint64_t count) const {
  const std::string where = path_ + ": member '" + name + "'";
  const auto found = handle_->members.find(name);
  if (found == handle_->members.end())
    host::fail(host::Exit::kCorrupt, where + " is missing; the archive is damaged");
  const std::unique_ptr<zip_file_t, CloseMember> open_member(
      zip_fopen_index(handle_->zip, found->second.index, 0));
  zip_file_t* const file = open_member.get();
  if (!file)
    host::fail(host::Exit::kCorrupt, where + " cannot be unpacked: " + zip_strerror(handle_->zip));
  std::vector<uint8_t> bytes(size_t(std::min(count, found->second.size)));
  host::charge_work(1 + bytes.size() / 16);
  size_t filled = 0;
  zip_int64_t got = 1;
  while (filled < bytes.size() &&
         (got = zip_fread(file, bytes.data() + filled, bytes.size() - filled)) > 0)
    filled += size_t(got);
  if (filled < bytes.size())
    host::fail(host::Exit::kCorrupt, where + " is damaged: it ends after " +
                                         std::to_string(filled) + " bytes; get the file anew");
  return bytes;
}

std::shared_ptr<const Storage> Archive::member(const std::shared_ptr<Archive>& archive,
                                               const std::string& name) {
  return std::make_shared<MemberStorage>(archive, name, archive->size(name));
}

#endif

std::string Archive::bundled_models() const {
  std::string models;
  for (const std::string& name : names_) {
    const bool is_model = name.size() > 7 && name.compare(name.size() - 7, 7, ".tflite") == 0;
    if (is_model && models.size() < 400) models += (models.empty() ? "'" : ", '") + name + "'";
  }
  return models;
}

}  // namespace ingot::checkpoint
