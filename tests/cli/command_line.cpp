// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/command_line.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cli_test {
namespace fs = std::filesystem;

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string data(const std::string& name) { return std::string(INGOT_CLI_DATA) + "/" + name; }

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "ingot_cli_test_XXXXXX").string();
  path_ = mkdtemp(pattern.data());
  fs::permissions(path_, fs::perms(0755));
}
Folder::~Folder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms(0755), ignored);
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void become_nobody() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(126);
}
bool nobody_can_run() {
  const bool can = run({"--version"}, {{}, become_nobody}).exit == 0;
  if (!can) MESSAGE("[skip] another user cannot run the binary here");
  return can;
}

Ran run(const std::vector<std::string>& arguments, const RunOptions& options) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(out_file, 1);
    dup2(err_file, 2);
    unsetenv("INGOT_CPU_ISA");
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    signal(SIGALRM, SIG_DFL);
    alarm(60);
    if (options.in_child) options.in_child();
    std::vector<char*> argv = {const_cast<char*>("ingot")};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(INGOT_BINARY, argv.data());
    _exit(127);
  }
  close(out_file);
  close(err_file);
  int status = 0;
  waitpid(child, &status, 0);
  Ran ran;
  if (WIFEXITED(status)) ran.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ran.signal = WTERMSIG(status);
  ran.out = slurp(out);
  ran.err = slurp(err);
  return ran;
}

std::string converted(const Folder& folder, const std::string& name) {
  const std::string out = folder / (name + ".ingot");
  const Ran ran = run({"convert", data(name + ".onnx"), "-o", out});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return out;
}

bool is_one_error_line(const std::string& err) {
  if (err.rfind("ingot: ", 0) != 0 || err.back() != '\n') return false;
  for (size_t at = err.find('\n'); at + 1 < err.size(); at = err.find('\n', at + 1)) {
    if (err.compare(at + 1, 2, "  ") != 0) return false;
  }
  return true;
}

}  // namespace cli_test
