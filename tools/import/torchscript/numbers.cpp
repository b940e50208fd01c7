// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/numbers.cpp - arithmetic and comparisons of plain numbers, symbolic
// where a dimension is.
#include <cmath>

#include "runtime/base/checked_math.h"
#include "tools/graph/comparison.h"
#include "tools/graph/dim_limit.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/torchscript/interpreter.h"

namespace ingot::torchscript {

using Kind = Value::Kind;
using graph::Dim;
using graph::ValueId;

namespace {

bool is_number(const Value& v) {
  return v.is(Kind::kInt) || v.is(Kind::kFloat) || v.is(Kind::kBool);
}
Dim integer_of(const Value& v) { return v.is(Kind::kBool) ? Dim(int64_t(v.truth)) : v.integer; }
bool is_static(const Value& v) { return !v.is(Kind::kInt) || v.integer.is_static(); }
double real_of(const Value& v) {
  return v.is(Kind::kFloat) ? v.number : double(integer_of(v).value().value_or(0));
}

constexpr double kLargest = 9.2e18;  // beyond it a number is no integer of 64 bits

}  // namespace

Value Interpreter::number_operator(const std::string& name, const std::vector<Value>& v,
                                   const std::string& place, bool* done) {
  *done = true;
  if (v[0].is(Kind::kString)) {
    if (name == "add" && v.size() == 2 && v[1].is(Kind::kString))
      return Value::of(v[0].text + v[1].text);
    if (name == "len") return Value::of(Dim(int64_t(v[0].text.size())));
    if (name == "__contains__" && v.size() == 2)
      return Value::of(v[0].text.find(v[1].text) != std::string::npos);
    if (name == "startswith" && v.size() == 2) return Value::of(v[0].text.rfind(v[1].text, 0) == 0);
    if (name == "type") return Value::of(v[0].text.substr(0, v[0].text.find(':')));  // of a device
    if (name == "lower" || name == "upper") {
      std::string out = v[0].text;
      for (char& c : out)
        c = name == "lower" ? char(std::tolower(uint8_t(c))) : char(std::toupper(uint8_t(c)));
      return Value::of(out);
    }
    return report("aten::" + name, place, "of texts is not supported");
  }
  const bool floating = v[0].is(Kind::kFloat) || (v.size() == 2 && v[1].is(Kind::kFloat));
  const bool known = is_static(v[0]) && (v.size() == 1 || is_static(v[1]));
  const auto open = [&] {
    return report("aten::" + name, place, "a number that depends on symbolic dimensions",
                  "bind them with --dim");
  };
  try {
    if (v.size() == 2 && !floating) {
      const Dim a = integer_of(v[0]), b = integer_of(v[1]);
      if (name == "add") return Value::of(a + b);
      if (name == "sub") return Value::of(a - b);
      if (name == "mul") return Value::of(a * b);
      if (name == "max") return Value::of(max(a, b));
      if (name == "min") return Value::of(min(a, b));
      if (name == "floordiv" || name == "floor_divide" || name == "remainder") {
        if (b == Dim(0)) throw Raised{place, "integer division or modulo by zero"};
        Dim quotient;
        int64_t q, rest;
        if (a.value() && b.value()) {
          if (!checked_div(*a.value(), *b.value(), &q) ||
              !checked_rem(*a.value(), *b.value(), &rest))
            return open();
          quotient = Dim(q - int64_t(rest != 0 && (*a.value() < 0) != (*b.value() < 0)));
        } else if (proven_at_least(b, Dim(1))) {
          quotient = a / b;
        } else {
          return open();
        }
        return Value::of(name == "remainder" ? a - quotient * b : quotient);
      }
      if ((name == "__and__" || name == "__or__" || name == "__xor__") && v[0].is(Kind::kBool) &&
          v[1].is(Kind::kBool)) {
        const bool x = v[0].truth, y = v[1].truth;
        return Value::of(name == "__and__" ? x && y : name == "__or__" ? x || y : x != y);
      }
      if (known && (name == "__and__" || name == "__or__" || name == "__xor__")) {
        const int64_t x = *a.value(), y = *b.value();
        return Value::of(Dim(name == "__and__" ? (x & y) : name == "__or__" ? (x | y) : (x ^ y)));
      }
      if (known && (name == "__lshift__" || name == "__rshift__")) {
        const int64_t x = *a.value(), y = *b.value();
        if (y < 0 || y > 62 || x < 0 || (name == "__lshift__" && x >= (int64_t(1) << (62 - y))))
          return open();
        return Value::of(Dim(name == "__lshift__" ? x << y : x >> y));
      }
    }
    if (v.size() == 1 && v[0].is(Kind::kInt)) {
      if (name == "neg") return Value::of(Dim(0) - v[0].integer);
      if (name == "floor" || name == "ceil" || name == "round") return v[0];
      if (name == "abs") return Value::of(max(v[0].integer, Dim(0) - v[0].integer));
      if (name == "bitwise_not" && known) return Value::of(Dim(~*v[0].integer.value()));
    }
  } catch (const graph::DimError& error) {
    graph::fail_conversion(graph::exit_code(error), place, error.what());
  }
  if (!known) return open();
  const double a = real_of(v[0]), b = v.size() == 2 ? real_of(v[1]) : 0;
  const auto whole = [&](double x) -> Value {
    if (!(std::abs(x) < kLargest))
      throw Raised{place, "cannot convert " + std::to_string(x) + " to an integer"};
    return Value::of(Dim(int64_t(x)));
  };
  if (v.size() == 2) {
    if (name == "add") return Value::of(a + b);
    if (name == "sub") return Value::of(a - b);
    if (name == "mul") return Value::of(a * b);
    if (name == "max") return Value::of(std::max(a, b));
    if (name == "min") return Value::of(std::min(a, b));
    if (name == "div" || name == "truediv" || name == "floordiv" || name == "remainder" ||
        name == "fmod") {
      if (b == 0) throw Raised{place, "division by zero"};
      if (name == "fmod") return Value::of(std::fmod(a, b));
      if (name == "floordiv") return Value::of(std::floor(a / b));
      if (name == "remainder") return Value::of(a - std::floor(a / b) * b);
      return Value::of(a / b);
    }
    if (name == "pow") {
      const double power = std::pow(a, b);
      const bool integers = !floating && b >= 0 && std::abs(power) < 9e15;
      return integers ? Value::of(Dim(int64_t(power))) : Value::of(power);
    }
    if (name == "log") return Value::of(std::log(a) / std::log(b));
    if (name == "round" && !floating) return whole(a);
  }
  if (v.size() == 1) {
    if (name == "neg") return Value::of(-a);
    if (name == "abs") return Value::of(std::abs(a));
    if (name == "floor") return whole(std::floor(a));
    if (name == "ceil") return whole(std::ceil(a));
    if (name == "round") return Value::of(std::nearbyint(a));
    if (name == "trunc") return whole(std::trunc(a));
    if (name == "sqrt") return Value::of(std::sqrt(a));
    if (name == "exp") return Value::of(std::exp(a));
    if (name == "log") return Value::of(std::log(a));
    if (name == "log2") return Value::of(std::log2(a));
    if (name == "log10") return Value::of(std::log10(a));
    if (name == "log1p") return Value::of(std::log1p(a));
    if (name == "sin") return Value::of(std::sin(a));
    if (name == "cos") return Value::of(std::cos(a));
    if (name == "tan") return Value::of(std::tan(a));
    if (name == "tanh") return Value::of(std::tanh(a));
    if (name == "erf") return Value::of(std::erf(a));
    if (name == "isnan") return Value::of(std::isnan(a));
    if (name == "isinf") return Value::of(std::isinf(a));
    if (name == "isfinite") return Value::of(std::isfinite(a));
  }
  *done = false;
  return {};
}

Value Interpreter::compare(const std::string& name, const Value& a, const Value& b,
                           const std::string& place, bool* done) {
  const bool equality = name == "eq" || name == "ne";
  *done = equality || name == "lt" || name == "le" || name == "gt" || name == "ge";
  if (!*done) return {};
  if (is_number(a) && is_number(b)) {
    if (!a.is(Kind::kFloat) && !b.is(Kind::kFloat)) {
      graph::Comparison asked;
      asked.a = integer_of(a);
      asked.b = integer_of(b);
      asked.kind = equality ? graph::Comparison::Kind::kEqual : graph::Comparison::Kind::kAtLeast;
      if (name == "le" || name == "gt") std::swap(asked.a, asked.b);  // a <= b is b >= a
      asked.negated = name == "ne" || name == "lt" || name == "gt";
      if (const std::optional<bool> answer = graph::answer(asked)) return Value::of(*answer);
      const ValueId x = builder_.extent(asked.a), y = builder_.extent(asked.b);
      const ValueId told = builder_.emit(equality ? op::Equal : op::GreaterOrEqual, {x, y});
      return Value::of(builder_.own(asked.negated ? builder_.emit(op::Not, {told}) : told));
    }
    if (!is_static(a) || !is_static(b))
      return report("aten::" + name, place, "compares a dimension with a fraction",
                    "bind it with --dim");
    const double x = real_of(a), y = real_of(b);
    const bool out = name == "eq"   ? x == y
                     : name == "ne" ? x != y
                     : name == "lt" ? x < y
                     : name == "le" ? x <= y
                     : name == "gt" ? x > y
                                    : x >= y;
    return Value::of(out);
  }
  if (a.is(Kind::kTensor) || b.is(Kind::kTensor) || a.items || b.items) {
    *done = false;
    return {};
  }
  if (a.is(Kind::kString) && b.is(Kind::kString) && !equality)
    return Value::of(name[0] == 'l' ? a.text < b.text : a.text > b.text);
  if (equality) return Value::of(same(a, b) == (name == "eq"));
  *done = false;
  return {};
}

aten::Tensor Interpreter::tensor_of(const Value& value, const std::string& place) {
  if (value.is(Kind::kTensor)) return value.tensor;
  if (value.is(Kind::kInt)) return builder_.own(builder_.extent(value.integer));
  if (value.is(Kind::kBool)) return builder_.own(builder_.scalar(DType::kBool, value.truth));
  if (value.is(Kind::kFloat)) return builder_.own(builder_.scalar(DType::kF32, value.number));
  if (value.is(Kind::kUnknown)) {
    if (!value.text.empty()) report("number", place, value.text);
    throw Stopped{};
  }
  graph::fail_corrupt(place, "takes " + describe(value) + " for a number");
}

/// A plain value where it is known, else a tensor of rank 0.
Value Interpreter::to_truth(const Value& value, const std::string& place) {
  if (value.is(Kind::kUnknown)) return value;
  ValueId asked = graph::kAbsent;
  const std::optional<bool> known = truth(value, place, &asked);
  return known ? Value::of(*known) : Value::of(builder_.own(asked));
}

Value Interpreter::to_integer(const Value& value, const std::string& place) {
  if (value.is(Kind::kInt) || value.is(Kind::kUnknown)) return value;
  if (value.is(Kind::kBool)) return Value::of(Dim(int64_t(value.truth)));
  if (value.is(Kind::kFloat)) {
    if (!(std::abs(value.number) < kLargest))
      throw Raised{place, "cannot convert " + std::to_string(value.number) + " to an integer"};
    return Value::of(Dim(int64_t(value.number)));
  }
  if (!value.is(Kind::kTensor)) refuse("int", place, "of " + describe(value));
  const ValueId id = builder_.read(value.tensor);
  if (const auto content = builder_.content(id)) {
    if (const auto dim = content->dim()) return Value::of(*dim);
    if (const auto number = content->number()) return to_integer(Value::of(*number), place);
  }
  return Value::of(builder_.own(builder_.reshape(builder_.cast(id, DType::kI64), {})));
}

Value Interpreter::to_float(const Value& value, const std::string& place) {
  if (value.is(Kind::kFloat) || value.is(Kind::kUnknown)) return value;
  if (value.is(Kind::kBool)) return Value::of(double(value.truth));
  if (value.is(Kind::kInt)) {
    if (const auto n = value.integer.value()) return Value::of(double(*n));
    return Value::of(builder_.own(builder_.cast(builder_.extent(value.integer), DType::kF32)));
  }
  if (!value.is(Kind::kTensor)) refuse("float", place, "of " + describe(value));
  const ValueId id = builder_.read(value.tensor);
  if (const auto content = builder_.content(id))
    if (const auto number = content->number()) return Value::of(*number);
  return Value::of(builder_.own(builder_.reshape(builder_.cast(id, DType::kF32), {})));
}

}  // namespace ingot::torchscript
