// SPDX-License-Identifier: Apache-2.0
// tests/cli/command_line.h - runs the real binary as a script would and looks at what it leaves
// behind.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cli_test {

struct Ran {
  int exit = -1;  // -1: a signal ended it
  int signal = 0;
  std::string out, err;
};

struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;
  std::function<void()> in_child;  // limits, user
};

/// For RunOptions::in_child: a user who owns nothing, where this one is root.
void become_nobody();
/// False, and a line that says it is skipped, where that user cannot run the binary: a folder above
/// it may be closed.
bool nobody_can_run();

/// Runs `ingot arguments...` without a terminal and waits at most a minute.
Ran run(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// The file of that name in tests/cli/data.
std::string data(const std::string& name);

/// A folder of its own that is gone at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  /// Names in it, sorted, hidden ones too.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string slurp(const std::string& path);
void spill(const std::string& path, const std::string& bytes);

/// Converts a model of tests/cli/data into the folder and gives its path. Fails the test otherwise.
std::string converted(const Folder& folder, const std::string& name);

/// True when `err` is one line "ingot: ..." (lines that list unsupported operators are indented and
/// may follow).
bool is_one_error_line(const std::string& err);

}  // namespace cli_test
