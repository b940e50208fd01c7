// SPDX-License-Identifier: Apache-2.0
// tests/cuda/emulated.h - small kernels in the emulator, and whether it ends the process for one.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/emulate/emulator.h"

namespace ingot::test {

/// Runs body() in every thread of `blocks` blocks.
template <class Body>
void launch(unsigned blocks, unsigned threads, uint32_t shared_bytes, Body body) {
  cuda::emulate::launch(
      {blocks, 1, 1}, threads, shared_bytes,
      [](const void* b) { (*static_cast<const Body*>(b))(); }, &body);
}

/// Runs body in a child; whether it aborted.
template <class Body>
bool aborts(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    signal(SIGABRT, SIG_DFL);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace ingot::test
