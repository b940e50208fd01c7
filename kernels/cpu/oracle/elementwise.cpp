// kernels/cpu/oracle/elementwise.cpp - one element at a time through the steps, in double or in
// 64-bit whole numbers.
#include "runtime/op/elementwise.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

using Op = ElementwiseOp;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

/// One register; alpha and beta where the operator has them.
double unary(const ElementwiseStep& s, double x) {
  const double alpha = double(s.alpha), beta = double(s.beta);
  switch (s.op) {
    case Op::kNeg: return -x;
    case Op::kAbs: return std::fabs(x);
    case Op::kSqrt: return std::sqrt(x);
    case Op::kRsqrt: return 1 / std::sqrt(x);
    case Op::kReciprocal: return 1 / x;
    case Op::kExp: return std::exp(x);
    case Op::kLog: return std::log(x);
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTanh: return std::tanh(x);
    case Op::kSigmoid: return sigmoid(x);
    case Op::kErf: return std::erf(x);
    case Op::kFloor: return std::floor(x);
    case Op::kCeil: return std::ceil(x);
    case Op::kTrunc: return std::trunc(x);
    case Op::kRound: return std::nearbyint(x);
    case Op::kSign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case Op::kRelu: return x < 0 ? 0 : x;
    case Op::kSilu: return x * sigmoid(x);
    case Op::kGelu: return std::isinf(x) ? (x > 0 ? x : 0) : x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Op::kGeluTanh:
      return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
    case Op::kHardSwish: return x * (x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5);
    case Op::kSoftplus: return std::isnan(x) ? x : softplus(x);
    case Op::kMish: return std::isnan(x) ? x : x * std::tanh(softplus(x));
    case Op::kLogicalNot: return x == 0;
    case Op::kIsNan: return std::isnan(x);
    case Op::kIsInf: return std::isinf(x);
    case Op::kSquare: return x * x;
    case Op::kAtan: return std::atan(x);
    case Op::kTan: return std::tan(x);
    case Op::kAsin: return std::asin(x);
    case Op::kAcos: return std::acos(x);
    case Op::kSinh: return std::sinh(x);
    case Op::kCosh: return std::cosh(x);
    case Op::kAsinh: return std::asinh(x);
    case Op::kAcosh: return std::acosh(x);
    case Op::kAtanh: return std::atanh(x);
    case Op::kSoftsign: return x / (1 + std::fabs(x));
    case Op::kHardSigmoid: {
      const double y = alpha * x + beta;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
    case Op::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case Op::kLeakyRelu: return x < 0 ? alpha * x : x;
    case Op::kClip: {
      const double low = x < alpha ? alpha : x;
      return low > beta ? beta : low;
    }
    case Op::kSelu: return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case Op::kCelu: return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case Op::kThresholdedRelu: return x > alpha ? x : 0;
    case Op::kShrink: return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
    case Op::kScaleShift: return x * alpha + beta;
    case Op::kIdentity: return x;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return std::nan("");
}

double binary(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kDiv: return a / b;
    case Op::kPow: return std::pow(a, b);
    case Op::kMin: return a < b || a != a ? a : b;
    case Op::kMax: return a > b || a != a ? a : b;
    case Op::kMod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case Op::kFmod: return std::fmod(a, b);
    case Op::kPrelu: return a < 0 ? a * b : a;
    case Op::kEqual: return a == b;
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    case Op::kGreater: return a > b;
    case Op::kGreaterEqual: return a >= b;
    case Op::kNotEqual: return a != b;
    case Op::kLogicalAnd: return a != 0 && b != 0;
    case Op::kLogicalOr: return a != 0 || b != 0;
    case Op::kLogicalXor: return (a != 0) != (b != 0);
    case Op::kAtan2: return std::atan2(a, b);
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 0
#include "runtime/op/other_functions.def"
      break;
  }
  return std::nan("");
}

using U = uint64_t;
int64_t whole_power(int64_t base, int64_t exponent, bool is_unsigned) {
  if (exponent < 0 && !is_unsigned) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  U result = 1, factor = U(base);
  for (U e = U(exponent); e != 0; e >>= 1, factor *= factor)
    if (e & 1) result *= factor;
  return int64_t(result);
}

int64_t whole_unary(const ElementwiseStep& s, int64_t x, bool is_unsigned) {
  const bool negative = !is_unsigned && x < 0;
  switch (s.op) {
    case Op::kNeg: return int64_t(0 - U(x));
    case Op::kAbs: return negative ? int64_t(0 - U(x)) : x;
    case Op::kSign: return negative ? -1 : x != 0;
    case Op::kRelu: return negative ? 0 : x;
    case Op::kLogicalNot: return x == 0;
    case Op::kSquare: return int64_t(U(x) * U(x));
    case Op::kBitwiseNot: return ~x;
    case Op::kClip: {
      const double v = is_unsigned ? double(U(x)) : double(x);
      return v < double(s.alpha)  ? truncate(double(s.alpha))
             : v > double(s.beta) ? truncate(double(s.beta))
                                  : x;
    }
    case Op::kIdentity: return x;
#define INGOT_KIND_OPERANDS 1
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return 0;
}

int64_t whole_binary(Op op, int64_t a, int64_t b, bool is_unsigned) {
  const bool less = is_unsigned ? U(a) < U(b) : a < b;
  switch (op) {
    case Op::kAdd: return int64_t(U(a) + U(b));
    case Op::kSub: return int64_t(U(a) - U(b));
    case Op::kMul: return int64_t(U(a) * U(b));
    case Op::kDiv:
      return b == 0 ? 0 : is_unsigned ? int64_t(U(a) / U(b)) : b == -1 ? int64_t(0 - U(a)) : a / b;
    case Op::kPow: return whole_power(a, b, is_unsigned);
    case Op::kMin: return less ? a : b;
    case Op::kMax: return less ? b : a;
    case Op::kMod:
    case Op::kFmod: {
      if (b == 0 || (!is_unsigned && b == -1)) return 0;
      if (is_unsigned) return int64_t(U(a) % U(b));
      const int64_t r = a % b;
      return op == Op::kMod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case Op::kEqual: return a == b;
    case Op::kLess: return less;
    case Op::kLessEqual: return less || a == b;
    case Op::kGreater: return !less && a != b;
    case Op::kGreaterEqual: return !less;
    case Op::kNotEqual: return a != b;
    case Op::kLogicalAnd: return a != 0 && b != 0;
    case Op::kLogicalOr: return a != 0 || b != 0;
    case Op::kLogicalXor: return (a != 0) != (b != 0);
    case Op::kBitwiseAnd: return a & b;
    case Op::kBitwiseOr: return a | b;
    case Op::kBitwiseXor: return a ^ b;
    case Op::kShiftLeft: return U(b) > 63 ? 0 : int64_t(U(a) << b);
    case Op::kShiftRight:
      return U(b) > 63     ? (is_unsigned || a >= 0 ? 0 : -1)
             : is_unsigned ? int64_t(U(a) >> b)
                           : a >> b;
#define INGOT_KIND_OPERANDS 2
#define INGOT_KIND_WHOLE 1
#include "runtime/op/other_functions.def"
      break;
  }
  return 0;
}

/// Runs the steps on the registers r[0 .. inputs + steps); returns the last.
double run_real(const ElementwiseAttributes& t, int inputs, double* r) {
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& s = t.steps[i];
    const auto get = [&](uint8_t n) { return n == kConstantRegister ? double(s.alpha) : r[n]; };
    double& out = r[inputs + int(i)];
    if (s.op == Op::kSelect)
      out = get(s.a) != 0 ? get(s.b) : get(s.c);
    else if (s.op == Op::kFma)
      out = get(s.a) * get(s.b) + get(s.c);
    else if (elementwise_arity(s.op) == 2)
      out = binary(s.op, get(s.a), get(s.b));
    else
      out = unary(s, get(s.a));
    if (t.compute == ComputeType::kF32) out = double(float(out));
  }
  return r[inputs + int(t.step_count) - 1];
}

int64_t run_whole(const ElementwiseAttributes& t, int inputs, int64_t* r) {
  const bool is_unsigned = t.compute == ComputeType::kU64;
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& s = t.steps[i];
    const auto get = [&](uint8_t n) {
      return n == kConstantRegister ? truncate(double(s.alpha)) : r[n];
    };
    int64_t& out = r[inputs + int(i)];
    if (s.op == Op::kSelect)
      out = get(s.a) != 0 ? get(s.b) : get(s.c);
    else if (s.op == Op::kFma)
      out = int64_t(U(get(s.a)) * U(get(s.b)) + U(get(s.c)));
    else if (elementwise_arity(s.op) == 2)
      out = whole_binary(s.op, get(s.a), get(s.b), is_unsigned);
    else
      out = whole_unary(s, get(s.a), is_unsigned);
  }
  return r[inputs + int(t.step_count) - 1];
}

void convert(const TensorView& x, int64_t from, const TensorView& y, int64_t at) {
  if (x.dtype == y.dtype)
    copy_element(y, at, x, from);
  else if (x.dtype == DType::kU64 && !is_integer(y.dtype))
    write(y, at, double(x.as<const uint64_t>()[from]));
  else if (is_integer(x.dtype))
    write_integer(y, at, read_integer(x, from));
  else
    write(y, at, read(x, from));
}

}  // namespace

Status elementwise(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const TensorView& y = a.outputs[0];
  const bool whole = t.compute == ComputeType::kI64 || t.compute == ComputeType::kU64;
  for_each_index(y, [&](const int64_t* index) {
    double real[kMaxElementwiseInputs + kMaxElementwiseSteps];
    int64_t integer[kMaxElementwiseInputs + kMaxElementwiseSteps];
    const int64_t at = offset_of(y, index);
    for (int i = 0; i < a.input_count; i++) {
      const TensorView& x = a.inputs[i];
      int64_t source[kMaxRank];
      for (int d = 0; d < x.rank; d++) source[d] = x.dims[d] == 1 ? 0 : index[y.rank - x.rank + d];
      const int64_t from = offset_of(x, source);
      if (t.step_count == 0) return convert(x, from, y, at);
      real[i] = read(x, from);
      if (t.compute == ComputeType::kF32) real[i] = double(float(real[i]));
      if (whole) integer[i] = read_integer(x, from);
    }
    if (!whole)
      write(y, at, run_real(t, a.input_count, real));
    else if (t.compute == ComputeType::kU64 && !is_integer(y.dtype))
      write(y, at, double(U(run_whole(t, a.input_count, integer))));
    else
      write_integer(y, at, run_whole(t, a.input_count, integer));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
