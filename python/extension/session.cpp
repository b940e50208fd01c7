// SPDX-License-Identifier: Apache-2.0
// session.cpp - making, binding and asking sessions.
#include "python/extension/session.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "python/extension/failure.h"
#include "python/extension/interpreter.h"
#include "python/extension/session_use.h"

namespace ingot::python {

OpenSession::~OpenSession() {
  if (!session) return;
  const Unlocked unlocked;  // threads of the session are joined
  ingot_session_destroy(session);
}

std::shared_ptr<OpenSession> open_session(const std::shared_ptr<OpenModel>& model,
                                          nb::dict options) {
  SessionOptions session_options(options);
  auto open = std::make_shared<OpenSession>();
  open->arena.take(session_options.take_arena());
  open->model = model;
  open->pool = session_options.pool();
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_session_create(model->model, session_options.get(), &open->session, &error);
  }
  check_made(code, error, model->model);
  return open;
}

Session::Session(const Model& model, nb::dict options, int ended_fd)
    : open_(open_session(model.shared(), options)), ended_fd_(ended_fd), process_(getpid()) {
  ingot_model_summary summary = INGOT_INIT(ingot_model_summary);
  check(ingot_model_summarize(model.get(), &summary), "model");
  for (const bool is_input : {true, false}) {
    std::vector<SessionPort>& list = ports(is_input);
    list.resize(is_input ? summary.input_count : summary.output_count);
    for (size_t i = 0; i < list.size(); i++) {
      ingot_value_type type;
      check((is_input ? ingot_model_input : ingot_model_output)(model.get(), uint32_t(i), &type),
            "port");
      list[i].name = type.name;
      PyObject* key = PyUnicode_InternFromString(type.name);
      if (!key) throw nb::python_error();
      list[i].key = nb::steal(key);
    }
  }
  fed_.resize(inputs_.size());
  is_fed_.resize(inputs_.size());
  results_.resize(outputs_.size());
  read_ports();
}

Session::~Session() {
  if (!open_ || !is_started_) return;
  ingot_session_cancel(open_->session);
  const Unlocked unlocked;
  ingot_session_wait(open_->session, nullptr);  // nothing that it reads may go before
}

void Session::read_ports() {
  for (const bool is_input : {true, false}) {
    std::vector<SessionPort>& list = ports(is_input);
    for (size_t i = 0; i < list.size(); i++) {
      check((is_input ? ingot_session_input : ingot_session_output)(open_->session, uint32_t(i),
                                                                    &list[i].place),
            "port");
      list[i].shape = shape_of(list[i].place);
      list[i].bound.release();
    }
  }
}

void Session::refuse_name(bool is_input, const std::string& name) {
  std::vector<std::string> names;
  for (const SessionPort& port : ports(is_input)) names.push_back(port.name);
  Failure failure(INGOT_NOT_FOUND, is_input ? "inputs" : "outputs", "", name);
  failure.add_names(names);
  throw failure;
}

size_t Session::find(bool is_input, nb::handle which) {
  const std::vector<SessionPort>& list = ports(is_input);
  if (nb::isinstance<nb::str>(which)) {
    for (size_t i = 0; i < list.size(); i++)
      if (list[i].key.is(which)) return i;
    for (size_t i = 0; i < list.size(); i++)
      if (list[i].key.equal(which)) return i;
    refuse_name(is_input, text_of(which, "port"));
  }
  int64_t index = 0;
  if (!nb::try_cast(which, index)) throw nb::type_error("port: expected its name or its index");
  if (index < 0 || uint64_t(index) >= list.size())
    throw Failure(INGOT_NOT_FOUND, is_input ? "input index" : "output index", "", {}, list.size(),
                  uint64_t(index));
  return size_t(index);
}

nb::object Session::port_array(bool is_input, nb::handle which) {
  const Use use(this);
  const size_t index = find(is_input, which);
  const SessionPort& port = ports(is_input)[index];
  if (port.is_bound()) return nb::borrow(port.bound.object());
  ingot_tensor now;
  check((is_input ? ingot_session_input : ingot_session_output)(open_->session, uint32_t(index),
                                                                &now),
        "port");
  if (!now.data)
    throw Failure(INGOT_WRONG_STATE, "port: bound by nobody, and the arena has no place for it",
                  "bind_input() or bind_output() gives it one", port.name);
  return array_of(now, open_);
}

void Session::bind_port(bool is_input, nb::handle which, nb::handle array) {
  const Use use(this);
  const size_t index = find(is_input, which);
  SessionPort& port = ports(is_input)[index];
  ingot_error error = {};
  const auto bind = is_input ? ingot_session_bind_input : ingot_session_bind_output;
  if (array.is_none()) {
    check(bind(open_->session, uint32_t(index), nullptr, &error), error);
    port.bound.release();
    return;
  }
  HeldArray held(array, port.name, is_input ? Access::kRead : Access::kWrite, port.place.dtype);
  const auto bind_device =
      is_input ? ingot_session_bind_device_input : ingot_session_bind_device_output;
  check((held.on_device() ? bind_device : bind)(open_->session, uint32_t(index), &held.tensor(),
                                                &error),
        error);
  port.bound = std::move(held);
}

void Session::rebind(nb::dict bindings) {
  const Use use(this);
  Bindings given;
  given.read(bindings, "rebind");
  ingot_error error = {};
  check(ingot_session_rebind(open_->session, given.data(), given.size(), &error), error);
  read_ports();
}

nb::object Session::state_array(nb::handle which) {
  const Use use(this);
  int64_t index = -1;
  if (nb::isinstance<nb::str>(which)) {
    const std::string name = text_of(which, "state");
    index = ingot_model_find_state(open_->model->model, name.c_str());
    if (index < 0) {
      std::vector<std::string> names;
      auto state = INGOT_INIT(ingot_state);
      while (!ingot_model_state(open_->model->model, uint32_t(names.size()), &state))
        names.push_back(state.type.name);
      Failure failure(INGOT_NOT_FOUND, "states", "", name);
      failure.add_names(names);
      throw failure;
    }
  } else if (!nb::try_cast(which, index) || index < 0) {
    throw nb::type_error("state: expected its name or its index");
  }
  ingot_tensor tensor;
  check(ingot_session_state(open_->session, uint32_t(index), &tensor), "state");
  return array_of(tensor, open_);
}

nb::object Session::value_array(nb::handle which) {
  const Use use(this);
  const std::string name = text_of(which, "value");
  const int32_t index = ingot_model_find_value(open_->model->model, name.c_str());
  if (index < 0) throw Failure(INGOT_NOT_FOUND, "values", "", name);
  ingot_tensor tensor;
  ingot_error error = {};
  check(ingot_session_value(open_->session, uint32_t(index), &tensor, &error), error);
  return array_of(tensor, open_);
}

nb::bytes Session::save_state() {
  const Use use(this);
  ingot_error error = {};
  uint64_t bytes = 0;
  check(ingot_session_save_state(open_->session, nullptr, 0, &bytes, &error), error);
  std::string saved(bytes, '\0');
  check(ingot_session_save_state(open_->session, saved.data(), bytes, &bytes, &error), error);
  return nb::bytes(saved.data(), saved.size());
}

void Session::restore_state(nb::handle bytes) {
  const Use use(this);
  if (!PyObject_CheckBuffer(bytes.ptr()))
    throw nb::type_error("state: expected the bytes that save_state() gave");
  const HeldArray saved(bytes, "state", Access::kRead);
  if (saved.on_device() || ingot_dtype_bytes(saved.tensor().dtype) != 1)
    throw nb::type_error("state: expected the bytes that save_state() gave");
  ingot_error error = {};
  check(ingot_session_restore_state(open_->session, saved.tensor().data, saved.tensor().bytes,
                                    &error),
        error);
}

void Session::reset_state() {
  const Use use(this);
  ingot_error error = {};
  check(ingot_session_reset_state(open_->session, &error), error);
}

void Session::check_state() {
  const Use use(this);
  ingot_error error = {};
  check(ingot_session_check_state(open_->session, &error), error);
}

void Session::park() {
  const Use use(this);
  ingot_error error = {};
  check(ingot_session_park(open_->session, &error), error);
}

nb::dict Session::requirements() {
  const Use use(this);
  ingot_requirements need = INGOT_INIT(ingot_requirements);
  check(ingot_session_requirements(open_->session, &need), "requirements");
  return requirements_dict(need);
}

nb::dict Session::placement() {
  const Use use(this);
  ingot_placement placement = INGOT_INIT(ingot_placement);
  check(ingot_session_placement(open_->session, &placement), "placement");
  nb::dict d;
  d["device"] = placement.device;
  d["reason"] = placement.reason;
  d["isa"] = placement.isa;
  d["threads"] = placement.threads;
  d["threads_reason"] = placement.threads_reason;
  d["instructions"] = placement.instructions;
  return d;
}

nb::dict Session::counters() {
  const Use use(this);
  ingot_counters counters = INGOT_INIT(ingot_counters);
  check(ingot_session_counters(open_->session, &counters), "counters");
  nb::dict d;
  d["runs"] = counters.runs;
  d["wakes"] = counters.wakes;
  d["waits"] = counters.waits;
  d["alone"] = counters.alone;
  return d;
}

nb::list Session::memory() {
  const Use use(this);
  ingot_memory_report report = INGOT_INIT(ingot_memory_report);
  check(ingot_session_memory(open_->session, &report), "memory");
  nb::list rows;
  for (uint32_t i = 0; i < report.row_count; i++)
    rows.append(
        nb::make_tuple(report.rows[i].owner, report.rows[i].bytes, bool(report.rows[i].in_arena)));
  return rows;
}

void Session::cancel() {
  if (open_) ingot_session_cancel(open_->session);
}

void Session::close() {
  if (!open_) return;
  const Use use(this, Use::kAlsoStarted);
  if (is_started_) {
    ingot_session_cancel(open_->session);
    const Unlocked unlocked;
    ingot_session_wait(open_->session, nullptr);
  }
  is_started_ = false;
  unbind();
  for (const bool is_input : {true, false})
    for (SessionPort& port : ports(is_input)) port.bound.release();
  open_.reset();
}

namespace {

/// In one line; nanobind's own lists every signature. An overload of its own costs run() nothing.
nb::dict refuse_keyword(Session&, nb::args, nb::kwargs given) {
  std::string text = "run: no argument";
  for (const char* known : {"outputs", "copy", "timeout"})
    if (given.contains(known)) nb::del(given[known]);
  for (auto [name, value] : given) text += " '" + nb::cast<std::string>(name) + "'";
  text += "; there are: outputs, copy, timeout, and inputs by position";
  throw nb::type_error(text.c_str());
}

}  // namespace

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session")
      .def(nb::init<const Model&, nb::dict, int>(), nb::arg("model"), nb::arg("options"),
           nb::arg("ended_fd") = -1)
      .def("run", &Session::run, nb::arg("inputs"), nb::arg("outputs") = nb::none(),
           nb::arg("copy") = nb::none(), nb::arg("timeout") = nb::none(),
           "Computes every output: run({\"x\": array}), run(array), or run() where inputs are "
           "bound.\n"
           "\n"
           "Arrays of at least 32 KiB at a multiple of 64 bytes are read where they lie; smaller "
           "ones,\n"
           "which are copied faster than bound, and others are copied (copied_bytes). copy=False "
           "copies\n"
           "nothing and refuses what is not aligned. Outputs are new arrays, the arrays in "
           "`outputs`, or\n"
           "those of bind_output(). timeout: seconds.")
      .def("run", refuse_keyword)  // whatever the first does not take
      .def("execute", &Session::execute, nb::arg("timeout") = nb::none(),
           "Runs on what lies in the ports: input() was filled, output() is read. Copies nothing.")
      .def("_begin", &Session::begin, nb::arg("inputs"), nb::arg("outputs") = nb::none(),
           nb::arg("copy") = nb::none(), nb::arg("timeout") = nb::none())
      .def("_end", &Session::end, nb::arg("was_cancelled") = false)
      .def("cancel", &Session::cancel,
           "From any thread: ends the run in progress, or else the next one.")
      .def("close", &Session::close,
           "Gives back the arena and the threads now; a closed session refuses every call.")
      .def_prop_ro("closed", &Session::is_closed)
      .def(
          "input", [](Session& s, nb::handle which) { return s.port_array(true, which); },
          nb::arg("which").none(),
          "An input where the run reads it. Write it before every execute().")
      .def(
          "output", [](Session& s, nb::handle which) { return s.port_array(false, which); },
          nb::arg("which").none(), "An output where execute() left it: valid until the next run.")
      .def(
          "bind_input",
          [](Session& s, nb::handle which, nb::handle array) { s.bind_port(true, which, array); },
          nb::arg("which").none(), nb::arg("array").none(),
          "From now on every run reads this array, on a device too; None: the arena's again.")
      .def(
          "bind_output",
          [](Session& s, nb::handle which, nb::handle array) { s.bind_port(false, which, array); },
          nb::arg("which").none(), nb::arg("array").none(),
          "From now on every run writes into this array, on a device too; None: the arena's again.")
      .def("_rebind", &Session::rebind, nb::arg("bindings"))
      .def("state", &Session::state_array, nb::arg("which").none(),
           "A state variable where it lies; may be written between runs.")
      .def("value", &Session::value_array, nb::arg("name").none(),
           "Any value after a run; intermediates with keep_values=True.")
      .def("save_state", &Session::save_state,
           "All state variables; another session, device or day goes on with the same bits.")
      .def("restore_state", &Session::restore_state, nb::arg("state").none(),
           "Goes on from what save_state() gave, of this or another session.")
      .def("reset_state", &Session::reset_state, "Gives every state variable its initial value.")
      .def("check_state", &Session::check_state, "Raises where an element is not a number.")
      .def("park", &Session::park,
           "Gives the pages of activations back to the system until the next run.")
      .def("_requirements", &Session::requirements)
      .def("placement", &Session::placement,
           "device, reason, isa, threads, threads_reason, instructions.")
      .def("counters", &Session::counters, "runs, wakes, waits, alone.")
      .def("memory", &Session::memory, "Who holds what: owner, bytes, whether in the arena.")
      .def_prop_ro("copied_bytes", &Session::copied_bytes);
}

}  // namespace ingot::python
