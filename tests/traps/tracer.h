// SPDX-License-Identifier: Apache-2.0
// tests/traps/tracer.h - system calls of a child's first thread, counted from outside (ptrace)
// between two marks.
#pragma once
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace ingot::test {

constexpr int kMark = SYS_getppid;  // called by nobody else
constexpr int kDriverMark =
    // FakeCuda::mark_call: its argument is 1 at the entry of a call of the driver, 0 at its end
    SYS_getpgid;

struct Counted {
  long most_wakes = 0, most_waits = 0, wakes = 0, waits = 0, runs = 0;
  // entries into the fake driver of a GPU, whose own system calls are not the runtime's
  long driver_calls = 0;
  std::map<long, long> others;
  int exit_code = -1;
};

/// Counts the system calls of the child's first thread between marks.
class Tracer {
 public:
  explicit Tracer(pid_t child) : child_(child) {}

  Counted trace() {
    for (int status = 0; waitpid(child_, &status, 0) == child_;) {
      if (WIFEXITED(status)) return counted_.exit_code = WEXITSTATUS(status), counted_;
      if (WIFSIGNALED(status)) return counted_.exit_code = 128 + WTERMSIG(status), counted_;
      int signal = 0;
      if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        see_stop();
      else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
        signal = WSTOPSIG(status);
      ptrace(PTRACE_SYSCALL, child_, nullptr, signal);
    }
    return counted_;
  }

 private:
  void see_stop() {
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
      return;
    const long number = long(info.entry.nr);
    if (number == kMark) return mark();
    if (!inside_) return;
    if (number == kDriverMark) {
      in_driver_ = info.entry.args[0] != 0;
      counted_.driver_calls += in_driver_;
    }
    if (in_driver_ || number == kDriverMark) return;
    const long operation = number == SYS_futex ? long(info.entry.args[1]) & FUTEX_CMD_MASK : -1;
    if (operation == FUTEX_WAKE)
      wakes_++;
    else if (operation == FUTEX_WAIT)
      waits_++;
    else
      counted_.others[number]++;
  }
  void mark() {
    inside_ = !inside_;
    if (inside_) {
      wakes_ = waits_ = 0;
      return;
    }
    counted_.runs++;
    counted_.wakes += wakes_;
    counted_.waits += waits_;
    counted_.most_wakes = std::max(counted_.most_wakes, wakes_);
    counted_.most_waits = std::max(counted_.most_waits, waits_);
  }

  pid_t child_;
  bool inside_ = false, in_driver_ = false;
  long wakes_ = 0, waits_ = 0;
  Counted counted_;
};

}  // namespace ingot::test
