// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_elementwise.cpp - arithmetic, comparisons and logic on each element, with
// PyTorch's implicit types.
#include <limits>

#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

const std::map<std::string, graph::Operator>& plain_unary() {
  static const std::map<std::string, graph::Operator> kTable = {
      {"abs", op::Abs},     {"neg", op::Neg},   {"floor", op::Floor},  {"ceil", op::Ceil},
      {"round", op::Round}, {"relu", op::Relu}, {"absolute", op::Abs}, {"negative", op::Neg}};
  return kTable;
}
Results plain(Operands& o) {
  const ValueId x = o.read("self");
  const bool whole = !graph::is_floating(o.b.dtype(x));
  if (whole && (o.op() == "floor" || o.op() == "ceil" || o.op() == "round")) return o.result(x);
  if (whole && o.op() == "relu")
    return o.result(o.b.emit(op::Max, {x, o.b.scalar(o.b.dtype(x), 0)}));
  return o.result(o.b.emit(plain_unary().at(o.op()), {x}));
}
Results rsqrt(Operands& o) {
  return o.result(o.b.emit(op::Reciprocal, {o.b.emit(op::Sqrt, {o.floating("self")})}));
}
Results square(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(op::Mul, {x, x}));
}
Results log_of_base(Operands& o) {
  const ValueId x = o.floating("self");
  const double base = o.op() == "log2" ? 0.6931471805599453 : 2.302585092994046;
  return o.result(o.b.emit(op::Mul, {o.b.emit(op::Log, {x}), o.b.scalar(o.b.dtype(x), 1 / base)}));
}
/// log(1 + x) of small x from what 1 + x lost: with u = 1 + x it is log(u) * x / (u - 1).
Results log1p(Operands& o) {
  const ValueId x = o.floating("self");
  const DType dtype = o.b.dtype(x);
  const ValueId one = o.b.scalar(dtype, 1), u = o.b.emit(op::Add, {x, one});
  const ValueId made = o.b.emit(
      op::Mul, {o.b.emit(op::Log, {u}), o.b.emit(op::Div, {x, o.b.emit(op::Sub, {u, one})})});
  // Where 1 + x is 1 or infinite there is nothing to divide.
  const ValueId infinite = o.b.emit(
      op::IsInf, {u}, {{attr::detect_negative, int64_t(0)}, {attr::detect_positive, int64_t(1)}});
  return o.result(
      o.b.emit(op::Where, {o.b.emit(op::Or, {o.b.emit(op::Equal, {u, one}), infinite}), x, made}));
}
/// exp(x) - 1 without cancellation: Elu is that below 0, and above exp(x) * (1 - exp(-x)).
Results expm1(Operands& o) {
  const ValueId x = o.floating("self");
  const auto below = [&](ValueId id) { return o.b.emit(op::Elu, {id}, {{attr::alpha, 1.0}}); };
  const ValueId above = o.b.emit(
      op::Mul, {o.b.emit(op::Neg, {below(o.b.emit(op::Neg, {x}))}), o.b.emit(op::Exp, {x})});
  const ValueId negative = o.b.emit(op::Less, {x, o.b.scalar(o.b.dtype(x), 0)});
  return o.result(o.b.emit(op::Where, {negative, below(x), above}));
}
/// 0 of NaN, as PyTorch has it.
Results sign(Operands& o) {
  const ValueId x = o.read("self"), made = o.b.emit(op::Sign, {x});
  if (!graph::is_floating(o.b.dtype(x))) return o.result(made);
  return o.result(
      o.b.emit(op::Where, {o.b.emit(op::IsNaN, {x}), o.b.scalar(o.b.dtype(x), 0), made}));
}
ValueId truncated(Builder& b, ValueId x) { return b.emit(op::Trunc, {x}); }
Results trunc(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(graph::is_floating(o.b.dtype(x)) ? truncated(o.b, x) : x);
}
Results frac(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(op::Sub, {x, truncated(o.b, x)}));
}

struct Pair {
  ValueId a, b;
  DType dtype;
};
Pair pair_of(Operands& o, const char* first = "self", const char* second = "other",
             bool floating = false) {
  DType dtype = result_type(o.b, {o.value(first), o.value(second)});
  if (floating && !graph::is_floating(dtype)) dtype = DType::kF32;
  const ValueId a = as_type(o.b, o.value(first), dtype);
  return {a, as_type(o.b, o.value(second), dtype), dtype};
}
ValueId scaled(Operands& o, ValueId x, DType dtype) {
  const Value& alpha = o.value("alpha");
  if ((alpha.is(Value::Kind::kInt) && alpha.integer == Dim(1)) ||
      (alpha.is(Value::Kind::kFloat) && alpha.number == 1))
    return x;
  return o.b.emit(op::Mul, {x, as_type(o.b, alpha, dtype)});
}
Results add(Operands& o) {
  const Pair p = pair_of(o);
  const ValueId second = scaled(o, p.b, p.dtype);
  if (p.dtype == DType::kBool) return o.result(o.b.emit(op::Or, {p.a, second}));
  return o.result(o.b.emit(op::Add, {p.a, second}));
}
Results sub(Operands& o) {
  const Pair p = pair_of(o);
  return o.result(o.b.emit(op::Sub, {p.a, scaled(o, p.b, p.dtype)}));
}
Results rsub(Operands& o) {
  const Pair p = pair_of(o);
  return o.result(o.b.emit(op::Sub, {p.b, scaled(o, p.a, p.dtype)}));
}
Results mul(Operands& o) {
  const Pair p = pair_of(o);
  return o.result(o.b.emit(p.dtype == DType::kBool ? op::And : op::Mul, {p.a, p.b}));
}
/// What is left of a float division that rounds towards zero, and where its sign is not the
/// divisor's.
struct Remainder {
  ValueId rest, other_sign;
};
Remainder remainder_of(Builder& b, const Pair& p) {
  const ValueId zero = b.scalar(p.dtype, 0),
                rest = b.emit(op::Mod, {p.a, p.b}, {{attr::fmod, int64_t(1)}});
  const ValueId signs =
      b.emit(op::Xor, {b.emit(op::Less, {p.b, zero}), b.emit(op::Less, {rest, zero})});
  return {rest, b.emit(op::And, {signs, b.emit(op::Not, {b.emit(op::Equal, {rest, zero})})})};
}
/// Of the quotient, downwards. The rest is taken off before dividing, since a quotient that rounds
/// up to a whole number is one too many.
ValueId floor_quotient(Builder& b, const Pair& p) {
  if (graph::is_floating(p.dtype)) {
    const Remainder r = remainder_of(b, p);
    const ValueId one = b.scalar(p.dtype, 1),
                  exact = b.emit(op::Div, {b.emit(op::Sub, {p.a, r.rest}), p.b});
    const ValueId whole = b.emit(
        op::Round, {b.emit(op::Where, {r.other_sign, b.emit(op::Sub, {exact, one}), exact})});
    const ValueId by_zero = b.emit(op::Equal, {p.b, b.scalar(p.dtype, 0)});
    return b.emit(op::Where, {by_zero, b.emit(op::Div, {p.a, p.b}), whole});
  }
  const ValueId rest = b.emit(op::Mod, {p.a, p.b}, {{attr::fmod, int64_t(0)}});
  return b.emit(op::Div, {b.emit(op::Sub, {p.a, rest}), p.b});
}
Results div(Operands& o) {
  if (!o.given("rounding_mode")) {
    const Pair p = pair_of(o, "self", "other", true);
    return o.result(o.b.emit(op::Div, {p.a, p.b}));
  }
  const std::string mode = o.text("rounding_mode");
  const Pair p = pair_of(o);
  if (mode == "floor") return o.result(floor_quotient(o.b, p));
  if (mode != "trunc") o.refuse("rounding_mode", "'" + mode + "' is not known");
  const ValueId quotient = o.b.emit(op::Div, {p.a, p.b});
  return o.result(graph::is_floating(p.dtype) ? truncated(o.b, quotient) : quotient);
}
Results floor_divide(Operands& o) { return o.result(floor_quotient(o.b, pair_of(o))); }
Results remainder(Operands& o) {
  const Pair p = pair_of(o);
  if (!graph::is_floating(p.dtype))
    return o.result(o.b.emit(op::Mod, {p.a, p.b}, {{attr::fmod, int64_t(0)}}));
  const Remainder r = remainder_of(o.b, p);
  return o.result(o.b.emit(op::Where, {r.other_sign, o.b.emit(op::Add, {r.rest, p.b}), r.rest}));
}
Results fmod(Operands& o) {
  const Pair p = pair_of(o);
  return o.result(o.b.emit(op::Mod, {p.a, p.b}, {{attr::fmod, int64_t(1)}}));
}
Results pow(Operands& o) {
  const Value& exponent = o.value("exponent");
  const bool two = (exponent.is(Value::Kind::kInt) && exponent.integer == Dim(2)) ||
                   (exponent.is(Value::Kind::kFloat) && exponent.number == 2);
  if (two && o.value("self").is(Value::Kind::kTensor)) {
    const ValueId x = as_type(o.b, o.value("self"), result_type(o.b, {o.value("self"), exponent}));
    return o.result(o.b.emit(op::Mul, {x, x}));
  }
  if (exponent.is(Value::Kind::kFloat) && exponent.number == 0.5 &&
      o.value("self").is(Value::Kind::kTensor))
    return o.result(o.b.emit(op::Sqrt, {o.floating("self")}));
  const Pair p = pair_of(o, "self", "exponent");
  return o.result(o.b.emit(op::Pow, {p.a, p.b}));
}
Results extreme(Operands& o) {
  const Pair p = pair_of(o);
  const bool largest = o.op() == "maximum" || o.op() == "max" || o.op() == "fmax";
  if (p.dtype == DType::kBool) return o.result(o.b.emit(largest ? op::Or : op::And, {p.a, p.b}));
  const ValueId made = o.b.emit(largest ? op::Max : op::Min, {p.a, p.b});
  if ((o.op() != "fmax" && o.op() != "fmin") || !graph::is_floating(p.dtype)) return o.result(made);
  // The number where one of both is none.
  const ValueId second = o.b.emit(op::Where, {o.b.emit(op::IsNaN, {p.b}), p.a, made});
  return o.result(o.b.emit(op::Where, {o.b.emit(op::IsNaN, {p.a}), p.b, second}));
}
Results atan2(Operands& o) {
  const Pair p = pair_of(o, "self", "other", true);
  return o.result(o.b.emit(op::Atan2, {p.a, p.b}));
}

Results compare(Operands& o) {
  static const std::map<std::string, graph::Operator> kTable = {
      {"eq", op::Equal},        {"ne", op::Equal},
      {"lt", op::Less},         {"le", op::LessOrEqual},
      {"gt", op::Greater},      {"ge", op::GreaterOrEqual},
      {"less", op::Less},       {"less_equal", op::LessOrEqual},
      {"greater", op::Greater}, {"greater_equal", op::GreaterOrEqual},
      {"not_equal", op::Equal}, {"__eq__", op::Equal}};
  Pair p = pair_of(o);
  if (p.dtype == DType::kBool)
    p = {o.b.cast(p.a, DType::kI32), o.b.cast(p.b, DType::kI32), DType::kI32};
  const ValueId made = o.b.emit(kTable.at(o.op()), {p.a, p.b});
  return o.result(o.op() == "ne" || o.op() == "not_equal" ? o.b.emit(op::Not, {made}) : made);
}
/// Whether each element is other than 0.
ValueId truth_of(Builder& b, ValueId x) { return b.cast(x, DType::kBool); }
Results logical(Operands& o) {
  static const std::map<std::string, graph::Operator> kTable = {
      {"logical_and", op::And}, {"logical_or", op::Or}, {"logical_xor", op::Xor}};
  const ValueId a = truth_of(o.b, o.read("self")), b = truth_of(o.b, o.read("other"));
  return o.result(o.b.emit(kTable.at(o.op()), {a, b}));
}
Results logical_not(Operands& o) {
  return o.result(o.b.emit(op::Not, {truth_of(o.b, o.read("self"))}));
}
Results bitwise(Operands& o) {
  const bool all = o.op() == "bitwise_and" || o.op() == "__and__",
             any = o.op() == "bitwise_or" || o.op() == "__or__";
  const Pair p = pair_of(o);
  const graph::Operator of_bits = all   ? op::BitwiseAnd
                                  : any ? op::BitwiseOr
                                        : op::BitwiseXor,
                        of_truth = all   ? op::And
                                   : any ? op::Or
                                         : op::Xor;
  return o.result(o.b.emit(p.dtype == DType::kBool ? of_truth : of_bits, {p.a, p.b}));
}
Results bitwise_not(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(o.b.dtype(x) == DType::kBool ? op::Not : op::BitwiseNot, {x}));
}

Results chosen(Operands& o) {
  const Pair p = pair_of(o);
  return o.result(o.b.emit(op::Where, {truth_of(o.b, o.read("condition")), p.a, p.b}));
}
Results masked_fill(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(
      op::Where, {truth_of(o.b, o.read("mask")), as_type(o.b, o.value("value"), o.b.dtype(x)), x}));
}
Results clamp(Operands& o) {
  const char* const low = o.op() == "clamp_max" ? "" : "min";
  const char* const high = o.op() == "clamp_min" ? "" : "max";
  std::vector<Value> operands = {o.value("self")};
  for (const char* name : {low, high})
    if (o.given(name)) operands.push_back(o.value(name));
  const DType dtype = result_type(o.b, operands);
  ValueId x = as_type(o.b, o.value("self"), dtype);
  const auto plain_number = [&](const char* name) {
    return !o.given(name) || !o.value(name).is(Value::Kind::kTensor);
  };
  if (graph::is_floating(dtype) && plain_number(low) && plain_number(high)) {
    Attributes limits;
    if (o.given(low)) limits[attr::min] = o.number(low);
    if (o.given(high)) limits[attr::max] = o.number(high);
    return o.result(o.b.emit(op::Clip, {x}, limits));
  }
  if (o.given(low)) x = o.b.emit(op::Max, {x, as_type(o.b, o.value(low), dtype)});
  if (o.given(high)) x = o.b.emit(op::Min, {x, as_type(o.b, o.value(high), dtype)});
  return o.result(x);
}
/// self + value * a * b, or a / b.
Results addc(Operands& o) {
  const DType dtype = o.b.dtype(o.read("self"));
  const ValueId a = o.b.cast(o.read("tensor1"), dtype), b = o.b.cast(o.read("tensor2"), dtype);
  ValueId x = o.b.emit(o.op() == "addcmul" ? op::Mul : op::Div, {a, b});
  if (o.number("value") != 1) x = o.b.emit(op::Mul, {x, o.b.scalar(dtype, o.number("value"))});
  return o.result(o.b.emit(op::Add, {o.read("self"), x}));
}
Results lerp(Operands& o) {
  const ValueId start = o.read("self");
  const ValueId difference = o.b.emit(op::Sub, {o.read("end"), start});
  return o.result(o.b.emit(
      op::Add,
      {start, o.b.emit(op::Mul, {difference, as_type(o.b, o.value("weight"), o.b.dtype(start))})}));
}
/// NaN and infinities by numbers.
Results nan_to_num(Operands& o) {
  ValueId x = o.read("self");
  const DType dtype = o.b.dtype(x);
  if (!graph::is_floating(dtype)) return o.result(x);
  const double largest = double(std::numeric_limits<float>::max());
  const auto number = [&](const char* name, double otherwise) {
    return o.b.scalar(dtype, o.given(name) ? o.number(name) : otherwise);
  };
  const auto infinite = [&](bool negative) {
    return o.b.emit(
        op::IsInf, {x},
        {{attr::detect_negative, int64_t(negative)}, {attr::detect_positive, int64_t(!negative)}});
  };
  const ValueId above = infinite(false), below = infinite(true), nan = o.b.emit(op::IsNaN, {x});
  x = o.b.emit(op::Where, {above, number("posinf", largest), x});
  x = o.b.emit(op::Where, {below, number("neginf", -largest), x});
  return o.result(o.b.emit(op::Where, {nan, number("nan", 0), x}));
}

}  // namespace

void add_elementwise(Table& table) {
  const std::pair<const char*, graph::Operator> kOfFloats[] = {
      {"sigmoid special_expit", op::Sigmoid},
      {"tanh", op::Tanh},
      {"exp", op::Exp},
      {"log", op::Log},
      {"sqrt", op::Sqrt},
      {"sin", op::Sin},
      {"cos", op::Cos},
      {"tan", op::Tan},
      {"asin arcsin", op::Asin},
      {"acos arccos", op::Acos},
      {"atan arctan", op::Atan},
      {"sinh", op::Sinh},
      {"cosh", op::Cosh},
      {"asinh arcsinh", op::Asinh},
      {"acosh arccosh", op::Acosh},
      {"atanh arctanh", op::Atanh},
      {"erf special_erf", op::Erf},
      {"reciprocal", op::Reciprocal}};
  for (const auto& [names, op] : kOfFloats)
    table.add_all(names, "Tensor self", one_node_of_floats(op));
  for (const auto& [name, op] : plain_unary()) table.add(name, "Tensor self", plain);
  table.add_all("sign sgn", "Tensor self", sign);
  table.add("rsqrt", "Tensor self", rsqrt);
  table.add("square", "Tensor self", square);
  table.add_all("log2 log10", "Tensor self", log_of_base);
  table.add("log1p", "Tensor self", log1p);
  table.add("expm1", "Tensor self", expm1);
  table.add_all("trunc fix", "Tensor self", trunc);
  table.add("frac", "Tensor self", frac);
  table.add("isnan", "Tensor self", one_node_of_floats(op::IsNaN));
  const char* const kScaled[] = {"Tensor self, Tensor other, *, Scalar alpha=1",
                                 "Tensor self, Scalar other, Scalar alpha=1",
                                 "Scalar self, Tensor other, *, Scalar alpha=1"};
  const char* const kPlain[] = {"Tensor self, Tensor other", "Tensor self, Scalar other",
                                "Scalar self, Tensor other"};
  const char* const kOverloads[] = {".Tensor", ".Scalar", ".Scalar_Tensor"};
  for (size_t i = 0; i < 3; i++) {
    const std::string overload = kOverloads[i];
    const auto both = [&](const std::string& name, const char* arguments, Lower lower) {
      table.add(name + overload, arguments, lower);
    };
    both("add", kScaled[i], add);
    both("sub", kScaled[i], sub);
    both("rsub", kScaled[i], rsub);
    for (const char* name : {"mul", "multiply"}) both(name, kPlain[i], mul);
    both("floor_divide", kPlain[i], floor_divide);
    both("remainder", kPlain[i], remainder);
    both("fmod", kPlain[i], fmod);
    for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge", "less", "less_equal", "greater",
                             "greater_equal", "not_equal", "__eq__"})
      both(name, kPlain[i], compare);
    for (const char* name :
         {"bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"})
      both(name, kPlain[i], bitwise);
    table.add(std::string("div") + overload,
              std::string(kPlain[i]) + ", *, str? rounding_mode=None", div);
    table.add(std::string("true_divide") + overload, kPlain[i], div);
    table.add(std::string("divide") + overload,
              std::string(kPlain[i]) + ", *, str? rounding_mode=None", div);
  }
  table.add("pow.Tensor_Scalar", "Tensor self, Scalar exponent", pow);
  table.add("pow.Tensor_Tensor", "Tensor self, Tensor exponent", pow);
  table.add("pow.Scalar", "Scalar self, Tensor exponent", pow);
  table.add("floordiv", "Scalar self, Tensor other", floor_divide);
  table.add_all("maximum minimum fmax fmin max.other min.other", "Tensor self, Tensor other",
                extreme);
  table.add_all("atan2 arctan2", "Tensor self, Tensor other", atan2);
  table.add_all("logical_and logical_or logical_xor", "Tensor self, Tensor other", logical);
  table.add("logical_not", "Tensor self", logical_not);
  table.add("bitwise_not", "Tensor self", bitwise_not);
  table.add("where.self", "Tensor condition, Tensor self, Tensor other", chosen);
  table.add("where.ScalarOther", "Tensor condition, Tensor self, Scalar other", chosen);
  table.add("where.ScalarSelf", "Tensor condition, Scalar self, Tensor other", chosen);
  table.add("where.Scalar", "Tensor condition, Scalar self, Scalar other", chosen);
  table.add("masked_fill.Scalar", "Tensor self, Tensor mask, Scalar value", masked_fill);
  table.add("masked_fill.Tensor", "Tensor self, Tensor mask, Tensor value", masked_fill);
  table.add("clamp", "Tensor self, Scalar? min=None, Scalar? max=None", clamp);
  table.add("clamp.Tensor", "Tensor self, Tensor? min=None, Tensor? max=None", clamp);
  table.add("clip", "Tensor self, Scalar? min=None, Scalar? max=None", clamp);
  table.add("clamp_min", "Tensor self, Scalar min", clamp);
  table.add("clamp_min.Tensor", "Tensor self, Tensor min", clamp);
  table.add("clamp_max", "Tensor self, Scalar max", clamp);
  table.add("clamp_max.Tensor", "Tensor self, Tensor max", clamp);
  table.add_all("addcmul addcdiv", "Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1",
                addc);
  table.add("lerp.Scalar", "Tensor self, Tensor end, Scalar weight", lerp);
  table.add("lerp.Tensor", "Tensor self, Tensor end, Tensor weight", lerp);
  table.add("nan_to_num", "Tensor self, float? nan=None, float? posinf=None, float? neginf=None",
            nan_to_num);
}

}  // namespace ingot::aten
