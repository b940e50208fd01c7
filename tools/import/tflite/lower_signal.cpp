// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_signal.cpp - operators of TFLite Micro's audio front end, equal to it
// in every integer. Powers, roots and logarithms that go bit by bit there are comparisons with
// powers of two and exact corrections here.
#include "tools/import/tflite/lower_signal.h"

#include <cmath>

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// Numbers of a constant operand.
std::vector<int64_t> known(Call& call, size_t input, const char* what, size_t count) {
  const std::vector<int64_t> all = call.known_integers(input, what);
  if (all.size() != count)
    call.corrupt("its " + std::string(what) + " has " + std::to_string(all.size()) +
                 " elements, expected " + std::to_string(count));
  return all;
}
constexpr int kInt16 = 62;
ValueId powers(Wide& w) {
  std::vector<int64_t> all;
  for (int i = 0; i < kInt16; i++) all.push_back(int64_t{1} << i);
  return w.numbers(all);
}
/// 2^x of whole numbers below 62.
ValueId power(Wide& w, ValueId x) {
  return w.b.emit(op::Gather, {powers(w), x}, {{attr::axis, int64_t(0)}});
}
/// How many bits x has: 0 of 0. @pre x >= 0
ValueId bit_count(Wide& w, ValueId x) {
  Dims dims = w.b.dims(x);
  dims.push_back(Dim(1));
  const ValueId reached = w.b.emit(op::GreaterOrEqual, {w.b.reshape(x, dims), powers(w)});
  return w.b.reduce(op::ReduceSum, w.of(reached), {int64_t(dims.size()) - 1}, false);
}
ValueId chosen(Wide& w, ValueId condition, ValueId yes, ValueId no) {
  return w.b.emit(op::Where, {condition, yes, no});
}
ValueId quotient(Wide& w, ValueId x, ValueId by) { return w.b.emit(op::Div, {x, by}); }
ValueId taken(Wide& w, ValueId table, ValueId at) {
  return w.b.emit(op::Gather, {table, at}, {{attr::axis, int64_t(0)}});
}

void signal_window(Call& call) {
  CustomOptions options = signal_options(call);
  const int shift = int(options.whole("shift", 0, 31));
  options.expect_all_read();
  Wide w(call.b);
  const ValueId x = call.input(0);
  const ValueId window = w.numbers(known(call, 1, "window", size_t(last_extent(call, x))));
  give_numbers(call, {w.as_i16(w.shifted(w.mul(w.of(x), window), shift))});
}

/// As large as 16 bits hold; and by which power of two that is more, of silence by 1.
void signal_auto_scale(Call& call) {
  signal_options(call).expect_all_read();
  Wide w(call.b);
  const ValueId x = w.of(call.input(0));
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < call.b.rank(x); i++) axes.push_back(i);
  const ValueId most = call.b.reduce(op::ReduceMax, call.b.emit(op::Abs, {x}), axes, false);
  const ValueId rest = call.b.emit(op::Sub, {w.number(15), bit_count(w, most)});
  const ValueId sounds = w.of(call.b.emit(op::Greater, {most, w.number(0)}));
  const ValueId bits = w.mul(call.b.emit(op::Max, {rest, w.number(0)}), sounds);
  give_numbers(call, {w.mul(x, power(w, bits)), bits});
}

void signal_transform(Call& call) {
  CustomOptions options = signal_options(call);
  const int64_t length = options.whole("fft_length", 2, 1 << 14);
  options.expect_all_read();
  if (call.tensor(0).type() != fb::TensorType::int16 || (length & (length - 1)) != 0)
    call.refuse("fft_length", "of " + std::to_string(length) + " on " +
                                  ModelFile::type_name(call.tensor(0).type()) +
                                  "; supported are powers of two on int16");
  Wide w(call.b);
  ValueId x = w.of(call.input(0));
  const int64_t given = last_extent(call, x);
  Dims out = call.b.dims(x);
  const Dim rows = graph::product(out) / Dim(given);
  if (given > length)
    call.corrupt("its input has " + std::to_string(given) + " numbers, its length is " +
                 std::to_string(length));
  x = call.b.reshape(x, {rows, Dim(given)});
  if (given < length)
    x = call.b.emit(op::Pad, {x, call.b.integers({0, 0, 0, length - given}), w.number(0)},
                    {{attr::mode, std::string("constant")}});
  out.back() = Dim(length + 2);
  give_numbers(call, {call.b.reshape(fixed_real_transform(call, x, rows, length), out)});
}

/// Outside of start .. end it is 0; TFLite Micro leaves there what was there.
void signal_energy(Call& call) {
  CustomOptions options = signal_options(call);
  const int64_t start = options.whole("start_index", 0, 1 << 16),
                end = options.whole("end_index", 0, 1 << 16);
  options.expect_all_read();
  Wide w(call.b);
  const ValueId x = w.of(call.input(0));
  const int64_t numbers = last_extent(call, x), bins = numbers / 2;
  if (numbers % 2 != 0 || end > bins || start > end)
    call.corrupt("its range is " + std::to_string(start) + " to " + std::to_string(end) + " of " +
                 std::to_string(numbers) + " parts");
  Dims dims = call.b.dims(x);
  dims.back() = Dim(bins);
  Dims apart = dims;
  apart.push_back(Dim(2));
  const ValueId energy = call.b.reduce(op::ReduceSum, call.b.reshape(w.mul(x, x), apart),
                                       {int64_t(apart.size()) - 1}, false);
  std::vector<int64_t> inside(size_t(bins), 0);
  for (int64_t i = start; i < end; i++) inside[size_t(i)] = 1;
  give_numbers(call, {w.mul(energy, w.numbers(inside))});
}

/// A band is what rises into it and what falls out of the one before it.
void signal_filter_bank(Call& call) {
  CustomOptions options = signal_options(call);
  const int64_t channels = options.whole("num_channels", 1, 1 << 12);
  options.expect_all_read();
  Wide w(call.b);
  const ValueId x = w.of(call.input(0));
  const int64_t bins = last_extent(call, x);
  const std::vector<int64_t> weights = call.known_integers(1, "weights"),
                             unweights = call.known_integers(2, "unweights");
  const size_t bands = size_t(channels + 1);
  const std::vector<int64_t> from = known(call, 3, "frequency starts", bands),
                             first = known(call, 4, "weight starts", bands),
                             width = known(call, 5, "widths", bands);
  std::vector<int64_t> matrix(size_t(channels * bins), 0);
  for (size_t band = 0; band < bands; band++) {
    for (int64_t j = 0; j < width[band]; j++) {
      const int64_t bin = from[band] + j, at = first[band] + j;
      if (bin < 0 || bin >= bins || at < 0 || size_t(at) >= weights.size() ||
          size_t(at) >= unweights.size())
        call.corrupt("band " + std::to_string(band) + " leaves its input or its weights");
      if (band > 0) matrix[(band - 1) * size_t(bins) + size_t(bin)] += weights[size_t(at)];
      if (band + 1 < bands) matrix[band * size_t(bins) + size_t(bin)] += unweights[size_t(at)];
    }
  }
  if (call.b.rank(x) != 1) call.refuse("", "its input has more than one dimension");
  const ValueId all =
      call.b.constant(graph::make_constant(DType::kI64, {channels, bins}, matrix.data()));
  give_numbers(call, {call.b.reduce(op::ReduceSum, w.mul(x, all), {1}, false)});
}

/// To the nearest, then shifted. @pre x < 2^52
void signal_square_root(Call& call) {
  signal_options(call).expect_all_read();
  Wide w(call.b);
  aten::Builder& b = call.b;
  const ValueId x = w.of(call.input(0)), bits = w.of(call.input(1));
  const ValueId near = w.of(b.emit(op::Floor, {b.emit(op::Sqrt, {b.cast(x, DType::kF64)})}));
  const auto counts = [&](graph::Operator op, ValueId left, ValueId right) {
    return w.of(b.emit(op, {left, right}));
  };
  const ValueId over = counts(op::Greater, w.mul(near, near), x), next = w.add(near, w.number(1)),
                under = counts(op::LessOrEqual, w.mul(next, next), x);
  const ValueId root = w.add(near, b.emit(op::Sub, {under, over}));
  const ValueId rest = b.emit(op::Sub, {x, w.mul(root, root)});
  // of 32 bits the root has 16, and does not grow to 17
  const ValueId is_last = b.emit(op::Mul, {counts(op::Equal, root, w.number(65535)),
                                           counts(op::Less, x, w.number(int64_t{1} << 32))});
  const ValueId up =
      b.emit(op::Mul, {counts(op::Greater, rest, root), b.emit(op::Sub, {w.number(1), is_last})});
  give_numbers(call, {quotient(w, w.add(root, up), power(w, bits))});
}

/// The noise is kept from run to run, smoothed; it is 0 at first.
void signal_spectral_subtraction(Call& call) {
  CustomOptions options = signal_options(call);
  constexpr int64_t kMaxFactor = 1 << 16;
  const int64_t channels = options.whole("num_channels", 1, 1 << 12),
                smoothing = options.whole("smoothing", 0, kMaxFactor),
                rest = options.whole("one_minus_smoothing", 0, kMaxFactor),
                odd_smoothing = options.whole("alternate_smoothing", 0, kMaxFactor),
                odd_rest = options.whole("alternate_one_minus_smoothing", 0, kMaxFactor),
                least = options.whole("min_signal_remaining", 0, kMaxFactor);
  const int bits = int(options.whole("smoothing_bits", 0, 16)),
            fraction = int(options.whole("spectral_subtraction_bits", 0, 16));
  const bool clamps = options.whole("clamping", 0, 1) != 0;
  options.expect_all_read();
  Wide w(call.b);
  aten::Builder& b = call.b;
  const ValueId x = w.of(call.input(0));
  if (last_extent(call, x) != channels || b.rank(x) != 1)
    call.corrupt("its input has shape " + graph::text(b.dims(x)) + ", expected [" +
                 std::to_string(channels) + "]");
  std::vector<int64_t> of_new, of_old;
  for (int64_t i = 0; i < channels; i++) {
    of_new.push_back(i % 2 ? odd_smoothing : smoothing);
    of_old.push_back(i % 2 ? odd_rest : rest);
  }
  const std::string key = kept_key(call, "noise_estimate");
  const ValueId before = call.translator.read_variable(key, DType::kI64, {channels});
  const ValueId scaled = w.mul(x, w.number(int64_t{1} << bits));
  const ValueId noise = w.shifted(
      w.add(w.mul(scaled, w.numbers(of_new)), w.mul(before, w.numbers(of_old))), fraction);
  const ValueId held = b.emit(op::Min, {noise, scaled});
  call.translator.write_variable(key, clamps ? held : noise);
  const ValueId left = w.shifted(b.emit(op::Sub, {scaled, held}), bits),
                floor = w.shifted(w.mul(x, w.number(least)), fraction);
  give_numbers(call, {b.emit(op::Max, {left, floor}), clamps ? held : noise});
}

/// Gain by a table of parabolas, one for each number of bits.
void signal_gain(Call& call) {
  CustomOptions options = signal_options(call);
  const int shift = int(options.whole("snr_shift", 0, 31));
  options.expect_all_read();
  Wide w(call.b);
  aten::Builder& b = call.b;
  const ValueId x = w.of(call.input(0)), noise = w.of(call.input(1));
  constexpr size_t kEntries = 125;
  const ValueId table = w.numbers(known(call, 2, "gain table", kEntries));
  const ValueId bits = bit_count(w, noise);
  const ValueId first =
      b.emit(op::Max, {w.add(w.mul(bits, w.number(4)), w.number(-6)), w.number(0)});
  const ValueId at = b.emit(op::Min, {first, w.number(int64_t(kEntries) - 3)});
  // ten bits behind the highest
  const ValueId moved = quotient(w, w.mul(noise, w.number(1 << 11)), power(w, bits));
  const ValueId part = b.emit(op::Mod, {moved, w.number(1 << 10)}, {{attr::fmod, int64_t(0)}});
  const ValueId square = w.shifted(w.mul(taken(w, table, w.add(at, w.number(2))), part), 5),
                slope = w.mul(taken(w, table, w.add(at, w.number(1))), w.number(1 << 5));
  const ValueId curve = w.shifted(w.add(w.mul(w.add(square, slope), part), w.number(1 << 14)), 15);
  const ValueId small = taken(w, table, b.emit(op::Min, {noise, w.number(2)}));
  const ValueId gain = chosen(w, b.emit(op::LessOrEqual, {noise, w.number(2)}), small,
                              w.add(curve, taken(w, table, at)));
  const ValueId ratio = w.shifted(w.mul(x, gain), shift);
  constexpr int kRatioBits = 12, kOutputBits = 6;
  const ValueId quadratic = w.shifted(w.mul(ratio, ratio), 2 + 2 * kRatioBits - kOutputBits),
                linear = w.add(w.shifted(ratio, kRatioBits - kOutputBits),
                               w.number(-(1 << kOutputBits)));
  give_numbers(
      call, {chosen(w, b.emit(op::Less, {ratio, w.number(2 << kRatioBits)}), quadratic, linear)});
}

/// ln(x * 2^correction) * scale by 128 lines of log2 between powers of two.
void signal_log(Call& call) {
  CustomOptions options = signal_options(call);
  const int64_t scale = options.whole("output_scale", 1, 1 << 16);
  const int correction = int(options.whole("input_correction_bits", 0, 16));
  options.expect_all_read();
  Wide w(call.b);
  aten::Builder& b = call.b;
  constexpr int kBits = 16, kSegmentBits = 7;
  constexpr int64_t kLn2 = 45426;  // in 16 bits
  std::vector<int64_t> lines;      // log2(1 + t) - t
  for (int i = 0; i <= 1 << kSegmentBits; i++) {
    const double t = i / double(1 << kSegmentBits);
    lines.push_back(int64_t(std::round((std::log2(1 + t) - t) * (1 << kBits))));
  }
  const ValueId table = w.numbers(lines), half = w.number(1 << (kBits - 1));
  const ValueId given = w.mul(w.of(call.input(0)), w.number(int64_t{1} << correction));
  const ValueId x = b.emit(op::Max, {given, w.number(1)});
  const ValueId whole = w.add(bit_count(w, x), w.number(-1)), unit = power(w, whole);
  const ValueId rest = quotient(w, w.mul(b.emit(op::Sub, {x, unit}), w.number(1 << kBits)), unit);
  const ValueId segment = w.shifted(rest, kBits - kSegmentBits);
  const ValueId begin = taken(w, table, segment),
                rise = b.emit(op::Sub, {taken(w, table, w.add(segment, w.number(1))), begin});
  const ValueId inside =
      b.emit(op::Sub, {rest, w.mul(segment, w.number(1 << (kBits - kSegmentBits)))});
  const ValueId fraction = w.add(w.add(rest, begin), w.shifted(w.mul(rise, inside), kBits));
  const ValueId log2 = w.add(w.mul(whole, w.number(1 << kBits)), fraction);
  const ValueId natural = w.shifted(w.add(w.mul(log2, w.number(kLn2)), half), kBits);
  const ValueId scaled = w.shifted(w.add(w.mul(natural, w.number(scale)), half), kBits);
  const ValueId kept = b.emit(op::Min, {scaled, w.number(INT16_MAX)});
  give_numbers(call, {chosen(w, b.emit(op::Greater, {given, w.number(1)}), kept, w.number(0))});
}

}  // namespace

void add_signal(TranslateTable& table) {
  add_signal_streams(table);
  table["SignalWindow"] = {2, 2, signal_window};
  table["SignalFftAutoScale"] = {1, 1, signal_auto_scale};
  table["SignalRfft"] = {1, 1, signal_transform};
  table["SignalEnergy"] = {1, 1, signal_energy};
  table["SignalFilterBank"] = {6, 6, signal_filter_bank};
  table["SignalFilterBankSquareRoot"] = {2, 2, signal_square_root};
  table["SignalFilterBankSpectralSubtraction"] = {1, 1, signal_spectral_subtraction};
  table["SignalPCAN"] = {3, 3, signal_gain};
  table["SignalFilterBankLog"] = {1, 1, signal_log};
}

}  // namespace ingot::tflite
