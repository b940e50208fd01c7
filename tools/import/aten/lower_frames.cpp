// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_frames.cpp - short-time Fourier transforms and back.
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

struct Frames {
  int64_t length, step;
  std::vector<double> window;  // empty: only the run knows it
  Term tensor;                 // the window, as long as a frame
};
Frames frames_of(Operands& o) {
  Builder& b = o.b;
  constexpr int64_t kMax = 1 << 20;
  Frames f = {o.integer("n_fft"), 0, {}, {&b, graph::kAbsent}};
  f.step = o.given("hop_length") ? o.integer("hop_length") : f.length / 4;
  const int64_t given = o.given("win_length") ? o.integer("win_length") : f.length;
  if (f.length < 1 || f.length > kMax || f.step < 1 || f.step > kMax || given < 1 ||
      given > f.length)
    o.corrupt("has frames of " + std::to_string(f.length) + " every " + std::to_string(f.step) +
              " under a window of " + std::to_string(given));
  ValueId window =
      o.given("window") ? o.read("window") : b.expand(b.scalar(DType::kF32, 1), {Dim(given)});
  if (b.dims(window) != Dims{Dim(given)})
    o.corrupt("its window has shape " + graph::text(b.dims(window)) + ", expected [" +
              std::to_string(given) + "]");
  if (given < f.length) {
    const int64_t before = (f.length - given) / 2;
    window = b.emit(op::Pad, {window},
                    {{attr::pads, Dims{Dim(before), Dim(f.length - given - before)}},
                     {attr::mode, std::string("constant")},
                     {attr::value, 0.0}});
  }
  f.tensor = {&b, window};
  if (const graph::Constant* constant = b.model.constant(window))
    f.window = graph::read_numbers(*constant);
  return f;
}
Term with_half_a_frame(Operands& o, const Term& x, int64_t length, const std::string& mode) {
  std::string name = mode;
  if (name == "replicate") name = "edge";
  if (name == "circular") name = "wrap";
  if (name != "reflect" && name != "constant" && name != "edge" && name != "wrap")
    o.refuse("pad_mode", "'" + mode + "' is not known");
  const Dim half(length / 2);
  return call(
      op::Pad, x,
      {{attr::pads, Dims{Dim(0), half, Dim(0), half}}, {attr::mode, name}, {attr::value, 0.0}});
}

/// x [B, L] or [L] -> [B, bins, frames] of complex numbers, or of pairs.
Results short_time_fourier(Operands& o) {
  Builder& b = o.b;
  Term x = floating_term(o, "self");
  const bool single = x.rank() == 1;
  if (x.rank() != 1 && x.rank() != 2) o.corrupt("reads " + graph::text(x.dims()));
  if (single) x = x.reshape({Dim(1), x.dims()[0]});
  const Frames f = frames_of(o);
  if (o.given("align_to_window") && o.flag("align_to_window"))
    o.refuse("align_to_window", "True is not supported");
  if (o.has("center") && o.flag("center"))
    x = with_half_a_frame(o, x, f.length, o.text("pad_mode"));
  else if (o.has("pad_mode"))
    o.value("pad_mode");  // of center alone
  const bool onesided = !o.given("onesided") || o.flag("onesided");
  const Dims in = x.dims();
  Term made = {&b, b.emit(op::STFT,
                          {x.reshape({in[0], in[1], Dim(1)}).id, b.integers({f.step}), f.tensor.id,
                           b.integers({f.length})},
                          {{attr::onesided, int64_t(onesided)}})};
  made = {&b, b.transpose(made.id, {0, 2, 1, 3})};
  if (o.flag("normalized")) made = made * (1 / std::sqrt(double(f.length)));
  Dims out = made.dims();
  if (single) out.erase(out.begin());
  made = made.reshape(out);
  if (!o.given("return_complex") || !o.flag("return_complex")) return result_of(made);
  return {Value::of(b.complex(b.own(made.id)))};
}

/// What bin k of a frame adds to its sample i: the inverse basis under the window, [2 bins, 1, n].
/// Bins that stand for two count twice.
std::vector<double> inverse_basis(const Frames& f, int64_t bins, bool onesided, double scale) {
  constexpr double kTurn = 6.283185307179586;
  const int64_t n = f.length;
  std::vector<double> out;
  for (int64_t k = 0; k < bins; k++)
    for (int part = 0; part < 2; part++)
      for (int64_t i = 0; i < n; i++) {
        const double angle = kTurn * double(k * i % n) / double(n);
        const double twice = onesided && k > 0 && 2 * k != n ? 2 : 1;
        const double wave = part == 0 ? std::cos(angle) : -std::sin(angle);
        out.push_back(twice * wave * scale * f.window[size_t(i)]);
      }
  return out;
}
/// Frames laid over each other and added up, divided by the sum of the squared windows.
Results inverse_short_time_fourier(Operands& o) {
  Builder& b = o.b;
  const Tensor pairs = Builder::pairs(o.tensor("self"));
  if (!pairs) o.refuse("self", "is real, expected complex numbers");
  Term x = {&b, b.read(pairs)};
  const bool single = x.rank() == 3;
  if (x.rank() != 3 && x.rank() != 4) o.corrupt("reads " + graph::text(x.dims()));
  if (o.given("return_complex") && o.flag("return_complex"))
    o.refuse("return_complex", "a complex signal is not supported");
  Dims in = x.dims();  // [B, bins, frames, 2]
  if (single) {
    in.insert(in.begin(), Dim(1));
    x = x.reshape(in);
  }
  const Frames f = frames_of(o);
  const bool onesided = !o.given("onesided") || o.flag("onesided");
  const int64_t bins = onesided ? f.length / 2 + 1 : f.length, n = f.length;
  if (f.window.empty()) o.refuse("window", "is known only at run time", "keep it a constant");
  if (in[1] != Dim(bins))
    o.corrupt("has " + in[1].text() + " bins for frames of " + std::to_string(n));
  if (bins > (int64_t(1) << 22) / n)
    o.refuse("n_fft", std::to_string(n) + " would take a basis of more than 32 MiB");
  const double scale = o.flag("normalized") ? 1 / std::sqrt(double(n)) : 1 / double(n);
  const Term basis = {&b,
                      b.constant(graph::make_floating(DType::kF32, {bins * 2, 1, n},
                                                      inverse_basis(f, bins, onesided, scale)))};
  const Attributes apart = {{attr::strides, std::vector<int64_t>{f.step}},
                            {attr::group, int64_t(1)}};
  const Term columns =
      Term{&b, b.transpose(x.id, {0, 1, 3, 2})}.reshape({in[0], in[1] * Dim(2), in[2]});
  const Term sum = call(op::ConvTranspose, columns, basis, apart);
  std::vector<double> squares;
  for (const double w : f.window) squares.push_back(w * w);
  const Term one = Term{&b, b.scalar(DType::kF32, 1)}.expand({Dim(1), Dim(1), in[2]});
  const Term square = {&b, b.constant(graph::make_floating(DType::kF32, {1, 1, n}, squares))};
  const Dim whole = sum.dims()[2];
  const Dim start = o.flag("center") ? Dim(n / 2) : Dim(0);
  const Dim usual = o.flag("center") ? whole - Dim(n / 2) : whole;
  const Dim end = o.given("length") ? min(whole, start + o.dim("length")) : usual;
  const auto cut = [&](const Term& t) { return t.slice(2, start, end); };
  Term made = cut(sum) / cut(call(op::ConvTranspose, one, square, apart));
  if (o.given("length") && start + o.dim("length") != end) {
    const Dim missing = start + o.dim("length") - end;
    made = call(op::Pad, made,
                {{attr::pads, Dims{Dim(0), Dim(0), Dim(0), Dim(0), Dim(0), missing}},
                 {attr::mode, std::string("constant")},
                 {attr::value, 0.0}});
  }
  const Dim length = made.dims()[2];
  return result_of(made.reshape(single ? Dims{length} : Dims{in[0], length}));
}

}  // namespace

void add_frames(Table& table) {
  const std::string head =
      "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, ";
  const std::string tail =
      "bool normalized=False, bool? onesided=None, bool? return_complex=None, "
      "bool? align_to_window=None";
  table.add("stft", head + tail, short_time_fourier);
  table.add("stft.center", head + "bool center=True, str pad_mode='reflect', " + tail,
            short_time_fourier);
  table.add("istft",
            head +
                "bool center=True, bool normalized=False, bool? onesided=None, "
                "int? length=None, bool return_complex=False",
            inverse_short_time_fourier);
}

}  // namespace ingot::aten
