// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_normalize.cpp - softmax and norms over the last axis.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

void softmax(Call& call) {
  const double beta = call.number("beta");
  ValueId x = call.input(0);
  if (beta != 1) x = call.b.emit(op::Mul, {x, call.b.scalar(call.b.dtype(x), beta)});
  if (call.b.rank(x) == 0) call.corrupt("its input has no dimensions");
  call.give(call.b.emit(op::Softmax, {x}, {{attr::axis, call.b.rank(x) - 1}}));
}
void log_softmax(Call& call) {
  if (call.rank(0) == 0) call.corrupt("its input has no dimensions");
  call.give(call.b.emit(op::LogSoftmax, {call.input(0)}, {{attr::axis, call.rank(0) - 1}}));
}
/// Norms below a millionth count as that.
void l2_normalization(Call& call) {
  if (call.rank(0) == 0) call.corrupt("its input has no dimensions");
  const ValueId x = call.input(0);
  ValueId norm = call.b.reduce(op::ReduceL2, x, {call.b.rank(x) - 1}, true);
  norm = call.b.emit(op::Max, {norm, call.b.scalar(call.b.dtype(x), double(1e-6f))});
  call.give(call.activated(call.b.emit(op::Div, {x, norm})));
}
void local_response(Call& call) {
  call.expect_rank(0, 4);
  const int64_t radius = call.integer("radius");
  if (radius < 0 || radius > (1 << 20)) call.corrupt("its radius is " + std::to_string(radius));
  const int64_t size = 2 * radius + 1;
  const ValueId x =
      call.b.emit(op::LRN, {call.channels_second(call.input(0))},
                  {{attr::size, size},
                   {attr::alpha, call.number("alpha") * double(size)},  // which is divided by it
                   {attr::beta, call.number("beta")},
                   {attr::bias, call.number("bias")}});
  call.give(call.channels_last(x));
}

}  // namespace

void add_normalize(TranslateTable& table) {
  table["SOFTMAX"] = {1, 1, softmax};
  table["LOG_SOFTMAX"] = {1, 1, log_softmax};
  table["L2_NORMALIZATION"] = {1, 1, l2_normalization};
  table["LOCAL_RESPONSE_NORMALIZATION"] = {1, 1, local_response};
}

}  // namespace ingot::tflite
