// SPDX-License-Identifier: Apache-2.0
// tools/files/failure.h - how everything on the host fails: an exit code of design 8 and one line
// of text.
#pragma once
#include <exception>
#include <string>

namespace ingot::host {

/// Exit codes of the command line; a contract with scripts. Each is a number where one is wanted,
/// and no number is one.
struct ExitCodes {
  enum Exit : int {
    kOk = 0,
    kUsage = 1,    // the command line itself
    kCorrupt = 2,  // a file is damaged or not what it claims to be
    // a file asks for something that is refused on principle (pickled objects, paths outside)
    kUnsafe = 3,
    kUnsupported = 4,  // an operator, attribute or format that is not supported
    kMismatch = 5,     // a key, name, shape, type or dimension does not fit
    kCheckFailed = 6,  // the outputs are not the expected ones
    kUnavailable = 7,  // device, memory, disk or file
    kInternal = 8,     // internal error
  };
};
using Exit = ExitCodes::Exit;

/// Thrown on the host. The text is one line: "where: what is wrong, expected and found; what to
/// do". An end of a line in a name that it quotes becomes a space.
class Failure : public std::exception {
 public:
  Failure(Exit exit, std::string message) : exit_(exit), message_(std::move(message)) {
    for (char& c : message_)
      if (c == '\n' || c == '\r') c = ' ';
  }
  Exit exit() const { return exit_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }

 private:
  Exit exit_;
  std::string message_;
};

[[noreturn]] inline void fail(Exit exit, std::string message) {
  throw Failure(exit, std::move(message));
}

}  // namespace ingot::host
