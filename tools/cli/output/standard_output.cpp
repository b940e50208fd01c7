// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output/standard_output.h"

#if defined(INGOT_WRAP_STDOUT)
// A C library whose `stdout` is a constant (musl): the linker puts the names of this file in the
// place of the library's (--wrap, tools/cli/standard_output.cmake). Of the functions that print
// without naming a stream the program calls these four; one more needs its wrapper here, or it
// prints past the guard.
#include <cstdarg>

extern "C" {
extern FILE* const __real_stdout;
// what every mention of `stdout` means
FILE* __wrap_stdout = __real_stdout;

int __wrap_vprintf(const char* format, va_list arguments) {
  return vfprintf(__wrap_stdout, format, arguments);
}
int __wrap_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = vfprintf(__wrap_stdout, format, arguments);
  va_end(arguments);
  return count;
}
int __wrap_puts(const char* line) {
  return fputs(line, __wrap_stdout) < 0 || fputc('\n', __wrap_stdout) < 0 ? EOF : 0;
}
int __wrap_putchar(int byte) { return fputc(byte, __wrap_stdout); }
}

namespace ingot::cli {
void replace_standard_output(FILE* stream) { __wrap_stdout = stream; }
}  // namespace ingot::cli

#else

namespace ingot::cli {
void replace_standard_output(FILE* stream) { stdout = stream; }
}  // namespace ingot::cli

#endif
