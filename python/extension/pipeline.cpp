// SPDX-License-Identifier: Apache-2.0
// pipeline.cpp - slots that Python fills and reads.
#include "python/extension/pipeline.h"

#include <nanobind/stl/string.h>

#include <utility>

#include "python/extension/failure.h"
#include "python/extension/interpreter.h"
#include "python/extension/session.h"

namespace ingot::python {

/// One thread fills and one reads; a third is refused.
class Pipeline::Use {
 public:
  Use(const Pipeline& pipeline, std::atomic<bool>* side) : open_(pipeline.open_), side_(side) {
    if (!open_)
      throw Failure(INGOT_WRONG_STATE, "pipeline: it is closed", "make another from the model");
    if (side->exchange(true))
      throw Failure(INGOT_WRONG_STATE, "pipeline: another thread is in this call or its like",
                    "one thread fills slots, one reads them");
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { *side_ = false; }
  ingot_pipeline* get() const { return open_->pipeline; }
  const std::shared_ptr<OpenPipeline>& shared() const { return open_; }

 private:
  std::shared_ptr<OpenPipeline> open_;  // close() on another thread waits for the call's end
  std::atomic<bool>* side_;
};

OpenPipeline::~OpenPipeline() {
  if (!pipeline) return;
  const Unlocked unlocked;
  ingot_pipeline_destroy(pipeline);
}

Pipeline::Pipeline(const Model& model, nb::dict options, uint32_t depth, bool two_threads) {
  SessionOptions session(options);
  ingot_pipeline_options pipeline = INGOT_INIT(ingot_pipeline_options);
  pipeline.session = session.get();
  pipeline.depth = depth;
  pipeline.flags = two_threads ? INGOT_PIPELINE_TWO_THREADS : 0;
  auto open = std::make_shared<OpenPipeline>();
  open->model = model.shared();
  open->pool = session.pool();
  open->arena.take(session.take_arena());
  ingot_error error = {};
  check_made(ingot_pipeline_create(model.get(), &pipeline, &open->pipeline, &error), error,
             model.get());
  open_ = std::move(open);
}

uint32_t Pipeline::find(const Use& use, bool is_input, nb::handle which) {
  if (nb::isinstance<nb::str>(which)) {
    const std::string name = text_of(which, "port");
    const ingot_model* model = use.shared()->model->model;
    const int32_t index =
        (is_input ? ingot_model_find_input : ingot_model_find_output)(model, name.c_str());
    if (index < 0) throw Failure(INGOT_NOT_FOUND, is_input ? "inputs" : "outputs", "", name);
    return uint32_t(index);
  }
  int64_t index = 0;
  if (!nb::try_cast(which, index) || index < 0 || index > INT32_MAX)
    throw nb::type_error("port: expected its name or its index");
  return uint32_t(index);
}

uint32_t Pipeline::free_slots() { return open_ ? ingot_pipeline_free(open_->pipeline) : 0; }

void Pipeline::acquire() {
  const Use use(*this, &is_filled_);
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_pipeline_acquire(use.get(), &error);
  }
  check(code, error);
}

ingot_tensor Pipeline::input_tensor(const Use& use, nb::handle which, std::string* out_name) {
  const uint32_t index = find(use, true, which);
  ingot_tensor tensor;
  check(ingot_pipeline_input(use.get(), index, &tensor), "input: no slot is acquired");
  ingot_value_type type;
  check(ingot_model_input(use.shared()->model->model, index, &type), "input index");
  *out_name = type.name;
  return tensor;
}

nb::object Pipeline::input_array(nb::handle which) {
  const Use use(*this, &is_filled_);
  std::string name;
  return array_of(input_tensor(use, which, &name), use.shared());
}

void Pipeline::write(nb::handle which, nb::handle array) {
  const Use use(*this, &is_filled_);
  std::string name;
  const ingot_tensor to = input_tensor(use, which, &name);
  const HeldArray held(array, name, Access::kRead, to.dtype);
  if (held.on_device())
    throw Failure(INGOT_INVALID_ARGUMENT, "input: slots are filled from memory of the CPU", "",
                  name);
  check_type(to, held.tensor(), name);
  copy_rows(held.tensor(), to);
}

void Pipeline::push() {
  const Use use(*this, &is_filled_);
  ingot_error error = {};
  check(ingot_pipeline_push(use.get(), &error), error);
}

void Pipeline::finish() {
  const Use use(*this, &is_filled_);
  check(ingot_pipeline_finish(use.get()), "finish");
}

nb::object Pipeline::pop(nb::handle timeout) {
  const Use use(*this, &is_read_);
  const uint64_t deadline_ns = deadline_of(timeout);
  ingot_error error = {};
  uint64_t item = UINT64_MAX;
  ingot_code code;
  {
    const Unlocked unlocked;
    code = timeout.is_none() ? ingot_pipeline_pop(use.get(), &item, &error)
                             : ingot_pipeline_pop_until(use.get(), deadline_ns, &item, &error);
  }
  if (code == INGOT_NOT_FOUND && item == UINT64_MAX) return nb::none();
  if (code != INGOT_OK) {
    Failure failure(error);
    if (item != UINT64_MAX) failure.add("item " + std::to_string(item) + " of the pipeline");
    throw failure;
  }
  return nb::int_(item);
}

nb::object Pipeline::output_array(nb::handle which) {
  const Use use(*this, &is_read_);
  ingot_tensor tensor;
  check(ingot_pipeline_output(use.get(), find(use, false, which), &tensor),
        "output: no item was popped, or there is no such output");
  return array_of(tensor, use.shared());
}

void Pipeline::release() {
  const Use use(*this, &is_read_);
  ingot_error error = {};
  check(ingot_pipeline_release(use.get(), &error), error);
}

void Pipeline::cancel() {
  if (open_) ingot_pipeline_cancel(open_->pipeline);
}

void Pipeline::close() {
  if (!open_) return;
  ingot_pipeline_cancel(open_->pipeline);
  open_.reset();
}

void bind_pipeline(nb::module_& m) {
  nb::class_<Pipeline>(m, "Pipeline")
      .def(nb::init<const Model&, nb::dict, uint32_t, bool>(), nb::arg("model"), nb::arg("options"),
           nb::arg("depth"), nb::arg("two_threads"))
      .def_prop_ro("free", &Pipeline::free_slots)
      .def("acquire", &Pipeline::acquire,
           "Waits for a free slot, whose inputs are then to be filled.")
      .def("input", &Pipeline::input_array, nb::arg("which").none(),
           "Of the acquired slot, to be filled; not to be touched after push().")
      .def("write", &Pipeline::write, nb::arg("which").none(), nb::arg("array").none(),
           "Copies an array into an input of the acquired slot.")
      .def("push", &Pipeline::push, "Hands the acquired slot over to be computed.")
      .def("finish", &Pipeline::finish, "No more items follow: pop() gives None behind the last.")
      .def("pop", &Pipeline::pop, nb::arg("timeout") = nb::none(),
           "Waits for the oldest item: its number, or None behind the last.")
      .def("output", &Pipeline::output_array, nb::arg("which").none(),
           "Of the popped item, until release().")
      .def("release", &Pipeline::release,
           "Gives the popped slot back; its outputs are no longer valid.")
      .def("cancel", &Pipeline::cancel,
           "From any thread: ends it. Calls that wait, and all later ones, raise Cancelled.")
      .def("close", &Pipeline::close, "Gives back the arenas and the threads now.")
      .def_prop_ro("closed", &Pipeline::is_closed);
}

}  // namespace ingot::python
