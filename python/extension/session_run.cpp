// SPDX-License-Identifier: Apache-2.0
// session_run.cpp - runs on arrays: inputs read and outputs written where they lie, if they can be.
//
// A port is bound for one run where that saves a copy: to bind walks over the operands of the
// program (some 2 ns each), so that a small array is copied faster than it is bound.
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "python/extension/interpreter.h"
#include "python/extension/session_use.h"

namespace ingot::python {
namespace {

constexpr uint64_t kInPlaceBytes = 32 << 10;  // where copying takes as long as binding

Copies copies_of(nb::handle copy) {
  if (copy.is_none()) return Copies::kIfNeeded;
  if (copy.is(Py_False)) return Copies::kNever;
  throw nb::type_error("copy: expected None (where needed) or False (never)");
}

bool is_dense(const ingot_tensor& tensor) {
  return tensor.rank < 2 || tensor.row_stride == 0 ||
         tensor.row_stride == tensor.dims[tensor.rank - 1];
}

bool same_extents(const ingot_tensor& a, const ingot_tensor& b) {
  return a.rank == b.rank && std::memcmp(a.dims, b.dims, size_t(a.rank) * sizeof a.dims[0]) == 0;
}

uint64_t dense_bytes(const ingot_tensor& tensor) {
  uint64_t bytes = ingot_dtype_bytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; i++) bytes *= uint64_t(tensor.dims[i]);
  return bytes;
}

void run_ended(void* user) {
  const uint64_t one = 1;
  const int fd = int(reinterpret_cast<intptr_t>(user));
  (void)!write(fd, &one, sizeof one);
}

}  // namespace

uint64_t deadline_of(nb::handle timeout) {
  if (timeout.is_none()) return 0;
  double seconds = 0;
  if (!nb::try_cast(timeout, seconds)) throw nb::type_error("timeout: expected seconds");
  if (!(seconds >= 0)) throw nb::value_error("timeout: expected 0 or more seconds");
  constexpr double kMaxSeconds = 3e9;  // some 95 years: what 64 bits of nanoseconds hold
  return ingot_clock_ns() + uint64_t(std::fmin(seconds, kMaxSeconds) * 1e9);
}

void check_type(const ingot_tensor& port, const ingot_tensor& given, const std::string& name) {
  if (given.dtype != port.dtype)
    throw Failure(INGOT_DTYPE_MISMATCH, "tensor.dtype", "see numpy.ndarray.astype()", name,
                  uint64_t(port.dtype), uint64_t(given.dtype));
  if (given.rank != port.rank)
    throw Failure(INGOT_SHAPE_MISMATCH, "tensor.rank", "", name, uint64_t(port.rank),
                  uint64_t(given.rank));
  static const char* const kAxes[] = {"tensor.dims[0]", "tensor.dims[1]", "tensor.dims[2]",
                                      "tensor.dims[3]", "tensor.dims[4]", "tensor.dims[5]",
                                      "tensor.dims[6]", "tensor.dims[7]"};
  static_assert(sizeof kAxes / sizeof *kAxes == INGOT_MAX_RANK);
  for (int i = 0; i < port.rank; i++)
    if (given.dims[i] != port.dims[i])
      throw Failure(INGOT_SHAPE_MISMATCH, kAxes[i], "", name, uint64_t(port.dims[i]),
                    uint64_t(given.dims[i]));
}

uint64_t copy_rows(const ingot_tensor& from, const ingot_tensor& to) {
  const uint64_t bytes = dense_bytes(from);
  if (!bytes) return 0;
  if (is_dense(from) && is_dense(to)) {
    std::memcpy(to.data, from.data, size_t(bytes));
    return bytes;
  }
  const uint64_t item = ingot_dtype_bytes(from.dtype);
  const uint64_t row = item * uint64_t(from.dims[from.rank - 1]);
  for (uint64_t i = 0; i < bytes / row; i++)
    std::memcpy(static_cast<char*>(to.data) + i * item * uint64_t(to.row_stride),
                static_cast<const char*>(from.data) + i * item * uint64_t(from.row_stride),
                size_t(row));
  return bytes;
}

void Session::bind_for_run(bool is_input, size_t index, const ingot_tensor& tensor) {
  ingot_error error = {};
  check((is_input ? ingot_session_bind_input : ingot_session_bind_output)(
            open_->session, uint32_t(index), &tensor, &error),
        error);
}

/// Puts an input where the run reads it, or lets the run read it where it lies.
void Session::feed(size_t index, nb::handle array, Copies copies) {
  SessionPort& port = inputs_[index];
  if (is_fed_[index]) throw Failure(INGOT_INVALID_ARGUMENT, "input: given twice", "", port.name);
  if (port.is_bound())
    throw Failure(INGOT_WRONG_STATE, "input: it is bound", "bind_input(name, None) frees it",
                  port.name);
  HeldArray held(array, port.name, Access::kRead, port.place.dtype);
  if (held.on_device())
    throw Failure(INGOT_INVALID_ARGUMENT, "input: run() reads memory of the CPU",
                  "bind_input() lets a session on that device read it", port.name);
  const ingot_tensor& given = held.tensor();
  check_type(port.place, given, port.name);
  const bool may_copy = copies == Copies::kIfNeeded && port.place.data;
  const bool as_it_lies = held.is_aligned() && given.row_stride == port.place.row_stride;
  if (may_copy && (given.bytes < kInPlaceBytes || !as_it_lies)) {
    copied_bytes_ += copy_rows(given, port.place);
  } else {
    bind_for_run(true, index, given);
    fed_[index] = std::move(held);
  }
  is_fed_[index] = true;
}

/// Lets the run write an output into an array of the caller's.
void Session::direct(size_t index, nb::handle array, Copies copies) {
  SessionPort& port = outputs_[index];
  Output& output = results_[index];
  if (port.is_bound())
    throw Failure(INGOT_WRONG_STATE, "output: it is bound", "bind_output(name, None) frees it",
                  port.name);
  output.given = HeldArray(array, port.name, Access::kWrite, port.place.dtype);
  if (output.given.on_device())
    throw Failure(INGOT_INVALID_ARGUMENT, "output: run() writes memory of the CPU",
                  "bind_output() lets a session on that device write it", port.name);
  const ingot_tensor& given = output.given.tensor();
  check_type(port.place, given, port.name);
  if (copies == Copies::kIfNeeded && port.place.data &&
      (!output.given.is_aligned() || given.row_stride != port.place.row_stride))
    return;  // copied when the run has ended
  bind_for_run(false, index, given);
  output.is_bound = true;
}

/// Memory for large outputs that nobody gave any: the array that run() returns.
void Session::place_outputs() {
  for (size_t i = 0; i < outputs_.size(); i++) {
    const SessionPort& port = outputs_[i];
    Output& output = results_[i];
    if (port.is_bound() || output.given.object().is_valid()) continue;
    if (port.place.data && (port.place.bytes < kInPlaceBytes || !is_dense(port.place))) continue;
    output.memory = nb::cast(new Memory(size_t(port.place.bytes)), nb::rv_policy::take_ownership);
    ingot_tensor tensor = port.place;
    tensor.data = nb::inst_ptr<Memory>(output.memory)->data();
    bind_for_run(false, i, tensor);
    output.is_bound = true;
  }
}

void Session::prepare(nb::args inputs, nb::handle outputs, Copies copies) {
  copied_bytes_ = 0;
  const size_t count = inputs.size();
  if (count == 1 && nb::isinstance<nb::dict>(inputs[0])) {
    for (auto [name, array] : nb::borrow<nb::dict>(inputs[0]))
      feed(find(true, name), array, copies);
  } else {
    size_t next = 0;
    for (nb::handle array : inputs) {
      while (next < inputs_.size() && inputs_[next].is_bound()) next++;
      if (next == inputs_.size())
        throw Failure(INGOT_NOT_FOUND, "positional inputs", "inputs that are bound do not count",
                      {}, inputs_.size(), count);
      feed(next++, array, copies);
    }
  }
  for (size_t i = 0; i < inputs_.size(); i++)
    if (!is_fed_[i] && !inputs_[i].is_bound())
      throw Failure(INGOT_NOT_FOUND, "input: neither given nor bound",
                    "execute() runs on what session.input() was filled with", inputs_[i].name);
  if (!outputs.is_none()) {
    if (!nb::isinstance<nb::dict>(outputs))
      throw nb::type_error("outputs: expected a dict of names and arrays");
    for (auto [name, array] : nb::borrow<nb::dict>(outputs))
      direct(find(false, name), array, copies);
  }
  place_outputs();
}

/// Ports go back to the arena, and arrays that were held for the run are let go.
void Session::unbind() noexcept {
  for (size_t i = 0; i < inputs_.size(); i++) {
    is_fed_[i] = false;
    if (!fed_[i].object().is_valid()) continue;
    // Where the caller binds all ports there is no place to go back to; the next run binds again.
    if (inputs_[i].place.data)
      ingot_session_bind_input(open_->session, uint32_t(i), nullptr, nullptr);
    fed_[i].release();
  }
  for (size_t i = 0; i < outputs_.size(); i++) {
    Output& output = results_[i];
    if (std::exchange(output.is_bound, false) && outputs_[i].place.data)
      ingot_session_bind_output(open_->session, uint32_t(i), nullptr, nullptr);
    output.memory.reset();
    output.given.release();
  }
}

nb::object Session::take_output(size_t index, const ingot_tensor& now) {
  SessionPort& port = outputs_[index];
  Output& output = results_[index];
  const bool is_whole = same_extents(now, port.place);
  if (port.is_bound() || output.given.object().is_valid()) {
    const bool is_given = !port.is_bound();
    nb::object array = nb::borrow(is_given ? output.given.object() : port.bound.object());
    if (is_given && !output.is_bound) {
      ingot_tensor to = output.given.tensor();
      std::memcpy(to.dims, now.dims, sizeof to.dims);
      copied_bytes_ += copy_rows(now, to);
    }
    if (is_whole) return array;
    nb::list cuts;  // the data decided on smaller extents
    for (int i = 0; i < now.rank; i++) cuts.append(nb::slice(Py_ssize_t(now.dims[i])));
    return array[nb::tuple(cuts)];
  }
  if (!port.dtype.is_valid()) port.dtype = numpy_dtype(now.dtype);
  const nb::object shape = is_whole ? port.shape : nb::object(shape_of(now));
  if (output.is_bound) return array_over(output.memory, port.dtype, shape, now);
  ingot_tensor dense = now;
  dense.bytes = dense_bytes(now);
  dense.row_stride = now.rank ? now.dims[now.rank - 1] : 0;
  auto* memory = new Memory(size_t(dense.bytes));
  const nb::object held = nb::cast(memory, nb::rv_policy::take_ownership);
  dense.data = memory->data();
  copied_bytes_ += copy_rows(now, dense);
  return array_over(held, port.dtype, shape, dense);
}

nb::dict Session::collect() {
  nb::dict arrays;
  for (size_t i = 0; i < outputs_.size(); i++) {
    ingot_tensor now;
    check(ingot_session_output(open_->session, uint32_t(i), &now), "output");
    const nb::object array = take_output(i, now);
    if (PyDict_SetItem(arrays.ptr(), outputs_[i].key.ptr(), array.ptr()) != 0)
      throw nb::python_error();
  }
  return arrays;
}

namespace {

/// Calls when it goes, whatever ended the scope.
template <class F>
struct AtEnd {
  F f;
  ~AtEnd() { f(); }
};
template <class F>
AtEnd(F) -> AtEnd<F>;

ingot_code run_until(ingot_session* session, uint64_t deadline_ns, ingot_error* error) {
  const Unlocked unlocked;
  return deadline_ns ? ingot_session_run_until(session, deadline_ns, error)
                     : ingot_session_run(session, error);
}

}  // namespace

nb::dict Session::run(nb::args inputs, nb::handle outputs, nb::handle copy, nb::handle timeout) {
  const Use use(this);
  const Copies copies = copies_of(copy);
  const uint64_t deadline_ns = deadline_of(timeout);
  const AtEnd end{[this] { unbind(); }};
  prepare(inputs, outputs, copies);
  ingot_error error = {};
  check(run_until(open_->session, deadline_ns, &error), error);
  return collect();
}

void Session::execute(nb::handle timeout) {
  const Use use(this);
  const uint64_t deadline_ns = deadline_of(timeout);
  ingot_error error = {};
  check(run_until(open_->session, deadline_ns, &error), error);
}

void Session::begin(nb::args inputs, nb::handle outputs, nb::handle copy, nb::handle timeout) {
  const Use use(this);
  if (ended_fd_ < 0)
    throw Failure(INGOT_WRONG_STATE, "session: it was made without asynchronous=True",
                  "make it with that, or call run() in a thread");
  if (getpid() != process_)
    throw Failure(INGOT_THREAD_FAILED, "session: in the child of a fork, where its thread is not",
                  "run() computes here, or make a session here");
  const Copies copies = copies_of(copy);
  const uint64_t deadline_ns = deadline_of(timeout);
  try {
    prepare(inputs, outputs, copies);
    ingot_error error = {};
    check(ingot_session_start_with(open_->session, deadline_ns, run_ended,
                                   reinterpret_cast<void*>(intptr_t(ended_fd_)), &error),
          error);
  } catch (...) {
    unbind();
    throw;
  }
  is_started_ = true;
}

nb::dict Session::end(bool was_cancelled) {
  const Use use(this, Use::kAlsoStarted);
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_session_wait(open_->session, &error);
    // The run had ended before it saw the cancellation, which would now end the next one: it is
    // spent on a run that gives up before its first instruction.
    if (was_cancelled && code != INGOT_CANCELLED) ingot_session_run(open_->session, nullptr);
  }
  is_started_ = false;
  const AtEnd end{[this] { unbind(); }};
  check(code, error);
  return collect();
}

}  // namespace ingot::python
