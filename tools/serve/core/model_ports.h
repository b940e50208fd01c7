// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/model_ports.h - inputs, outputs and dynamic dimensions of a model as it is
// served: what a request may ask for, and which dimension requests are joined along.
// Threads  const calls: any.
#pragma once
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.hpp"
#include "tools/serve/core/job.h"

namespace ingot::serve {

struct OpenDimension {
  std::string name;
  int64_t low = 1;
  int64_t high = 0;  // what a session has room for; equals low where it cannot be chosen
};

class ModelPorts {
 public:
  /// @param max_rows of the batch dimension: the first of every input and output, where that is one
  /// dynamic dimension; none of a model with state
  ModelPorts(const Model& model, int64_t max_rows);

  const std::vector<ingot_value_type>& inputs() const { return inputs_; }
  const std::vector<ingot_value_type>& outputs() const { return outputs_; }
  const std::vector<OpenDimension>& dimensions() const { return dimensions_; }
  /// Whether it keeps state from run to run: its requests belong to sequences.
  bool has_state() const { return has_state_; }
  /// Index of the batch dimension, or -1.
  int32_t batch() const { return batch_; }
  int64_t max_rows() const { return batch_ < 0 ? 0 : dimensions_[size_t(batch_)].high; }

  /// Finds each port of the request, checks names, types, shapes and sizes, and adds the outputs
  /// that nobody named. @throws ServeError kInvalid
  void resolve(Job* job) const;
  /// Checks what is known of an input before its elements: its name, type and shape.
  /// @throws ServeError kInvalid
  void check_input(const InputTensor& input) const;
  /// As many bytes as a request needs at most, as JSON or as bytes; none is inflated to more.
  uint64_t largest_body() const { return largest_body_; }
  /// Whether both may be computed in one run.
  bool agree(const Job& a, const Job& b) const;

 private:
  void find_batch();
  uint64_t body_limit() const;
  const ingot_value_type& port_of(const InputTensor& input) const;
  void resolve_shape(const InputTensor& input, Job* job) const;
  std::vector<ingot_value_type> inputs_, outputs_;
  std::vector<OpenDimension> dimensions_;
  int32_t batch_ = -1;
  bool has_state_ = false;
  uint64_t largest_body_ = 0;
};

/// "[-1,3,224,224]".
std::string shape_text(const ingot_value_type& type);
std::string shape_text(const Extents& shape);
/// False where it does not fit 64 bits or an extent is negative.
bool tensor_bytes(ingot_dtype dtype, const Extents& shape, uint64_t* bytes);

}  // namespace ingot::serve
