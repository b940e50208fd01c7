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
  void operator()(FILE* file) const { fclose(file); }
};

std::unique_ptr<FILE, CloseFile> open_file(const std::string& path) {
  refuse_pipe(path);
  std::unique_ptr<FILE, CloseFile> file(open_input_stream(path));
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
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::unique_ptr<zip_t, DiscardArchive> open_archive(const std::string& path) {
  int code = 0;
  remember_input(path);
  std::unique_ptr<zip_t, DiscardArchive> archive(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
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

Array read_member(zip_t* archive, const zip_stat_t& stat, const std::string& where,
                  uint64_t limit_bytes) {
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
  std::unique_ptr<zip_file_t, CloseMember> file(zip_fopen_index(archive, stat.index, 0));
  if (!file) fail(Exit::kCorrupt, where + ": cannot be unpacked: " + zip_strerror(archive));
  const ByteSource source = [&](void* out, size_t count) -> size_t {
    const zip_int64_t got = zip_fread(file.get(), out, count);
    if (got < 0)
      fail(Exit::kCorrupt, where + ": cannot be unpacked: " + zip_file_strerror(file.get()) +
                               "; the file is damaged");
    return size_t(got);
  };
  return read_npy(source, where, limit_bytes);
}

std::vector<Array> read_archive(const std::string& path, const NpzLimits& limits) {
  const auto archive = open_archive(path);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > zip_int64_t(limits.members)) {
    fail(Exit::kUnavailable, path + ": " + std::to_string(count) + " members; at most " +
                                 std::to_string(limits.members) + " are read");
  }
  std::vector<Array> arrays;
  std::set<std::string> seen;
  uint64_t left = limits.total_bytes;
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
    std::string name = stat.name;
    const bool array = name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0;
    if (!array)
      fail(Exit::kMismatch,
           path + ": member '" + name + "' is no .npy array; is this a model rather than an .npz?");
    name.resize(name.size() - 4);
    if (!seen.insert(name).second)
      fail(Exit::kCorrupt, path + ": array '" + name + "' is there twice");
    Array read = read_member(archive.get(), stat, path + ": array '" + name + "'", left);
    left -= read.bytes.size();
    read.name = name;
    arrays.push_back(std::move(read));
  }
  return arrays;
}
#else
std::vector<Array> read_archive(const std::string& path, const NpzLimits& limits) {
  return read_stored_npz(path, limits);
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

std::vector<Array> read_npz(const std::string& path, const NpzLimits& limits) {
  const auto file = open_file(path);
  char magic[8] = {};
  const size_t got = fread(magic, 1, sizeof magic, file.get());
  if (got == 0 && ferror(file.get()))
    fail(Exit::kUnavailable, path + ": cannot be read: " + strerror(errno));
  if (got == 0) fail(Exit::kCorrupt, path + ": is empty; expected arrays written by numpy.savez");
  if (memcmp(magic, "\x93NUMPY", 6) == 0) {
    rewind(file.get());
    const ByteSource source = [&](void* out, size_t count) {
      return fread(out, 1, count, file.get());
    };
    std::vector<Array> arrays;
    arrays.push_back(read_npy(source, path, limits.total_bytes));
    return arrays;
  }
  if (memcmp(magic, "PK", 2) != 0)
    fail(Exit::kCorrupt, path + ": is no .npz or .npy file; write it with numpy.savez");
  return read_archive(path, limits);
}

}  // namespace ingot::host
