// SPDX-License-Identifier: Apache-2.0
// pipeline.hpp - thin C++17 over pipeline.h, as ingot.hpp is over ingot.h: throws nothing,
// allocates nothing itself.
#ifndef INGOT_PIPELINE_HPP_
#define INGOT_PIPELINE_HPP_

#include "ingot.hpp"
#include "pipeline.h"

namespace ingot {

inline ingot_pipeline_options pipeline_options() { return INGOT_INIT(ingot_pipeline_options); }

/// Items through a session: fill one while another is computed. docs/pipeline.md.
class Pipeline : public Owner<ingot_pipeline, ingot_pipeline_destroy> {
 public:
  using Owner::Owner;
  static Result<Pipeline> create(const Model& model,
                                 const ingot_pipeline_options& options = pipeline_options()) {
    Error error;
    ingot_pipeline* pipeline = nullptr;
    if (ingot_pipeline_create(model.get(), &options, &pipeline, &error)) return error;
    return Pipeline(pipeline);
  }
  /// `fill` writes the inputs of the next slot where they lie: fill(*this), which asks for
  /// input<T>(key). It gives nothing or a Result<void>: one that is an error is given on, and the
  /// slot is not pushed.
  template <class Fill>
  Result<void> push(Fill&& fill) {
    using Filled = decltype(fill(*this));
    static_assert(std::is_void_v<Filled> || std::is_same_v<Filled, Result<void>>,
                  "fill gives nothing or Result<void>");
    if (auto acquired = acquire(); !acquired) return acquired;
    if constexpr (std::is_void_v<Filled>) {
      fill(*this);
    } else if (auto filled = fill(*this); !filled) {
      return filled;
    }
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
  Result<void> finish() {
    if (const ingot_code code = ingot_pipeline_finish(object_)) return Error(code);
    return {};
  }
  void cancel() { ingot_pipeline_cancel(object_); }
  /// The number of the oldest item, whose outputs can be read until release(). INGOT_NOT_FOUND: the
  /// end. On an error of a run the item is in *failed, if that is given.
  Result<uint64_t> pop(uint64_t* failed = nullptr) {
    return popped(
        [this](uint64_t* item, Error* error) { return ingot_pipeline_pop(object_, item, error); },
        failed);
  }
  /// pop() that sleeps no longer than until `deadline_ns` of ingot_clock_ns().
  /// INGOT_DEADLINE_EXCEEDED: the item goes on, and is given later.
  Result<uint64_t> pop_until(uint64_t deadline_ns, uint64_t* failed = nullptr) {
    return popped(
        [this, deadline_ns](uint64_t* item, Error* error) {
          return ingot_pipeline_pop_until(object_, deadline_ns, item, error);
        },
        failed);
  }
  Result<void> release() {
    return checked([&](ingot_error* e) { return ingot_pipeline_release(object_, e); });
  }
  /// Of the slot that is acquired (inputs) or popped (outputs), by index or name.
  /// INGOT_WRONG_STATE: none is.
  Result<ingot_tensor> input(PortKey key) const {
    return view(ingot_pipeline_input, detail::Kind::kInput, key);
  }
  Result<ingot_tensor> output(PortKey key) const {
    return view(ingot_pipeline_output, detail::Kind::kOutput, key);
  }
  template <class T>
  Result<Elements<T>> input(PortKey key) const {
    return detail::typed<T>(input(key), model(), detail::Kind::kInput, key);
  }
  template <class T>
  Result<Elements<T>> output(PortKey key) const {
    return detail::typed<T>(output(key), model(), detail::Kind::kOutput, key);
  }
  const ingot_model* model() const { return ingot_session_model(ingot_pipeline_session(object_)); }

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
  Result<ingot_tensor> view(Call call, detail::Kind kind, const PortKey& key) const {
    return detail::view(call, object_, model(), kind, key);
  }
};

}  // namespace ingot

#endif  // INGOT_PIPELINE_HPP_
