// SPDX-License-Identifier: Apache-2.0
// tools/files/temporary_tree.cpp - see temporary_tree.h.
#include "tools/files/temporary_tree.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/files/failure.h"

namespace ingot::host {
namespace {

constexpr int kTrees = 8;
std::atomic<const TemporaryTree*> trees[kTrees];

}  // namespace

std::string random_word() {
  // of the system, not of /dev/urandom, which an empty root lacks
  uint8_t bytes[kRandomLetters];
  if (getentropy(bytes, sizeof bytes) != 0)
    fail(Exit::kUnavailable,
         std::string("no random bytes for a temporary name: ") + strerror(errno));
  std::string word;
  for (const uint8_t byte : bytes) word += "abcdefghijklmnopqrstuvwxyz0123456789"[byte % 36];
  return word;
}

std::string hidden_name(const std::filesystem::path& place) {
  return (place.parent_path() /
          ("." + place.filename().string() + "." + random_word() + kHiddenEnding))
      .string();
}

bool is_hidden_name(const std::string& name, const std::filesystem::path& place) {
  const std::string begin = "." + place.filename().string() + ".";
  const size_t ending = strlen(kHiddenEnding);
  return name.size() == begin.size() + kRandomLetters + ending && name.rfind(begin, 0) == 0 &&
         name.compare(name.size() - ending, std::string::npos, kHiddenEnding) == 0;
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

TemporaryTree::TemporaryTree() {
  for (auto& slot : trees) {
    const TemporaryTree* none = nullptr;
    if (slot.compare_exchange_strong(none, this)) return;
  }
}
TemporaryTree::~TemporaryTree() {
  for (auto& slot : trees) {
    const TemporaryTree* own = this;
    slot.compare_exchange_strong(own, nullptr);
  }
  for (Entry* entry = last.load(); entry;) {
    Entry* const before = entry->before;
    delete entry;
    entry = before;
  }
}
void TemporaryTree::add(const std::string& path, bool is_folder) {
  last.store(new Entry{path, is_folder, last.load()});
}
void TemporaryTree::remove_all() const {
  for (const Entry* entry = last.load(); entry; entry = entry->before)
    (void)!(entry->is_folder ? rmdir(entry->path.c_str()) : unlink(entry->path.c_str()));
}

void remove_temporary_trees() {
  for (auto& slot : trees)
    if (const TemporaryTree* tree = slot.load()) tree->remove_all();
}

}  // namespace ingot::host
