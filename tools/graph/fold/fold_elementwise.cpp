// tools/graph/fold/fold_elementwise.cpp - unary, binary and ternary operators: f(double...) or
// f(int64...), each broadcast.
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/checked_math.h"
#include "tools/graph/fold/fold_arithmetic.h"
#include "tools/graph/movement.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Ints = std::vector<int64_t>;
using Real1 = double (*)(double);
using Real2 = double (*)(double, double);
using Whole2 = std::optional<int64_t> (*)(int64_t, int64_t);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
const std::map<std::string, Real1>& real_unary() {
  static const std::map<std::string, Real1> kTable = {
      {"Abs", [](double x) { return std::abs(x); }},
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
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sigmoid", sigmoid},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : x; }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : 0); }},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Trunc", [](double x) { return std::trunc(x); }},
  };
  return kTable;
}
const std::map<std::string, Real2>& real_binary() {
  static const std::map<std::string, Real2> kTable = {
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return a < b || std::isnan(a) ? a : b; }},
      {"Max", [](double a, double b) { return a > b || std::isnan(a) ? a : b; }},
      {"Mod", [](double a, double b) { return std::fmod(a, b); }},
      {"Atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
      {"Equal", [](double a, double b) { return double(a == b); }},
      {"Greater", [](double a, double b) { return double(a > b); }},
      {"GreaterOrEqual", [](double a, double b) { return double(a >= b); }},
      {"Less", [](double a, double b) { return double(a < b); }},
      {"LessOrEqual", [](double a, double b) { return double(a <= b); }},
  };
  return kTable;
}

int64_t wrapping(uint64_t x) { return int64_t(x); }
std::optional<int64_t> whole_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = uint64_t(base);
  for (uint64_t e = uint64_t(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return wrapping(result);
}
const std::map<std::string, Whole2>& whole_binary() {
  using W = std::optional<int64_t>;
  static const std::map<std::string, Whole2> kTable = {
      {"Add", [](int64_t a, int64_t b) -> W { return wrapping(uint64_t(a) + uint64_t(b)); }},
      {"Sub", [](int64_t a, int64_t b) -> W { return wrapping(uint64_t(a) - uint64_t(b)); }},
      {"Mul", [](int64_t a, int64_t b) -> W { return wrapping(uint64_t(a) * uint64_t(b)); }},
      {"Div",
       [](int64_t a, int64_t b) -> W {
         int64_t quotient;
         return checked_div(a, b, &quotient) ? W(quotient) : W();
       }},
      {"Pow", whole_power},
      {"Min", [](int64_t a, int64_t b) -> W { return std::min(a, b); }},
      {"Max", [](int64_t a, int64_t b) -> W { return std::max(a, b); }},
      {"PRelu",
       [](int64_t a, int64_t b) -> W { return a < 0 ? wrapping(uint64_t(a) * uint64_t(b)) : a; }},
      {"Equal", [](int64_t a, int64_t b) -> W { return a == b; }},
      {"Greater", [](int64_t a, int64_t b) -> W { return a > b; }},
      {"GreaterOrEqual", [](int64_t a, int64_t b) -> W { return a >= b; }},
      {"Less", [](int64_t a, int64_t b) -> W { return a < b; }},
      {"LessOrEqual", [](int64_t a, int64_t b) -> W { return a <= b; }},
      {"And", [](int64_t a, int64_t b) -> W { return a && b; }},
      {"Or", [](int64_t a, int64_t b) -> W { return a || b; }},
      {"Xor", [](int64_t a, int64_t b) -> W { return (a != 0) != (b != 0); }},
      {"BitwiseAnd", [](int64_t a, int64_t b) -> W { return a & b; }},
      {"BitwiseOr", [](int64_t a, int64_t b) -> W { return a | b; }},
      {"BitwiseXor", [](int64_t a, int64_t b) -> W { return a ^ b; }},
  };
  return kTable;
}

/// Positions of each operand's elements in the broadcast output.
std::optional<std::vector<Ints>> spread(const std::vector<const Constant*>& inputs,
                                        const Ints& dims) {
  Node expand;
  expand.op = "Expand";
  std::vector<Ints> out;
  for (const Constant* c : inputs) {
    if (!c || c->dims.size() > dims.size()) return std::nullopt;
    auto sources = movement_sources(expand, 0, {c->dims}, dims, {}, {});
    if (!sources) return std::nullopt;
    out.push_back(std::move(*sources));
  }
  return out;
}

std::optional<int64_t> whole_mod(const Node& node, int64_t a, int64_t b) {
  int64_t rest;
  if (!checked_rem(a, b, &rest)) return std::nullopt;
  if (node.integer("fmod", 0) != 0) return rest;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<Constant> fold_binary(const Node& node, const Constant& a, const Constant& b,
                                    DType dtype, const Ints& dims) {
  const auto at = spread({&a, &b}, dims);
  if (!at) return std::nullopt;
  const size_t count = (*at)[0].size();
  if (is_floating(a.dtype)) {
    const auto f = real_binary().find(node.op);
    if (f == real_binary().end() || (node.op == "Mod" && node.integer("fmod", 0) == 0))
      return std::nullopt;
    const std::vector<double> x = read_numbers(a), y = read_numbers(b);
    std::vector<double> out(count);
    for (size_t i = 0; i < count; i++)
      out[i] = f->second(x[size_t((*at)[0][i])], y[size_t((*at)[1][i])]);
    if (is_floating(dtype)) return make_floating(dtype, dims, out);
    return make_integer(dtype, dims, Ints(out.begin(), out.end()));
  }
  // Order and division of u64 differ above 2^63; such constants stay.
  if (a.dtype == DType::kU64) return std::nullopt;
  const auto f = whole_binary().find(node.op);
  if (f == whole_binary().end() && node.op != "Mod") return std::nullopt;
  const Ints x = read_integers(a), y = read_integers(b);
  Ints out(count);
  for (size_t i = 0; i < count; i++) {
    const int64_t p = x[size_t((*at)[0][i])], q = y[size_t((*at)[1][i])];
    const std::optional<int64_t> r = node.op == "Mod" ? whole_mod(node, p, q) : f->second(p, q);
    if (!r) return std::nullopt;
    out[i] = *r;
  }
  return make_integer(dtype, dims, out);
}

std::optional<Constant> where(const std::vector<const Constant*>& inputs, DType dtype,
                              const Ints& dims) {
  const auto at = spread(inputs, dims);
  if (!at || dtype == DType::kU64) return std::nullopt;
  const Ints condition = read_integers(*inputs[0]);
  const size_t count = (*at)[0].size();
  const auto pick = [&](size_t i) {
    return condition[size_t((*at)[0][i])] != 0 ? size_t(1) : size_t(2);
  };
  if (is_floating(dtype)) {
    const std::vector<double> values[2] = {read_numbers(*inputs[1]), read_numbers(*inputs[2])};
    std::vector<double> out(count);
    for (size_t i = 0; i < count; i++) out[i] = values[pick(i) - 1][size_t((*at)[pick(i)][i])];
    return make_floating(dtype, dims, out);
  }
  const Ints values[2] = {read_integers(*inputs[1]), read_integers(*inputs[2])};
  Ints out(count);
  for (size_t i = 0; i < count; i++) out[i] = values[pick(i) - 1][size_t((*at)[pick(i)][i])];
  return make_integer(dtype, dims, out);
}

std::optional<Constant> fold_unary(const Node& node, const Constant& x, DType dtype,
                                   const Ints& dims) {
  if (node.op == "Clip" && is_floating(dtype)) {
    std::vector<double> out = read_numbers(x);
    for (double& v : out) {
      if (node.has("min") && v < node.number("min", 0)) v = node.number("min", 0);
      if (node.has("max") && v > node.number("max", 0)) v = node.number("max", 0);
    }
    return make_floating(dtype, dims, out);
  }
  if (is_floating(x.dtype) && node.op == "IsNaN") {
    Ints out;
    for (const double v : read_numbers(x)) out.push_back(std::isnan(v));
    return make_integer(dtype, dims, out);
  }
  if (is_floating(x.dtype)) {
    const auto f = real_unary().find(node.op);
    if (f == real_unary().end()) return std::nullopt;
    std::vector<double> out = read_numbers(x);
    for (double& v : out) v = f->second(v);
    return make_floating(dtype, dims, out);
  }
  static const std::set<std::string> kWhole = {"Not", "Neg", "Abs", "Sign", "Relu", "BitwiseNot"};
  // also where x has no element
  if (x.dtype == DType::kU64 || !kWhole.count(node.op)) return std::nullopt;
  Ints out = read_integers(x);
  for (int64_t& v : out) {
    if (node.op == "Not")
      v = v == 0;
    else if (node.op == "Neg")
      v = wrapping(0 - uint64_t(v));
    else if (node.op == "Abs")
      v = v < 0 ? wrapping(0 - uint64_t(v)) : v;
    else if (node.op == "Sign")
      v = v > 0 ? 1 : v < 0 ? -1 : 0;
    else if (node.op == "Relu")
      v = v > 0 ? v : 0;
    else
      v = ~v;
  }
  return make_integer(dtype, dims, out);
}

std::optional<Constant> cast(const Constant& x, DType dtype, const Ints& dims) {
  if (is_floating(dtype)) return make_floating(dtype, dims, read_numbers(x));
  if (is_floating(x.dtype)) {
    const std::vector<double> numbers = read_numbers(x);
    Ints out;
    for (const double v : numbers) {
      if (dtype == DType::kBool)
        out.push_back(v != 0);
      else if (!(std::abs(v) < 9.2e18))
        return std::nullopt;  // what an overflow gives is the machine's business
      else
        out.push_back(int64_t(v));
    }
    return make_integer(dtype, dims, out);
  }
  return make_integer(dtype, dims, read_integers(x));
}

}  // namespace

std::optional<Constant> fold_elementwise(const Node& node,
                                         const std::vector<const Constant*>& inputs, DType dtype,
                                         const Ints& dims) {
  if (!inputs[0]) return std::nullopt;
  if (node.op == "Where" && inputs.size() == 3) return where(inputs, dtype, dims);
  if (node.op == "Cast") return cast(*inputs[0], dtype, dims);
  if (inputs.size() == 2 && inputs[1])
    return fold_binary(node, *inputs[0], *inputs[1], dtype, dims);
  if (inputs.size() == 1) return fold_unary(node, *inputs[0], dtype, dims);
  return std::nullopt;
}

}  // namespace ingot::graph
