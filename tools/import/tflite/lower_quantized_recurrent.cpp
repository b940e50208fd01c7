// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_recurrent.cpp - recurrent layers of int8, and of int16 beside
// weights of int8, whose cells have 16 bits, in whole numbers of 64 bits, step by step: LiteRT's
// kernels and TFLite Micro's, which alone has int16.
#include <algorithm>
#include <cmath>

#include "tools/files/work_budget.h"
#include "tools/import/tflite/fixed_point.h"
#include "tools/import/tflite/quantized_channels.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// Functions of 16 bits as tables, one behind the other.
ValueId tables(aten::Builder& b, const std::vector<std::function<int32_t(int32_t)>>& functions) {
  std::vector<int16_t> all;
  host::charge_memory(functions.size() << 17);
  for (const auto& function : functions)
    for (int32_t x = INT16_MIN; x <= INT16_MAX; x++) all.push_back(int16_t(function(x)));
  return b.constant(graph::make_constant(DType::kI16, {int64_t(all.size())}, all.data()));
}

/// The four gates' weights side by side.
struct Gates {
  ValueId weights = kAbsent;      // of bytes: f32 [inputs, outputs]
  std::vector<float> scales;      // of each gate
  Weights words;                  // beside int16: [outputs][inputs], a scale of each output
  std::vector<ValueId> operands;  // of products with these, behind the first; made once
};
constexpr int64_t kMaxExactProducts = 514;  // 2^24 / (255 * 128)

class IntegerLstm {
 public:
  static constexpr size_t kInputWeights = 1, kRecurrentWeights = 5, kBiases = 12, kHidden = 18,
                          kCell = 19;

  explicit IntegerLstm(Call& c) : call(c), wide(c.b) {}
  /// False for what it is not.
  bool read() {
    const auto x_steps = call.quantized(0), hidden_steps = call.quantized(kHidden),
               y_steps = call.output_quantized(0);
    if (!x_steps || !hidden_steps || !y_steps || !(*hidden_steps == *y_steps) ||
        !x_steps->is_signed || !call.has(kCell) || x_steps->is_int16 != hidden_steps->is_int16)
      return false;
    for (size_t i = 1; i <= 8; i++)
      if (!call.has(i)) return false;
    for (size_t i = 9; i < call.input_count(); i++)
      if (call.has(i) != ((i >= kBiases && i < kBiases + 4) || i == kHidden || i == kCell))
        return false;
    x = *x_steps, hidden = *hidden_steps;
    as_micro = call.as_micro() || x.is_int16;
    return call.integer("fused_activation_function") == 4 && call.number("proj_clip") == 0 &&
           call.number("cell_clip") >= 0 && read_scales() &&
           read_gates(kInputWeights, &from_input) && read_gates(kRecurrentWeights, &from_hidden) &&
           read_biases();
  }

  struct State {
    ValueId hidden, cell;  // bytes less their zero point, i64
  };
  /// What the input gives to the gates, of all steps: [.., 4 * cells].
  ValueId input_part(ValueId bytes) {
    if (x.is_int16) return product_of_int16(bytes, from_input, x, biases_of_int16);
    const ValueId distance = call.b.emit(
        op::Sub, {call.b.cast(bytes, DType::kF32), call.b.scalar(DType::kF32, double(x.zero))});
    const ValueId sum = wide.add(wide.product(distance, from_input.weights), biases);
    return wide.as_i16(wide.multiplied(sum, by_gate(from_input, x.scale)));
  }
  State step(ValueId part, const State& before) {
    ValueId gate = kAbsent;
    if (x.is_int16) {
      gate = product_of_int16(call.b.cast(before.hidden, DType::kI16), from_hidden, hidden,
                              std::vector<int64_t>(size_t(4 * cells), 0));
    } else {
      gate = wide.multiplied(wide.product(before.hidden, from_hidden.weights),
                             by_gate(from_hidden, hidden.scale));
      if (as_micro) gate = wide.as_i16(gate);
    }
    gate = wide.as_i16(wide.add(gate, part));
    const ValueId gates = looked_up(gate, gate_table, gate_offsets);
    const auto of_gate = [&](int64_t i) {
      return call.b.slice(gates, 1, Dim(i * cells), Dim((i + 1) * cells));
    };
    const ValueId kept = halved(wide.mul(of_gate(1), before.cell), 15),
                  fresh = halved(wide.mul(of_gate(0), of_gate(2)), 30 + cell_power);
    ValueId cell = wide.as_i16(wide.add(kept, fresh));
    if (cell_limit > 0) cell = wide.clamped(cell, -cell_limit, cell_limit);
    const ValueId shown = wide.mul(of_gate(3), looked_up(cell, cell_table, wide.number(32768)));
    const ValueId steps = wide.multiplied(shown, {hidden_by});
    return {wide.clamped(steps, -hidden.zero, hidden.most() - hidden.zero), cell};
  }

  /// A step's result as the graph has it: bytes, or numbers of int16, whose zero is 0.
  ValueId given(ValueId distance) {
    if (x.is_int16) return call.b.cast(distance, DType::kI16);
    return call.b.cast(wide.add(distance, wide.number(hidden.zero)), DType::kU8);
  }

  Call& call;
  Wide wide;
  QuantParams x, hidden;
  int64_t cells = 0;

 private:
  /// x / 2^bits; TFLite Micro rounds twice.
  ValueId halved(ValueId x, int bits) {
    return as_micro ? wide.as_i16(wide.multiplied(x, {fixed_point(std::ldexp(1.0, -bits))}))
                    : wide.divided(x, bits);
  }
  ValueId looked_up(ValueId at, ValueId table, ValueId offsets) {
    return wide.of(
        call.b.emit(op::Gather, {table, wide.add(at, offsets)}, {{attr::axis, int64_t(0)}}));
  }
  /// Gates are in Q3.12.
  std::vector<FixedPoint> by_gate(const Gates& gates, float scale) const {
    std::vector<FixedPoint> out;
    for (const float weight : gates.scales) {
      const float real = weight * scale / std::ldexp(1.0f, -12);
      out.insert(out.end(), size_t(cells), fixed_point(double(real)));
    }
    return out;
  }

  /// Sums of 64 bits times 16 bits, rounded once, to the gates' Q3.12; i64.
  ValueId product_of_int16(ValueId numbers, Gates& gates, const QuantParams& from,
                           const std::vector<int64_t>& bias) {
    const QuantParams to{std::ldexp(1.0f, -12), 32768, true, true};
    const Rounding rounding{"fixed_wide", true};
    const Weights& w = gates.words;
    if (gates.operands.empty()) {
      gates.operands.push_back(call.b.constant(
          graph::make_constant(DType::kI8, {w.outputs, w.products}, w.values.data())));
      add_channels_int8(call, bias, from, to, w, rounding, &gates.operands);
    }
    std::vector<ValueId> operands = {numbers};
    operands.insert(operands.end(), gates.operands.begin(), gates.operands.end());
    aten::Attributes attributes = {{attr::w_zero, int64_t(0)}};
    add_output_int8(to, {0, to.most()}, rounding, &attributes);
    return wide.of(call.b.emit(op::QuantizedLinear, operands, std::move(attributes)));
  }

  bool read_gates(size_t first, Gates* out) {
    const std::vector<int64_t> dims = ModelFile::shape(call.tensor(first));
    if (dims.size() != 2 || dims[0] < 1 || dims[1] < 1 ||
        (!x.is_int16 && dims[1] > kMaxExactProducts))
      return false;
    cells = dims[0];
    std::vector<Weights> gates(4);
    for (size_t gate = 0; gate < 4; gate++) {
      Weights& w = gates[gate];
      if (ModelFile::shape(call.tensor(first + gate)) != dims ||
          !read_weights_int8(call, first + gate, 0, &w) || w.scales.size() != 1 || w.zero != 0)
        return false;
      out->scales.push_back(w.scales[0]);
    }
    if (x.is_int16) {
      out->words.outputs = 4 * cells, out->words.products = dims[1];
      for (const Weights& w : gates) {
        out->words.values.insert(out->words.values.end(), w.values.begin(), w.values.end());
        out->words.scales.insert(out->words.scales.end(), size_t(cells), w.scales[0]);
      }
      return true;
    }
    host::charge_memory(16 * gates[0].values.size());
    std::vector<float> all;  // as many elements as the file has
    for (int64_t k = 0; k < dims[1]; k++)
      for (const Weights& w : gates)
        for (int64_t o = 0; o < dims[0]; o++)
          all.push_back(float(w.values[size_t(o * dims[1] + k)]));
    out->weights =
        call.b.constant(graph::make_constant(DType::kF32, {dims[1], 4 * dims[0]}, all.data()));
    return true;
  }
  bool read_biases() {
    const ModelFile& file = call.translator.file();
    std::vector<int64_t> all;
    for (size_t gate = 0; gate < 4; gate++) {
      const fb::Tensor& t = call.tensor(kBiases + gate);
      const auto wanted = x.is_int16 ? fb::TensorType::int64 : fb::TensorType::int32;
      if (t.type() != wanted || !file.bytes(t).is_there) return false;
      for (const int64_t n :
           graph::read_integers(read_constant(file, t, ModelFile::name(t, kBiases + gate))))
        all.push_back(n);
      call.mark_read(kBiases + gate);
    }
    if (int64_t(all.size()) != 4 * cells)
      call.corrupt("its biases have " + std::to_string(all.size()) + " elements, expected " +
                   std::to_string(4 * cells));
    if (x.is_int16)
      biases_of_int16 = all;
    else
      biases = wide.numbers(all);
    return true;
  }
  /// The scale of what a step gives: LiteRT's of an intermediate tensor that stands for it, Micro's
  /// of the state. 0: there is none.
  float made_scale() const {
    if (as_micro) return hidden.scale;
    const ModelFile& file = call.translator.file();
    const auto* apart = call.op.intermediates();
    if (!apart || apart->size() != 5 || apart->Get(4) < 0) return 0;
    const auto params = quant_params_of(file, file.tensor(*call.scope.graph, apart->Get(4)));
    return params && params->is_signed && params->zero == hidden.zero ? params->scale : 0;
  }
  /// The cell's scale is a power of 2.
  bool read_scales() {
    const ModelFile& file = call.translator.file();
    const fb::Tensor& cell = call.tensor(kCell);
    const float made = made_scale();
    if (cell.type() != fb::TensorType::int16 || !ModelFile::is_quantized(cell) || made == 0)
      return false;
    const TensorQuantization q = file.quantization(cell);
    if (q.scales.size() != 1 || q.zero_points[0] != 0) return false;
    cell_power = int(std::lround(std::log2(double(q.scales[0]))));
    if (std::fabs(std::ldexp(1.0, cell_power) - double(q.scales[0])) > 1e-6 * double(q.scales[0]) ||
        cell_power < -15 || cell_power > -9)
      return false;
    const float unit = std::ldexp(1.0f, -15);
    hidden_by = fixed_point(as_micro ? double(unit) * double(unit) / double(made)
                                     : double(unit / made * unit));
    const double limit = call.number("cell_clip") / double(q.scales[0]);
    cell_limit = int64_t(std::min(limit, 32767.0));
    make_tables();
    return true;
  }
  void make_tables() {
    const int bits = 15 + cell_power;  // before the point
    if (as_micro) {
      gate_table = tables(call.b, {[](int32_t n) { return interpolated_logistic(n, 0, 0); },
                                   [](int32_t n) { return interpolated_tanh(n, 0, 0); }});
      const int shift = bits - 3;
      cell_table = tables(call.b, {[=](int32_t n) {
                            return interpolated_tanh(n, shift < 0 ? 3 : 0, std::abs(shift));
                          }});
    } else {
      gate_table = tables(call.b, {[](int32_t n) { return fixed_logistic16(n); },
                                   [](int32_t n) { return fixed_tanh16(n, 3); }});
      cell_table = tables(call.b, {[=](int32_t n) { return fixed_tanh16(n, bits); }});
    }
  }

 public:
  void begin() {
    std::vector<int64_t> offsets(size_t(4 * cells), 32768);
    for (int64_t i = 2 * cells; i < 3 * cells; i++) offsets[size_t(i)] += 65536;  // tanh
    gate_offsets = wide.numbers(offsets);
  }

 private:
  Gates from_input, from_hidden;
  ValueId biases = kAbsent, gate_table = kAbsent, cell_table = kAbsent, gate_offsets = kAbsent;
  std::vector<int64_t> biases_of_int16;
  bool as_micro = false;
  FixedPoint hidden_by;
  int cell_power = 0;
  int64_t cell_limit = 0;
};

bool is_integer_lstm(const Call& call) {
  return call.input_count() >= 20 && call.input_count() <= 24 && call.has(IntegerLstm::kCell) &&
         call.tensor(IntegerLstm::kCell).type() == fb::TensorType::int16;
}
[[noreturn]] void refuse_lstm(Call& call) {
  call.refuse("",
              "of integers is supported without peepholes, norms, projections and coupled gates, "
              "with tanh, of int8 at most " +
                  std::to_string(kMaxExactProducts) +
                  " inputs and cells, and a cell whose scale is a power of 2");
}

/// What a layer keeps from run to run: bytes as distances from their zero point, which they begin
/// with, and the cell.
class LstmStates {
 public:
  LstmStates(Call& c, IntegerLstm& of) : call(c), lstm(of) {
    hidden = variable(IntegerLstm::kHidden), cell = variable(IntegerLstm::kCell);
    dims = call.b.dims(call.input(IntegerLstm::kCell));
    const std::vector<int64_t> kept = ModelFile::shape(call.tensor(IntegerLstm::kHidden));
    const Dims expected(kept.begin(), kept.end());
    if (dims.size() != 2 || dims[1] != Dim(lstm.cells) || expected != dims)
      call.corrupt("its states have shapes " + graph::text(expected) + " and " + graph::text(dims));
    call.mark_read(IntegerLstm::kHidden);
    now = {lstm.wide.of(call.translator.read_variable(hidden, DType::kI16, kept)),
           lstm.wide.of(call.input(IntegerLstm::kCell))};
  }
  void keep() {
    call.translator.write_variable(hidden, call.b.cast(now.hidden, DType::kI16));
    call.translator.write_variable(cell, call.b.cast(now.cell, DType::kI16));
  }
  IntegerLstm::State now;
  Dims dims;  // [B, cells]

 private:
  std::string variable(size_t input) {
    if (!call.tensor(input).is_variable()) call.corrupt("its state is no variable tensor");
    return call.translator.variable_of(call.scope, call.tensor_index(input));
  }
  Call& call;
  IntegerLstm& lstm;
  std::string hidden, cell;
};

bool sequence_lstm_int8(Call& call) {
  if (!is_integer_lstm(call)) return false;
  IntegerLstm lstm(call);
  if (!lstm.read() || call.flag("diagonal_recurrent_tensors")) refuse_lstm(call);
  lstm.begin();
  aten::Builder& b = call.b;
  const int64_t axis = call.flag("time_major") ? 0 : 1;
  const ValueId x = call.input(0);
  const auto count = b.rank(x) == 3 ? b.dims(x)[size_t(axis)].value() : std::nullopt;
  constexpr int64_t kMaxSteps = 1024;
  if (!count || *count < 1 || *count > kMaxSteps)
    call.refuse("", "has an input of shape " + graph::text(b.dims(x)) + ", at most " +
                        std::to_string(kMaxSteps) + " steps are spelled out");
  LstmStates states(call, lstm);
  const ValueId parts = lstm.input_part(x);
  std::vector<ValueId> steps;
  for (int64_t t = 0; t < *count; t++) {
    const ValueId part =
        b.reshape(b.slice(parts, axis, Dim(t), Dim(t + 1)), {states.dims[0], Dim(4 * lstm.cells)});
    states.now = lstm.step(part, states.now);
    Dims dims = states.dims;
    dims.insert(dims.begin() + axis, Dim(1));
    steps.push_back(b.reshape(lstm.given(states.now.hidden), dims));
  }
  states.keep();
  call.give(steps.size() == 1 ? steps[0] : b.emit(op::Concat, steps, {{attr::axis, axis}}));
  return true;
}

/// One step. No runtime has it of int16.
bool lstm_int8(Call& call) {
  if (call.integer("kernel_type") != 0 || !is_integer_lstm(call)) return false;
  IntegerLstm lstm(call);
  if (!lstm.read()) refuse_lstm(call);
  lstm.begin();
  if (call.rank(0) != 2)
    call.corrupt("its input has shape " + graph::text(call.b.dims(call.input(0))));
  LstmStates states(call, lstm);
  states.now = lstm.step(lstm.input_part(call.input(0)), states.now);
  states.keep();
  call.give(lstm.given(states.now.hidden));
  return true;
}

}  // namespace

void add_quantized_recurrent(QuantizedTable& table) {
  add_recurrent_int16(table);
  table["LSTM"] = lstm_int8;
}
void add_recurrent_int16(QuantizedTable& table) {
  table["UNIDIRECTIONAL_SEQUENCE_LSTM"] = sequence_lstm_int8;
}

}  // namespace ingot::tflite
