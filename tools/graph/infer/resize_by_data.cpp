// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/resize_by_data.cpp - Resize by scales that only a run tells: along each axis
// the places that are read are computed, and the elements there gathered and mixed. Positions are
// those of ONNX's Resize, in f32.
#include "runtime/op/resize.h"
#include "tools/graph/infer/run_numbers.h"

namespace ingot::graph {
namespace {

struct Axis {
  int64_t axis = 0;
  ValueId scale = kAbsent;  // f32 scalar
  Dim in, out;
};

class Resampler {
 public:
  explicit Resampler(NodeContext& context)
      : context_(context),
        numbers_(context),
        coordinate_(context.node.text(attr::coordinate_transformation_mode, "half_pixel")),
        nearest_(context.node.text(attr::nearest_mode, "round_prefer_floor")),
        is_linear_(context.node.text(attr::mode, "nearest") == "linear") {}

  ValueId along(ValueId x, const Axis& axis) {
    const ValueId last = floats(numbers_.make(op::Sub, context_.extent(axis.in), numbers_.of(1)));
    const ValueId at = coordinates(axis, last);
    if (!is_linear_) {
      const ValueId place = limited(rounded(at), last);
      return numbers_.gather(x, context_.cast(place, DType::kI64), axis.axis);
    }
    const ValueId place = limited(at, last), low = context_.make(op::Floor, {place});
    const ValueId high = numbers_.make(op::Min, add(low, 1), last);
    const ValueId part = aligned(numbers_.make(op::Sub, place, low), x, axis);
    const ValueId a = numbers_.gather(x, context_.cast(low, DType::kI64), axis.axis);
    const ValueId b = numbers_.gather(x, context_.cast(high, DType::kI64), axis.axis);
    return numbers_.make(op::Add, a, numbers_.make(op::Mul, part, numbers_.make(op::Sub, b, a)));
  }

 private:
  ValueId number(double value) { return context_.scalar(DType::kF32, value); }
  ValueId floats(ValueId whole) { return context_.cast(whole, DType::kF32); }
  ValueId add(ValueId x, double value) { return numbers_.make(op::Add, x, number(value)); }
  ValueId limited(ValueId at, ValueId last) {
    return numbers_.make(op::Min, numbers_.make(op::Max, at, number(0)), last);
  }
  ValueId rounded(ValueId at) {
    if (nearest_ == "floor") return context_.make(op::Floor, {at});
    if (nearest_ == "ceil") return context_.make(op::Ceil, {at});
    const ValueId low = context_.make(op::Floor, {at});
    const bool ceil = nearest_ == "round_prefer_ceil";
    const ValueId up =
        numbers_.make(ceil ? op::GreaterOrEqual : op::Greater, numbers_.make(op::Sub, at, low),
                      number(ceil ? 0.5f - kResizeTie : 0.5f + kResizeTie));
    return numbers_.make(op::Add, low, floats(up));
  }
  /// Parts of an axis, shaped to be broadcast over x.
  ValueId aligned(ValueId parts, ValueId x, const Axis& axis) {
    Dims dims(context_.run().value(x).dims.size(), Dim(1));
    dims[size_t(axis.axis)] = axis.out;
    return context_.reshape(parts, dims);
  }
  ValueId coordinates(const Axis& axis, ValueId last) {
    const ValueId k = floats(context_.counting(axis.out)),
                  count = floats(context_.extent(axis.out));
    if (coordinate_ == "asymmetric") return numbers_.make(op::Div, k, axis.scale);
    if (coordinate_ == "align_corners") {
      const ValueId steps = numbers_.make(op::Max, add(count, -1), number(1));
      return numbers_.make(op::Div, numbers_.make(op::Mul, k, last), steps);
    }
    if (coordinate_ == "tf_half_pixel_for_nn")
      return numbers_.make(op::Div, add(k, 0.5), axis.scale);
    const ValueId middle = add(numbers_.make(op::Div, add(k, 0.5), axis.scale), -0.5);
    if (coordinate_ == "pytorch_half_pixel")
      return numbers_.choose(numbers_.make(op::Greater, count, number(1)), middle, number(0));
    if (coordinate_ != "half_pixel_symmetric") return middle;
    const ValueId in = floats(context_.extent(axis.in));
    const ValueId exact = numbers_.make(op::Mul, axis.scale, in);
    const ValueId lack = numbers_.make(op::Sub, number(1), numbers_.make(op::Div, count, exact));
    const ValueId shift = numbers_.make(op::Mul, numbers_.make(op::Mul, in, number(0.5)), lack);
    // in f64 from here, as runtime/op/resize.h has it
    const auto wide = [&](ValueId x) { return context_.cast(x, DType::kF64); };
    const ValueId half = context_.scalar(DType::kF64, 0.5);
    const ValueId place =
        numbers_.make(op::Div, numbers_.make(op::Add, wide(k), half), wide(axis.scale));
    return floats(numbers_.make(op::Sub, numbers_.make(op::Add, wide(shift), place), half));
  }

  NodeContext& context_;
  RunNumbers numbers_;
  const std::string coordinate_, nearest_;
  const bool is_linear_;
};

}  // namespace

void resize_by_data(NodeContext& context, const std::vector<int64_t>& axes) {
  const std::string mode = context.node.text(attr::mode, "nearest");
  if ((mode != "nearest" && mode != "linear") || context.node.integer(attr::antialias, 0) != 0)
    context.refuse("scales",
                   "its value ('" + context.value(2).name + "') is known only at run time, and " +
                       (mode == "cubic" ? "cubic" : "antialias") + " needs it",
                   "export with sizes");
  RunNumbers numbers(context);
  const auto contents = context.run().contents(context.in(2));
  const ValueId one = context.scalar(DType::kF32, 1);
  ValueId valid = kAbsent;
  std::vector<Axis> resized;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto known = contents ? (*contents)[i].number() : std::nullopt;
    if (known && *known == 1) continue;
    Axis each;
    each.axis = axes[i];
    each.in = context.dims(0)[size_t(axes[i])];
    each.scale = context.make(op::Gather, {context.in(2), context.scalar(DType::kI64, double(i))},
                              {{attr::axis, int64_t(0)}});
    if (axes[i] > 1 || context.rank(0) < 3 || known) {
      resized.push_back(each);
      continue;
    }
    const ValueId is_one = numbers.make(op::Equal, each.scale, one);
    valid = valid == kAbsent ? is_one : numbers.make(op::And, valid, is_one);
    context.note("Resize keeps batch and channels, whose scales ('" + context.value(2).name +
                 "') only a run tells; a run in which one is not 1 ends with an error");
  }
  ValueId x = context.in(0);
  for (Axis& each : resized) {
    const std::string name =
        context.run().value(context.node.outputs[0]).name + "." + std::to_string(each.axis);
    const int64_t high = stated_most(context.model(), name);
    if (high == 0)
      context.refuse("scales",
                     "its value ('" + context.value(2).name + "') is known only at run time",
                     how_to_bound(context, name, 2));
    const ValueId in = context.cast(context.extent(each.in), DType::kF32);
    const ValueId count =
        context.cast(context.make(op::Floor, {numbers.make(op::Mul, each.scale, in)}), DType::kI64);
    each.out = numbers.dim(count, valid, Dim(high), name);
  }
  Resampler resampler(context);
  for (const Axis& each : resized) x = resampler.along(x, each);
  context.same(0, x);
}

}  // namespace ingot::graph
