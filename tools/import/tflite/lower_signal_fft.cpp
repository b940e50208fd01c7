// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_signal_fft.cpp - the real Fourier transform of int16 that TFLite
// Micro's audio front end has: kissfft in 16-bit fixed point, in whole numbers of 64 bits. Every
// stage divides by its radix and rounds, so that the rounding, not the transform, decides the
// integers.
#include <cmath>

#include "tools/import/tflite/lower_signal.h"

namespace ingot::tflite {
namespace {

using graph::Dim;

constexpr int kFraction = 15;
constexpr int64_t kOne = 32767;

struct Pair {
  ValueId r = kAbsent, i = kAbsent;
};
/// e^(i * phase), n of them, to the nearest.
struct Turns {
  std::vector<int64_t> r, i;
  void add(double phase) {
    r.push_back(int64_t(std::floor(0.5 + double(kOne) * std::cos(phase))));
    i.push_back(int64_t(std::floor(0.5 + double(kOne) * std::sin(phase))));
  }
};

class FixedTransform {
 public:
  explicit FixedTransform(Call& call) : w(call.b), b(call.b) {}

  /// [rows, 2 n] real -> [rows, n + 1] of both parts; n is a power of two.
  Pair real(ValueId x, const Dim& rows, int64_t n) {
    const ValueId parts = b.reshape(x, {rows, Dim(n), Dim(2)});
    const auto side = [&](int64_t which) {
      return b.reshape(b.slice(parts, 2, Dim(which), Dim(which + 1)), {rows, Dim(n)});
    };
    return unfolded(transformed({side(0), side(1)}, rows, n), rows, n);
  }

 private:
  /// What 16 bits keep.
  ValueId kept(ValueId x) { return w.of(b.cast(x, DType::kI16)); }
  ValueId rounded(ValueId x) {
    return kept(w.shifted(w.add(x, w.number(1 << (kFraction - 1))), kFraction));
  }
  ValueId divided_by(ValueId x, int64_t by) { return rounded(w.mul(x, w.number(kOne / by))); }
  Pair divided_by(const Pair& x, int64_t by) { return {divided_by(x.r, by), divided_by(x.i, by)}; }
  ValueId less(ValueId x, ValueId y) { return b.emit(op::Sub, {x, y}); }
  ValueId sum(ValueId x, ValueId y) { return kept(w.add(x, y)); }
  ValueId difference(ValueId x, ValueId y) { return kept(less(x, y)); }
  Pair sum(const Pair& x, const Pair& y) { return {sum(x.r, y.r), sum(x.i, y.i)}; }
  Pair difference(const Pair& x, const Pair& y) {
    return {difference(x.r, y.r), difference(x.i, y.i)};
  }
  Pair product(const Pair& x, const Turns& by) {
    const ValueId r = w.numbers(by.r), i = w.numbers(by.i);
    return {rounded(less(w.mul(x.r, r), w.mul(x.i, i))),
            rounded(w.add(w.mul(x.r, i), w.mul(x.i, r)))};
  }

  /// Radices, the outermost first.
  static std::vector<int64_t> radices(int64_t n) {
    std::vector<int64_t> out;
    for (; n % 4 == 0; n /= 4) out.push_back(4);
    if (n == 2) out.push_back(2);
    return out;
  }
  static void order(const std::vector<int64_t>& radix, size_t level, int64_t at, int64_t stride,
                    std::vector<int64_t>* places) {
    if (level == radix.size()) return places->push_back(at);
    for (int64_t i = 0; i < radix[level]; i++)
      order(radix, level + 1, at + i * stride, stride * radix[level], places);
  }

  Pair transformed(Pair x, const Dim& rows, int64_t n) {
    const std::vector<int64_t> radix = radices(n);
    std::vector<int64_t> places;
    order(radix, 0, 0, 1, &places);
    const auto placed = [&](ValueId part) {
      return b.emit(op::Gather, {part, b.integers(places)}, {{attr::axis, int64_t(1)}});
    };
    x = {placed(x.r), placed(x.i)};
    int64_t m = 1;
    for (size_t level = radix.size(); level-- > 0; m *= radix[level])
      x = stage(x, rows, n, radix[level], m);
    return x;
  }

  /// Butterflies over [rows, n / (radix * m), radix, m].
  Pair stage(const Pair& x, const Dim& rows, int64_t n, int64_t radix, int64_t m) {
    const int64_t groups = n / (radix * m);
    const Pair scaled = divided_by(x, radix);
    const auto part = [&](ValueId of, int64_t i) {
      const ValueId block = b.reshape(of, {rows, Dim(groups), Dim(radix), Dim(m)});
      return b.slice(block, 2, Dim(i), Dim(i + 1));
    };
    const auto turned = [&](int64_t i) {
      Turns by;
      for (int64_t k = 0; k < m; k++) by.add(-2 * kPi * double(i * k * groups) / double(n));
      return product({part(scaled.r, i), part(scaled.i, i)}, by);
    };
    const Pair first = {part(scaled.r, 0), part(scaled.i, 0)};
    std::vector<Pair> out;
    if (radix == 2) {
      const Pair t = turned(1);
      out = {sum(first, t), difference(first, t)};
    } else {
      const Pair one = turned(1), two = turned(2), three = turned(3);
      const Pair far = difference(first, two), near = sum(first, two), odd = sum(one, three),
                 cross = difference(one, three);
      out = {sum(near, odd),
             {sum(far.r, cross.i), difference(far.i, cross.r)},
             difference(near, odd),
             {difference(far.r, cross.i), sum(far.i, cross.r)}};
    }
    std::vector<ValueId> r, i;
    for (const Pair& each : out) r.push_back(each.r), i.push_back(each.i);
    const auto joined = [&](const std::vector<ValueId>& parts) {
      return b.reshape(b.emit(op::Concat, parts, {{attr::axis, int64_t(2)}}), {rows, Dim(n)});
    };
    return {joined(r), joined(i)};
  }

  /// The transform of twice as many real numbers, of which x has the even ones as real parts.
  Pair unfolded(const Pair& x, const Dim& rows, int64_t n) {
    const auto at = [&](ValueId of, int64_t from, int64_t to) {
      return b.slice(of, 1, Dim(from), Dim(to));
    };
    const Pair halved = divided_by(x, 2);
    const ValueId r0 = at(halved.r, 0, 1), i0 = at(halved.i, 0, 1), none = w.mul(r0, w.number(0));
    if (n == 1) return {joined(sum(r0, i0), difference(r0, i0)), joined(none, none)};
    std::vector<int64_t> mirrored;
    for (int64_t k = 1; k <= n / 2; k++) mirrored.push_back(n - k);
    const auto mirror = [&](ValueId of) {
      return b.emit(op::Gather, {of, b.integers(mirrored)}, {{attr::axis, int64_t(1)}});
    };
    // the conjugate is negated before it is halved
    const Pair front = {at(halved.r, 1, n / 2 + 1), at(halved.i, 1, n / 2 + 1)},
               back = {mirror(halved.r),
                       divided_by(b.emit(op::Sub, {w.number(0), mirror(x.i)}), 2)};
    const Pair plain = sum(front, back), other = difference(front, back);
    Turns by;
    for (int64_t k = 0; k < n / 2; k++) by.add(-kPi * (double(k + 1) / double(n) + 0.5));
    const Pair t = product(other, by);
    const auto half = [&](ValueId of) { return w.shifted(of, 1); };
    const Pair low = {half(w.add(plain.r, t.r)), half(w.add(plain.i, t.i))},
               high = {half(less(plain.r, t.r)), half(less(t.i, plain.i))};
    // those behind the middle in their order; the middle itself is the high one, written last
    std::vector<int64_t> turned;
    for (int64_t k = n / 2; k >= 1; k--) turned.push_back(k - 1);
    const auto whole = [&](ValueId first, ValueId front_half, ValueId back_half, ValueId last) {
      const ValueId reversed =
          b.emit(op::Gather, {back_half, b.integers(turned)}, {{attr::axis, int64_t(1)}});
      return b.emit(op::Concat, {first, at(front_half, 0, n / 2 - 1), reversed, last},
                    {{attr::axis, int64_t(1)}});
    };
    (void)rows;
    return {whole(sum(r0, i0), low.r, high.r, difference(r0, i0)),
            whole(none, low.i, high.i, none)};
  }
  ValueId joined(ValueId x, ValueId y) {
    return b.emit(op::Concat, {x, y}, {{attr::axis, int64_t(1)}});
  }

  static constexpr double kPi = 3.141592653589793238462643383279502884;
  Wide w;
  aten::Builder& b;
};

}  // namespace

ValueId fixed_real_transform(Call& call, ValueId x, const graph::Dim& rows, int64_t length) {
  const int64_t n = length / 2;
  const Pair y = FixedTransform(call).real(x, rows, n);
  const auto apart = [&](ValueId part) { return call.b.reshape(part, {rows, Dim(n + 1), Dim(1)}); };
  const ValueId both =
      call.b.emit(op::Concat, {apart(y.r), apart(y.i)}, {{attr::axis, int64_t(2)}});
  return call.b.reshape(both, {rows, Dim(2 * (n + 1))});
}

}  // namespace ingot::tflite
