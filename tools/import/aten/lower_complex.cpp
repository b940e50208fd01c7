// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_complex.cpp - complex tensors: which operators are lowered by parts, and
// those with formulas of their own.
#include <algorithm>
#include <set>

#include "tools/files/word_list.h"
#include "tools/import/aten/arithmetic.h"
#include "tools/import/aten/complex_tensor.h"

namespace ingot::aten {
namespace {

bool is_complex(const Value& value) {
  if (value.is(Value::Kind::kTensor)) return Builder::pairs(value.tensor) != nullptr;
  if (!value.items) return false;
  const Nesting level;
  return std::any_of(value.items->begin(), value.items->end(), is_complex);
}

/// f(x + iy) = f(x) + i f(y); what is real among the operands has the imaginary part 0.
bool is_linear(const Schema& schema) {
  static const std::set<std::string> kTable = host::word_list(
      "add sub rsub neg negative sum mean cat concat concatenate stack hstack vstack view "
      "_unsafe_view view_as reshape reshape_as permute transpose t mT movedim moveaxis "
      "swapaxes swapdims unsqueeze squeeze flatten unflatten ravel slice select narrow expand "
      "expand_as broadcast_to contiguous clone detach alias resolve_conj lift_fresh positive "
      "roll flip pad constant_pad_nd index index_select gather take_along_dim repeat tile "
      "chunk split split_with_sizes tensor_split unbind where masked_fill fft_fftshift "
      "fft_ifftshift cumsum diff unfold rot90 tril triu lift_fresh_copy size sym_size dim "
      "numel sym_numel diagonal repeat_interleave zeros_like");
  return kTable.count(schema.name) > 0 && schema.overload != "dtype";
}
/// Linear in each operand by itself: what is real counts for both parts.
bool is_multilinear(const std::string& name) {
  static const std::set<std::string> kTable = {"mul", "multiply", "matmul", "mm",    "bmm",
                                               "mv",  "dot",      "outer",  "einsum"};
  return kTable.count(name) > 0;
}
bool is_quotient(const std::string& name) {
  return name == "div" || name == "divide" || name == "true_divide";
}

Value part(Builder& b, const Value& value, int64_t which) {
  if (value.is(Value::Kind::kTensor)) {
    const Tensor pairs = Builder::pairs(value.tensor);
    return pairs ? Value::of(b.own(part_of_pairs(b, b.read(pairs), which))) : value;
  }
  if (!is_complex(value)) return value;
  const Nesting level;
  std::vector<Value> items;
  for (const Value& item : *value.items) items.push_back(part(b, item, which));
  return Value::list(std::move(items));
}
/// The imaginary part of an operand that may be real, next to complex ones.
Value imaginary(Builder& b, const Parameter& parameter, const Value& value, bool among) {
  static const std::set<std::string> kOperands = {"self", "other", "value", "src", "fill_value"};
  using Kind = Value::Kind;
  if (value.is(Kind::kTensor) && !Builder::pairs(value.tensor) &&
      (among || kOperands.count(parameter.name))) {
    const ValueId id = b.read(value.tensor);
    return Value::of(b.own(b.expand(b.scalar(b.dtype(id), 0), b.dims(id))));
  }
  if ((value.is(Kind::kInt) || value.is(Kind::kFloat)) && kOperands.count(parameter.name))
    return Value::of(0.0);
  if (!is_complex(value)) return value;
  if (!value.items) return part(b, value, 1);
  const Nesting level;
  std::vector<Value> items;
  for (const Value& item : *value.items) items.push_back(imaginary(b, parameter, item, true));
  return Value::list(std::move(items));
}

Results lowered(Builder& b, const Schema& schema, std::vector<Value> arguments) {
  Operands operands(b, schema, std::move(arguments));
  Results results = schema.lower(operands);
  operands.refuse_unread();
  return results;
}
Value joined(Builder& b, const Value& real, const Value& imaginary) {
  if (real.is(Value::Kind::kTensor))
    return Value::of(b.complex(b.own(pairs_of(b, b.read(real.tensor), b.read(imaginary.tensor)))));
  if (!real.items) return real;  // a size
  const Nesting level;
  std::vector<Value> items;
  for (size_t i = 0; i < real.items->size(); i++)
    items.push_back(joined(b, (*real.items)[i], (*imaginary.items)[i]));
  return Value::list(std::move(items));
}
Results joined(Builder& b, const Results& real, const Results& imaginary) {
  Results out;
  for (size_t i = 0; i < real.size(); i++) out.push_back(joined(b, real[i], imaginary[i]));
  return out;
}

Results by_parts(Builder& b, const Schema& schema, const std::vector<Value>& arguments) {
  std::vector<Value> first, second;
  for (size_t i = 0; i < arguments.size(); i++) {
    first.push_back(part(b, arguments[i], 0));
    second.push_back(imaginary(b, schema.parameters[i], arguments[i], false));
  }
  return joined(b, lowered(b, schema, first), lowered(b, schema, second));
}

/// One call for each choice of parts of the complex operands, i to the power of the imaginary ones
/// before it.
Results product_by_parts(Builder& b, const Schema& schema, const std::vector<Value>& arguments) {
  std::vector<std::pair<size_t, size_t>> operands;  // argument, item
  for (size_t i = 0; i < arguments.size(); i++) {
    if (!is_complex(arguments[i])) continue;
    if (!arguments[i].items) operands.push_back({i, 0});
    for (size_t k = 0; arguments[i].items && k < arguments[i].items->size(); k++)
      if (is_complex((*arguments[i].items)[k])) operands.push_back({i, k});
  }
  if (operands.size() > 4) throw Refused{"", "has more than 4 complex operands", ""};
  Term sums[2] = {{&b, graph::kAbsent}, {&b, graph::kAbsent}};
  for (size_t choice = 0; choice < size_t(1) << operands.size(); choice++) {
    std::vector<Value> passed = arguments;
    int turns = 0;
    for (size_t i = 0; i < operands.size(); i++) {
      const int64_t which = int64_t(choice >> i & 1);
      turns += int(which);
      Value& at = passed[operands[i].first];
      if (!at.items) {
        at = part(b, at, which);
        continue;
      }
      std::vector<Value> items = *at.items;
      items[operands[i].second] = part(b, items[operands[i].second], which);
      at = Value::list(std::move(items));
    }
    const Term made = {&b, b.read(lowered(b, schema, passed).at(0).tensor)};
    Term& sum = sums[turns % 2];
    if (sum.id == graph::kAbsent)
      sum = turns >= 2 ? -made : made;
    else
      sum = turns >= 2 ? sum - made : sum + made;
  }
  return {Value::of(b.complex(b.own(pairs_of(b, sums[0].id, sums[1].id))))};
}

struct Parts {
  Term real, imaginary;
};
Parts parts_of(Operands& o, const char* name) {
  Builder& b = o.b;
  const Tensor pairs = Builder::pairs(o.tensor(name));
  if (!pairs) {
    const Term x = floating_term(o, name);
    return {x, x.number(0).expand(x.dims())};
  }
  const ValueId id = b.read(pairs);
  return {{&b, part_of_pairs(b, id, 0)}, {&b, part_of_pairs(b, id, 1)}};
}
Results complex_of(const Term& real, const Term& imaginary) {
  Builder& b = *real.b;
  return {Value::of(b.complex(b.own(pairs_of(b, real.id, imaginary.id))))};
}

/// a / b = a conj(b) / |b|^2; of a real b each part by itself.
Results quotient(Builder& b, const Schema& schema, const std::vector<Value>& arguments) {
  if (arguments.size() > 2 && !arguments[2].is(Value::Kind::kNone))
    throw Refused{"rounding_mode", "of complex numbers is not known", ""};
  if (!is_complex(arguments[1])) return product_by_parts(b, schema, arguments);
  Operands o(b, schema, arguments);
  const Parts x = arguments[0].is(Value::Kind::kTensor)
                      ? parts_of(o, "self")
                      : Parts{{&b, as_type(b, arguments[0], DType::kF32)},
                              {&b, b.scalar(DType::kF32, 0)}},
              y = parts_of(o, "other");
  const Term size = y.real * y.real + y.imaginary * y.imaginary;
  return complex_of((x.real * y.real + x.imaginary * y.imaginary) / size,
                    (x.imaginary * y.real - x.real * y.imaginary) / size);
}
Results absolute_value(Operands& o) {
  const Parts x = parts_of(o, "self");
  return result_of(square_root(x.real * x.real + x.imaginary * x.imaginary));
}
Results exponential_of_complex(Operands& o) {
  const Parts x = parts_of(o, "self");
  const Term size = exponential(x.real);
  return complex_of(size * call(op::Cos, x.imaginary), size * call(op::Sin, x.imaginary));
}
/// The type of the parts of complex numbers of a type of PyTorch; kInvalid where that is real.
DType type_of_parts(int64_t scalar_type) {
  constexpr int64_t kComplexHalf = 8, kComplexFloat = 9, kComplexDouble = 10;
  return scalar_type == kComplexHalf     ? DType::kF16
         : scalar_type == kComplexFloat  ? DType::kF32
         : scalar_type == kComplexDouble ? DType::kF64
                                         : DType::kInvalid;
}
DType wanted_parts(Operands& o) {
  return o.has("dtype") && o.given("dtype") ? type_of_parts(o.integer("dtype")) : DType::kInvalid;
}
/// To another device, type, or both: the parts are converted. Of a real type the real parts.
Results converted_complex(Operands& o) {
  Builder& b = o.b;
  const ValueId pairs = b.read(Builder::pairs(o.tensor("self")));
  DType to = b.dtype(pairs);
  bool is_real = false;
  if (o.has("other") && o.given("other")) {
    const Tensor others = Builder::pairs(o.tensor("other"));
    is_real = !others;
    to = b.dtype(others ? b.read(others) : o.read("other"));
  } else if (o.has("dtype") && o.given("dtype")) {
    to = wanted_parts(o);
    is_real = to == DType::kInvalid;
    if (is_real) to = o.dtype("dtype", to);
  }
  if (is_real) return o.result(b.cast(part_of_pairs(b, pairs, 0), to));
  const bool copies = o.op() == "_to_copy" || (o.has("copy") && o.given("copy") && o.flag("copy"));
  if (to == b.dtype(pairs) && !copies) return {o.value("self")};
  return {Value::of(b.complex(b.own(b.cast(pairs, to))))};
}
Results itself(Operands& o) { return {o.value("self")}; }
Results square_of_complex(Operands& o) {
  if (o.has("exponent") && o.number("exponent") != 2)
    o.refuse("exponent", "of complex numbers is 2 alone");
  const Parts x = parts_of(o, "self");
  return complex_of(x.real * x.real - x.imaginary * x.imaginary, 2.0 * x.real * x.imaginary);
}
Results yes(Operands& o) {
  o.value("self");
  return {Value::of(true)};
}
Lower rule_of_complex(const std::string& name) {
  static const std::map<std::string, Lower> kTable = {
      {"abs", absolute_value},         {"absolute", absolute_value},
      {"exp", exponential_of_complex}, {"square", square_of_complex},
      {"pow", square_of_complex},      {"is_complex", yes},
      {"to", converted_complex},       {"_to_copy", converted_complex},
      {"type_as", converted_complex},  {"cpu", itself}};
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : found->second;
}

// Operators of the table.

Results complex_angle(Operands& o) {
  if (!Builder::pairs(o.tensor("self"))) {
    const Term x = floating_term(o, "self");
    return result_of(where(is_not_a_number(x), x, where(x < 0, x.number(3.141592653589793), 0)));
  }
  const Parts x = parts_of(o, "self");
  return result_of(call(op::Atan2, x.imaginary, x.real));
}
Results conjugate(Operands& o) {
  if (!Builder::pairs(o.tensor("self"))) return {o.value("self")};
  const Parts x = parts_of(o, "self");
  return complex_of(x.real, -x.imaginary);
}
/// .real and .imag look at the same memory.
Results half_of_pairs(Operands& o) {
  const bool first = o.op() == "real";
  const Tensor pairs = Builder::pairs(o.tensor("self"));
  if (!pairs && !first) o.refuse("self", "is real: it has no imaginary part");
  if (!pairs) return {o.value("self")};
  Builder& b = o.b;
  const int64_t last = b.rank(b.read(pairs)) - 1;
  return lower_complex(b, operator_table().find("select")->at(0),
                       {Value::of(pairs), Value::of(Dim(last)), Value::of(Dim(first ? 0 : 1))});
}
Results view_as_real(Operands& o) {
  const Tensor pairs = Builder::pairs(o.tensor("self"));
  if (!pairs) o.refuse("self", "is real, expected complex numbers");
  return {Value::of(pairs)};
}
Results view_as_complex(Operands& o) { return {Value::of(o.b.complex(o.tensor("self")))}; }
Results complex_from_parts(Operands& o) { return complex_of(term(o, "real"), term(o, "imag")); }
Results complex_from_angle(Operands& o) {
  const Term size = term(o, "abs"), angle = term(o, "angle");
  return complex_of(size * call(op::Cos, angle), size * call(op::Sin, angle));
}

}  // namespace

ValueId part_of_pairs(Builder& b, ValueId pairs, int64_t which) {
  Dims to = b.dims(pairs);
  const ValueId slice = b.slice(pairs, int64_t(to.size()) - 1, Dim(which), Dim(which + 1));
  to.pop_back();
  return b.reshape(slice, to);
}
ValueId pairs_of(Builder& b, ValueId real, ValueId imaginary) {
  if (b.dims(real) != b.dims(imaginary)) {  // the shape of their sum, which nobody reads
    const Dims both = b.dims(b.emit(op::Add, {real, imaginary}));
    real = b.expand(real, both);
    imaginary = b.expand(imaginary, both);
  }
  Dims column = b.dims(real);
  const int64_t last = int64_t(column.size());
  column.push_back(Dim(1));
  return b.emit(op::Concat, {b.reshape(real, column), b.reshape(imaginary, column)},
                {{attr::axis, last}});
}

Results lower_complex(Builder& b, const Schema& schema, const std::vector<Value>& arguments) {
  if (std::any_of(arguments.begin(), arguments.end(), is_complex)) {
    if (const Lower rule = rule_of_complex(schema.name)) {
      Operands operands(b, schema, arguments);
      return rule(operands);
    }
    if (is_quotient(schema.name)) return quotient(b, schema, arguments);
    if (is_multilinear(schema.name)) return product_by_parts(b, schema, arguments);
    if (is_linear(schema)) return by_parts(b, schema, arguments);
  } else if (schema.name == "to" || schema.name == "_to_copy") {
    Operands operands(b, schema, arguments);
    if (const DType to = wanted_parts(operands); to != DType::kInvalid) {
      const Term real = term(operands, "self").cast(to);
      return complex_of(real, real.number(0).expand(real.dims()));
    }
  }
  return lowered(b, schema, arguments);
}

void add_complex(Table& table) {
  table.add_all("angle", "Tensor self", complex_angle);
  table.add_all("conj _conj conj_physical _conj_physical", "Tensor self", conjugate);
  table.add_all("real imag", "Tensor self", half_of_pairs);
  table.add_all("view_as_real view_as_real_copy", "Tensor self", view_as_real);
  table.add_all("view_as_complex view_as_complex_copy", "Tensor self", view_as_complex);
  table.add("complex", "Tensor real, Tensor imag", complex_from_parts);
  table.add("polar", "Tensor abs, Tensor angle", complex_from_angle);
}

}  // namespace ingot::aten
