// tools/import/tflite/lower_quantized_recurrent.cpp - recurrent layers of int8 whose cells have 16
// bits, in whole numbers of 64 bits, step by step: LiteRT's kernels and TFLite Micro's.
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

/// f32 [inputs, outputs] of the four gates' weights side by side.
struct Gates {
  ValueId weights = kAbsent;
  std::vector<float> scales;  // of each gate
};
constexpr int64_t kMaxExactProducts = 514;  // 2^24 / (255 * 128)

class IntegerLstm {
 public:
  static constexpr size_t kInputWeights = 1, kRecurrentWeights = 5, kBiases = 12, kHidden = 18,
                          kCell = 19;

  explicit IntegerLstm(Call& c) : call(c), wide(c.b) {}
  /// False for what it is not.
  bool read() {
    const auto x_steps = call.steps(0), hidden_steps = call.steps(kHidden),
               y_steps = call.output_steps(0);
    if (!x_steps || !hidden_steps || !y_steps || !(*hidden_steps == *y_steps) ||
        !x_steps->is_signed || !call.has(kCell))
      return false;
    for (size_t i = 1; i <= 8; i++)
      if (!call.has(i)) return false;
    for (size_t i = 9; i < call.input_count(); i++)
      if (call.has(i) != ((i >= kBiases && i < kBiases + 4) || i == kHidden || i == kCell))
        return false;
    x = *x_steps, hidden = *hidden_steps;
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
    const ValueId distance = call.b.emit(
        "Sub", {call.b.cast(bytes, DType::kF32), call.b.scalar(DType::kF32, double(x.zero))});
    const ValueId sum = wide.add(wide.product(distance, from_input.weights), biases);
    return wide.as_i16(wide.multiplied(sum, by_gate(from_input, x.scale)));
  }
  State step(ValueId part, const State& before) {
    const ValueId sum = wide.product(before.hidden, from_hidden.weights);
    ValueId gate = wide.multiplied(sum, by_gate(from_hidden, hidden.scale));
    if (call.as_micro()) gate = wide.as_i16(gate);
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
    return {wide.clamped(steps, -hidden.zero, 255 - hidden.zero), cell};
  }

  Call& call;
  Wide wide;
  Steps x, hidden;
  int64_t cells = 0;

 private:
  /// x / 2^bits; TFLite Micro rounds twice.
  ValueId halved(ValueId x, int bits) {
    return call.as_micro() ? wide.as_i16(wide.multiplied(x, {fixed_point(std::ldexp(1.0, -bits))}))
                           : wide.divided(x, bits);
  }
  ValueId looked_up(ValueId at, ValueId table, ValueId offsets) {
    return wide.of(call.b.emit("Gather", {table, wide.add(at, offsets)}, {{"axis", int64_t(0)}}));
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

  bool read_gates(size_t first, Gates* out) {
    const std::vector<int64_t> dims = ModelFile::shape(call.tensor(first));
    if (dims.size() != 2 || dims[0] < 1 || dims[1] < 1 || dims[1] > kMaxExactProducts) return false;
    cells = dims[0];
    std::vector<Weights> gates(4);
    for (size_t gate = 0; gate < 4; gate++) {
      Weights& w = gates[gate];
      if (ModelFile::shape(call.tensor(first + gate)) != dims ||
          !read_weights_bytes(call, first + gate, 0, &w) || w.scales.size() != 1 || w.zero != 0)
        return false;
      out->scales.push_back(w.scales[0]);
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
      if (t.type() != fb::TensorType::int32 || !file.bytes(t).is_there) return false;
      for (const int32_t n : read_steps(file, t, ModelFile::name(t, kBiases + gate)))
        all.push_back(n);
      call.mark_read(kBiases + gate);
    }
    if (int64_t(all.size()) != 4 * cells)
      call.corrupt("its biases have " + std::to_string(all.size()) + " elements, expected " +
                   std::to_string(4 * cells));
    biases = wide.numbers(all);
    return true;
  }
  /// The cell's scale is a power of 2; the hidden state is quantized as the operator says apart.
  bool read_scales() {
    const ModelFile& file = call.translator.file();
    const fb::Tensor& cell = call.tensor(kCell);
    const auto* apart = call.op.intermediates();
    if (cell.type() != fb::TensorType::int16 || !ModelFile::is_quantized(cell) || !apart ||
        apart->size() != 5 || apart->Get(4) < 0)
      return false;
    const TensorQuantization q = file.quantization(cell);
    const fb::Tensor& made = file.tensor(*call.scope.graph, apart->Get(4));
    const auto steps = steps_of(file, made);
    if (q.scales.size() != 1 || q.zero_points[0] != 0 || !steps || !steps->is_signed ||
        steps->zero != hidden.zero)
      return false;
    cell_power = int(std::lround(std::log2(double(q.scales[0]))));
    if (std::fabs(std::ldexp(1.0, cell_power) - double(q.scales[0])) > 1e-6 * double(q.scales[0]) ||
        cell_power < -15 || cell_power > -9)
      return false;
    const float unit = std::ldexp(1.0f, -15);
    hidden_by = fixed_point(double(unit / steps->scale * unit));
    const double limit = call.number("cell_clip") / double(q.scales[0]);
    cell_limit = int64_t(std::min(limit, 32767.0));
    make_tables();
    return true;
  }
  void make_tables() {
    const int bits = 15 + cell_power;  // before the point
    if (call.as_micro()) {
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
  FixedPoint hidden_by;
  int cell_power = 0;
  int64_t cell_limit = 0;
};

bool sequence_lstm_bytes(Call& call) {
  if (call.input_count() < 20 || call.input_count() > 24 || !call.has(IntegerLstm::kCell) ||
      call.tensor(IntegerLstm::kCell).type() != fb::TensorType::int16)
    return false;
  IntegerLstm lstm(call);
  if (!lstm.read() || call.flag("diagonal_recurrent_tensors"))
    call.refuse("",
                "of int8 is supported without peepholes, norms, projections and coupled gates, "
                "with tanh, at most " +
                    std::to_string(kMaxExactProducts) +
                    " inputs and cells, and a cell whose scale is a power of 2");
  lstm.begin();
  aten::Builder& b = call.b;
  const bool time_major = call.flag("time_major");
  const int64_t axis = time_major ? 0 : 1;
  const ValueId x = call.input(0);
  const auto count = b.rank(x) == 3 ? b.dims(x)[size_t(axis)].value() : std::nullopt;
  constexpr int64_t kMaxSteps = 1024;
  if (!count || *count < 1 || *count > kMaxSteps)
    call.refuse("", "has an input of shape " + graph::text(b.dims(x)) + ", at most " +
                        std::to_string(kMaxSteps) + " steps are spelled out");
  const auto variable = [&](size_t input) {
    if (!call.tensor(input).is_variable()) call.corrupt("its state is no variable tensor");
    return call.translator.variable_of(call.scope, call.tensor_index(input));
  };
  const std::string hidden = variable(IntegerLstm::kHidden), cell = variable(IntegerLstm::kCell);
  const Dims cells = b.dims(call.input(IntegerLstm::kCell));
  // Kept as distances from the zero point, which they begin with.
  const std::vector<int64_t> kept = ModelFile::shape(call.tensor(IntegerLstm::kHidden));
  if (cells.size() != 2 || cells[1] != Dim(lstm.cells) || Dims(kept.begin(), kept.end()) != cells)
    call.corrupt("its states have shapes " + graph::text(Dims(kept.begin(), kept.end())) + " and " +
                 graph::text(cells));
  call.mark_read(IntegerLstm::kHidden);
  IntegerLstm::State state{lstm.wide.of(call.translator.read_variable(hidden, DType::kI16, kept)),
                           lstm.wide.of(call.input(IntegerLstm::kCell))};
  const ValueId parts = lstm.input_part(x);
  std::vector<ValueId> steps;
  for (int64_t t = 0; t < *count; t++) {
    const ValueId part =
        b.reshape(b.slice(parts, axis, Dim(t), Dim(t + 1)), {cells[0], Dim(4 * lstm.cells)});
    state = lstm.step(part, state);
    Dims dims = cells;
    dims.insert(dims.begin() + axis, Dim(1));
    const ValueId byte = lstm.wide.add(state.hidden, lstm.wide.number(lstm.hidden.zero));
    steps.push_back(b.reshape(b.cast(byte, DType::kU8), dims));
  }
  call.translator.write_variable(hidden, b.cast(state.hidden, DType::kI16));
  call.translator.write_variable(cell, b.cast(state.cell, DType::kI16));
  call.give(steps.size() == 1 ? steps[0] : b.emit("Concat", steps, {{"axis", axis}}));
  return true;
}

}  // namespace

void add_quantized_recurrent(BytesTable& table) {
  table["UNIDIRECTIONAL_SEQUENCE_LSTM"] = sequence_lstm_bytes;
}

}  // namespace ingot::tflite
