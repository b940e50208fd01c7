// SPDX-License-Identifier: Apache-2.0
// session_use.h - one thread at a time in a session.
#ifndef INGOT_PYTHON_SESSION_USE_H_
#define INGOT_PYTHON_SESSION_USE_H_

#include <unistd.h>

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
    unsigned long user = 0;
    if (!session->user_.compare_exchange_strong(user, PyThread_get_thread_ident()))
      refuse(*session, user);
    if (session->is_started_ && allowed == kIdle) {
      session->user_ = 0;
      throw Failure(INGOT_WRONG_STATE, "session: a run was started and has not ended",
                    "await it first");
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { session_->user_ = 0; }

 private:
  [[noreturn]] static void refuse(const Session& session, unsigned long user) {
    if (getpid() != session.process_)
      throw Failure(INGOT_WRONG_STATE, "session: a thread was using it when the process was forked",
                    "make another in the child");
    if (user == PyThread_get_thread_ident())
      throw Failure(INGOT_WRONG_STATE, "session: called from inside a call of its own",
                    "an array that is asked for its memory may not use the session that asks");
    throw Failure(INGOT_WRONG_STATE, "session: another thread is using it",
                  "make one for each thread; they share the model's weights");
  }

  Session* session_;
};

}  // namespace ingot::python

#endif  // INGOT_PYTHON_SESSION_USE_H_
