// SPDX-License-Identifier: Apache-2.0
// session.h - a session, its ports, and runs on arrays of Python.
#ifndef INGOT_PYTHON_SESSION_H_
#define INGOT_PYTHON_SESSION_H_

#include <ingot/ingot.h>
#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "python/extension/arrays.h"
#include "python/extension/model.h"
#include "python/extension/options.h"

namespace nb = nanobind;

namespace ingot::python {

/// The ingot_session and what it points to. Arrays over its arena keep it alive after the session
/// was closed or dropped.
struct OpenSession {
  ingot_session* session = nullptr;
  std::shared_ptr<OpenModel> model;
  std::shared_ptr<Pool> pool;
  CallerArena arena;
  OpenSession() = default;
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;
  ~OpenSession();
};

/// `options` is that of SessionOptions.
std::shared_ptr<OpenSession> open_session(const std::shared_ptr<OpenModel>& model,
                                          nb::dict options);

struct SessionPort {
  std::string name;
  nb::object key, dtype, shape;  // name, numpy.dtype and extents as Python has them
  ingot_tensor place = {};       // in the arena; data is null where the caller binds all ports
  HeldArray bound;               // by bind_input() and bind_output()
  bool is_bound() const { return bound.object().is_valid(); }
};

/// Whether run() may copy an input or output that it cannot use where it lies.
enum class Copies { kIfNeeded, kNever };

/// Of Python's `_ingot.Session`. One thread at a time: another one that comes meanwhile gets
/// INGOT_WRONG_STATE, as does everybody after close(). cancel() may come from any thread.
class Session {
 public:
  /// ended_fd: an eventfd that gets 1 when a started run has ended, or -1.
  Session(const Model& model, nb::dict options, int ended_fd);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  nb::dict run(nb::args inputs, nb::handle outputs, nb::handle copy, nb::handle timeout);
  void execute(nb::handle timeout);
  void begin(nb::args inputs, nb::handle outputs, nb::handle copy, nb::handle timeout);
  /// was_cancelled: cancel() was called since begin().
  nb::dict end(bool was_cancelled);
  void cancel();
  void close();
  bool is_closed() const { return !open_; }

  nb::object port_array(bool is_input, nb::handle which);
  void bind_port(bool is_input, nb::handle which, nb::handle array);
  void rebind(nb::dict bindings);
  nb::object state_array(nb::handle which);
  nb::object value_array(nb::handle which);
  nb::bytes save_state();
  void restore_state(nb::handle bytes);
  void reset_state();
  void check_state();
  void park();
  nb::dict requirements();
  nb::dict placement();
  nb::dict counters();
  nb::list memory();
  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  class Use;
  /// What a run has beside the session's own bindings.
  struct Output {
    nb::object memory;  // of a fresh array that is bound
    HeldArray given;    // through `outputs`
    bool is_bound = false;
  };

  void read_ports();
  std::vector<SessionPort>& ports(bool is_input) { return is_input ? inputs_ : outputs_; }
  size_t find(bool is_input, nb::handle which);
  [[noreturn]] void refuse_name(bool is_input, const std::string& name);
  void prepare(nb::args inputs, nb::handle outputs, Copies copies);
  void feed(size_t index, nb::handle array, Copies copies);
  void direct(size_t index, nb::handle array, Copies copies);
  void place_outputs();
  nb::dict collect();
  nb::object take_output(size_t index, const ingot_tensor& now);
  void unbind() noexcept;
  void bind_for_run(bool is_input, size_t index, const ingot_tensor& tensor);

  std::shared_ptr<OpenSession> open_;
  std::vector<SessionPort> inputs_, outputs_;
  std::vector<HeldArray> fed_;  // by input, where it is read where it lies
  std::vector<bool> is_fed_;
  std::vector<Output> results_;
  std::atomic<unsigned long> user_ = 0;  // thread that is in a call, by its identifier; 0: none
  bool is_started_ = false;
  int ended_fd_;
  pid_t process_;              // that made it
  uint64_t copied_bytes_ = 0;  // of inputs and outputs, by the last run
};

/// 0: none. Seconds from now as a time of ingot_clock_ns().
uint64_t deadline_of(nb::handle timeout);
/// Refuses what the port's type does not have, with the words of ingot_session_bind_input().
void check_type(const ingot_tensor& port, const ingot_tensor& given, const std::string& name);
/// Rows of equal extents, each with its own distance; returns the bytes.
uint64_t copy_rows(const ingot_tensor& from, const ingot_tensor& to);

void bind_session(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_SESSION_H_
