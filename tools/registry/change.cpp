// SPDX-License-Identifier: Apache-2.0
// tools/registry/change.cpp - see change.h.
#include "tools/registry/change.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>
#if defined(__linux__)
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

#include "tools/files/digest_text.h"
#include "tools/files/failure.h"

namespace ingot::registry {

using host::Exit;
using host::fail;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxSmallFile = 16u << 20;
constexpr size_t kBlock = 1u << 20;
constexpr uint64_t kMaxSharedAtOnce = 16u << 20;  // Btrfs takes no more

[[noreturn]] void fail_with(const std::string& path, const char* what, int error) {
  fail(Exit::kUnavailable, path + ": cannot be " + what + ": " + std::strerror(error));
}

/// A descriptor that is closed.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, const char* what, mode_t mode = 0644)
      : number_(open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (number_ < 0) fail_with(path, what, errno);
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// Calls use(bytes, count) over the file. @return its size
template <class Use>
uint64_t each_block(const std::string& path, int descriptor, Use use) {
  std::vector<uint8_t> block(kBlock);
  uint64_t total = 0;
  for (;;) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with(path, "read", errno);
    if (count == 0) return total;
    use(block.data(), size_t(count));
    total += uint64_t(count);
  }
}

/// What a file system allocates and shares at least.
uint64_t block_bytes(int descriptor) {
  struct statvfs system = {};
  return fstatvfs(descriptor, &system) == 0 && system.f_bsize != 0 ? system.f_bsize : 4096;
}

bool allocates_apart([[maybe_unused]] int descriptor) {
#if defined(BTRFS_SUPER_MAGIC)
  struct statfs system = {};
  return fstatfs(descriptor, &system) == 0 && uint32_t(system.f_type) == BTRFS_SUPER_MAGIC;
#else
  return false;
#endif
}

void write_all(const std::string& path, int descriptor, const void* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    const ssize_t n = ::write(descriptor, static_cast<const char*>(bytes) + done, count - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_with(path, "written", n < 0 ? errno : EIO);
    done += size_t(n);
  }
}

}  // namespace

std::string read_small_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY, "read");
  std::string text;
  each_block(path, file.number(), [&](const uint8_t* bytes, size_t count) {
    text.append(reinterpret_cast<const char*>(bytes), count);
    if (text.size() > kMaxSmallFile)
      fail(Exit::kCorrupt, path + ": expected at most 16 MiB of a registry's notes");
  });
  return text;
}

std::string sha256_of_file(const std::string& path, uint64_t* bytes) {
  const Descriptor file(path, O_RDONLY, "read");
  Sha256 hash;
  *bytes = each_block(path, file.number(),
                      [&](const uint8_t* part, size_t count) { hash.update(part, count); });
  return host::digest_text(&hash);
}

namespace {

/// A change would be made in another folder, which may be anybody's.
void refuse_link(const std::string& path) {
  std::error_code error;
  if (fs::is_symlink(path, error))
    fail(Exit::kUnsafe, path +
                            ": is a link to another folder, where nothing is changed; name that "
                            "folder's registry, or remove the link");
}

}  // namespace

Registry::Change::Change(const std::string& root, const std::string& name, bool first)
    : root_(root), folder_(root + "/" + name), changes_(root + "/.changes") {
  std::error_code error;
  refuse_link(folder_);
  fs::create_directories(changes_, error);
  if (error) fail_with(changes_, "made", error.value());
  // what lies in it is removed, so it must be the registry's own
  if (fs::is_symlink(changes_, error))
    fail(Exit::kUnsafe, changes_ + ": is a link to another folder; remove the link");
  const std::string path = root_ + "/.lock";
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail_with(path, "opened", errno);
  while (flock(lock_, LOCK_EX) != 0)
    if (errno != EINTR) fail_with(path, "locked", errno);
  for (const auto& left : fs::directory_iterator(changes_, error))
    fs::remove_all(left.path(), error);
  if (!first) return;
  if (mkdir(folder_.c_str(), 0777) == 0)
    sync_folder(root_);
  else if (errno != EEXIST)
    fail_with(folder_, "made", errno);
  if (!fs::is_directory(fs::symlink_status(folder_, error)))
    fail(Exit::kUnavailable, folder_ + ": is no folder");
}

Registry::Change::~Change() {
  std::error_code error;
  for (const auto& left : fs::directory_iterator(changes_, error))
    fs::remove_all(left.path(), error);
  // of a model that was never added
  fs::remove(folder_, error);
  close(lock_);  // and unlocked by that
}

void Registry::Change::sync_folder(const std::string& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY, "opened");
  // some file systems have no such thing
  if (fsync(folder.number()) != 0 && errno != EINVAL) fail_with(path, "synchronized", errno);
}

std::string Registry::Change::fresh(const std::string& name) {
  return changes_ + "/" + name + "." + std::to_string(made_++);
}

std::string Registry::Change::subfolder(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  if (mkdir(path.c_str(), 0777) == 0)
    sync_folder(folder_);
  else if (errno != EEXIST)
    fail_with(path, "made", errno);
  refuse_link(path);
  return path;
}

std::string Registry::Change::make_folder(const std::string& name) {
  const std::string path = fresh(name);
  if (mkdir(path.c_str(), 0777) != 0) fail_with(path, "made", errno);
  return path;
}

std::string Registry::Change::time() const {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

void Registry::Change::write(const std::string& path, const std::string& text) {
  const std::string made = fresh("file");
  {
    const Descriptor file(made, O_WRONLY | O_CREAT | O_EXCL, "written");
    write_all(path, file.number(), text.data(), text.size());
    if (fsync(file.number()) != 0) fail_with(path, "written", errno);
  }
  if (rename(made.c_str(), path.c_str()) != 0) fail_with(path, "written", errno);
  sync_folder(fs::path(path).parent_path().string());
}

void Registry::Change::copy(const std::string& from, const std::string& to, Record* record) {
  const Descriptor in(from, O_RDONLY, "read");
  const Descriptor out(to, O_RDWR | O_CREAT | O_EXCL, "written");
  bool cloned = false;
#if defined(FICLONE)
  cloned = ioctl(out.number(), FICLONE, in.number()) == 0;
#endif
  // Btrfs frees what was allocated at once only as a whole: blocks that are to be shared must not
  // be allocated with others.
  std::vector<uint64_t> edges;
  for (const Part& part : allocates_apart(out.number()) ? record->parts : std::vector<Part>()) {
    const uint64_t end = part.offset + part.bytes;
    edges.insert(edges.end(), {part.offset, end - end % block_bytes(out.number())});
  }
  std::sort(edges.begin(), edges.end());
  Sha256 hash;
  uint64_t done = 0;
  const auto write = [&](const uint8_t* bytes, size_t count) {
    write_all(to, out.number(), bytes, count);
    done += count;
  };
  // of what was copied and not of what another program makes of the source meanwhile
  record->bytes = each_block(cloned ? to : from, cloned ? out.number() : in.number(),
                             [&](const uint8_t* bytes, size_t count) {
                               hash.update(bytes, count);
                               if (cloned) return;
                               for (const uint64_t edge : edges)
                                 if (edge > done && edge - done <= count) {
                                   const size_t before = size_t(edge - done);
                                   write(bytes, before);
                                   if (fdatasync(out.number()) != 0)
                                     fail_with(to, "written", errno);
                                   bytes += before, count -= before;
                                 }
                               write(bytes, count);
                             });
  record->sha256 = host::digest_text(&hash);
  if (fchmod(out.number(), 0444) != 0 || fsync(out.number()) != 0) fail_with(to, "written", errno);
}

bool Registry::Change::share(const std::string& with, const std::string& sha256,
                             const std::string& copy) {
  uint64_t bytes = 0;
  if (sha256_of_file(with, &bytes) != sha256) return false;
  const std::string linked = fresh("link");
  return link(with.c_str(), linked.c_str()) == 0 && rename(linked.c_str(), copy.c_str()) == 0;
}

uint64_t Registry::Change::share_blocks(const std::string& with, uint64_t from,
                                        const std::string& copy, uint64_t to, uint64_t bytes) {
  uint64_t shared = 0;
#if defined(FIDEDUPERANGE)
  const Descriptor source(with, O_RDONLY, "read"), ours(copy, O_RDONLY, "read");
  const uint64_t block = block_bytes(ours.number());
  if (from % block != 0 || to % block != 0) return 0;
  bytes -= bytes % block;
  while (shared < bytes) {
    alignas(file_dedupe_range)
        uint8_t storage[sizeof(file_dedupe_range) + sizeof(file_dedupe_range_info)] = {};
    file_dedupe_range& request = *reinterpret_cast<file_dedupe_range*>(storage);
    file_dedupe_range_info& place = request.info[0];
    request.src_offset = from + shared;
    request.src_length = std::min(bytes - shared, kMaxSharedAtOnce);
    request.dest_count = 1;
    place.dest_fd = ours.number();
    place.dest_offset = to + shared;
    if (ioctl(source.number(), FIDEDUPERANGE, &request) != 0 ||
        place.status != FILE_DEDUPE_RANGE_SAME || place.bytes_deduped == 0)
      break;
    shared += place.bytes_deduped;
  }
#endif
  return shared;
}

void Registry::Change::note(const nlohmann::json& line) {
  const std::string path = folder_ + "/history.jsonl";
  std::error_code error;
  std::string text = fs::exists(path, error) ? read_small_file(path) : "";
  nlohmann::json dated = line;
  dated["time"] = time();
  write(path, text + dated.dump() + "\n");
}

void Registry::Change::publish(const std::string& made, const std::string& as) {
  sync_folder(made);
  const std::string path = folder_ + "/" + as;
  if (rename(made.c_str(), path.c_str()) != 0) fail_with(path, "made", errno);
  sync_folder(folder_);
}

void Registry::Change::tag(const std::string& tag, uint64_t version, const char* why) {
  const std::string path = subfolder("tags") + "/" + tag, made = fresh("tag");
  std::error_code error;
  const std::string now = fs::read_symlink(path, error).string();
  const uint64_t from = error || now.size() < 4 ? 0 : std::strtoull(now.c_str() + 3, nullptr, 10);
  note({{"do", why}, {"tag", tag}, {"version", version}, {"from", from}});
  if (symlink(("../" + std::to_string(version)).c_str(), made.c_str()) != 0 ||
      rename(made.c_str(), path.c_str()) != 0)
    fail_with(path, "written", errno);
  sync_folder(folder_ + "/tags");
}

void Registry::Change::remove(const std::string& what) {
  const std::string path = folder_ + "/" + what, gone = fresh("gone");
  if (rename(path.c_str(), gone.c_str()) != 0) fail_with(path, "removed", errno);
  sync_folder(fs::path(path).parent_path().string());
}

}  // namespace ingot::registry
