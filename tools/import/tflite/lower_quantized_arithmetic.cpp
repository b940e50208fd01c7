// tools/import/tflite/lower_quantized_arithmetic.cpp - sums, products, pools and softmax of bytes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/op/quantized_elementwise.h"
#include "tools/import/tflite/window.h"

namespace ingot::tflite {
namespace {

constexpr int64_t kMaxExactSum = 65536;  // of bytes, as whole numbers in f32

struct Operands {
  Steps a, b, y;
  RealRange range;
};
/// Two tensors of bytes of one type, and what is fused behind.
bool read_operands_bytes(Call& call, Operands* out) {
  call.expect_inputs(2, 2);
  const auto a = call.steps(0), b = call.steps(1), y = call.output_steps(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!a || !b || !y || !range || a->is_signed != b->is_signed || a->is_signed != y->is_signed)
    return false;
  *out = {*a, *b, *y, *range};
  return true;
}
aten::Attributes attributes_of_bytes(const Operands& o, const char* function, bool xnnpack) {
  const Limits limits = xnnpack ? limits_of_xnnpack(o.range, o.y) : limits_of_kernels(o.range, o.y);
  return {{"function", std::string(function)},
          {"requant", std::string(xnnpack ? "float_even" : "fixed_away")},
          {"a_zero", int64_t(o.a.zero)},
          {"b_zero", int64_t(o.b.zero)},
          {"y_zero", int64_t(o.y.zero)},
          {"low", limits.low},
          {"high", limits.high}};
}
void give_bytes(Call& call, aten::Attributes attributes) {
  call.give(
      call.b.emit("QuantizedElementwise", {call.input(0), call.input(1)}, std::move(attributes)));
}

/// XNNPACK's: the larger of both scales over that of y has 21 bits.
void add_sum_multipliers(const Operands& o, aten::Attributes* attributes) {
  const float a = o.a.scale / o.y.scale, b = o.b.scale / o.y.scale;
  const int shift = 20 - std::ilogb(std::max(a, b));
  (*attributes)["a_multiplier"] = int64_t(std::nearbyint(std::ldexp(a, shift)));
  (*attributes)["b_multiplier"] = int64_t(std::nearbyint(std::ldexp(b, shift)));
  (*attributes)["y_shift"] = int64_t(shift);
}
/// TFLite's own: both terms on twice the larger scale.
void add_fixed_sum_multipliers(const Operands& o, aten::Attributes* attributes) {
  const double twice = 2 * double(std::max(o.a.scale, o.b.scale));
  const auto put = [&](const char* multiplier, const char* shift, double real) {
    const FixedPoint by = fixed_point(real);
    (*attributes)[multiplier] = int64_t(by.multiplier);
    (*attributes)[shift] = int64_t(-by.shift);
  };
  put("a_multiplier", "a_shift", double(o.a.scale) / twice);
  put("b_multiplier", "b_shift", double(o.b.scale) / twice);
  put("y_multiplier", "y_shift",
      twice / (double(int64_t{1} << kQuantizedSumShift) * double(o.y.scale)));
}

bool sum_bytes(Call& call, const char* function) {
  Operands o;
  if (!read_operands_bytes(call, &o)) return false;
  const auto fits = [&](float scale) {
    return scale / o.y.scale >= 1.0f / 1024 && scale / o.y.scale < 256;
  };
  const bool xnnpack = fits(o.a.scale) && fits(o.b.scale);
  aten::Attributes attributes = attributes_of_bytes(o, function, xnnpack);
  if (xnnpack)
    add_sum_multipliers(o, &attributes);
  else
    add_fixed_sum_multipliers(o, &attributes);
  give_bytes(call, std::move(attributes));
  return true;
}
bool add_bytes(Call& call) { return sum_bytes(call, "add"); }
bool subtract_bytes(Call& call) { return sum_bytes(call, "sub"); }

bool multiply_bytes(Call& call) {
  Operands o;
  if (!read_operands_bytes(call, &o)) return false;
  const float scale = o.a.scale * o.b.scale / o.y.scale;
  const bool xnnpack = scale >= 1.0f / 65536 && scale < 256;
  aten::Attributes attributes = attributes_of_bytes(o, "mul", xnnpack);
  if (xnnpack) {
    attributes["scale"] = double(scale);
  } else {
    const FixedPoint by = fixed_point(double(scale));
    attributes["y_multiplier"] = int64_t(by.multiplier);
    attributes["y_shift"] = int64_t(-by.shift);
  }
  give_bytes(call, std::move(attributes));
  return true;
}

bool pool_bytes(Call& call, bool average) {
  call.expect_inputs(1, 1);
  call.expect_rank(0, 4);
  const auto x = call.steps(0), y = call.output_steps(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!x || !y || !range || x->is_signed != y->is_signed) return false;
  const ValueId image = call.input(0);
  aten::Attributes attributes = window_attributes(
      call, call.b.dims(image), {call.integer("filter_height"), call.integer("stride_h"), 1},
      {call.integer("filter_width"), call.integer("stride_w"), 1});
  // Maxima are XNNPACK's, averages TFLite's own.
  const Limits limits = average ? limits_of_kernels(*range, *y) : limits_of_xnnpack(*range, *y);
  attributes["kind"] = std::string(average ? "average" : "max");
  attributes["offset"] = int64_t(x->offset());
  attributes["low"] = limits.low, attributes["high"] = limits.high;
  call.give(call.b.emit("QuantizedPool2d", {image}, std::move(attributes)));
  return true;
}
bool max_pool_bytes(Call& call) { return pool_bytes(call, false); }
bool average_pool_bytes(Call& call) { return pool_bytes(call, true); }

bool softmax_bytes(Call& call) {
  call.expect_inputs(1, 1);
  const auto x = call.steps(0), y = call.output_steps(0);
  if (!x || !y || call.rank(0) < 1) return false;
  const float step = -x->scale * float(call.number("beta"));
  if (!std::isfinite(step)) call.corrupt("its beta or scale leaves the range of float32");
  std::vector<float> table(256);
  for (int i = 0; i < 256; i++) table[size_t(255 - i)] = std::exp(step * float(i));
  const ValueId exponents = call.b.constant(graph::make_constant(DType::kF32, {256}, table.data()));
  call.give(call.b.emit("QuantizedSoftmax", {call.input(0), exponents},
                        {{"scale", double(y->scale)},
                         {"y_zero", int64_t(y->zero)},
                         {"add_half", int64_t(!x->is_signed && !y->is_signed)}}));
  return true;
}

/// XNNPACK's: the exact sum of the bytes times a scale, and a zero point that is no whole number,
/// in f32, ties to even.
bool reduce_bytes(Call& call, bool mean) {
  call.expect_inputs(2, 2);
  const auto x = call.steps(0), y = call.output_steps(0);
  if (!x || !y || x->is_signed != y->is_signed) return false;
  aten::Builder& b = call.b;
  const ValueId bytes = call.input(0);
  const graph::Dims dims = b.dims(bytes);
  std::vector<int64_t> axes;
  for (const int64_t given : call.known_integers(1, "axis"))
    axes.push_back(call.axis(given, int64_t(dims.size())));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  int64_t count = 1;
  for (const int64_t axis : axes) {
    const auto extent = dims[size_t(axis)].value();
    if (!extent || *extent < 1 || *extent > kMaxExactSum) return false;
    count *= *extent;
    if (count > kMaxExactSum) return false;
  }
  if (axes.empty()) return false;
  const float ratio = x->scale / y->scale;
  const float scale = mean ? ratio * (1.0f / float(count)) : ratio;
  const float zero = float(y->source_zero()) - float(count * x->source_zero()) * scale;
  const auto number = [&](double n) { return b.scalar(DType::kF32, n); };
  const ValueId whole =
      b.reduce("ReduceSum", b.cast(bytes, DType::kF32), axes, call.flag("keep_dims"));
  const ValueId sum = b.emit("Sub", {whole, number(double(count * x->offset()))});
  const ValueId steps =
      b.emit("Add", {b.emit("Mul", {sum, number(double(scale))}), number(double(zero))});
  const ValueId kept = b.emit("Clip", {b.emit("Round", {steps})},
                              {{"min", double(-y->offset())}, {"max", double(255 - y->offset())}});
  call.give(b.cast(b.emit("Add", {kept, number(double(y->offset()))}), DType::kU8));
  return true;
}
bool mean_bytes(Call& call) { return reduce_bytes(call, true); }
bool total_bytes(Call& call) { return reduce_bytes(call, false); }

}  // namespace

void add_quantized_arithmetic(BytesTable& table) {
  table["ADD"] = add_bytes;
  table["SUB"] = subtract_bytes;
  table["MUL"] = multiply_bytes;
  table["MAX_POOL_2D"] = max_pool_bytes;
  table["AVERAGE_POOL_2D"] = average_pool_bytes;
  table["SOFTMAX"] = softmax_bytes;
  table["MEAN"] = mean_bytes;
  table["SUM"] = total_bytes;
}

}  // namespace ingot::tflite
