#include <cmath>
#include <functional>
#include <limits>

#include "tools/compile/passes/common/elementwise.h"
#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;
using passes::Op;
using passes::Step;

double relu(double x) { return x > 0 || std::isnan(x) ? x : 0; }
double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
double clamp(double x, double low, double high) {
  return std::isnan(x) ? x : std::fmin(std::fmax(x, low), high);
}
double hard_sigmoid(double x, double a, double b) { return clamp(a * x + b, 0, 1); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double modulo(double a, double b) { return a - b * std::floor(a / b); }

using Unary = double (*)(double);
const std::map<std::string, Unary> kUnary = {
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Acosh", [](double x) { return std::acosh(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Atanh", [](double x) { return std::atanh(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"HardSwish", [](double x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }},
    {"Identity", [](double x) { return x; }},
    {"IsNaN", [](double x) { return double(std::isnan(x)); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
    {"Neg", [](double x) { return -x; }},
    {"Not", [](double x) { return double(x == 0); }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", relu},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Sigmoid", sigmoid},
    {"Sign", [](double x) { return double((x > 0) - (x < 0)); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Softplus", softplus},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Trunc", [](double x) { return std::trunc(x); }}};

using Binary = double (*)(double, double);
const std::map<std::string, Binary> kBinary = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Atan2", [](double a, double b) { return std::atan2(a, b); }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Min", [](double a, double b) { return a < b ? a : b; }},
    {"Max", [](double a, double b) { return a > b ? a : b; }},
    {"And", [](double a, double b) { return double(a != 0 && b != 0); }},
    {"Or", [](double a, double b) { return double(a != 0 || b != 0); }},
    {"Xor", [](double a, double b) { return double((a != 0) != (b != 0)); }},
    {"Equal", [](double a, double b) { return double(a == b); }},
    {"Greater", [](double a, double b) { return double(a > b); }},
    {"GreaterOrEqual", [](double a, double b) { return double(a >= b); }},
    {"Less", [](double a, double b) { return double(a < b); }},
    {"LessOrEqual", [](double a, double b) { return double(a <= b); }},
    {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
    {"Mod", modulo}};

bool integral(DType t) {
  return t != DType::kF32 && t != DType::kF64 && t != DType::kF16 && t != DType::kBF16 &&
         t != DType::kInvalid;
}

/// Bytes hold whole numbers modulo 256.
double stored(double x, DType to) {
  if (to == DType::kBool) return double(x != 0);
  if (!integral(to)) return x;
  if ((to != DType::kI8 && to != DType::kU8) || !std::isfinite(x)) return std::trunc(x);
  const int64_t low = to == DType::kI8 ? -128 : 0, n = int64_t(x) - low;
  return double(n - (n >> 8) * 256 + low);
}

double step_of(const Step& s, double a, double b, double c, bool whole) {
  switch (s.op) {
    case Op::kIdentity: return a;
    case Op::kNeg: return -a;
    case Op::kAbs: return std::fabs(a);
    case Op::kSqrt: return std::sqrt(a);
    case Op::kRsqrt: return 1 / std::sqrt(a);
    case Op::kReciprocal: return 1 / a;
    case Op::kExp: return std::exp(a);
    case Op::kLog: return std::log(a);
    case Op::kSin: return std::sin(a);
    case Op::kCos: return std::cos(a);
    case Op::kTanh: return std::tanh(a);
    case Op::kSigmoid: return sigmoid(a);
    case Op::kErf: return std::erf(a);
    case Op::kFloor: return std::floor(a);
    case Op::kCeil: return std::ceil(a);
    case Op::kTrunc: return std::trunc(a);
    case Op::kRound: return std::nearbyint(a);
    case Op::kSign: return double((a > 0) - (a < 0));
    case Op::kRelu: return relu(a);
    case Op::kSilu: return a * sigmoid(a);
    case Op::kGelu: return gelu(a);
    case Op::kGeluTanh: return gelu_tanh(a);
    case Op::kHardSwish: return a * hard_sigmoid(a, 1.0 / 6, 0.5);
    case Op::kSoftplus: return softplus(a);
    case Op::kMish: return a * std::tanh(softplus(a));
    case Op::kLogicalNot: return a == 0;
    case Op::kIsNan: return std::isnan(a);
    case Op::kIsInf: return std::isinf(a);
    case Op::kSquare: return a * a;
    case Op::kTan: return std::tan(a);
    case Op::kAtan: return std::atan(a);
    case Op::kAsin: return std::asin(a);
    case Op::kAcos: return std::acos(a);
    case Op::kSinh: return std::sinh(a);
    case Op::kCosh: return std::cosh(a);
    case Op::kAsinh: return std::asinh(a);
    case Op::kAcosh: return std::acosh(a);
    case Op::kAtanh: return std::atanh(a);
    case Op::kAtan2: return std::atan2(a, b);
    case Op::kSoftsign: return a / (1 + std::fabs(a));
    case Op::kHardSigmoid: return hard_sigmoid(a, s.alpha, s.beta);
    case Op::kElu: return a < 0 ? s.alpha * std::expm1(a) : a;
    case Op::kLeakyRelu: return a < 0 ? s.alpha * a : a;
    case Op::kClip: return clamp(a, s.alpha, s.beta);
    case Op::kScaleShift: return a * s.alpha + s.beta;
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kDiv: return whole ? std::trunc(a / b) : a / b;
    case Op::kPow: return std::pow(a, b);
    case Op::kMin: return a < b ? a : b;
    case Op::kMax: return a > b ? a : b;
    case Op::kMod: return modulo(a, b);
    case Op::kFmod: return std::fmod(a, b);
    case Op::kPrelu: return a < 0 ? a * b : a;
    case Op::kEqual: return a == b;
    case Op::kNotEqual: return a != b;
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    case Op::kGreater: return a > b;
    case Op::kGreaterEqual: return a >= b;
    case Op::kLogicalAnd: return a != 0 && b != 0;
    case Op::kLogicalOr: return a != 0 || b != 0;
    case Op::kBitwiseXor: return double(int64_t(a) ^ int64_t(b));
    case Op::kLogicalXor: return (a != 0) != (b != 0);
    case Op::kSelect: return a != 0 ? b : c;
    case Op::kFma: return a * b + c;
    // No pass makes these: tests of passes that would need one say NaN.
    case Op::kBitwiseNot:
    case Op::kSelu:
    case Op::kCelu:
    case Op::kThresholdedRelu:
    case Op::kShrink:
    case Op::kBitwiseAnd:
    case Op::kBitwiseOr:
    case Op::kShiftLeft:
    case Op::kShiftRight: break;
  }
  return std::nan("");
}

Tensor chain(Evaluator& e, const Node& node, const Dimensions& dims) {
  std::vector<Step> steps = passes::steps_of(node);
  bool whole = node.text("compute", "f32") == "i64" || node.text("compute", "f32") == "u64";
  DType to = e.dtype(node.outputs[0]);
  Tensor y{dims, {}};
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < node.inputs.size(); i++) operands.push_back(&e.in(node, i));
  std::vector<double> reg;
  size_t index = 0;
  for_each_index(dims, [&](const Dimensions& at) {
    reg.clear();
    for (const Tensor* operand : operands) {
      double x = operand->dims == dims ? operand->at[index] : broadcast_at(*operand, at);
      reg.push_back(whole ? std::trunc(x) : x);
    }
    index++;
    for (const Step& s : steps) {
      auto read = [&](int r) { return r == kConstantRegister ? s.alpha : reg[size_t(r)]; };
      int arity = elementwise_arity(s.op);
      reg.push_back(
          step_of(s, read(s.a), arity > 1 ? read(s.b) : 0, arity > 2 ? read(s.c) : 0, whole));
    }
    y.at.push_back(stored(steps.empty() ? reg[0] : reg.back(), to));
  });
  return y;
}

Dimensions joint(const Dimensions& a, const Dimensions& b) {
  Dimensions result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); i++) {
    int64_t from_a = i < result.size() - a.size() ? 1 : a[i - (result.size() - a.size())];
    int64_t from_b = i < result.size() - b.size() ? 1 : b[i - (result.size() - b.size())];
    result[i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

// A source operator of one operand and numbers, as a function.
std::function<double(double)> with_numbers(const Node& node) {
  double alpha = node.number("alpha", 0), beta = node.number("beta", 0);
  if (node.op == "Elu") return [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
  if (node.op == "LeakyRelu") return [=](double x) { return x < 0 ? alpha * x : x; };
  if (node.op == "Swish") return [=](double x) { return x * sigmoid(alpha * x); };
  if (node.op == "HardSigmoid") return [=](double x) { return hard_sigmoid(x, alpha, beta); };
  if (node.op == "Gelu") return node.text("approximate", "none") == "tanh" ? gelu_tanh : gelu;
  double low = node.number("min", -std::numeric_limits<double>::infinity()),
         high = node.number("max", std::numeric_limits<double>::infinity());
  if (node.op == "Clip") return [=](double x) { return clamp(x, low, high); };
  if (auto found = kUnary.find(node.op); found != kUnary.end()) return found->second;
  return nullptr;
}

}  // namespace

std::function<double(double)> activation_of(const Node& node) {
  const std::string kind = node.text("activation", "none");
  const double alpha = node.number("activation_alpha", 0), beta = node.number("activation_beta", 0);
  if (kind == "relu") return relu;
  if (kind == "relu6") return [](double x) { return clamp(x, 0, 6); };
  if (kind == "clip") return [=](double x) { return clamp(x, alpha, beta); };
  if (kind == "leaky_relu") return [=](double x) { return x < 0 ? alpha * x : x; };
  if (kind == "sigmoid") return sigmoid;
  if (kind == "tanh") return [](double x) { return std::tanh(x); };
  if (kind == "silu") return [](double x) { return x * sigmoid(x); };
  if (kind == "hard_swish") return [](double x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); };
  if (kind == "hard_sigmoid") return [=](double x) { return hard_sigmoid(x, alpha, beta); };
  if (kind == "gelu") return gelu;
  if (kind == "gelu_tanh") return gelu_tanh;
  if (kind == "elu") return [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
  if (kind == "softplus") return softplus;
  if (kind == "relu_affine") return [=](double x) { return alpha * relu(x) + beta; };
  if (kind == "hard_swish_affine")
    return [=](double x) { return alpha * x * hard_sigmoid(x, 1.0 / 6, 0.5) + beta; };
  if (kind == "mish") return [](double x) { return x * std::tanh(softplus(x)); };
  return nullptr;
}

std::vector<Tensor> evaluate_elementwise(Evaluator& e, const Node& node) {
  Dimensions dims;
  if (node.op == "Elementwise") {
    if (!e.declared(node, 0, dims)) return {};
    return {chain(e, node, dims)};
  }
  if (std::function<double(double)> f = with_numbers(node)) {
    Tensor y = e.in(node, 0);
    for (double& x : y.at) x = f(x);
    return {y};
  }
  if (node.op == "Cast") {
    Tensor y = e.in(node, 0);
    for (double& x : y.at) x = stored(x, DType(node.integer("to", 1)));
    return {y};
  }
  if (node.op == "Where") {
    dims = joint(joint(e.in(node, 0).dims, e.in(node, 1).dims), e.in(node, 2).dims);
    Tensor y{dims, {}};
    for_each_index(dims, [&](const Dimensions& at) {
      y.at.push_back(broadcast_at(e.in(node, broadcast_at(e.in(node, 0), at) != 0 ? 1 : 2), at));
    });
    return {y};
  }
  auto binary = kBinary.find(node.op);
  if (binary == kBinary.end()) return {};
  const Tensor &a = e.in(node, 0), &b = e.in(node, 1);
  bool whole = integral(e.dtype(node.inputs[0])) && node.op == "Div";
  Tensor y{joint(a.dims, b.dims), {}};
  for_each_index(y.dims, [&](const Dimensions& at) {
    double result = binary->second(broadcast_at(a, at), broadcast_at(b, at));
    y.at.push_back(whole ? std::trunc(result) : result);
  });
  return {y};
}

}  // namespace ingot::reference
