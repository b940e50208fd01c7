// SPDX-License-Identifier: Apache-2.0
// pipeline.h - items that flow through a session of their own.
#ifndef INGOT_PYTHON_PIPELINE_H_
#define INGOT_PYTHON_PIPELINE_H_

#include <ingot/pipeline.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <string>

#include "python/extension/model.h"
#include "python/extension/options.h"

namespace nb = nanobind;

namespace ingot::python {

/// Arrays over its slots keep it alive.
struct OpenPipeline {
  ingot_pipeline* pipeline = nullptr;
  std::shared_ptr<OpenModel> model;
  std::shared_ptr<Pool> pool;
  CallerArena arena;
  OpenPipeline() = default;
  OpenPipeline(const OpenPipeline&) = delete;
  OpenPipeline& operator=(const OpenPipeline&) = delete;
  ~OpenPipeline();
};

/// Of Python's `_ingot.Pipeline`: one thread fills and one reads, the same one unless two_threads.
class Pipeline {
 public:
  Pipeline(const Model& model, nb::dict options, uint32_t depth, bool two_threads);

  uint32_t free_slots();
  void acquire();
  nb::object input_array(nb::handle which);
  void write(nb::handle which, nb::handle array);
  void push();
  void finish();
  /// Number of the item, or None behind the last one.
  nb::object pop(nb::handle timeout);
  nb::object output_array(nb::handle which);
  void release();
  void cancel();
  void close();
  bool is_closed() const { return !open_; }

 private:
  class Use;
  static uint32_t find(const Use& use, bool is_input, nb::handle which);
  static ingot_tensor input_tensor(const Use& use, nb::handle which, std::string* out_name);

  std::shared_ptr<OpenPipeline> open_;
  std::atomic<bool> is_filled_ = false, is_read_ = false;  // by a thread, now
};

void bind_pipeline(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_PIPELINE_H_
