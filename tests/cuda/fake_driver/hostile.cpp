// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/fake_driver/hostile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace ingot::cuda {
namespace {

bool names(const char* variable, const char* kernel) {
  const char* const text = std::getenv(variable);
  return text && *text && std::strstr(kernel, text);
}

/// Somebody else traces this process and never looks: killed, it stays, as one that waits in the
/// kernel's driver does.
void refuse_to_end() {
  const pid_t self = getpid();
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  int ready[2];
  if (pipe(ready) != 0) return;
  if (fork() == 0) {
    setsid();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
    const bool traces = ptrace(PTRACE_SEIZE, self, nullptr, nullptr) == 0;
    for (int fd = 0; fd < 64; fd++)
      if (fd != ready[1]) close(fd);
    (void)!write(ready[1], "", 1);
    close(ready[1]);
    if (traces) sleep(600);
    _exit(0);
  }
  char done;
  (void)!read(ready[0], &done, 1);
}

}  // namespace

void wait_for_start() {
  const char* const milliseconds = std::getenv("FAKE_CUDA_INIT_MS");
  if (!milliseconds) return;
  const char* const path = std::getenv("FAKE_CUDA_AWAKE");
  const int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  const bool is_asleep = file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0;
  if (file >= 0) close(file);
  if (is_asleep) usleep(useconds_t(std::strtoul(milliseconds, nullptr, 10) * 1000));
}

void hold_awake() {
  static const int file = [] {
    const char* const path = std::getenv("FAKE_CUDA_AWAKE");
    const int opened = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (opened >= 0) (void)flock(opened, LOCK_SH);
    return opened;
  }();
  (void)file;
}

void hang_in(const char* kernel) {
  if (!names("FAKE_CUDA_HANG", kernel)) return;
  if (std::getenv("FAKE_CUDA_UNKILLABLE")) refuse_to_end();
  for (;;) pause();
}

bool is_wrong(const char* kernel) { return names("FAKE_CUDA_WRONG", kernel); }
bool races() { return std::getenv("FAKE_CUDA_RACES") != nullptr; }

}  // namespace ingot::cuda
