// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/fft/fft.inl - Fft. Contract: runtime/op/fft.h. Rows of f32 go side by side, one in
// each lane, where there are enough of them: they are turned on the way in and out. A row alone has
// vectors in the later passes.
#pragma once
#include "kernels/cpu/fft/passes.inl"

namespace ingot::cpu {
namespace {
namespace fft {

template <class T>
struct Row {
  const T* x;
  T* y;
};
template <class T>
struct Job {
  FftAttributes t;
  FftPlan plan;
  const T *twiddles, *halves, *chirp, *spectrum, *window;
  int64_t in, out;  // elements of a row of x and of y
  bool inverse() const { return t.kind == FftKind::kInverse || t.kind == FftKind::kToReal; }
  /// Rows of x and y are pairs, of numbers or of their parts; else real parts alone.
  bool pairs_in() const { return t.kind != FftKind::kFromReal || plan.halves; }
  bool pairs_out() const { return t.kind != FftKind::kToReal || plan.halves; }
};

/// Rows into planes of `points`, what they lack as zeros. A block is a square: element j of row i
/// becomes lane i of element j.
template <class L, class T>
void load_rows(const Job<T>& job, const Row<T>* rows, int64_t points, const Planes<T>& to) {
  constexpr int B = L::kLanes;
  const bool pairs = job.pairs_in();
  for (int64_t j = 0; j < job.in; j += B) {
    const int64_t n = tensors::least_of(job.in - j, B);
    typename L::F square[B];
    INGOT_UNROLL for (int i = 0; i < B; i++) {
      const T* const x = rows[i].x + j;
      square[i] = n == B ? L::load(x) : L::load_partial(x, n);
    }
    if (job.window) {
      const typename L::F w = L::load_partial(job.window + j, n);
      INGOT_UNROLL for (int i = 0; i < B; i++) square[i] = L::mul(square[i], w);
    }
    if constexpr (B > 1) L::transpose(square);
    for (int k = 0; k < n; k++) {
      const int64_t at = j + k;
      L::store(pairs ? (at % 2 ? to.im : to.re) + at / 2 * B : to.re + at * B, square[k]);
    }
  }
  const auto clear = [&](T* plane, int64_t from) {
    for (int64_t k = from; k < points; k++) L::store(plane + k * B, L::zero());
  };
  clear(to.re, pairs ? (job.in + 1) / 2 : job.in), clear(to.im, pairs ? job.in / 2 : 0);
}

template <class L, class T>
void store_rows(const Job<T>& job, const Row<T>* rows, int count, const Planes<T>& from) {
  constexpr int B = L::kLanes;
  const bool pairs = job.pairs_out();
  const typename L::F scale = L::splat(T(1) / T(job.t.length));
  for (int64_t j = 0; j < job.out; j += B) {
    const int64_t n = tensors::least_of(job.out - j, B);
    typename L::F square[B];
    INGOT_UNROLL for (int k = 0; k < B; k++) {
      const int64_t at = k < n ? j + k : j;
      square[k] = L::load(pairs ? (at % 2 ? from.im : from.re) + at / 2 * B : from.re + at * B);
      if (job.inverse()) square[k] = L::mul(square[k], scale);
    }
    if constexpr (B > 1) L::transpose(square);
    INGOT_UNROLL for (int i = 0; i < B; i++) {
      if (i >= count) continue;
      if (n == B)
        L::store(rows[i].y + j, square[i]);
      else
        L::store_partial(rows[i].y + j, square[i], n);
    }
  }
}

template <class L, class T>
INGOT_INLINE Complex<L> at(const Planes<T>& x, int64_t k) {
  return {L::load(x.re + k * L::kLanes), L::load(x.im + k * L::kLanes)};
}
template <class L, class T>
INGOT_INLINE void put(const Planes<T>& x, int64_t k, const Complex<L>& z) {
  L::store(x.re + k * L::kLanes, z.re), L::store(x.im + k * L::kLanes, z.im);
}
template <class L>
INGOT_INLINE Complex<L> conjugate(const Complex<L>& z) {
  return {z.re, L::neg(z.im)};
}

/// The transform of job.plan.points, forward.
template <class L, class W, class T>
void transform_points(const Job<T>& job, Planes<T>* x, Planes<T>* spare) {
  const FftPlan& plan = job.plan;
  if (!plan.chirp()) return transform<L, W>(plan.points, job.twiddles, x, spare);
  const auto multiply = [&](int64_t count, const T* by) {
    for (int64_t k = 0; k < count; k++) put<L>(*x, k, times<L>(at<L>(*x, k), splat<L>(by + 2 * k)));
  };
  multiply(plan.points, job.chirp);
  for (int64_t k = plan.points; k < plan.padded; k++) put<L>(*x, k, {L::zero(), L::zero()});
  transform<L, W>(plan.padded, job.twiddles, x, spare);
  multiply(plan.padded, job.spectrum);
  // back: with the parts exchanged
  Planes<T> turned = {x->im, x->re}, turned_spare = {spare->im, spare->re};
  transform<L, W>(plan.padded, job.twiddles, &turned, &turned_spare);
  *x = {turned.im, turned.re}, *spare = {turned_spare.im, turned_spare.re};
  multiply(plan.points, job.chirp);
}

/// Bins of n real numbers, of which two made a point: x [points] -> y [points + 1].
template <class L, class T>
void part_halves(const Job<T>& job, const Planes<T>& x, const Planes<T>& y) {
  const int64_t points = job.plan.points;
  const typename L::F half = L::splat(T(0.5));
  const Complex<L> first = at<L>(x, 0);
  put<L>(y, 0, {L::add(first.re, first.im), L::zero()});
  put<L>(y, points, {L::sub(first.re, first.im), L::zero()});
  for (int64_t k = 1; k <= points / 2; k++) {
    const Complex<L> a = at<L>(x, k), b = conjugate<L>(at<L>(x, points - k));
    const Complex<L> even = plus<L>(a, b), difference = minus<L>(a, b);
    // -i times the difference is twice the odd numbers' bin
    const Complex<L> odd =
        times<L>({difference.im, L::neg(difference.re)}, splat<L>(job.halves + 2 * k));
    put<L>(y, k, times<L>(plus<L>(even, odd), half));
    put<L>(y, points - k, conjugate<L>(times<L>(minus<L>(even, odd), half)));
  }
}
/// Back, times two: x [points + 1] -> y [points].
template <class L, class T>
void join_halves(const Job<T>& job, const Planes<T>& x, const Planes<T>& y) {
  const int64_t points = job.plan.points;
  L::store(x.im, L::zero()), L::store(x.im + points * L::kLanes, L::zero());
  for (int64_t k = 0; k <= points / 2; k++) {
    const Complex<L> a = at<L>(x, k), b = conjugate<L>(at<L>(x, points - k));
    const Complex<L> even = plus<L>(a, b),
                     odd = times<L>(minus<L>(a, b), conjugate<L>(splat<L>(job.halves + 2 * k)));
    put<L>(y, k, plus_turned<L>(even, odd));
    if (k > 0) put<L>(y, points - k, plus_turned<L>(conjugate<L>(even), conjugate<L>(odd)));
  }
}
/// Bins behind the middle are the conjugates of those before it.
template <class L, class T>
void mirror(const Planes<T>& x, int64_t n) {
  for (int64_t k = n / 2 + 1; k < n; k++) put<L>(x, k, conjugate<L>(at<L>(x, n - k)));
}

/// L::kLanes rows, of which `count` are written; the others are read alike.
template <class L, class W, class T>
void rows_together(const Job<T>& job, const Row<T>* rows, int count, Planes<T> x, Planes<T> spare) {
  const FftPlan& plan = job.plan;
  const int64_t n = job.t.length;
  const bool to_real = job.t.kind == FftKind::kToReal, from_real = job.t.kind == FftKind::kFromReal;
  load_rows<L>(job, rows, to_real ? (plan.halves ? plan.points + 1 : n) : plan.points, x);
  if (to_real && plan.halves) {
    join_halves<L>(job, x, spare);
    const Planes<T> joined = spare;
    spare = x, x = joined;
  } else if (to_real) {
    L::store(x.im, L::zero());
    mirror<L>(x, n);
  }
  if (job.inverse()) x = {x.im, x.re}, spare = {spare.im, spare.re};
  transform_points<L, W>(job, &x, &spare);
  if (job.inverse()) x = {x.im, x.re}, spare = {spare.im, spare.re};
  if (from_real && plan.halves) {
    part_halves<L>(job, x, spare);
    x = spare;
  }
  if (from_real && job.out == 2 * n) mirror<L>(x, n);
  store_rows<L>(job, rows, count, x);
}

template <class T>
Job<T> job_of(const OpArguments& a) {
  const FftAttributes& t = a.as<FftAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  Job<T> job = {t,
                fft_plan(t),
                a.inputs[1].as<const T>(),
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                t.step > 0 ? int64_t(t.length) : x.row_length(),
                y.row_length()};
  const T* at = job.twiddles;
  for (int64_t n = job.plan.padded; n > 1;) {
    const int radix = fft_radix(n);
    n /= radix;
    at += 2 * n * (radix - 1);
  }
  job.halves = at;
  job.chirp = at + (job.plan.halves ? 2 * (job.plan.points / 2 + 1) : 0);
  job.spectrum = job.chirp + 2 * job.plan.points;
  if (const TensorView* const window = a.optional(2)) job.window = window->as<const T>();
  return job;
}

/// G: lanes of rows side by side, or One; W: lanes of the later passes of a row alone.
template <class T, class G, class W>
void fft_rows(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const Job<T> job = job_of<T>(a);
  const int64_t plane = fft_plane(job.t, y.row_length());
  const int64_t frames = job.t.step > 0 ? int64_t{y.dims[y.rank - 2]} : 1;
  const auto row_at = [&](int64_t i) {
    return Row<T>{x.as<const T>() + i / frames * x.row_stride + i % frames * job.t.step,
                  y.as<T>() + i * y.row_stride};
  };
  const bool side_by_side = G::kLanes > 1 && y.rows() > 1 && plane <= kMaxFftSideBySide;
  T* const memory = static_cast<T*>(team.scratch);
  const int64_t least = tensors::most_of(1, 2048 / int64_t(job.t.length));
  const tensors::Part mine = tensors::part_of(team, y.rows(), side_by_side ? G::kLanes : 1, least);
  int64_t row = mine.begin;
  const auto planes = [&](int lanes, int which) {
    return Planes<T>{memory + 2 * which * plane * lanes, memory + (2 * which + 1) * plane * lanes};
  };
  while (side_by_side && 4 * (mine.end - row) >= G::kLanes) {
    const int count = int(tensors::least_of(mine.end - row, G::kLanes));
    Row<T> rows[G::kLanes];
    for (int i = 0; i < G::kLanes; i++) rows[i] = row_at(row + (i < count ? i : 0));
    rows_together<G, G>(job, rows, count, planes(G::kLanes, 0), planes(G::kLanes, 1));
    row += count;
  }
  for (; row < mine.end; row++) {
    const Row<T> alone = row_at(row);
    rows_together<One<T>, W>(job, &alone, 1, planes(1, 0), planes(1, 1));
  }
}

template <class V>
Status fft(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  if (a.inputs[0].dtype == DType::kF64)
    fft_rows<double, One<double>, One<double>>(a, team);
  else
    fft_rows<float, V, V>(a, team);
  return {};
}

}  // namespace fft
}  // namespace
}  // namespace ingot::cpu
