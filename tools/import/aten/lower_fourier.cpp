// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_fourier.cpp - Fourier transforms along one or more dimensions, and
// windows of numbers. Each transform is the graph's DFT.
#include <algorithm>
#include <numeric>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/arithmetic.h"
#include "tools/import/aten/complex_tensor.h"

namespace ingot::aten {
namespace {

enum class Norm { kNone, kRoot, kLength };  // what the sum is divided by

/// The name that users give, for one direction: "backward" divides the inverse by the length.
Norm norm_of_name(Operands& o, bool inverse) {
  const std::string name = o.given("norm") ? o.text("norm") : "backward";
  if (name != "backward" && name != "forward" && name != "ortho")
    o.refuse("norm", "'" + name + "' is not known");
  if (name == "ortho") return Norm::kRoot;
  return (name == "backward") == inverse ? Norm::kLength : Norm::kNone;
}

/// x [..., 1 or 2] transformed along `axis`. `length` open: as long as it is.
struct Direction {
  bool inverse = false;
  bool onesided = false;
  Norm norm = Norm::kNone;
};
Term transformed(const Term& x, int64_t axis, const Dim* length, const Direction& by) {
  Builder& b = *x.b;
  std::vector<ValueId> inputs = {x.id};
  if (length) inputs.push_back(b.reshape(b.extent(*length), {Dim(1)}));
  const Term made = x.of(b.emit(op::DFT, inputs,
                                {{attr::axis, std::vector<int64_t>{axis}},
                                 {attr::inverse, int64_t(by.inverse)},
                                 {attr::onesided, int64_t(by.onesided)}}));
  // The node divides an inverse transform by its length.
  const Norm done = by.inverse ? Norm::kLength : Norm::kNone;
  if (by.norm == done) return made;
  const Dim extent = by.onesided && !by.inverse ? (length ? *length : x.dims()[size_t(axis)])
                                                : made.dims()[size_t(axis)];
  const Term count = Term{&b, b.extent(extent)}.cast(made.dtype()), root = square_root(count);
  if (by.norm == Norm::kNone) return made * count;
  if (by.norm == Norm::kLength) return made / count;
  return done == Norm::kLength ? made * root : made / root;
}
Term pairs_or_column(Operands& o, const char* name) {
  if (const Tensor pairs = Builder::pairs(o.tensor(name))) return {&o.b, o.b.read(pairs)};
  const Term x = floating_term(o, name);
  Dims wide = x.dims();
  wide.push_back(Dim(1));
  return x.reshape(wide);
}
/// Numbers as complex ones.
Term with_zeros(Operands& o, const Term& x) {
  return {&o.b, pairs_of(o.b, term(o, "self").id, o.b.scalar(x.dtype(), 0))};
}
Results complex_result(const Term& pairs) {
  return {Value::of(pairs.b->complex(pairs.b->own(pairs.id)))};
}
Results real_result(const Term& column) {
  Dims dims = column.dims();
  dims.pop_back();
  return result_of(column.reshape(dims));
}
bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

/// fft, ifft, rfft, irfft and their forms over two or more dimensions: the one-sided one along the
/// last of them, first of the real and last of the inverse.
Results fourier(Operands& o) {
  const std::string name = o.op().substr(4);  // "fft_rfft2"
  const bool inverse = starts(name, "ir") || starts(name, "if"),
             real = starts(name, "r") || starts(name, "ir");
  Term x = pairs_or_column(o, "self");
  if (real && inverse && x.dims().back() == Dim(1)) x = with_zeros(o, x);
  const int64_t rank = x.rank() - 1;
  if (rank == 0) o.refuse("self", "is one number");
  std::vector<int64_t> axes;
  std::vector<Dim> lengths;
  if (o.has("n")) {
    axes = {o.axis("dim", rank)};
    if (o.given("n")) lengths = {o.dim("n")};
  } else {
    if (o.given("s")) lengths = o.dims("s");
    if (o.given("dim")) {
      axes = o.axes("dim", rank);
    } else {
      const int64_t count = o.given("s") ? int64_t(lengths.size()) : rank;
      for (int64_t i = rank - count; i < rank; i++) axes.push_back(i);
    }
    if (!lengths.empty() && lengths.size() != axes.size())
      o.corrupt("has " + std::to_string(lengths.size()) + " lengths for " +
                std::to_string(axes.size()) + " dimensions");
  }
  for (const Dim& length : lengths)
    if (length == Dim(-1)) o.refuse("s", "-1 among lengths is not supported", "name the length");
  if (real && axes.empty()) o.corrupt("transforms along no dimension");
  if (axes.empty() && x.dims().back() == Dim(1)) x = with_zeros(o, x);
  const Norm norm = norm_of_name(o, inverse);
  const auto along = [&](size_t i, bool onesided) {
    x = transformed(x, axes[i], lengths.empty() ? nullptr : &lengths[i], {inverse, onesided, norm});
  };
  const size_t last = axes.size() - 1;
  if (real && !inverse) along(last, true);
  for (size_t i = 0; i < (real ? last : axes.size()); i++) along(i, false);
  if (real && inverse) along(last, true);
  return real && inverse ? real_result(x) : complex_result(x);
}
/// The forms of decomposed programs: normalization 0 is none, 1 the root, 2 the length.
Results fourier_core(Operands& o) {
  const bool to_real = o.op() == "_fft_c2r", from_real = o.op() == "_fft_r2c";
  const bool inverse = to_real || (o.has("forward") && !o.flag("forward"));
  const bool onesided = to_real || (from_real && o.flag("onesided"));
  const int64_t kind = o.integer("normalization");
  if (kind < 0 || kind > 2) o.corrupt("has normalization " + std::to_string(kind));
  Term x = pairs_or_column(o, "self");
  const std::vector<int64_t> axes = o.axes("dim", x.rank() - 1);
  if ((to_real || from_real) && axes.empty()) o.corrupt("transforms along no dimension");
  const Norm norm = Norm(kind);
  const auto along = [&](size_t i, bool half, const Dim* length) {
    x = transformed(x, axes[i], length, {inverse, half, norm});
  };
  const size_t last = axes.size() - 1;
  const Dim length = to_real ? o.dim("last_dim_size") : Dim(0);
  if (from_real) along(last, onesided, nullptr);
  for (size_t i = 0; i < (to_real || from_real ? last : axes.size()); i++) along(i, false, nullptr);
  if (to_real) along(last, true, &length);
  return to_real ? real_result(x) : complex_result(x);
}

/// Half of each dimension to the other side.
Results fourier_shift(Operands& o) {
  Term x = term(o, "self");
  const bool back = o.op() == "fft_ifftshift";
  std::vector<int64_t> axes(size_t(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (o.given("dim")) axes = o.axes("dim", x.rank());
  for (const int64_t axis : axes) {
    const Dim extent = x.dims()[size_t(axis)];
    const Dim half = extent / Dim(2), cut = back ? half : extent - half;
    x = concat({x.slice(axis, cut, extent), x.slice(axis, Dim(0), cut)}, axis);
  }
  return result_of(x);
}
/// The frequencies of the bins.
Results fourier_frequencies(Operands& o) {
  const int64_t n = o.integer("n");
  const double step = o.number("d");
  if (n < 1 || n > 1 << 24) o.corrupt("has " + std::to_string(n) + " bins");
  std::vector<double> values;
  if (o.op() == "fft_rfftfreq")
    for (int64_t i = 0; i <= n / 2; i++) values.push_back(double(i) / (double(n) * step));
  else
    for (int64_t i = 0; i < n; i++)
      values.push_back(double(i < (n + 1) / 2 ? i : i - n) / (double(n) * step));
  return o.result(o.b.constant(
      graph::make_floating(o.dtype("dtype", DType::kF32), {int64_t(values.size())}, values)));
}

constexpr double kPi = 3.14159265358979323846;
/// The modified Bessel function of order 0, by its series.
double bessel_i0(double x) {
  double term_of_sum = 1, sum = 1;
  for (int k = 1; k < 500 && term_of_sum > 1e-17 * sum; k++) {
    term_of_sum *= (x / (2 * k)) * (x / (2 * k));
    sum += term_of_sum;
  }
  return sum;
}
Results window_of_numbers(Operands& o) {
  const std::string& op = o.op();
  const int64_t n = o.integer("window_length");
  if (n < 0 || n > 1 << 24) o.corrupt("has " + std::to_string(n) + " elements");
  const bool periodic = !o.has("periodic") || o.flag("periodic");
  const double alpha = o.has("alpha") ? o.number("alpha") : 0.54,
               beta = o.has("beta")           ? o.number("beta")
                      : op == "kaiser_window" ? 12.0
                                              : 0.46;
  const double span = double(periodic ? n : n - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < n; i++) {
    if (n == 1) {
      values.push_back(1);
      continue;
    }
    const double at = double(i) / span, turn = 2 * kPi * at;
    if (op == "hann_window")
      values.push_back(0.5 - 0.5 * std::cos(turn));
    else if (op == "hamming_window")
      values.push_back(alpha - beta * std::cos(turn));
    else if (op == "blackman_window")
      values.push_back(0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn));
    else if (op == "bartlett_window")
      values.push_back(1 - std::abs(2 * at - 1));
    else
      values.push_back(bessel_i0(beta * std::sqrt(std::max(0.0, 1 - (2 * at - 1) * (2 * at - 1)))) /
                       bessel_i0(beta));
  }
  return o.result(o.b.constant(graph::make_floating(o.dtype("dtype", DType::kF32), {n}, values)));
}

}  // namespace

void add_fourier(Table& table) {
  table.add_all("fft_fft fft_ifft fft_rfft fft_irfft",
                "Tensor self, int? n=None, int dim=-1, str? norm=None", fourier);
  table.add_all("fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2",
                "Tensor self, int[]? s=None, int[] dim=[-2 -1], str? norm=None", fourier);
  table.add_all("fft_fftn fft_ifftn fft_rfftn fft_irfftn",
                "Tensor self, int[]? s=None, int[]? dim=None, str? norm=None", fourier);
  table.add("_fft_r2c", "Tensor self, int[] dim, int normalization, bool onesided", fourier_core);
  table.add("_fft_c2c", "Tensor self, int[] dim, int normalization, bool forward", fourier_core);
  table.add("_fft_c2r", "Tensor self, int[] dim, int normalization, int last_dim_size",
            fourier_core);
  table.add_all("fft_fftshift fft_ifftshift", "Tensor self, int[]? dim=None", fourier_shift);
  const std::string factory =
      "*, int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None";
  table.add_all("fft_fftfreq fft_rfftfreq", "int n, float d=1.0, " + factory, fourier_frequencies);
  const std::string length = "int window_length, ", flag = length + "bool periodic, ";
  for (const char* name :
       {"hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"}) {
    table.add(name, length + factory, window_of_numbers);
    table.add(std::string(name) + ".periodic", flag + factory, window_of_numbers);
  }
  table.add("hamming_window.periodic_alpha", flag + "float alpha, " + factory, window_of_numbers);
  table.add("hamming_window.periodic_alpha_beta", flag + "float alpha, float beta, " + factory,
            window_of_numbers);
  table.add("kaiser_window.beta", flag + "float beta, " + factory, window_of_numbers);
}

}  // namespace ingot::aten
