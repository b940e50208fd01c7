// SPDX-License-Identifier: Apache-2.0
#include "tools/files/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "tools/files/failure.h"
#include "tools/files/temporary_tree.h"

namespace ingot::host {

namespace fs = std::filesystem;

namespace {

// Tells a folder of ours from one that a user gave such a name; locked while it is written.
constexpr char kMarker[] = ".ingot-writing";

void remove_abandoned_folders(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (is_hidden_name(entry->path().filename().string(), path)) found.push_back(entry->path());
  for (const fs::path& one : found) {
    const int marker =
        open((one / kMarker).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (marker < 0) continue;
    struct stat status = {};
    if (fstat(marker, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_mtime + kAbandonedAfter < time(nullptr) && flock(marker, LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(one, ignored);
    close(marker);
  }
}

/// Without taking the place of anything. False with errno.
bool rename_to_new(const char* from, const char* to) {
#ifdef RENAME_NOREPLACE
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
#endif
  // a file system that cannot: a folder with files in it is not replaced by rename() either
  struct stat there = {};
  if (lstat(to, &there) == 0) {
    errno = EEXIST;
    return false;
  }
  return rename(from, to) == 0;
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path) : tree_(std::make_unique<TemporaryTree>()) {
  fs::path own = fs::path(path).lexically_normal();
  if (own.filename().empty()) own = own.parent_path();
  path_ = own.string();
  std::error_code error;
  if (fs::symlink_status(own, error).type() != fs::file_type::not_found)
    fail(Exit::kUsage, path + ": is there already; name a folder that is not, or remove it");
  if (own.has_parent_path()) fs::create_directories(own.parent_path(), error);
  remove_abandoned_folders(own);
  for (int attempt = 0;; attempt++) {
    temporary_ = hidden_name(own);
    if (mkdir(temporary_.c_str(), 0777) == 0) break;
    if (errno != EEXIST || attempt == 100) fail_with("", errno);
  }
  tree_->add(temporary_, true);
  const std::string marker = temporary_ + "/" + kMarker;
  tree_->add(marker, false);
  marker_ = open(marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (marker_ < 0) {
    const int cause = errno;
    tree_->remove_all();
    fail_with("", cause);
  }
  (void)!flock(marker_, LOCK_EX | LOCK_NB);
}

OutputFolder::~OutputFolder() {
  if (tree_) tree_->remove_all();
  if (marker_ >= 0) close(marker_);
}

void OutputFolder::fail_with(const std::string& what, int error) const {
  const std::string where = what.empty() ? path_ : path_ + "/" + what;
  fail(Exit::kUnavailable, where + ": cannot be written: " + strerror(error) + advice(error));
}

/// `name` and every folder around it, inside.
void OutputFolder::make_folder(const std::string& name) {
  if (name.empty()) return;
  make_folder(fs::path(name).parent_path().string());
  const std::string at = temporary_ + "/" + name;
  struct stat there = {};
  if (stat(at.c_str(), &there) == 0) return;
  tree_->add(at, true);
  if (mkdir(at.c_str(), 0777) != 0) fail_with(name, errno);
}

void OutputFolder::add(const std::string& name, const std::string& text) {
  make_folder(fs::path(name).parent_path().string());
  const std::string at = temporary_ + "/" + name;
  tree_->add(at, false);
  const int file = open(at.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) fail_with(name, errno);
  int error = 0;
  for (size_t done = 0; done < text.size() && !error;) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) error = errno;
    if (written == 0) error = EIO;
    if (written > 0) done += size_t(written);
  }
  if (!error && fsync(file) != 0) error = errno;
  if (close(file) != 0 && !error) error = errno;
  if (error) fail_with(name, error);
  count_++;
}

/// A folder's names are durable behind it; where a file system cannot say, they are whole all the
/// same.
void OutputFolder::sync(const std::string& name, bool must) const {
  const int folder = open(name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && must) fail_with("", errno);
  if (folder < 0) return;
  (void)!fsync(folder);
  close(folder);
}

size_t OutputFolder::commit() {
  for (const TemporaryTree::Entry* entry = tree_->last; entry; entry = entry->before)
    if (entry->is_folder) sync(entry->path, true);
  const std::string marker = temporary_ + "/" + kMarker;
  if (unlink(marker.c_str()) != 0) fail_with("", errno);
  if (!rename_to_new(temporary_.c_str(), path_.c_str())) {
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
      fail(Exit::kUsage,
           path_ + ": was made by another process meanwhile; name a folder that is not there");
    fail_with("", errno);
  }
  tree_.reset();
  sync(path_, false);
  sync(fs::path(path_).parent_path().string(), false);
  return count_;
}

}  // namespace ingot::host
