// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_signal_stream.cpp - operators of TFLite Micro's audio front end that
// keep samples from run to run: frames that overlap, delays, stacks of frames, overlapped sums.
// What Micro has in circular buffers is a state of fixed extents here, the oldest sample first.
#include "tools/import/tflite/lower_signal.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int64_t kMaxSamples = 1 << 20;  // that a state or a table of places holds

/// Extents that are all known, at least one.
std::vector<int64_t> known_extents(Call& call, ValueId x) {
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Dim& d : call.b.dims(x)) {
    const auto extent = d.value();
    if (!extent || *extent < 1 || __builtin_mul_overflow(count, *extent, &count) ||
        count > kMaxSamples)
      call.refuse("", "its input has shape " + graph::text(call.b.dims(x)) +
                          ", expected known extents of at most " + std::to_string(kMaxSamples) +
                          " samples");
    extents.push_back(*extent);
  }
  if (extents.empty()) call.corrupt("its input has no dimensions");
  return extents;
}

/// What an operator keeps from run to run, zeros at first. There is none of no elements.
class Kept {
 public:
  Kept(Call& c, const char* name, DType dtype, std::vector<int64_t> dims) : call(c) {
    int64_t count = 1;
    for (const int64_t d : dims)
      if (__builtin_mul_overflow(count, d, &count) || count > kMaxSamples)
        call.refuse("", "keeps more than " + std::to_string(kMaxSamples) + " samples");
    if (count == 0) return;
    key = kept_key(call, name);
    before = call.translator.read_variable(key, dtype, dims);
  }
  /// `before`, then `x`, along `axis`.
  ValueId followed_by(ValueId x, int64_t axis) const {
    return before == kAbsent ? x : call.b.emit(op::Concat, {before, x}, {{attr::axis, axis}});
  }
  void keep(ValueId after) const {
    if (before != kAbsent) call.translator.write_variable(key, after);
  }
  /// What lies in `x` from `from` to `to`.
  void keep(ValueId x, int64_t axis, int64_t from, int64_t to) const {
    if (before != kAbsent) keep(call.b.slice(x, axis, Dim(from), Dim(to)));
  }

  Call& call;
  std::string key;
  ValueId before = kAbsent;
};

/// The input as rows of its last dimension.
struct SampleRows {
  std::vector<int64_t> extents;  // of the input
  int64_t count = 1, length = 1;
  ValueId samples = kAbsent;  // [count, length]
};
SampleRows rows_of(Call& call) {
  SampleRows rows;
  rows.extents = known_extents(call, call.input(0));
  rows.length = rows.extents.back();
  for (size_t i = 0; i + 1 < rows.extents.size(); i++) rows.count *= rows.extents[i];
  rows.samples = call.b.reshape(call.input(0), {Dim(rows.count), Dim(rows.length)});
  return rows;
}
Dims dims_of(const std::vector<int64_t>& extents) { return {extents.begin(), extents.end()}; }

void expect_type(Call& call, bool or_floats = false) {
  const auto type = call.tensor(0).type();
  if (type != fb::TensorType::int16 && !(or_floats && type == fb::TensorType::float32))
    call.refuse("", std::string("is not defined on ") + ModelFile::type_name(type));
}

/// Every `frame_step` samples a frame of the `frame_size` before. Without `prefill` a frame waits
/// until as many whole steps as it needs have come, and its first samples are the oldest of them;
/// what comes out until then is not valid, and has zeros where nothing came yet.
void signal_framer(Call& call) {
  expect_type(call);
  CustomOptions options = signal_options(call);
  const int64_t size = options.whole("frame_size", 1, kMaxSamples),
                step = options.whole("frame_step", 1, kMaxSamples);
  const bool filled = options.whole("prefill", 0, 1) != 0;
  options.expect_all_read();
  aten::Builder& b = call.b;
  const SampleRows x = rows_of(call);
  if (x.length % step != 0)
    call.corrupt("its input has rows of " + std::to_string(x.length) + " samples, its step is " +
                 std::to_string(step));
  if (filled && size < step)
    call.corrupt("its frames of " + std::to_string(size) + " are shorter than its step of " +
                 std::to_string(step));
  const int64_t frames = x.length / step, wanted = (size + step - 1) / step;  // steps of a frame
  const int64_t held = filled ? size - step : (wanted - 1) * step;
  if (frames > kMaxSamples / size || frames * size > kMaxSamples / x.count)
    call.refuse("", "gives more than " + std::to_string(kMaxSamples) + " samples");
  const Kept history(call, "samples", DType::kI16, {x.count, held});
  const ValueId all = history.followed_by(x.samples, 1);
  history.keep(all, 1, x.length, x.length + held);
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames; frame++)
    for (int64_t i = 0; i < size; i++) places.push_back(frame * step + i);
  Dims dims = dims_of(x.extents);
  dims.back() = Dim(frames);
  dims.push_back(Dim(size));
  const ValueId made =
      b.reshape(b.emit(op::Gather, {all, b.integers(places)}, {{attr::axis, int64_t(1)}}), dims);
  if (filled || wanted == 1) return call.give_all({made, b.scalar(DType::kBool, 1)});
  // of the steps before this run, no more are counted than the first frame wants
  Wide w(b);
  const Kept steps(call, "steps", DType::kI64, {1});
  const ValueId limit = w.number(wanted - 1);
  steps.keep(b.emit(op::Min, {w.add(steps.before, w.number(frames)), limit}));
  call.give_all({made, b.reshape(b.emit(op::GreaterOrEqual, {steps.before, limit}), Dims{})});
}

void signal_delay(Call& call) {
  expect_type(call);
  CustomOptions options = signal_options(call);
  const int64_t delay = options.whole("delay_length", 0, kMaxSamples);
  options.expect_all_read();
  aten::Builder& b = call.b;
  const SampleRows x = rows_of(call);
  const Kept history(call, "samples", DType::kI16, {x.count, delay});
  const ValueId all = history.followed_by(x.samples, 1);
  history.keep(all, 1, x.length, x.length + delay);
  call.give(b.reshape(b.slice(all, 1, Dim(0), Dim(x.length)), dims_of(x.extents)));
}

/// The last frames side by side, every `stacker_step` runs; the first one counts as those before it
/// too. In between the output is not valid, and shows the last frames all the same.
void signal_stacker(Call& call) {
  expect_type(call);
  CustomOptions options = signal_options(call);
  constexpr int64_t kMaxFrames = 1 << 12;
  const int64_t channels = options.whole("num_channels", 1, kMaxSamples),
                left = options.whole("stacker_left_context", 0, kMaxFrames),
                right = options.whole("stacker_right_context", 0, kMaxFrames),
                frames = left + right + 1, step = options.whole("stacker_step", 1, frames);
  options.expect_all_read();
  aten::Builder& b = call.b;
  const SampleRows x = rows_of(call);
  if (x.extents.size() != 1 || x.length < channels)
    call.corrupt("its input has shape " + graph::text(dims_of(x.extents)) + ", expected [" +
                 std::to_string(channels) + "]");
  const ValueId frame = b.slice(b.reshape(x.samples, {Dim(x.length)}), 0, Dim(0), Dim(channels));
  Wide w(b);
  const Kept history(call, "frames", DType::kI16, {(frames - 1) * channels});
  // how many frames wait, and one more behind the first run
  const Kept waiting(call, "waiting", DType::kI64, {1});
  const ValueId is_first = b.emit(op::Equal, {waiting.before, w.number(0)});
  ValueId all = frame;
  if (frames > 1) {
    std::vector<ValueId> first(size_t(left), frame);
    if (right > 0)
      first.insert(first.begin(), b.expand(b.scalar(DType::kI16, 0), {Dim(right * channels)}));
    const ValueId begun =
        first.size() == 1 ? first[0] : b.emit(op::Concat, first, {{attr::axis, int64_t(0)}});
    all = b.emit(op::Concat, {b.emit(op::Where, {is_first, begun, history.before}), frame},
                 {{attr::axis, int64_t(0)}});
  }
  history.keep(all, 0, channels, frames * channels);
  const ValueId now = b.emit(op::Where, {is_first, w.number(left + 1), waiting.before});
  const ValueId is_full = b.emit(op::GreaterOrEqual, {now, w.number(frames)});
  const ValueId taken = w.mul(w.of(is_full), w.number(step));
  waiting.keep(w.add(b.emit(op::Sub, {now, taken}), w.number(1)));
  call.give_all({all, b.reshape(is_full, Dims{})});
}

/// Frames added where they overlap; those of int16 stay within 16 bits, frame by frame.
void signal_overlap_add(Call& call) {
  expect_type(call, true);
  CustomOptions options = signal_options(call);
  const int64_t step = options.whole("frame_step", 1, kMaxSamples);
  options.expect_all_read();
  aten::Builder& b = call.b;
  const std::vector<int64_t> extents = known_extents(call, call.input(0));  // [.., frames, size]
  constexpr int64_t kMaxFrames = 1024;                                      // that are spelled out
  if (extents.size() < 2) call.corrupt("its input has no frames");
  const int64_t size = extents.back(), frames = extents[extents.size() - 2];
  if (step > size)
    call.corrupt("its frames of " + std::to_string(size) + " are shorter than its step of " +
                 std::to_string(step));
  if (frames > kMaxFrames)
    call.refuse("", "adds " + std::to_string(frames) + " frames, at most " +
                        std::to_string(kMaxFrames) + " are spelled out");
  int64_t rows = 1;
  for (size_t i = 0; i + 2 < extents.size(); i++) rows *= extents[i];
  Wide w(b);
  const bool is_whole = call.tensor(0).type() == fb::TensorType::int16;
  const DType dtype = is_whole ? DType::kI16 : DType::kF32;
  const Kept rest(call, "rest", dtype, {rows, size - step});
  const ValueId x = b.reshape(call.input(0), {Dim(rows), Dim(frames), Dim(size)});
  const auto wide = [&](ValueId of) { return is_whole ? w.of(of) : of; };
  const ValueId silence = b.expand(wide(b.scalar(dtype, 0)), {Dim(rows), Dim(step)});
  ValueId sum = rest.before == kAbsent ? kAbsent : wide(rest.before);
  std::vector<ValueId> made;
  for (int64_t frame = 0; frame < frames; frame++) {
    const ValueId next =
        wide(b.reshape(b.slice(x, 1, Dim(frame), Dim(frame + 1)), {Dim(rows), Dim(size)}));
    const ValueId old =
        sum == kAbsent ? silence : b.emit(op::Concat, {sum, silence}, {{attr::axis, int64_t(1)}});
    ValueId all = w.add(next, old);
    if (is_whole) all = w.as_i16(all);
    made.push_back(b.slice(all, 1, Dim(0), Dim(step)));
    if (sum != kAbsent) sum = b.slice(all, 1, Dim(step), Dim(size));
  }
  if (sum != kAbsent) rest.keep(b.cast(sum, dtype));
  Dims dims = dims_of(extents);
  dims.pop_back();
  dims.back() = Dim(frames * step);
  const ValueId joined =
      made.size() == 1 ? made[0] : b.emit(op::Concat, made, {{attr::axis, int64_t(1)}});
  give_numbers(call, {b.reshape(joined, dims)});
}

}  // namespace

void add_signal_streams(TranslateTable& table) {
  table["SignalFramer"] = {1, 1, signal_framer};
  table["SignalDelay"] = {1, 1, signal_delay};
  table["SignalStacker"] = {1, 1, signal_stacker};
  table["SignalOverlapAdd"] = {1, 1, signal_overlap_add};
}

}  // namespace ingot::tflite
