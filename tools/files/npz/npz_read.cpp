// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#ifdef INGOT_HAVE_LIBZIP
#include <zip.h>
#endif

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/npz/npz.h"
#include "tools/files/npz/stored_archive.h"
#include "tools/files/refuse_pipe.h"

namespace ingot::host {
namespace {

struct CloseFile {
  void operator()(FILE* file) const {
    if (file) fclose(file);
  }
};

std::shared_ptr<FILE> open_file(const std::string& path) {
  refuse_pipe(path);
  const std::shared_ptr<FILE> file(open_input_stream(path), CloseFile());
  if (!file) {
    const char* hint = errno == ENOENT   ? "; check the name"
                       : errno == EACCES ? "; check its permissions"
                                         : "";
    fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(errno) + hint);
  }
  return file;
}

#ifdef INGOT_HAVE_LIBZIP
constexpr uint64_t kLargestRatio = 1100;  // deflate cannot pack tighter than 1032:1

struct DiscardArchive {
  void operator()(zip_t* archive) const {
    if (archive) zip_discard(archive);
  }
};
struct CloseMember {
  void operator()(zip_file_t* file) const {
    if (file) zip_fclose(file);
  }
};

std::shared_ptr<zip_t> open_archive(const std::string& path) {
  int code = 0;
  remember_input(path);
  const std::shared_ptr<zip_t> archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code),
                                       DiscardArchive());
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail(Exit::kCorrupt,
         path + ": is no sound .npz archive: " + reason + "; write it again with numpy.savez");
  }
  return archive;
}

/// Opens the member when its first byte is asked for: each has a decoder of its own.
ByteSource source_of(std::shared_ptr<zip_t> archive, const zip_stat_t& stat,
                     const std::string& where) {
  const bool stored = stat.comp_method == ZIP_CM_STORE;
  if (stat.encryption_method != ZIP_EM_NONE)
    fail(Exit::kUnsupported, where + ": is encrypted; save it without a password");
  if (!stored && stat.comp_method != ZIP_CM_DEFLATE) {
    fail(Exit::kUnsupported, where + ": packed with method " + std::to_string(stat.comp_method) +
                                 "; numpy writes stored or deflated members");
  }
  if (stored ? stat.size != stat.comp_size : stat.size / kLargestRatio > stat.comp_size) {
    fail(Exit::kCorrupt, where + ": the archive's sizes contradict each other (" +
                             std::to_string(stat.size) + " bytes from " +
                             std::to_string(stat.comp_size) + ")");
  }
  std::shared_ptr<zip_file_t> file;
  return [archive, file, where, index = stat.index](void* out, size_t count) mutable -> size_t {
    if (!file) file.reset(zip_fopen_index(archive.get(), index, 0), CloseMember());
    if (!file) fail(Exit::kCorrupt, where + ": cannot be unpacked: " + zip_strerror(archive.get()));
    const zip_int64_t got = zip_fread(file.get(), out, count);
    if (got < 0)
      fail(Exit::kCorrupt, where + ": cannot be unpacked: " + zip_file_strerror(file.get()) +
                               "; the file is damaged");
    return size_t(got);
  };
}

std::vector<NpzMember> open_members(const std::string& path, const NpzLimits& limits) {
  const std::shared_ptr<zip_t> archive = open_archive(path);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > zip_int64_t(limits.members)) {
    fail(Exit::kUnavailable, path + ": " + std::to_string(count) + " members; at most " +
                                 std::to_string(limits.members) + " are read");
  }
  std::vector<NpzMember> members;
  std::set<std::string> seen;
  for (zip_int64_t i = 0; i < count; i++) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive.get(), zip_uint64_t(i), 0, &stat) != 0 ||
        (stat.valid & needed) != needed) {
      fail(Exit::kCorrupt,
           path + ": member " + std::to_string(i) + " cannot be described; the archive is damaged");
    }
    stat.index = zip_uint64_t(i);
    NpzMember member;
    member.name = array_name(path, stat.name, &seen);
    member.where = path + ": array '" + member.name + "'";
    member.source = source_of(archive, stat, member.where);
    members.push_back(std::move(member));
  }
  return members;
}
#else
std::vector<NpzMember> open_members(const std::string& path, const NpzLimits& limits) {
  return open_stored_npz(path, limits);
}
#endif

}  // namespace

bool has_npz_reader() {
#ifdef INGOT_HAVE_LIBZIP
  return true;
#else
  return false;
#endif
}

std::vector<NpzMember> open_npz(const std::string& path, const NpzLimits& limits) {
  const std::shared_ptr<FILE> file = open_file(path);
  char magic[8] = {};
  const size_t got = fread(magic, 1, sizeof magic, file.get());
  if (got == 0 && ferror(file.get()))
    fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(errno));
  if (got == 0) fail(Exit::kCorrupt, path + ": is empty; expected arrays written by numpy.savez");
  if (memcmp(magic, "\x93NUMPY", 6) == 0) {
    rewind(file.get());
    return {
        {"", path, [file](void* out, size_t count) { return fread(out, 1, count, file.get()); }}};
  }
  if (memcmp(magic, "PK", 2) != 0)
    fail(Exit::kCorrupt, path + ": is no .npz or .npy file; write it with numpy.savez");
  return open_members(path, limits);
}

std::vector<Array> read_npz(const std::string& path, const NpzLimits& limits) {
  return read_all(open_npz(path, limits), limits);
}

}  // namespace ingot::host
