// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_quantized.cpp - operators on quantized tensors: those of PyTorch's eager
// mode (namespace quantized), where packed weights stand as the tensors and numbers in them, and
// what makes and takes apart such tensors. Each is the operator of floating point on the numbers,
// rounded to the steps of the result; passes find the integers (tools/compile/passes/quantize).
#include <cmath>
#include <sstream>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

DType integers_like(Operands& o, const char* name) {
  const Value& like = o.value(name);
  const auto* const found = quantization_among({like});
  return found ? found->integers : DType::kU8;
}
int64_t known_whole(Operands& o, const char* name) {
  const double number = o.known_number(name);
  if (!(std::abs(number) < 0x1p53))
    o.corrupt("has " + std::string(name) + " " + std::to_string(number));
  return int64_t(number);
}
TensorQuantization of_result(Operands& o, const char* like, const char* scale,
                             const char* zero_point) {
  return {integers_like(o, like), o.known_number(scale), known_whole(o, zero_point)};
}
ValueId read(Builder& b, const Results& results) { return b.read(results.at(0).tensor); }

/// An operator that is one of aten on the numbers.
struct Function {
  const char* op;         // of namespace quantized
  bool has_relu;          // with "_relu" behind its name a Relu stands behind it
  const char* arguments;  // before scale and zero point of the result
  const char* behind;     // and after them
  const char* as;         // of aten
  const char* passed;     // its arguments
};
constexpr Function kFunctions[] = {
    {"add", true, "Tensor qa, Tensor qb", "", "add", "qa qb"},
    {"mul", true, "Tensor qa, Tensor qb", "", "mul", "qa qb"},
    {"matmul", false, "Tensor qa, Tensor qb", "", "matmul", "qa qb"},
    {"linear", true, "Tensor X, Tensor weight, Tensor? bias", "", "linear", "X weight bias"},
    {"conv2d", true,
     "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
     "groups",
     "", "conv2d", "qx weight bias stride padding dilation groups"},
    {"conv3d", true,
     "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
     "groups",
     "", "conv3d", "qx weight bias stride padding dilation groups"},
    {"conv_transpose2d", false,
     "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, "
     "int[] dilation, int groups",
     "", "conv_transpose2d", "qx weight bias stride padding output_padding groups dilation"},
    {"conv_transpose3d", false,
     "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, "
     "int[] dilation, int groups",
     "", "conv_transpose3d", "qx weight bias stride padding output_padding groups dilation"},
    {"hardswish", false, "Tensor qx", "", "hardswish", "qx"},
    {"sigmoid", false, "Tensor qx", "", "sigmoid", "qx"},
    {"leaky_relu", false, "Tensor qx, Scalar negative_slope, bool inplace", "", "leaky_relu",
     "qx negative_slope"},
    {"elu", false, "Tensor qx", ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", "elu",
     "qx alpha scale input_scale"},
    {"celu", false, "Tensor qx", ", Scalar alpha=1", "celu", "qx alpha"},
    {"softmax", false, "Tensor qx, int dim", "", "softmax", "qx dim"},
    {"prelu", false, "Tensor qx, Tensor weight", "", "prelu", "qx weight"},
    {"layer_norm", false,
     "Tensor qx, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps", "", "layer_norm",
     "qx normalized_shape weight bias eps"},
    {"group_norm", false, "Tensor qx, int num_groups, Tensor? weight, Tensor? bias, float eps", "",
     "group_norm", "qx num_groups weight bias eps"},
};

const Function* function_of(const std::string& op) {
  const std::string plain = op.substr(op.find("::") + 2);
  for (const Function& each : kFunctions)
    if (plain == each.op || (each.has_relu && plain == std::string(each.op) + "_relu"))
      return &each;
  return nullptr;
}

Results rounded(Operands& o, ValueId x, const TensorQuantization& by) {
  if (o.op().ends_with("_relu") && !o.op().ends_with("leaky_relu")) x = o.b.emit(op::Relu, {x});
  return {Value::of(quantized(o.b, x, by))};
}

Results computed(Operands& o) {
  const Function& function = *function_of(o.op());
  std::vector<Value> passed;
  std::istringstream names(function.passed);
  const std::string first =
      std::string(function.passed).substr(0, std::string(function.passed).find(' '));
  for (std::string name; names >> name;) passed.push_back(o.value(name.c_str()));
  const Results numbers = lower_as(o.b, function.as, std::move(passed));
  return rounded(o, read(o.b, numbers),
                 of_result(o, first.c_str(), "output_scale", "output_zero_point"));
}

/// Packed weights of one dimension are those of an image of one row.
Results convolve_rows(Operands& o) {
  Builder& b = o.b;
  const auto by = of_result(o, "qx", "output_scale", "output_zero_point");
  const bool transposed = o.op().find("transpose") != std::string::npos;
  const Value weight = o.value("weight");
  Dims dims = b.dims(o.read("qx"));
  const bool as_image = b.rank(o.read("weight")) == 4;
  if (dims.size() < 2) o.corrupt("its input has shape " + graph::text(dims));
  if (as_image) dims.insert(dims.end() - 1, Dim(1));
  const Value x = as_image ? Value::of(b.own(b.reshape(o.read("qx"), dims))) : o.value("qx");
  std::vector<Value> passed = {x, weight, o.value("bias"), o.value("stride"), o.value("padding")};
  if (transposed) {
    for (const char* name : {"output_padding", "groups", "dilation"})
      passed.push_back(o.value(name));
  } else {
    for (const char* name : {"dilation", "groups"}) passed.push_back(o.value(name));
  }
  const std::string op = transposed ? "conv_transpose" : "conv";
  ValueId y = read(b, lower_as(b, op + (as_image ? "2d" : "1d"), std::move(passed)));
  if (as_image) {
    Dims rows = b.dims(y);
    rows.erase(rows.end() - 2);
    y = b.reshape(y, rows);
  }
  return rounded(o, y, by);
}

Results normalize_batch(Operands& o) {
  const auto by = of_result(o, "qx", "output_scale", "output_zero_point");
  const Results numbers =
      lower_as(o.b, "batch_norm",
               {o.value("qx"), o.value("weight"), o.value("bias"), o.value("mean"), o.value("var"),
                Value::of(false), Value::of(0.0), o.value("eps"), Value::of(false)});
  return rounded(o, read(o.b, numbers), by);
}
Results normalize_instance(Operands& o) {
  const auto by = of_result(o, "qx", "output_scale", "output_zero_point");
  const Results numbers =
      lower_as(o.b, "instance_norm",
               {o.value("qx"), o.value("weight"), o.value("bias"), Value::none(), Value::none(),
                Value::of(true), Value::of(0.0), o.value("eps"), Value::of(false)});
  return rounded(o, read(o.b, numbers), by);
}

/// Of the first part where none are given.
Results concatenate(Operands& o) {
  const auto* const first = quantization_among({o.value("qx")});
  if (!o.given("scale") && !first) o.refuse("qx", "is not quantized, and no scale is given");
  TensorQuantization by = first ? *first : TensorQuantization{};
  if (o.given("scale")) by.scale = o.known_number("scale");
  if (o.given("zero_point")) by.zero_point = known_whole(o, "zero_point");
  return rounded(o, read(o.b, lower_as(o.b, "cat", {o.value("qx"), o.value("dim")})), by);
}

/// Operators whose result has the steps of the argument.
Results on_same_steps(Operands& o) {
  const std::string op = o.op().substr(o.op().find("::") + 2);
  std::vector<Value> passed = {o.value("qx")};
  for (const char* name : {"kernel_size", "stride", "padding", "dilation", "ceil_mode", "min",
                           "max", "threshold", "value"})
    if (o.has(name)) passed.push_back(o.value(name));
  const auto* const by = quantization_among({o.value("qx")});
  if (!by) o.refuse("qx", "is not quantized");
  return {Value::of(quantized(o.b, read(o.b, lower_as(o.b, op, std::move(passed))), *by))};
}

/// Sums with a number move the zero point, where it stays in its range; products change the scale.
Results with_number(Operands& o) {
  const auto* const found = quantization_among({o.value("qa")});
  if (!found) o.refuse("qa", "is not quantized");
  TensorQuantization by = *found;
  const bool is_sum = o.op().find("::add") != std::string::npos;
  const bool is_signed = by.integers == DType::kI8;
  const int64_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const double given = o.number("b"), in_steps = std::nearbyint(given / by.scale);
  const double number = is_sum ? in_steps * by.scale : given;
  const ValueId x = o.read("qa"),
                y = o.b.emit(is_sum ? op::Add : op::Mul, {x, o.b.scalar(DType::kF32, number)});
  if (is_sum) {
    if (!(std::fabs(in_steps) < 65536)) o.refuse("b", "is far beyond the steps of the argument");
    const int64_t moved = by.zero_point - int64_t(in_steps);
    if (moved < low) {
      by.scale *= double(high - moved) / double(high - low);
      by.zero_point = low;
    } else if (moved > high) {
      by.scale *= double(moved - low) / double(high - low);
      by.zero_point = high;
    } else {
      by.zero_point = moved;
    }
  } else if (number == 0) {
    by.scale = 1, by.zero_point = 0;
  } else {
    by.scale *= std::fabs(number);
    if (number < 0) by.zero_point = high + low - by.zero_point;
  }
  return rounded(o, y, by);
}

Results drop_out(Operands& o) {
  const auto by = of_result(o, "self", "output_scale", "output_zero_point");
  if (o.flag("training"))
    o.refuse("training", "random zeros are not supported", "save the model in eval mode");
  return rounded(o, o.read("self"), by);
}

// Activations in floating point, quantized in each run.

Results linear_dynamic(Operands& o) {
  ValueId x = o.read("X");
  if (!o.op().ends_with("_fp16"))
    x = quantized_in_run(o.b, x, o.has("reduce_range") && o.flag("reduce_range"));
  Results made =
      lower_as(o.b, "linear", {Value::of(o.b.own(x)), o.value("weight"), o.value("bias")});
  if (o.op().find("_relu") == std::string::npos) return made;
  return o.result(o.b.emit(op::Relu, {read(o.b, made)}));
}

/// Rows of a table of bytes, which become numbers behind the choice.
ValueId chosen_rows(Operands& o) {
  Builder& b = o.b;
  const ValueId indices = o.read("indices");
  const auto chosen = [&](const char* name) {
    const ValueId rows = b.emit(op::Gather, {o.read(name), indices}, {{attr::axis, int64_t(0)}});
    return b.cast(rows, DType::kF32);
  };
  if (o.given("compressed_indices_mapping"))
    o.refuse("compressed_indices_mapping", "of a table without some of its rows is not supported");
  return b.emit(op::Mul, {b.emit(op::Sub, {chosen("weight"), chosen("weight_zero_points")}),
                          chosen("weight_scales")});
}
Results embed_bytes(Operands& o) { return o.result(chosen_rows(o)); }
/// Sums over rows of indices.
Results embed_bags(Operands& o) {
  Builder& b = o.b;
  if (b.rank(o.read("indices")) != 2 || o.given("offsets"))
    o.refuse("offsets", "bags of different lengths are not supported",
             "give the indices as one matrix");
  if (o.integer("mode") != 0) o.refuse("mode", "of anything but sums is not supported");
  ValueId rows = chosen_rows(o);
  if (o.given("per_sample_weights")) {
    Dims dims = b.dims(o.read("per_sample_weights"));
    dims.push_back(Dim(1));
    rows = b.emit(op::Mul, {rows, b.reshape(o.read("per_sample_weights"), dims)});
  }
  return o.result(b.reduce(op::ReduceSum, rows, {1}, false));
}

// To quantized tensors and back.

TensorQuantization stated(Operands& o) {
  const auto integers = integers_of_c10(o.integer("dtype"));
  if (!integers)
    o.refuse("dtype", "is " + name_of_c10(o.integer("dtype")) +
                          ", expected torch.qint8, torch.quint8 or torch.qint32");
  return {*integers, 1, 0};
}
Results quantize_tensor(Operands& o) {
  TensorQuantization by = stated(o);
  by.scale = o.known_number("scale");
  by.zero_point = known_whole(o, "zero_point");
  return {Value::of(quantized(o.b, o.read("self"), by))};
}
Results dequantize_tensor(Operands& o) { return o.result(o.read("self")); }
Results integers_of_tensor(Operands& o) {
  const auto* const by = quantization_among({o.value("self")});
  if (!by) o.refuse("self", "is not quantized");
  return o.result(quantize(o.b, o.read("self"), *by));
}
Results fact_of_tensor(Operands& o) {
  const auto* const by = quantization_among({o.value("self")});
  if (!by) o.refuse("self", "is not quantized");
  return {o.op() == "q_scale" ? Value::of(by->scale) : Value::of(Dim(by->zero_point))};
}

}  // namespace

void add_quantized(Table& table) {
  const std::string space = "quantized::", to = ", Any output_scale, Any output_zero_point";
  for (const Function& each : kFunctions)
    for (const char* end : {"", "_relu"})
      if (each.has_relu || !*end)
        table.add(space + each.op + end, std::string(each.arguments) + to + each.behind, computed);
  for (const char* name : {"conv1d", "conv1d_relu"})
    table.add(space + name,
              "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
              "dilation, int groups" +
                  to,
              convolve_rows);
  table.add(space + "conv_transpose1d",
            "Tensor qx, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
            "output_padding, int[] dilation, int groups" +
                to,
            convolve_rows);
  for (const char* dims : {"", "1d", "2d", "3d"})
    for (const char* end : {"", "_relu"})
      table.add(space + "batch_norm" + dims + end,
                "Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps" + to,
                normalize_batch);
  table.add(space + "instance_norm", "Tensor qx, Tensor? weight, Tensor? bias, float eps" + to,
            normalize_instance);
  for (const char* name : {"cat", "cat_relu"})
    table.add(space + name, "Tensor[] qx, int dim, Any scale=None, Any zero_point=None",
              concatenate);
  table.add_all(
      "quantized::add_scalar quantized::add_scalar_relu quantized::mul_scalar "
      "quantized::mul_scalar_relu",
      "Tensor qa, Scalar b", with_number);
  table.add_all("quantized::max_pool1d quantized::max_pool2d",
                "Tensor qx, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, "
                "bool ceil_mode=False",
                on_same_steps);
  table.add(space + "clamp", "Tensor qx, Scalar? min=None, Scalar? max=None", on_same_steps);
  table.add(space + "relu6", "Tensor qx, bool inplace=False", on_same_steps);
  table.add(space + "threshold", "Tensor qx, Scalar threshold, Scalar value", on_same_steps);
  table.add(space + "dropout", "Tensor self" + to + ", Scalar p=0.5, bool training=False",
            drop_out);
  for (const char* name : {"linear_dynamic", "linear_relu_dynamic"})
    table.add(space + name, "Tensor X, Tensor weight, Tensor? bias, bool reduce_range=False",
              linear_dynamic);
  for (const char* name : {"linear_dynamic_fp16", "linear_relu_dynamic_fp16"})
    table.add(space + name, "Tensor X, Tensor weight, Tensor? bias", linear_dynamic);

  const std::string rows =
      "Tensor weight, Tensor weight_scales, Tensor weight_zero_points, Tensor indices";
  table.add(space + "embedding_byte", rows + ", bool pruned_weights=False", embed_bytes);
  table.add(space + "embedding_bag_byte",
            rows +
                ", Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool "
                "pruned_weights=False, Tensor? per_sample_weights=None, Tensor? "
                "compressed_indices_mapping=None, bool include_last_offset=False",
            embed_bags);

  table.add("quantize_per_tensor", "Tensor self, Any scale, Any zero_point, int dtype",
            quantize_tensor);
  table.add("dequantize", "Tensor self", dequantize_tensor);
  table.add("int_repr", "Tensor self", integers_of_tensor);
  table.add_all("q_scale q_zero_point", "Tensor self", fact_of_tensor);
}

}  // namespace ingot::aten
