// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/ml_emitter.h - the nodes that an operator of ai.onnx.ml becomes, written one
// behind the other. Inside tools/import/onnx only.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/tensor_math.h"
#include "tools/import/onnx/call.h"

namespace ingot::onnx {

class MlEmitter {
 public:
  explicit MlEmitter(Call& c) : call(c) {}
  using Attributes = graph::Attributes;

  ValueId operator()(graph::Operator op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const ValueId y = call.temporary(text(op));
    call.emit(op, std::move(inputs), {y}).attributes = std::move(attributes);
    return y;
  }
  /// What the operator gives.
  void give(size_t output, ValueId x) {
    if (call.wants(output)) call.emit(op::Identity, {x}, {call.output(output)});
  }
  ValueId cast(ValueId x, DType to) { return (*this)(op::Cast, {x}, {{attr::to, int64_t(to)}}); }
  ValueId number(double x, DType dtype = DType::kF32) {
    return constant(graph::make_scalar(dtype, x));
  }
  ValueId floats(std::vector<int64_t> dims, const std::vector<double>& all,
                 DType dtype = DType::kF32) {
    return constant(graph::make_floating(dtype, std::move(dims), all));
  }
  ValueId integers(std::vector<int64_t> dims, const std::vector<int64_t>& all,
                   DType dtype = DType::kI64) {
    return constant(graph::make_integer(dtype, std::move(dims), all));
  }
  ValueId constant(graph::Constant constant) {
    return call.translator().model.add_constant("numbers", std::move(constant));
  }
  ValueId over(graph::Operator op, ValueId x, int64_t axis, bool keep) {
    return (*this)(op, {x},
                   {{attr::axes, std::vector<int64_t>{axis}}, {attr::keepdims, int64_t(keep)}});
  }

  Call& call;
};

/// post_transform of scores [N, E]: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT.
ValueId post_transform(MlEmitter& ml, ValueId scores, const std::string& name);

/// The labels of a classifier and what it makes of its scores.
class ClassLabels {
 public:
  explicit ClassLabels(MlEmitter& ml);
  int64_t count() const { return count_; }
  /// Of the largest score in each row.
  ValueId of_largest(ValueId scores);
  /// Of the second class where the condition holds, else of the first. @pre count() == 2
  ValueId of_two(ValueId condition);

 private:
  MlEmitter& ml_;
  ValueId labels_ = kAbsent;
  int64_t count_ = 0;
};

// One per family, in import_ml_<family>.cpp.
void add_ml_trees(TranslateTable& table);
void add_ml_linear(TranslateTable& table);
void add_ml_features(TranslateTable& table);

}  // namespace ingot::onnx
