// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu_pack/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ingot::pack {
namespace {

constexpr double kUntilKill = 1.5, kUntilAbandoned = 4.5;

[[noreturn]] void become(const std::vector<std::string>& words, const Environment& environment,
                         const std::string& log) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on when the pack itself is killed
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0) file = open("/dev/null", O_WRONLY);
  const int none = open("/dev/null", O_RDONLY);
  dup2(none, 0);
  dup2(file, 1);
  dup2(file, 2);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const Environment& environment,
             const std::string& log) {
  pid_ = fork();
  if (pid_ == 0) become(words, environment, log);
  if (pid_ > 0) setpgid(pid_, pid_);
}

Child::State Child::look() {
  if (pid_ < 0) {
    exit_ = 126;
    return State::kEnded;
  }
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) {
    kill(-pid_, SIGKILL);  // what it began
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return State::kEnded;
  }
  if (!asked_) return State::kRuns;
  const double waited = seconds_since(asked_at_);
  if (!killed_ && waited >= kUntilKill) {
    killed_ = true;
    kill(-pid_, SIGKILL);
  }
  return waited >= kUntilAbandoned ? State::kAbandoned : State::kRuns;
}

void Child::end() {
  if (asked_ || pid_ < 0) return;
  asked_ = true, asked_at_ = Clock::now();
  kill(-pid_, SIGTERM);
}

}  // namespace ingot::pack
