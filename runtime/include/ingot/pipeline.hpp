// pipeline.hpp - thin C++17 over pipeline.h, as ingot.hpp is over ingot.h: throws nothing, allocates nothing itself.
#ifndef INGOT_PIPELINE_HPP_
#define INGOT_PIPELINE_HPP_

#include "ingot.hpp"
#include "pipeline.h"

namespace ingot {

inline ingot_pipeline_options pipeline_options() {
  ingot_pipeline_options options{};
  options.size = sizeof options;
  return options;
}

/// Items through a session: fill one while another is computed. docs/pipeline.md.
class Pipeline : public Owner<ingot_pipeline, ingot_pipeline_destroy> {
 public:
  using Owner::Owner;
  static Result<Pipeline> create(const Model& model, const ingot_pipeline_options& options = pipeline_options()) {
    Error error;
    ingot_pipeline* pipeline = nullptr;
    if (ingot_pipeline_create(model.get(), &options, &pipeline, &error)) return error;
    return Pipeline(pipeline);
  }
  /// `fill` writes the inputs of the next slot where they lie: fill(*this), which asks for input<T>(i). Its answer, if it has one, does not count.
  template <class Fill>
  Result<void> push(Fill&& fill) {
    if (auto acquired = acquire(); !acquired) return acquired;
    fill(*this);
    return push();
  }
  Result<void> acquire() {
    return checked([&](ingot_error* e) { return ingot_pipeline_acquire(object_, e); });
  }
  Result<void> push() {
    return checked([&](ingot_error* e) { return ingot_pipeline_push(object_, e); });
  }
  /// Slots that push() finds without waiting.
  uint32_t free() const { return ingot_pipeline_free(object_); }
  void finish() { ingot_pipeline_finish(object_); }
  void cancel() { ingot_pipeline_cancel(object_); }
  /// The number of the oldest item, whose outputs can be read until release(). INGOT_NOT_FOUND: the end. On an error of a run the item is in
  /// *failed, if that is given.
  Result<uint64_t> pop(uint64_t* failed = nullptr) {
    return popped([this](uint64_t* item, Error* error) { return ingot_pipeline_pop(object_, item, error); }, failed);
  }
  /// pop() that sleeps no longer than until `deadline_ns` of ingot_clock_ns(). INGOT_DEADLINE_EXCEEDED: the item goes on, and is given later.
  Result<uint64_t> pop_until(uint64_t deadline_ns, uint64_t* failed = nullptr) {
    return popped(
        [this, deadline_ns](uint64_t* item, Error* error) {
          return ingot_pipeline_pop_until(object_, deadline_ns, item, error);
        },
        failed);
  }
  void release() { ingot_pipeline_release(object_, nullptr); }
  /// Data is null when there is no such port, or no slot is acquired (inputs) or popped (outputs).
  ingot_tensor input(uint32_t index) const { return view(ingot_pipeline_input, index); }
  ingot_tensor output(uint32_t index) const { return view(ingot_pipeline_output, index); }
  template <class T>
  Elements<T> input(uint32_t index) const {
    return elements<T>(input(index));
  }
  template <class T>
  Elements<T> output(uint32_t index) const {
    return elements<T>(output(index));
  }

 private:
  template <class Call>
  static Result<uint64_t> popped(Call call, uint64_t* failed) {
    Error error;
    uint64_t item = UINT64_MAX;
    const ingot_code code = call(&item, &error);
    if (failed) *failed = code ? item : UINT64_MAX;
    if (code) return error;
    return item;
  }
  template <class Call>
  ingot_tensor view(Call call, uint32_t index) const {
    ingot_tensor tensor{};
    call(object_, index, &tensor);
    return tensor;
  }
};

}  // namespace ingot

#endif  // INGOT_PIPELINE_HPP_
