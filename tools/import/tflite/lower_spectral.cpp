// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_spectral.cpp - Fourier transforms. A tensor of complex64 is one of f32
// with a last dimension more, of the real and the imaginary part.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// Along the last two dimensions, of as many elements as fft_length says: what is missing is zero.
void real_transform(Call& call) {
  aten::Builder& b = call.b;
  const ValueId x = call.input(0);
  const int64_t rank = b.rank(x);
  const std::vector<int64_t> lengths = call.known_integers(1, "fft_length");
  if (rank < 2 || lengths.size() != 2)
    call.corrupt("its input has " + std::to_string(rank) + " dimensions, its lengths " +
                 std::to_string(lengths.size()) + ", expected 2 or more, and 2");
  for (const int64_t n : lengths)
    if (n < 1) call.corrupt("its length is " + std::to_string(n));
  Dims parts = b.dims(x);
  const Dim rows = parts[size_t(rank - 2)];
  parts.push_back(Dim(1));
  const auto transformed = [&](ValueId of, int64_t length, int64_t axis, bool onesided) {
    return b.emit(op::DFT, {of, b.integers({length})},
                  {{attr::axis, std::vector<int64_t>{axis}},
                   {attr::inverse, int64_t(0)},
                   {attr::onesided, int64_t(onesided)}});
  };
  ValueId y = transformed(b.reshape(x, parts), lengths[1], rank - 1, true);
  if (lengths[0] != 1 || rows != Dim(1)) y = transformed(y, lengths[0], rank - 2, false);
  call.give(y);
}

ValueId part(Call& call, int64_t which) {
  if (!call.is_complex(0)) call.corrupt("its input is not complex");
  return call.part_of_complex(0, which);
}
template <int64_t which>
void give_part(Call& call) {
  call.give(part(call, which));
}
void magnitude(Call& call) {
  const ValueId x = part(call, 0), y = part(call, 1);
  aten::Builder& b = call.b;
  call.give(
      b.emit(op::Sqrt, {b.emit(op::Add, {b.emit(op::Mul, {x, x}), b.emit(op::Mul, {y, y})})}));
}

}  // namespace

void add_spectral(TranslateTable& table) {
  table["RFFT2D"] = {2, 2, real_transform};
  table["REAL"] = {1, 1, give_part<0>};
  table["IMAG"] = {1, 1, give_part<1>};
  table["COMPLEX_ABS"] = {1, 1, magnitude};
}

}  // namespace ingot::tflite
