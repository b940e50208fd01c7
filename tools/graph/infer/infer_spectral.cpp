// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_spectral.cpp - DFT and STFT, windows, mel weights. Transforms of constant
// length become Fft, whose table is a constant; a symbolic length makes a basis of cosines and
// sines when it runs, and the transform is a MatMul.
#include <cmath>

#include "tools/files/work_budget.h"
#include "tools/graph/fourier_table.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;
constexpr int64_t kMaxBasis = int64_t(1) << 24;  // elements: 64 MiB of weights

/// y[k] = sum over n of x[n] * exp(-+i turn n k / length), for `rows` values of n and `bins` of k.
struct Transform {
  Dim length, rows, bins;
  bool complex_in = false;
  bool complex_out = true;
  bool inverse = false;
  int64_t in_parts() const { return complex_in ? 2 : 1; }
  int64_t out_parts() const { return complex_out ? 2 : 1; }
  bool is_static() const { return length.is_static() && rows.is_static() && bins.is_static(); }
};

/// Fft of x [.., m], m elements or those of m/2 pairs; y [.., row].
ValueId fft(NodeContext& context, const std::vector<ValueId>& inputs, const char* kind,
            const FftAttributes& t, int64_t row) {
  if (fft_plan(t).chirp()) host::charge_work(uint64_t(fft_plan(t).padded) * 16);
  const std::vector<double> numbers = fourier_table(t);
  const ValueId table = context.constant(
      make_floating(context.run().value(inputs[0]).dtype, {int64_t(numbers.size())}, numbers));
  std::vector<ValueId> operands = {inputs[0], table};
  operands.insert(operands.end(), inputs.begin() + 1, inputs.end());
  return context.make(op::Fft, operands,
                      {{attr::kind, std::string(kind)},
                       {attr::length, int64_t(t.length)},
                       {attr::step, int64_t(t.step)},
                       {attr::row, row}});
}

void check_length(NodeContext& context, const Transform& t) {
  if (*t.length.value() < 1) context.corrupt("its length is " + t.length.text());
  if (*t.length.value() > int64_t(kMaxFftLength))
    context.refuse("", "a transform of length " + t.length.text() + " is longer than 2^22",
                   "split the signal, or export the transform as a smaller one");
}

/// x [..., rows, in_parts] -> y [..., bins, out_parts], of constant length. Fewer rows are enough.
ValueId fast_transform(NodeContext& context, ValueId x, const Transform& t) {
  check_length(context, t);
  Dims dims = context.run().value(x).dims;
  bool complex_in = t.complex_in;
  if (!complex_in && t.inverse) {
    dims.back() = Dim(2);
    x = context.padded(x, dims);
    complex_in = true;
  }
  const int64_t parts = complex_in ? 2 : 1;
  FftAttributes attributes = {FftKind::kForward, uint32_t(*t.length.value()), 0};
  const char* kind = t.inverse ? "inverse" : "forward";
  if (!complex_in) attributes.kind = FftKind::kFromReal, kind = "from_real";
  if (!t.complex_out) attributes.kind = FftKind::kToReal, kind = "to_real";
  const Dims out_dims = [&] {
    Dims out = dims;
    out[out.size() - 2] = t.bins, out.back() = Dim(t.out_parts());
    return out;
  }();
  dims.pop_back();
  dims.back() = dims.back() * Dim(parts);
  const ValueId y =
      fft(context, {context.reshape(x, dims)}, kind, attributes, *t.bins.value() * t.out_parts());
  return context.reshape(y, out_dims);
}

// The basis of a symbolic length, made when the model runs.

ValueId number(NodeContext& context, double value) { return context.scalar(DType::kF32, value); }
/// Parts [rows, bins] side by side in a new last dimension.
ValueId pair(NodeContext& context, ValueId a, ValueId b, const Dims& dims) {
  Dims wide = dims;
  wide.push_back(1);
  return context.make(op::Concat, {context.reshape(a, wide), context.reshape(b, wide)},
                      {{attr::axis, int64_t(dims.size())}});
}

ValueId symbolic_basis(NodeContext& context, const Transform& t) {
  const Dims square = {t.rows, t.bins};
  const ValueId length = context.extent(t.length),
                n = context.reshape(context.counting(t.rows), {t.rows, 1});
  const ValueId k = context.reshape(context.counting(t.bins), {1, t.bins});
  const ValueId turn =
      context.make(op::Mod, {context.make(op::Mul, {n, k}), length}, {{attr::fmod, int64_t(0)}});
  const ValueId real_length = context.cast(length, DType::kF32);
  const ValueId part = context.make(op::Div, {context.cast(turn, DType::kF32), real_length});
  const ValueId angle = context.make(op::Mul, {part, number(context, kTurn)});
  ValueId cosine = context.make(op::Cos, {angle}), sine = context.make(op::Sin, {angle});
  if (t.inverse) {
    cosine = context.make(op::Div, {cosine, real_length});
    sine = context.make(op::Div, {sine, real_length});
  }
  const ValueId negative = context.make(op::Neg, {sine});
  if (!t.complex_out) {  // rows are (n, part)
    const ValueId twice = context.make(op::Mul, {n, context.scalar(DType::kI64, 2)});
    const ValueId rest = context.make(op::Mod, {twice, length}, {{attr::fmod, int64_t(0)}});
    const ValueId alone = context.make(op::Equal, {rest, context.scalar(DType::kI64, 0)});
    const ValueId weight = context.make(op::Where, {alone, number(context, 1), number(context, 2)});
    const ValueId both[2] = {context.make(op::Mul, {cosine, weight}),
                             context.make(op::Mul, {negative, weight})};
    const Dims thick = {t.rows, 1, t.bins};
    const ValueId rows =
        context.make(op::Concat, {context.reshape(both[0], thick), context.reshape(both[1], thick)},
                     {{attr::axis, int64_t(1)}});
    return context.reshape(rows, {t.rows * Dim(2), t.bins});
  }
  const ValueId from_real = pair(context, cosine, t.inverse ? sine : negative, square);
  if (!t.complex_in) return context.reshape(from_real, {t.rows, t.bins * Dim(2)});
  const ValueId from_imaginary = pair(context, t.inverse ? negative : sine, cosine, square);
  const Dims thick = {t.rows, 1, t.bins, 2};
  const ValueId rows = context.make(
      op::Concat, {context.reshape(from_real, thick), context.reshape(from_imaginary, thick)},
      {{attr::axis, int64_t(1)}});
  return context.reshape(rows, {t.rows * Dim(2), t.bins * Dim(2)});
}

/// x [..., rows, in_parts] -> [..., bins, out_parts].
ValueId transform(NodeContext& context, ValueId x, const Transform& t) {
  if (t.is_static()) return fast_transform(context, x, t);
  Dims flat = context.run().value(x).dims, out = flat;
  flat.pop_back();
  flat.back() = t.rows * Dim(t.in_parts());
  out[out.size() - 2] = t.bins;
  out.back() = Dim(t.out_parts());
  const ValueId weights = symbolic_basis(context, t);
  return context.reshape(context.make(op::MatMul, {context.reshape(x, flat), weights}), out);
}

/// x with `wanted` elements along `axis`: cut or followed by zeros, which Fft has anyway.
ValueId cut_or_padded(NodeContext& context, ValueId x, size_t axis, const Dim& wanted) {
  const Dims dims = context.run().value(x).dims;
  if (dims[axis] == wanted) return x;
  if (dims[axis].is_static() && wanted.is_static() && *dims[axis].value() < *wanted.value())
    return x;
  const std::vector<int64_t> axes = {int64_t(axis)};
  const Dim kept = min(dims[axis], wanted);
  if (kept != dims[axis]) {
    Dims starts = {Dim(0)}, ends = {kept};
    x = context.make(op::Slice, {x},
                     {{attr::starts, starts}, {attr::ends, ends}, {attr::axes, axes}});
  }
  if (kept == wanted) return x;
  Dims pads(dims.size() * 2, Dim(0));
  pads[dims.size() + axis] = wanted - kept;
  return context.make(
      op::Pad, {x},
      {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
}

Dim one_number(NodeContext& context, AttributeName key, size_t input) {
  const Dims given = context.need_dims(key, input);
  if (given.size() != 1)
    context.corrupt(text(key) + " has " + std::to_string(given.size()) + " elements, expected 1");
  return given[0];
}

void expect_float(NodeContext& context) {
  if (context.dtype(0) != DType::kF32 && context.dtype(0) != DType::kF64)
    context.refuse(
        "",
        std::string("its signal is ") + dtype_text(context.dtype(0)) + ", f32 and f64 are built",
        "convert the model to float32");
}

void dft(NodeContext& context) {
  expect_float(context);
  const Dims in = context.dims(0);
  const int64_t rank = context.rank(0);
  const auto parts = rank < 2 ? std::nullopt : in.back().value();
  if (!parts || (*parts != 1 && *parts != 2))
    context.corrupt("its input has shape " + text(in) + ", expected [..., signal, 1 or 2]");
  const auto given = context.integers(attr::axis, 2);
  const int64_t axis = context.axis(given && !given->empty() ? (*given)[0] : -2, rank);
  if (axis == rank - 1)
    context.corrupt("axis " + std::to_string(axis) + " holds real and imaginary parts");
  Transform t;
  t.complex_in = *parts == 2;
  t.inverse = context.node.integer(attr::inverse, 0) != 0;
  const bool onesided = context.node.integer(attr::onesided, 0) != 0;
  if (onesided && t.complex_in != t.inverse)
    context.corrupt(t.inverse ? "a one-sided inverse transform has complex input"
                              : "a one-sided transform has real input");
  t.complex_out = !(onesided && t.inverse);
  const Dim signal = in[size_t(axis)];
  const Dim usual = t.complex_out ? signal : (signal - Dim(1)) * Dim(2);
  t.length = context.has(1) ? one_number(context, attr::dft_length, 1) : usual;
  if (upper_bound(t.length).value_or(1) < 1) context.corrupt("its length is " + t.length.text());
  const Dim half = t.length / Dim(2) + Dim(1);
  t.rows = t.complex_out ? t.length : half;
  t.bins = onesided && t.complex_out ? half : t.length;
  if (!t.is_static() && context.dtype(0) == DType::kF64) return infer_in_single(context);
  ValueId x = cut_or_padded(context, context.in(0), size_t(axis), t.rows);
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; i++) perm.push_back(i);
  std::swap(perm[size_t(axis)], perm[size_t(rank - 2)]);
  const bool moves = axis != rank - 2;
  if (moves) x = context.make(op::Transpose, {x}, {{attr::perm, perm}});
  x = transform(context, x, t);
  if (moves) x = context.make(op::Transpose, {x}, {{attr::perm, perm}});
  context.same(0, x);
}

/// Windowed frames by a Gather: where the window or the length is known only when the model runs.
ValueId gathered_frames(NodeContext& context, ValueId signal, const Dims& dims, int64_t step,
                        const Transform& t) {
  const Dim frames = (dims[1] - t.length) / Dim(step) + Dim(1);
  ValueId first = context.reshape(context.counting(frames), {frames, 1});
  first = context.make(op::Mul, {first, context.scalar(DType::kI64, double(step))});
  const ValueId index =
      context.make(op::Add, {first, context.reshape(context.counting(t.length), {1, t.length})});
  // [B, frames, length, parts]
  const ValueId x = context.make(op::Gather, {signal, index}, {{attr::axis, int64_t(1)}});
  if (!context.has(2)) return x;
  return context.make(op::Mul, {x, context.reshape(context.in(2), {t.length, 1})});
}

void stft(NodeContext& context) {
  expect_float(context);
  Dims in = context.dims(0);
  if (in.size() == 2) in.push_back(1);  // as onnxruntime takes it
  const auto parts = in.size() == 3 ? in[2].value() : std::nullopt;
  if (!parts || (*parts != 1 && *parts != 2))
    context.corrupt("its signal has shape " + text(context.dims(0)) +
                    ", expected [batch, length, 1 or 2]");
  const auto step = context.integers(attr::frame_step, 1);
  if (!step || step->size() != 1 || (*step)[0] < 1)
    context.corrupt("frame_step must be one number, at least 1");
  Transform t;
  t.complex_in = *parts == 2;
  if (context.has(2) && context.rank(2) != 1)
    context.corrupt("its window has shape " + text(context.dims(2)) + ", expected one dimension");
  t.length = context.has(3)   ? one_number(context, attr::frame_length, 3)
             : context.has(2) ? context.dims(2)[0]
                              : in[1];
  if (context.has(2) && context.dims(2) != Dims{t.length} && context.dims(2)[0].is_static() &&
      t.length.is_static())
    context.corrupt("its window has shape " + text(context.dims(2)) + ", its frames " +
                    t.length.text() + " elements");
  const bool onesided = context.node.integer(attr::onesided, 1) != 0;
  if (onesided && t.complex_in) context.corrupt("a one-sided transform has real input");
  t.rows = t.length;
  t.bins = onesided ? t.length / Dim(2) + Dim(1) : t.length;
  if (!t.is_static() && context.dtype(0) == DType::kF64) return infer_in_single(context);
  const ValueId signal = context.reshape(context.in(0), in);
  if (!t.is_static() || t.complex_in)
    return context.same(0,
                        transform(context, gathered_frames(context, signal, in, (*step)[0], t), t));
  check_length(context, t);
  if ((*step)[0] > INT32_MAX) context.corrupt("frame_step is " + std::to_string((*step)[0]));
  std::vector<ValueId> inputs = {context.reshape(signal, {in[0], in[1]})};
  if (context.has(2)) inputs.push_back(context.in(2));
  const FftAttributes attributes = {FftKind::kFromReal, uint32_t(*t.length.value()),
                                    uint32_t((*step)[0])};
  const ValueId y = fft(context, inputs, "from_real", attributes, *t.bins.value() * 2);
  context.finish_shaped(op::Reshape, y, {in[0], context.run().value(y).dims[1], t.bins, 2});
}

/// As runtime/op/fft.h has it; "row", the elements of a row of y, is in the dims of the output.
void fft_node(NodeContext& context) {
  if (!context.node.has(attr::row) && context.settled()) return;
  Dims out = context.dims(0);
  const int64_t length = context.node.integer(attr::length, 1),
                step = context.node.integer(attr::step, 0);
  if (out.empty() || length < 1 || length > int64_t(kMaxFftLength))
    context.corrupt("it reads " + text(out) + " and transforms " + std::to_string(length));
  if (step > 0) out.insert(out.end() - 1, (out.back() - Dim(length)) / Dim(step) + Dim(1));
  out.back() = Dim(context.node.integer(attr::row, 2));
  context.set(0, context.dtype(0), std::move(out));
  context.erase({attr::row});
}

struct WindowShape {
  Operator op;
  double constant, first, second;
};
const WindowShape kWindows[] = {{op::HannWindow, 0.5, -0.5, 0},
                                {op::HammingWindow, 25.0 / 46, -21.0 / 46, 0},
                                {op::BlackmanWindow, 0.42, -0.5, 0.08}};

/// constant + first cos(turn n / N) + second cos(2 turn n / N), N the size or, where symmetric, one
/// less.
void window(NodeContext& context) {
  const WindowShape* shape = kWindows;
  while (context.node.op != shape->op) shape++;
  const Dims given = context.need_dims(attr::size, 0);
  if (given.size() != 1) context.corrupt("its size must be one number");
  const Dim size = given[0];
  const DType dtype = DType(context.node.integer(attr::output_datatype, int64_t(DType::kF32)));
  const bool periodic = context.node.integer(attr::periodic, 1) != 0;
  if (const auto n = size.value()) {
    if (*n < 0 || *n > kMaxBasis) context.corrupt("its size is " + size.text());
    const double turn = kTurn / double(periodic ? *n : *n - 1);
    std::vector<double> values;
    for (int64_t i = 0; i < *n; i++)
      values.push_back(shape->constant + shape->first * std::cos(turn * double(i)) +
                       shape->second * std::cos(2 * turn * double(i)));
    return context.same(0, context.constant(make_floating(dtype, {*n}, values)));
  }
  const ValueId length = context.cast(context.extent(periodic ? size : size - Dim(1)), DType::kF32);
  const ValueId part =
      context.make(op::Div, {context.cast(context.counting(size), DType::kF32), length});
  const ValueId angle = context.make(op::Mul, {part, number(context, kTurn)});
  const auto wave = [&](ValueId at, double height) {
    return context.make(op::Mul, {context.make(op::Cos, {at}), number(context, height)});
  };
  ValueId sum =
      context.make(op::Add, {wave(angle, shape->first), number(context, shape->constant)});
  if (shape->second != 0)
    sum = context.make(
        op::Add, {sum, wave(context.make(op::Mul, {angle, number(context, 2)}), shape->second)});
  context.same(0, context.cast(sum, dtype));
}

/// Triangles that overlap on the mel scale, [dft_length / 2 + 1, mels].
void mel_weight_matrix(NodeContext& context) {
  double numbers[5];
  for (size_t i = 0; i < 5; i++) {
    const Constant* c = context.model().constant(context.in(i));
    if (!c || c->elements() != 1)
      context.refuse("", "'" + context.value(i).name + "' must be one constant number");
    numbers[i] = read_number(*c, 0);
    if (i < 3 && !(numbers[i] >= 1 && numbers[i] <= double(kMaxBasis)))
      context.corrupt(
          "its numbers of bins, its length and its rate must be positive, and none above " +
          std::to_string(kMaxBasis));
  }
  const int64_t mels = int64_t(numbers[0]), length = int64_t(numbers[1]),
                rate = int64_t(numbers[2]);
  if (mels * (length / 2 + 1) > kMaxBasis) context.corrupt("its matrix is not below 64 MiB");
  const int64_t bins = length / 2 + 1;
  const auto to_mel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  const double low = to_mel(numbers[3]), step = (to_mel(numbers[4]) - low) / double(mels + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; i++) {
    const double hertz = 700 * std::expm1((double(i) * step + low) / 2595 * std::log(10.0));
    const double edge = std::floor(double(length + 1) * hertz / double(rate));
    if (!(edge >= 0 && edge < double(bins))) context.corrupt("its edges lie outside the spectrum");
    edges.push_back(int64_t(edge));
  }
  std::vector<double> values(size_t(bins * mels), 0.0);
  for (int64_t m = 0; m < mels; m++) {
    const int64_t left = edges[size_t(m)], peak = edges[size_t(m) + 1],
                  right = edges[size_t(m) + 2];
    const auto at = [&](int64_t bin) -> double& { return values[size_t(bin * mels + m)]; };
    if (left == peak) at(peak) = 1;
    for (int64_t j = left; j <= peak && left != peak; j++)
      at(j) = double(j - left) / double(peak - left);
    for (int64_t j = peak; j < right; j++) at(j) = double(right - j) / double(right - peak);
  }
  const DType dtype = DType(context.node.integer(attr::output_datatype, int64_t(DType::kF32)));
  if (!is_floating(dtype)) context.refuse("output_datatype", "only floating types are built");
  context.same(0, context.constant(make_floating(dtype, {bins, mels}, values)));
}

}  // namespace

void add_spectral_rules(InferTable& table) {
  table[op::DFT] = dft;
  table[op::STFT] = stft;
  table[op::Fft] = fft_node;
  table[op::MelWeightMatrix] = mel_weight_matrix;
  for (const WindowShape& shape : kWindows) table[shape.op] = window;
}

}  // namespace ingot::graph
