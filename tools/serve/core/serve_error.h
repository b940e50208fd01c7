// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/serve_error.h - why a request is refused: a code that each protocol has its own
// number for, and one line for the client.
#pragma once
#include <exception>
#include <string>
#include <utility>

namespace ingot::serve {

enum class Refusal {
  kInvalid,       // the request itself: malformed, names, shapes, types
  kUnauthorized,  // no token, or another
  kForbidden,     // a page of another origin, a host name that is not served
  kNotFound,      // no such model, version, region, path
  kTooLarge,      // beyond a limit on sizes
  kBusy,          // a queue or the memory for requests is full; later it may be served
  kDeadline,      // the client's time is over, or the server's for one run
  kCancelled,     // the client has gone
  kUnavailable,   // the server drains, or the model is not ready
  kUnsupported,   // what the protocol has and this server has not
  kInternal,      // the run failed
};

class ServeError : public std::exception {
 public:
  /// @param field of the client's document that is at fault, @param code of OpenAI's; "": none
  ServeError(Refusal why, std::string text, std::string field = "", const char* code = "")
      : why_(why), text_(std::move(text)), field_(std::move(field)), code_(code) {
    if (text_.size() <= kMaxText) return;
    text_.resize(kMaxText);  // it repeats a name of the client's, which may be as long as a body
    text_ += "...";
  }
  Refusal why() const { return why_; }
  const std::string& text() const { return text_; }
  const std::string& field() const { return field_; }
  const char* code() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  static constexpr size_t kMaxText = 1000;
  Refusal why_;
  std::string text_, field_;
  const char* code_;
};

/// The request itself is at fault: sent again, it would be refused again.
constexpr bool is_of_client(Refusal why) {
  return why == Refusal::kInvalid || why == Refusal::kUnauthorized || why == Refusal::kForbidden ||
         why == Refusal::kNotFound || why == Refusal::kTooLarge || why == Refusal::kUnsupported;
}

[[noreturn]] inline void refuse(Refusal why, std::string text, std::string field = "",
                                const char* code = "") {
  throw ServeError(why, std::move(text), std::move(field), code);
}

}  // namespace ingot::serve
