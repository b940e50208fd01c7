// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_wide.cpp - operators of int8 beside which tensors of 16 and
// 32 bits stand: SVDF, whose memory has 16, and what leads to int16 and away from it; and products
// of two tensors of int16.
#include <algorithm>

#include "tools/import/tflite/quantized_channels.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// The state of SVDF: what the last steps gave, as distances from its zero point.
struct Memory {
  std::string key;
  float scale = 1;
  int64_t low = INT16_MIN, high = INT16_MAX;  // of a distance
  Dims dims;
  ValueId now = kAbsent;
};
std::optional<Memory> read_memory(Call& call, size_t input) {
  const fb::Tensor& t = call.tensor(input);
  if (!t.is_variable()) call.corrupt("its state is no variable tensor");
  Memory m;
  if (const auto params = call.quant_params(input)) {
    m.scale = params->scale, m.low = -params->zero, m.high = 255 - params->zero;
  } else if (const auto wide = wide_quant_params_of(call.translator.file(), t);
             wide && t.type() == fb::TensorType::int16 && wide->zero == 0) {
    m.scale = wide->scale;
  } else {
    return std::nullopt;
  }
  const std::vector<int64_t> dims = ModelFile::shape(t);
  m.dims.assign(dims.begin(), dims.end());
  m.key = call.translator.variable_of(call.scope, call.tensor_index(input));
  m.now = call.translator.read_variable(m.key, DType::kI16, dims);
  call.mark_read(input);
  return m;
}

/// Whole numbers of a constant with one scale and no zero point; none of another.
struct Numbers {
  std::vector<int64_t> values, dims;
  float scale = 1;
};
std::optional<Numbers> read_numbers(Call& call, size_t input) {
  const fb::Tensor& t = call.tensor(input);
  const ModelFile& file = call.translator.file();
  if (!file.bytes(t).is_there || !ModelFile::is_quantized(t)) return std::nullopt;
  const TensorQuantization q = file.quantization(t);
  if (q.is_blockwise || q.scales.size() != 1 || q.zero_points[0] != 0) return std::nullopt;
  Numbers out;
  out.dims = ModelFile::shape(t), out.scale = q.scales[0];
  for (const int32_t n :
       read_integers(file, t, ModelFile::name(t, size_t(call.tensor_index(input)))))
    out.values.push_back(n);
  call.mark_read(input);
  return out;
}

bool are_int8(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t n) { return n >= INT8_MIN && n <= INT8_MAX; });
}

constexpr int64_t kMaxInputs = 514;  // 2^24 / (255 * 128)

/// Rows of a matrix [units * rank, columns] as [rank, units, columns]: what is added up at the end,
/// the rank, lies outside, so that units fill the lanes of a vector.
std::vector<int64_t> by_rank(const Numbers& from, int64_t rank) {
  const int64_t rows = from.dims[0], columns = from.dims[1], units = rows / rank;
  std::vector<int64_t> out;
  out.reserve(from.values.size());
  for (int64_t i = 0; i < rows; i++) {
    const auto row = from.values.begin() + (i % units * rank + i / units) * columns;
    out.insert(out.end(), row, row + columns);
  }
  return out;
}

/// The numbers of the new step: sums of bytes on the steps of the memory.
ValueId first_factor(Call& call, const QuantParams& x, const Numbers& features,
                     const Memory& memory) {
  constexpr int64_t kWord = 32768;  // is added to numbers of 16 bits (runtime/op/requantize.h)
  aten::Builder& b = call.b;
  const int64_t filters = features.dims[0], inputs = features.dims[1];
  const FixedPoint by = fixed_point(double(x.scale * features.scale / memory.scale));
  std::vector<int8_t> weights;
  std::vector<int32_t> biases;
  for (int64_t f = 0; f < filters; f++) {
    int64_t sum = 0;
    for (int64_t i = 0; i < inputs; i++) {
      const int64_t w = features.values[size_t(f * inputs + i)];
      weights.push_back(int8_t(w));
      sum += w;
    }
    biases.push_back(int32_t(uint32_t(uint64_t(-(x.zero + kWord) * sum))));  // sums wrap too
  }
  const auto each = [&](DType dtype, const void* values) {
    return b.constant(graph::make_constant(dtype, {filters}, values));
  };
  const std::vector<int32_t> multipliers(size_t(filters), by.multiplier),
      shifts(size_t(filters), -by.shift);
  return b.emit(op::QuantizedLinear,
                {b.cast(call.input(0), DType::kI16),
                 b.constant(graph::make_constant(DType::kI8, {filters, inputs}, weights.data())),
                 each(DType::kI32, biases.data()), each(DType::kI32, multipliers.data()),
                 each(DType::kI32, shifts.data())},
                {{attr::requant, std::string("fixed_away")},
                 {attr::y_zero, kWord},
                 {attr::low, kWord + memory.low},
                 {attr::high, kWord + memory.high}});
}

/// A product in two factors: over the input, then over the last steps of what that gave.
bool svdf_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.output_quant_params(0);
  if (!x || !y || !x->is_signed || !y->is_signed)
    call.refuse("", "of integers is supported from int8 to int8");
  auto features = read_numbers(call, 1);
  const auto time = read_numbers(call, 2);
  const auto memory = read_memory(call, 4);
  const int64_t rank = call.integer("rank");
  aten::Builder& b = call.b;
  const Dims in = b.dims(call.input(0));
  const int64_t function = call.integer("fused_activation_function");
  if (!features || !time || !memory || features->dims.size() != 2 ||
      features->dims[1] > kMaxInputs || !are_int8(features->values) ||
      (function != 0 && function != 1) || (function == 1 && y->zero != 0))
    call.refuse(
        "", "of int8 is supported with at most " + std::to_string(kMaxInputs) +
                " inputs, bytes of one scale as weights, a memory of int16 or int8, and ReLU whose "
                "zero is the smallest byte");
  if (time->dims.size() != 2 || rank < 1 || in.size() != 2 || memory->dims.size() != 2 ||
      time->dims[0] != features->dims[0] || time->dims[0] % rank != 0 ||
      Dim(features->dims[1]) != in[1] || memory->dims[0] != in[0] ||
      memory->dims[1] != Dim(time->dims[0]) * Dim(time->dims[1]))
    call.corrupt("its input has shape " + graph::text(in) + ", its weights " +
                 graph::text(Dims(features->dims.begin(), features->dims.end())) + " and " +
                 graph::text(Dims(time->dims.begin(), time->dims.end())) + ", its state " +
                 graph::text(memory->dims) + ", its rank is " + std::to_string(rank));
  Wide wide(b);
  const int64_t filters = time->dims[0], steps = time->dims[1];
  const float second = memory->scale * time->scale / y->scale;
  const Dim batch = in[0];
  // The memory is kept step by step and not filter by filter as in the source: a new step moves the
  // others by whole rows.
  features->values = by_rank(*features, rank);
  const ValueId fresh = first_factor(call, *x, *features, *memory),
                old = b.reshape(memory->now, {batch, Dim(steps), Dim(filters)});
  const ValueId window =
      b.emit(op::Concat,
             {b.slice(old, 1, Dim(1), Dim(steps)), b.reshape(fresh, {batch, Dim(1), Dim(filters)})},
             {{attr::axis, int64_t(1)}});
  call.translator.write_variable(memory->key, b.reshape(window, memory->dims));
  const std::vector<int64_t> rows = by_rank(*time, rank);
  std::vector<int64_t> factors(rows.size());
  for (int64_t f = 0; f < filters; f++)
    for (int64_t i = 0; i < steps; i++)
      factors[size_t(i * filters + f)] = rows[size_t(f * steps + i)];
  const ValueId each =
      wide.mul(wide.of(window),
               b.constant(graph::make_constant(DType::kI64, {steps, filters}, factors.data())));
  ValueId sum = b.reduce(
      op::ReduceSum, b.reshape(each, {batch, Dim(steps * rank), Dim(filters / rank)}), {1}, false);
  std::vector<int64_t> largest(size_t(filters / rank));  // of each sum
  for (size_t i = 0; i < factors.size(); i++)
    largest[i % largest.size()] += std::abs(factors[i]) * -int64_t{INT16_MIN};
  if (call.has(3)) {
    const auto bias = read_numbers(call, 3);
    if (!bias || int64_t(bias->values.size()) != filters / rank)
      call.corrupt("its bias has not one number a unit");
    sum = wide.add(sum, wide.numbers(bias->values));
    for (size_t u = 0; u < largest.size(); u++) largest[u] += std::abs(bias->values[u]);
  }
  if (*std::max_element(largest.begin(), largest.end()) > INT32_MAX) sum = wide.wrapped(sum);
  const ValueId made = wide.multiplied(sum, {fixed_point(double(second))}, y->zero);
  call.give(b.cast(wide.clamped(made, 0, 255), DType::kU8));
  return true;
}

/// Numbers of 16 bits as the upper byte, with its sign, and the lower one; f32.
struct Halves {
  ValueId high = kAbsent, low = kAbsent;
};
Halves halves_of(Wide& wide, ValueId numbers) {
  const ValueId x = wide.of(numbers);
  return {wide.b.cast(wide.shifted(x, 8), DType::kF32),
          wide.b.cast(wide.masked(x, 8), DType::kF32)};
}

constexpr int64_t kMaxLength = 1 << 14;

/// Sums over the last axis of `left` and the one before the last of `right`, `length` products of
/// int16 each, in i64.
ValueId summed_int16(Wide& wide, ValueId left, ValueId right, int64_t length) {
  constexpr int64_t kExact = 256;  // 256 * 255^2 < 2^24
  aten::Builder& b = wide.b;
  const int64_t last = b.rank(left) - 1, before_last = b.rank(right) - 2;
  const Halves from_left = halves_of(wide, left), from_right = halves_of(wide, right);
  ValueId sum = kAbsent;
  const auto add = [&](ValueId first, ValueId second, int64_t times) {
    for (int64_t at = 0; at < length; at += kExact) {
      const Dim from(at), to(std::min(at + kExact, length));
      const ValueId part = wide.mul(
          wide.product(b.slice(first, last, from, to), b.slice(second, before_last, from, to)),
          wide.number(times));
      sum = sum == kAbsent ? part : wide.add(sum, part);
    }
  };
  add(from_left.high, from_right.high, 1 << 16);
  add(from_left.high, from_right.low, 1 << 8);
  add(from_left.low, from_right.high, 1 << 8);
  add(from_left.low, from_right.low, 1);
  return sum;
}

/// Sums of products to numbers of y, within `limits`.
void give_int16(Call& call, Wide& wide, ValueId sum, const QuantParams& x, const QuantParams& w,
                const QuantParams& y, const Limits& limits) {
  const FixedPoint by = fixed_point(double(x.scale * w.scale) / double(y.scale));
  const auto made = wide.multiplied_once(sum, by);
  if (!made)
    call.refuse("", "multiplies its sums by " + std::to_string(by.multiplier) + " * 2^" +
                        std::to_string(by.shift - 31));
  const ValueId words = wide.clamped(*made, limits.low + INT16_MIN, limits.high + INT16_MIN);
  call.give(call.b.cast(words, DType::kI16));
}

}  // namespace

bool connect_int16(Call& call, ValueId rows, const RealRange& range) {
  const auto x = call.quantized(0), w = call.quantized(1), y = call.output_quantized(0);
  if (!x || !w || !y || !x->is_int16 || !w->is_int16 || !y->is_int16) return false;
  std::optional<Numbers> bias;
  if (call.has(2)) {
    // LiteRT reads a bias of 64 bits as one of 32
    if (call.tensor(2).type() != fb::TensorType::int32) return false;
    bias = read_numbers(call, 2);
    if (!bias) return false;
  }
  const int64_t length = ModelFile::shape(call.tensor(1))[1];
  if (length > kMaxLength) return false;
  Wide wide(call.b);
  ValueId sum = summed_int16(wide, rows, call.b.transpose(call.input(1), {1, 0}), length);
  if (bias) sum = wide.add(sum, wide.numbers(bias->values));
  give_int16(call, wide, sum, *x, *w, *y, call.limits(range, *y));
  return true;
}

bool multiply_int16(Call& call) {
  const auto x = call.quantized(0), w = call.quantized(1), y = call.output_quantized(0);
  if (!x || !w || !y || !x->is_int16 || !w->is_int16 || !y->is_int16) return false;
  aten::Builder& b = call.b;
  const auto turned = [&](size_t input, const char* option) {
    const ValueId given = call.input(input);
    const int64_t rank = b.rank(given);
    if (rank < 2) call.corrupt("its input has " + std::to_string(rank) + " dimensions");
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < rank; i++) perm.push_back(i);
    if (call.flag(option)) std::swap(perm[size_t(rank) - 1], perm[size_t(rank) - 2]);
    return call.flag(option) ? b.transpose(given, perm) : given;
  };
  const ValueId left = turned(0, "adj_x"), right = turned(1, "adj_y");
  const int64_t before_last = b.rank(right) - 2;
  const auto length = b.dims(left).back().value();
  if (!length || *length < 1 || *length > kMaxLength ||
      b.dims(right)[size_t(before_last)] != Dim(*length))
    call.refuse("", "multiplies " + graph::text(b.dims(left)) + " by " +
                        graph::text(b.dims(right)) + ", supported are sums of at most " +
                        std::to_string(kMaxLength) + " products that are known");
  Wide wide(b);
  give_int16(call, wide, summed_int16(wide, left, right, *length), *x, *w, *y,
             {0, INT16_MAX - INT16_MIN});
  return true;
}

std::optional<WideQuantParams> wide_quant_params_of(const ModelFile& file, const fb::Tensor& t) {
  if (!ModelFile::is_quantized(t) ||
      (t.type() != fb::TensorType::int16 && t.type() != fb::TensorType::int32))
    return std::nullopt;
  const TensorQuantization q = file.quantization(t);
  if (q.is_blockwise || q.scales.size() != 1) return std::nullopt;
  return WideQuantParams{q.scales[0], q.zero_points[0]};
}

/// From or to int16 and int32.
bool requantize_wide(Call& call) {
  const ModelFile& file = call.translator.file();
  struct End {
    float scale;
    int64_t zero, low, high;
  };
  const auto end = [&](const fb::Tensor& t) -> std::optional<End> {
    if (const auto params = quant_params_of(file, t))
      return End{params->scale, params->zero, 0, 255};
    const auto wide = wide_quant_params_of(file, t);
    if (!wide) return std::nullopt;
    const bool is_short = t.type() == fb::TensorType::int16;
    return End{wide->scale, wide->zero, is_short ? INT16_MIN : INT32_MIN,
               is_short ? INT16_MAX : INT32_MAX};
  };
  const auto x = end(call.tensor(0)), y = end(call.output_tensor(0));
  if (wide_quant_params_of(file, call.tensor(0)) ||
      wide_quant_params_of(file, call.output_tensor(0))) {
    if (!x || !y) call.refuse("", "between int16 or int32 and floats is not supported");
  }
  if (!x || !y) return false;
  Wide wide(call.b);
  const ValueId distance = wide.add(wide.of(call.input(0)), wide.number(-x->zero));
  const ValueId made =
      wide.multiplied(distance, {fixed_point(double(x->scale) / double(y->scale))});
  call.give(call.b.cast(wide.clamped(wide.add(made, wide.number(y->zero)), y->low, y->high),
                        call.output_dtype(0)));
  return true;
}

void add_quantized_wide(QuantizedTable& table) { table["SVDF"] = svdf_int8; }

}  // namespace ingot::tflite
