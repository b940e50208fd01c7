// SPDX-License-Identifier: Apache-2.0
// options.h - ingot_session_options from the keyword arguments of Model.session().
#ifndef INGOT_PYTHON_OPTIONS_H_
#define INGOT_PYTHON_OPTIONS_H_

#include <ingot/ingot.h>
#include <nanobind/nanobind.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/extension/arrays.h"

namespace nb = nanobind;

namespace ingot::python {

/// Threads that several sessions share; a session keeps its pool alive.
struct Pool {
  explicit Pool(int32_t threads);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { ingot_pool_destroy(pool); }
  ingot_pool* pool = nullptr;
};

/// Bindings with the names that they point to.
class Bindings {
 public:
  void read(nb::handle mapping, const char* argument);
  const ingot_binding* data() const { return bindings_.empty() ? nullptr : bindings_.data(); }
  size_t size() const { return bindings_.size(); }

 private:
  std::deque<std::string> names_;  // which do not move
  std::vector<ingot_binding> bindings_;
};

/// An array that a session works in, until the session is destroyed: arrays over it included, since
/// tables of the session lie in it.
class CallerArena {
 public:
  CallerArena() = default;
  CallerArena(const CallerArena&) = delete;
  CallerArena& operator=(const CallerArena&) = delete;
  ~CallerArena() { leave(); }
  /// Refuses memory that another session works in. An array that is none is no memory.
  void take(HeldArray array);

 private:
  void leave();
  HeldArray array_;
  uintptr_t begin_ = 0, end_ = 0;
};

/// Options and what they point to. Keys of the dict are the fields of ingot_session_options, with
/// "flags" as a number, "pool" as a Pool, and "arena" as None, a limit in bytes, a writable
/// array, or "caller": an array that is yet to be made.
class SessionOptions {
 public:
  explicit SessionOptions(nb::dict given);
  SessionOptions(const SessionOptions&) = delete;
  SessionOptions& operator=(const SessionOptions&) = delete;

  const ingot_session_options* get() const { return &options_; }
  /// What must outlive the session.
  HeldArray take_arena() { return std::move(arena_); }
  std::shared_ptr<Pool> pool() const { return pool_; }

 private:
  ingot_session_options options_;
  std::string device_;
  Bindings bindings_, upper_bounds_;
  HeldArray arena_;
  std::shared_ptr<Pool> pool_;
};

/// Of a session or pipeline that was refused, with the words of Python's arguments.
void check_made(ingot_code code, const ingot_error& error, const ingot_model* model);

nb::dict requirements_dict(const ingot_requirements& need);

void bind_pool(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_OPTIONS_H_
