// SPDX-License-Identifier: Apache-2.0
// tools/files/temporary_tree.h - files and folders that an interrupt removes, and names for them.
// Inside tools/files only.
#pragma once
#include <atomic>
#include <ctime>
#include <filesystem>
#include <string>

namespace ingot::host {

constexpr size_t kRandomLetters = 8;
constexpr char kHiddenEnding[] = ".tmp";
constexpr time_t kAbandonedAfter = 60;  // seconds

std::string random_word();
/// ".NAME.xxxxxxxx.tmp" beside NAME.
std::string hidden_name(const std::filesystem::path& place);
/// Whether `name` is a hidden name of `place`.
bool is_hidden_name(const std::string& name, const std::filesystem::path& place);
/// What to do about an error of the system; "" where nobody knows.
const char* advice(int error);

/// Paths in the order in which they were made; they are removed in the other one. Known to the
/// interrupt cleanup while it lives.
struct TemporaryTree {
  struct Entry {
    std::string path;
    bool is_folder = false;
    Entry* before = nullptr;
  };
  std::atomic<Entry*> last{nullptr};

  TemporaryTree();
  ~TemporaryTree();
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  /// Before it is made, so that an interrupt in between removes it too.
  void add(const std::string& path, bool is_folder);
  /// Async-signal-safe.
  void remove_all() const;
};

/// Of every tree that lives. Async-signal-safe.
void remove_temporary_trees();

}  // namespace ingot::host
