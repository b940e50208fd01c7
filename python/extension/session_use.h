// session_use.h - one thread at a time in a session.
#ifndef INGOT_PYTHON_SESSION_USE_H_
#define INGOT_PYTHON_SESSION_USE_H_

#include "python/extension/failure.h"
#include "python/extension/session.h"

namespace ingot::python {

/// Holds the session for a call. Refuses at once, since to wait would hide that two threads write
/// the same inputs.
class Session::Use {
 public:
  enum Allowed { kIdle, kAlsoStarted };
  explicit Use(Session* session, Allowed allowed = kIdle) : session_(session) {
    if (!session->open_)
      throw Failure(INGOT_WRONG_STATE, "session: it is closed", "make another from the model");
    if (session->is_used_.exchange(true))
      throw Failure(INGOT_WRONG_STATE, "session: another thread is using it",
                    "make one for each thread; they share the model's weights");
    if (session->is_started_ && allowed == kIdle) {
      session->is_used_ = false;
      throw Failure(INGOT_WRONG_STATE, "session: a run was started and has not ended",
                    "await it first");
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { session_->is_used_ = false; }

 private:
  Session* session_;
};

}  // namespace ingot::python

#endif  // INGOT_PYTHON_SESSION_USE_H_
