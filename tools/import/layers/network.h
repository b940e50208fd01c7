// SPDX-License-Identifier: Apache-2.0
// tools/import/layers/network.h - a graph made of layers, for sources that name layers and not
// operators (Keras, Flux): inputs bound by options, weights as constants, activations and recurrent
// cells by what they compute, outputs with names.
// Errors   graph::ConversionError, as tools/import/onnx/import.h has them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/aten/builder.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::layers {

using aten::Refused;
using graph::kAbsent;
using graph::ValueId;

/// Numbers of a weight, row-major, and its extents.
struct Weight {
  std::vector<int64_t> dims;
  std::vector<float> values;
};
/// Elements in another order of axes: axis i of the result is axis perm[i] of `weight`.
Weight transposed(const Weight& weight, const std::vector<int64_t>& perm);

/// One recurrent layer: weights in ONNX's layout, gates in ONNX's order (LSTM i o f c, GRU z r h).
struct Recurrent {
  graph::Operator op = graph::Operator::kNone;  // LSTM, GRU, RNN
  int64_t hidden = 0;
  Weight input, state;  // [directions, gates * hidden, in], [directions, gates * hidden, hidden]
  Weight bias;          // [directions, 2 * gates * hidden]; no dims: none
  std::string direction = "forward";
  std::vector<std::string> activations;  // of one direction, ONNX's names
  std::vector<double> alphas, betas;
  bool linear_before_reset = false;
  // h, and c of an LSTM, [directions, batch, hidden]; none: zeros
  std::vector<ValueId> initial = {};
  ValueId lengths = kAbsent;  // i32 [batch], steps of each sequence; none: all
};

/// [in, gates * hidden] to [gates * hidden, in] with the gates in another order; appended to `out`.
void append_gates(const Weight& weight, int64_t hidden, const std::vector<size_t>& order,
                  std::vector<float>* out);
/// The same of a bias; zeros for null.
void append_bias(const float* from, int64_t hidden, const std::vector<size_t>& order,
                 std::vector<float>* out);

class Network {
 public:
  Network(const std::string& file, const std::string& format,
          const importer::ImportOptions& options);

  graph::Model model;
  aten::Builder b;

  const importer::ImportOptions& options() const { return options_; }
  /// Extents that are not known are -1 and become the symbol of that place, unless an option binds
  /// it.
  ValueId input(const std::string& name, DType dtype, const std::vector<int64_t>& dims,
                const std::vector<std::string>& symbols);
  /// As float32; other types are widened, which is reported.
  Weight weight(const checkpoint::Tensor& tensor);
  ValueId constant(const Weight& weight);
  ValueId constant(std::vector<float> values, std::vector<int64_t> dims) {
    return constant(Weight{std::move(dims), std::move(values)});
  }
  ValueId scalar(double value) { return b.scalar(DType::kF32, value); }

  /// `name` of either framework without its underscores and in lower case: "relu", "hardsigmoid".
  /// @throws Refused.
  ValueId activation(ValueId x, const std::string& name, int64_t softmax_axis);
  /// x [steps, batch, in] to {Y [steps, directions, batch, hidden], Y_h [directions, batch,
  /// hidden], Y_c (LSTM alone)}.
  std::vector<ValueId> recurrent(const Recurrent& cell, ValueId x);
  /// What is kept from run to run, zeros at first: an input of that name. keep() says what it
  /// becomes. @throws Refused where there is one of that name, or an extent is open.
  ValueId state(const std::string& name, const graph::Dims& dims, DType dtype = DType::kF32);
  void keep(ValueId state, ValueId next);
  /// Pairs of ports that finish() made, to be kept.
  const std::vector<importer::State>& states() const { return states_; }
  /// A layer that is converted in its inference form: said once for each kind.
  void said_inference(const std::string& kind) { inference_.insert(kind); }

  /// Folds, gives the outputs their names and refuses what was gathered, all of it.
  graph::Model finish(std::vector<std::pair<std::string, ValueId>> outputs);

 private:
  struct Kept {
    ValueId before = graph::kAbsent, next = graph::kAbsent;
  };
  graph::Dim open_dim(const std::string& input, size_t axis, const std::string& symbol);
  void check_options() const;

  std::string file_;
  const importer::ImportOptions& options_;
  std::map<std::string, graph::Dim> bound_;
  std::set<std::string> symbols_, inference_;
  std::map<std::string, size_t> widened_;
  std::vector<Kept> kept_;
  std::vector<importer::State> states_;
};

/// "hardsigmoid" of "hard_sigmoid", "HardSigmoid".
std::string plain_name(const std::string& name);
/// ONNX's name of an activation that a recurrent cell can have, with alpha and beta; "" for none.
struct CellActivation {
  std::string name;
  double alpha = 0, beta = 0;
};
CellActivation cell_activation(const std::string& plain);

}  // namespace ingot::layers
