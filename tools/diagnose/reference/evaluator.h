// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/reference/evaluator.h - runs a graph of a conversion in double, naively: the
// operators that importers give and those of core form. A test evaluates a graph before and after a
// pass; nothing here shares code with the passes or the kernels.
#pragma once
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::reference {

using Dimensions = std::vector<int64_t>;

struct Tensor {
  Dimensions dims;
  std::vector<double> at;
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

/// Row-major walk over dims: calls visit(index vector) for each element in order.
template <class Visit>
void for_each_index(const Dimensions& dims, Visit visit) {
  Dimensions at(dims.size(), 0);
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  for (int64_t i = 0; i < count; i++) {
    visit(at);
    for (size_t k = dims.size(); k-- > 0;) {
      if (++at[k] < dims[k]) break;
      at[k] = 0;
    }
  }
}
int64_t offset_of(const Dimensions& dims, const Dimensions& at);
/// The element that index `at` of an output reads from a tensor that broadcasts to it.
double broadcast_at(const Tensor& t, const Dimensions& at);

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Evaluator {
 public:
  /// A value beside those that are set here, or null; what it points to must outlive this.
  using Known = std::function<const Tensor*(graph::ValueId)>;
  explicit Evaluator(const graph::Model& model, std::map<std::string, int64_t> bindings = {},
                     Known known = nullptr)
      : model_(model), bindings_(std::move(bindings)), known_(std::move(known)) {}
  void set(graph::ValueId id, Tensor tensor) { values_[id] = std::move(tensor); }
  const Tensor& get(graph::ValueId id);
  /// Moves a value out.
  Tensor take(graph::ValueId id) { return std::move(values_.at(id)); }
  bool has(const graph::Node& node, size_t i) const {
    return i < node.inputs.size() && node.inputs[i] >= 0;
  }
  /// Operand i.
  const Tensor& in(const graph::Node& node, size_t i) { return get(node.inputs[i]); }
  /// Declared dims of output i, when its shape is known.
  bool declared(const graph::Node& node, size_t i, Dimensions& dims) const;
  int64_t number(const graph::Dim& dim) const { return dim.evaluate(bindings_); }
  Dimensions numbers(const graph::Dims& dims) const;
  DType dtype(graph::ValueId id) const { return model_.values[size_t(id)].dtype; }

  /// @throws std::runtime_error for an operator that it does not know or an output whose dims
  /// differ from what is declared.
  void run(const graph::Graph& graph);
  void run(const graph::Node& node);

 private:
  void run_loop(const graph::Node& node);
  const graph::Model& model_;
  std::map<std::string, int64_t> bindings_;
  Known known_;
  std::map<graph::ValueId, Tensor> values_;
};

// By family; empty when the operator is not theirs. One tensor for each output.
std::vector<Tensor> evaluate_elementwise(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_spatial(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_frame(Evaluator& e, const graph::Node& node);  // of a camera
// products, reductions, softmax, norms
std::vector<Tensor> evaluate_rows(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_movement(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_indexed(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_attention(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_quantized(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_dynamic(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_blocks(Evaluator& e, const graph::Node& node);
std::vector<Tensor> evaluate_recurrent(Evaluator& e, const graph::Node& node);
/// The activation of a core-form producer; empty when it has none.
std::function<double(double)> activation_of(const graph::Node& node);

}  // namespace ingot::reference
