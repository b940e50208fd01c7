// SPDX-License-Identifier: Apache-2.0
#include "tools/files/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/temporary_tree.h"

namespace ingot::host {
namespace {

// Names that an interrupt has to remove. A slot owns its text, which is freed only after the slot
// was cleared.
constexpr int kSlots = 32;
std::atomic<char*> temporary_names[kSlots];

int remember(const std::string& path) {
  char* name = strdup(path.c_str());
  for (int i = 0; i < kSlots; i++) {
    char* none = nullptr;
    if (temporary_names[i].compare_exchange_strong(none, name)) return i;
  }
  free(name);
  return -1;
}

void forget(int slot) {
  if (slot >= 0) free(temporary_names[slot].exchange(nullptr));
}

void on_interrupt(int signal_number) {
  remove_temporary_files();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// Removes what a killed process left of an earlier try at `path`: hidden_name() of it, a minute
/// old or more, that no process holds the lock of.
void remove_abandoned(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (ignored) return;
    if (!is_hidden_name(entry->path().filename().string(), path)) continue;
    const int descriptor =
        open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat found = {};
    if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
        found.st_mtime + kAbandonedAfter < time(nullptr) &&
        flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      unlink(entry->path().c_str());
    close(descriptor);
  }
}

bool write_whole(int descriptor, const void* bytes, size_t count, int64_t offset) {
  auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const size_t piece = count < (size_t{1} << 30) ? count : size_t{1} << 30;
    const ssize_t written =
        offset < 0 ? ::write(descriptor, next, piece) : ::pwrite(descriptor, next, piece, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = EIO;
      return false;
    }
    next += written;
    count -= size_t(written);
    if (offset >= 0) offset += written;
  }
  return true;
}

}  // namespace

void remove_temporary_files() {
  for (auto& slot : temporary_names) {
    if (const char* name = slot.load()) unlink(name);
  }
  remove_temporary_trees();
}

void install_interrupt_cleanup() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before;
    // A signal that was ignored (nohup, a background job) stays ignored.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);  // a file past `ulimit -f` becomes an ordinary error of write()
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void refuse_path_overlap(const std::vector<std::string>& outputs,
                         const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); i++) {
    if (outputs[i].empty()) continue;
    for (const std::string& input : inputs) {
      if (!input.empty() && same_file(outputs[i], input))
        fail(Exit::kUsage,
             outputs[i] +
                 ": is read by this command, so it is not overwritten; choose another name");
    }
    for (size_t j = 0; j < i; j++) {
      if (outputs[i] == outputs[j] && outputs[i].rfind("/dev/", 0) != 0)
        fail(Exit::kUsage,
             outputs[i] + ": is named for two outputs; choose another name for one of them");
    }
  }
}

OutputFile::OutputFile(const std::string& path, const std::string& replaced)
    : path_(path), replaced_(replaced) {
  keep_inputs();
  struct stat found = {};
  mode_t mode = 0;
  if (path == "-") {
    kind_ = Kind::kStream;
  } else if (stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) fail_with(EISDIR);
    if (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode)) kind_ = Kind::kStream;
    // a device, or an unnamed file of our own
    else if (!S_ISREG(found.st_mode) || found.st_nlink == 0)
      kind_ = Kind::kDirect;
    else if (access(path.c_str(), W_OK) != 0)
      fail_with(errno);
    mode = found.st_mode & 07777;
    std::error_code ignored;
    const auto real = std::filesystem::canonical(path, ignored);  // a link stays a link
    if (!ignored && kind_ == Kind::kRename) path_ = real.string();
  }
  if (kind_ == Kind::kDirect) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (descriptor_ < 0) fail_with(errno);
    return;
  }
  if (kind_ == Kind::kStream) {
    descriptor_ = open_unnamed_file();
    if (descriptor_ < 0) fail_with(errno);
    temporary_ = descriptor_path(descriptor_);
    return;
  }
  remove_abandoned(path_);
  open_beside();
  if (mode != 0) (void)!fchmod(descriptor_, mode);
}

/// An unnamed file in the folder of the destination, so that a process that is killed leaves
/// nothing; where the file system has none, a hidden one, locked while it is written
/// (remove_abandoned() tells those of killed processes by it).
void OutputFile::open_beside() {
  const std::filesystem::path place(path_);
#ifdef O_TMPFILE
  const std::string folder = place.has_parent_path() ? place.parent_path().string() : ".";
  descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) {
    temporary_ = descriptor_path(descriptor_);
    (void)!flock(descriptor_, LOCK_EX | LOCK_NB);
    if (!temporary_.empty()) return;
    close(descriptor_);  // without /proc it could not be given a name
    descriptor_ = -1;
  }
#endif
  for (int attempt = 0; descriptor_ < 0; attempt++) {
    temporary_ = hidden_name(place);
    slot_ = remember(temporary_);
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) break;
    const int error = errno;
    forget(slot_);
    slot_ = -1;
    if (error != EEXIST || attempt == 100) fail_with(error);
  }
  (void)!flock(descriptor_, LOCK_EX | LOCK_NB);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    if (slot_ >= 0) unlink(temporary_.c_str());
  }
  forget(slot_);
}

void OutputFile::fail_with(int error) {
  const std::string where = path_ == "-" ? "standard output" : path_;
  fail(Exit::kUnavailable, where + ": cannot be written: " + strerror(error) + advice(error));
}

void OutputFile::write(const void* bytes, size_t count) {
  if (!write_whole(descriptor_, bytes, count, -1)) fail_with(errno);
  size_ += count;
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  if (!write_whole(descriptor_, bytes, count, int64_t(offset))) fail_with(errno);
}

/// Gives the unnamed file its name. link() does not replace a file, so it gets a hidden name first.
void OutputFile::name_temporary() {
  for (int attempt = 0;; attempt++) {
    const std::string name = hidden_name(path_);
    slot_ = remember(name);
    if (linkat(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    const int error = errno;
    forget(slot_);
    slot_ = -1;
    if (error != EEXIST || attempt == 100) fail_with(error);
  }
}

/// What was kept goes to the pipe, from the beginning.
void OutputFile::copy_to_stream() {
  const int to = path_ == "-" ? dup(STDOUT_FILENO) : open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (to < 0) fail_with(errno);
  std::vector<char> piece(size_t{1} << 16);
  for (uint64_t at = 0;;) {
    const ssize_t count = pread(descriptor_, piece.data(), piece.size(), int64_t(at));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) break;
    if (count < 0 || !write_whole(to, piece.data(), size_t(count), -1)) {
      const int error = errno;
      close(to);
      fail_with(error);
    }
    at += uint64_t(count);
  }
  if (close(to) != 0) fail_with(errno);
}

void OutputFile::keep_inputs() const {
  if (!was_read(path_) || (!replaced_.empty() && same_file(path_, replaced_))) return;
  fail(Exit::kUsage,
       path_ + ": is read by this command, so it is not overwritten; choose another name");
}

void OutputFile::commit() {
  if (kind_ == Kind::kStream) copy_to_stream();
  if (kind_ == Kind::kRename) {
    keep_inputs();  // of what was read since, too
    if (fsync(descriptor_) != 0) fail_with(errno);
    if (slot_ < 0) name_temporary();
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_with(errno);
  }
  const int closed = close(descriptor_);
  descriptor_ = -1;
  forget(slot_);
  slot_ = -1;
  if (closed != 0 && kind_ == Kind::kDirect) fail_with(errno);
  if (kind_ != Kind::kRename) return;
  // The name itself is durable once its folder is; where a file system cannot say, the file is
  // whole all the same.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int directory =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    (void)!fsync(directory);
    close(directory);
  }
}

TemporaryPath::TemporaryPath(const std::string& suffix) {
  descriptor_ = open_unnamed_file();
  if (descriptor_ >= 0) path_ = descriptor_path(descriptor_);
  if (!path_.empty()) return;
  const char* folder = getenv("TMPDIR");
  path_ = std::string(folder && *folder ? folder : "/tmp") + "/ingot-" + random_word() + suffix;
  slot_ = remember(path_);
}

TemporaryPath::~TemporaryPath() {
  forget_input(path_);
  if (slot_ >= 0) unlink(path_.c_str());
  forget(slot_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace ingot::host
