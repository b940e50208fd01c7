// SPDX-License-Identifier: Apache-2.0
// model.h - an open file, shared by what is made of it.
#ifndef INGOT_PYTHON_MODEL_H_
#define INGOT_PYTHON_MODEL_H_

#include <ingot/ingot.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>

#include "python/extension/arrays.h"

namespace nb = nanobind;

namespace ingot::python {

/// The ingot_model and the memory that it was opened in. Sessions keep it alive, so that the order
/// in which Python drops objects does not matter.
struct OpenModel {
  ingot_model* model = nullptr;
  HeldArray bytes;                 // the caller's, where the model is used in place
  std::shared_ptr<Memory> copied;  // of bytes that were not aligned
  OpenModel() = default;
  OpenModel(const OpenModel&) = delete;
  OpenModel& operator=(const OpenModel&) = delete;
  ~OpenModel() { ingot_model_destroy(model); }
};

/// Of Python's `_ingot.Model`: immutable, for any thread.
class Model {
 public:
  /// `path`: the bytes that the system has, which need not be UTF-8. isa: a str or None.
  static Model open_file(nb::bytes path, ingot_trust trust, ingot_map map, nb::handle isa);
  static Model open_bytes(nb::handle bytes, ingot_trust trust, nb::handle isa);

  const std::shared_ptr<OpenModel>& shared() const { return open_; }
  ingot_model* get() const { return open_->model; }

 private:
  std::shared_ptr<OpenModel> open_;
};

void bind_model(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_MODEL_H_
