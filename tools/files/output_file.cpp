#include "tools/files/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "tools/files/failure.h"

namespace ingot::host {
namespace {

// Names that an interrupt has to remove. A slot owns its text, which is freed only after the slot was cleared.
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

std::string random_word() {
  std::random_device device;
  std::string word;
  for (int i = 0; i < 8; i++) word += "abcdefghijklmnopqrstuvwxyz0123456789"[device() % 36];
  return word;
}

bool write_whole(int descriptor, const void* bytes, size_t count, int64_t offset) {
  auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const size_t piece = count < (size_t{1} << 30) ? count : size_t{1} << 30;
    const ssize_t written = offset < 0 ? ::write(descriptor, next, piece) : ::pwrite(descriptor, next, piece, offset);
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

const char* advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "; make room or write elsewhere";
    case EFBIG: return "; the file size limit (ulimit -f) is too low";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a place that you may write to";
    case ENOENT: return "; create the folder first";
    case EISDIR: return "; give the name of a file";
    default: return "";
  }
}

}  // namespace

void remove_temporary_files() {
  for (auto& slot : temporary_names) {
    if (const char* name = slot.load()) unlink(name);
  }
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
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void keep_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); i++) {
    if (outputs[i].empty()) continue;
    for (const std::string& input : inputs) {
      if (!input.empty() && same_file(outputs[i], input))
        fail(Exit::kUsage, outputs[i] + ": is read by this command, so it is not overwritten; choose another name");
    }
    for (size_t j = 0; j < i; j++) {
      if (outputs[i] == outputs[j] && outputs[i].rfind("/dev/", 0) != 0)
        fail(Exit::kUsage, outputs[i] + ": is named for two outputs; choose another name for one of them");
    }
  }
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat found;
  mode_t mode = 0;
  std::string target = path;
  if (stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) fail_with(EISDIR);
    direct_ = !S_ISREG(found.st_mode);
    if (!direct_ && access(path.c_str(), W_OK) != 0) fail_with(errno);
    mode = found.st_mode & 07777;
    std::error_code ignored;
    const auto real = std::filesystem::canonical(path, ignored);  // a link stays a link
    if (!ignored) target = real.string();
  }
  path_ = target;
  if (direct_) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_with(errno);
    return;
  }
  const std::filesystem::path place(target);
  for (int attempt = 0; descriptor_ < 0; attempt++) {
    temporary_ = (place.parent_path() / ("." + place.filename().string() + "." + random_word() + ".tmp")).string();
    slot_ = remember(temporary_);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) break;
    const int error = errno;
    forget(slot_);
    slot_ = -1;
    if (error != EEXIST || attempt == 100) fail_with(error);
  }
  if (mode != 0) (void)!fchmod(descriptor_, mode);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    if (!direct_) unlink(temporary_.c_str());
  }
  forget(slot_);
}

void OutputFile::fail_with(int error) {
  fail(Exit::kUnavailable, path_ + ": cannot be written: " + strerror(error) + advice(error));
}

void OutputFile::write(const void* bytes, size_t count) {
  if (!write_whole(descriptor_, bytes, count, -1)) fail_with(errno);
  size_ += count;
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  if (!write_whole(descriptor_, bytes, count, int64_t(offset))) fail_with(errno);
}

void OutputFile::commit() {
  if (!direct_) {
    if (fsync(descriptor_) != 0) fail_with(errno);
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_with(errno);
  }
  const int closed = close(descriptor_);
  descriptor_ = -1;
  forget(slot_);
  slot_ = -1;
  if (closed != 0 && direct_) fail_with(errno);
  if (direct_) return;
  // The name itself is durable once its folder is; where a file system cannot say, the file is whole all the same.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    (void)!fsync(directory);
    close(directory);
  }
}

TemporaryPath::TemporaryPath(const std::string& suffix, const std::string& beside) {
  const char* folder = getenv("TMPDIR");
  const std::filesystem::path place(beside);
  if (beside.empty())
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/ingot-" + random_word() + suffix;
  else
    path_ = (place.parent_path() / ("." + place.filename().string() + "." + random_word() + suffix)).string();
  slot_ = remember(path_);
}

TemporaryPath::~TemporaryPath() {
  unlink(path_.c_str());
  forget(slot_);
}

}  // namespace ingot::host
