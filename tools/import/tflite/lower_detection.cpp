// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_detection.cpp - TFLite_Detection_PostProcess: boxes out of what a
// detector says of its anchors, the best of them that do not overlap. In LiteRT's numbers: boxes in
// f64, rounded to f32 where it does; the rest in f32.
#include <cmath>
#include <limits>

#include "tools/import/tflite/custom_options.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

struct Detection {
  int64_t most = 0, classes = 0, most_of_class = 100;
  double scales[4] = {};  // y, x, height, width
  float least_score = 0, overlap = 0;
  bool of_each_class = false;
};

Detection read_detection(Call& call) {
  CustomOptions options(call);
  const auto whole = [&](const char* name, int64_t otherwise) {
    constexpr int64_t kMax = 1 << 20;
    return options.has(name) || otherwise < 0 ? options.whole(name, 1, kMax) : otherwise;
  };
  Detection d;
  d.most = whole("max_detections", -1);
  d.classes = whole("num_classes", -1);
  d.most_of_class = std::min(whole("detections_per_class", d.most_of_class), d.most);
  d.of_each_class = options.has("use_regular_nms") && options.number("use_regular_nms", 0, 1) != 0;
  const int64_t of_box = whole("max_classes_per_detection", -1);
  if (!d.of_each_class && of_box != 1)
    call.refuse("max_classes_per_detection",
                "is " + std::to_string(of_box) + " without use_regular_nms; supported is 1");
  constexpr double kTiny = std::numeric_limits<float>::min(),
                   kHuge = std::numeric_limits<float>::max();
  const char* const scales[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (int i = 0; i < 4; i++) d.scales[i] = double(float(options.number(scales[i], kTiny, kHuge)));
  d.least_score = float(options.number("nms_score_threshold", -kHuge, kHuge));
  d.overlap = float(options.number("nms_iou_threshold", 0, 1));
  options.ignore("_output_quantized");
  options.ignore("_support_output_type_float_in_quantized_op");
  options.expect_all_read();
  return d;
}

/// [boxes, 4]: two corners each.
ValueId decoded_boxes(Call& call, const Detection& d, const Dim& count) {
  aten::Builder& b = call.b;
  const auto wide = [&](ValueId x, const Dims& dims) {
    return b.cast(b.reshape(x, dims), DType::kF64);
  };
  const auto part = [&](ValueId x, int64_t from) {
    return b.slice(x, 1, Dim(from), Dim(from + 2));
  };
  const auto pair = [&](double first, double second) {
    const double both[] = {first, second};
    return b.constant(graph::make_constant(DType::kF64, {1, 2}, both));
  };
  const ValueId said = b.slice(wide(call.input(0), {count, b.dims(call.input(0)).back()}), 1,
                               Dim(0), Dim(4)),
                anchors = wide(call.input(2), {count, Dim(4)}), sizes = part(anchors, 2);
  const auto op = [&](graph::Operator name, ValueId x, ValueId y) { return b.emit(name, {x, y}); };
  const ValueId moved =
                    op(op::Mul, op(op::Div, part(said, 0), pair(d.scales[0], d.scales[1])), sizes),
                center = b.cast(op(op::Add, moved, part(anchors, 0)), DType::kF32);
  const ValueId grown =
                    b.emit(op::Exp, {op(op::Div, part(said, 2), pair(d.scales[2], d.scales[3]))}),
                half = b.cast(op(op::Mul, op(op::Mul, grown, pair(0.5, 0.5)), sizes), DType::kF32);
  return b.emit(op::Concat, {op(op::Sub, center, half), op(op::Add, center, half)},
                {{attr::axis, int64_t(1)}});
}

/// What is found of [most], and zeros behind it.
struct Found {
  ValueId box, kind, score, count;  // i64 [most], i64 [most], f32 [most], i64 []
};

ValueId suppressed(Call& call, const Detection& d, ValueId boxes, ValueId scores, int64_t most) {
  aten::Builder& b = call.b;
  // TFLite keeps a score that is the threshold.
  const float below = std::nextafter(d.least_score, -std::numeric_limits<float>::infinity());
  const auto one = [&](double n) { return b.reshape(b.scalar(DType::kF32, n), {Dim(1)}); };
  const Dims dims = b.dims(boxes), counts = b.dims(scores);
  return b.emit(op::NonMaxSuppression,
                {b.reshape(boxes, {Dim(1), dims[0], dims[1]}),
                 b.reshape(scores, {Dim(1), counts[0], counts[1]}), b.integers({most}),
                 one(double(d.overlap)), one(double(below))},
                {{attr::center_point_box, int64_t(0)}});
}
ValueId column(Call& call, ValueId chosen, int64_t which) {
  return call.b.reshape(call.b.slice(chosen, 1, Dim(which), Dim(which + 1)),
                        {call.b.dims(chosen)[0]});
}
ValueId count_of(Call& call, ValueId chosen) {
  aten::Builder& b = call.b;
  return b.reshape(b.slice(b.emit(op::Shape, {chosen}), 0, Dim(0), Dim(1)), {});
}

/// Of each box the best class; boxes suppress each other whatever their classes.
Found find_best(Call& call, const Detection& d, ValueId boxes, ValueId scores) {
  aten::Builder& b = call.b;
  const ValueId best = b.reduce(op::ReduceMax, scores, {1}, false);
  const ValueId kinds = b.emit(op::ArgMax, {scores},
                               {{attr::axis, int64_t(1)},
                                {attr::keepdims, int64_t(0)},
                                {attr::select_last_index, int64_t(0)}});
  const Dim count = b.dims(best)[0];
  const ValueId chosen = suppressed(call, d, boxes, b.reshape(best, {Dim(1), count}), d.most);
  const ValueId at = column(call, chosen, 2);
  const auto taken = [&](ValueId from) {
    return filled_up(call, b.emit(op::Gather, {from, at}, {{attr::axis, int64_t(0)}}), d.most);
  };
  return {filled_up(call, at, d.most), taken(kinds), taken(best), count_of(call, chosen)};
}

/// Boxes suppress those of their class; then the best of all classes.
Found find_of_each_class(Call& call, const Detection& d, ValueId boxes, ValueId scores) {
  aten::Builder& b = call.b;
  const int64_t room = d.classes * d.most_of_class;
  const ValueId of_classes = b.transpose(scores, {1, 0});
  const ValueId chosen = suppressed(call, d, boxes, of_classes, d.most_of_class);
  const ValueId values = b.emit(op::GatherND, {of_classes, b.slice(chosen, 1, Dim(1), Dim(3))},
                                {{attr::batch_dims, int64_t(0)}});
  const ValueId count = count_of(call, chosen);
  const int64_t kept = std::min(room, d.most);
  // what is not there is last
  const ValueId all = filled_up(call, values, room),
                is_there = b.emit(op::Less, {b.counting(Dim(room)), count});
  const ValueId ranked = b.emit(
      op::Where, {is_there, all, b.scalar(DType::kF32, -std::numeric_limits<float>::infinity())});
  const std::vector<ValueId> top = b.emit_many(
      op::TopK, {ranked, b.integers({kept})},
      {{attr::axis, int64_t(0)}, {attr::largest, int64_t(1)}, {attr::sorted, int64_t(1)}}, 2);
  const auto taken = [&](ValueId from) {
    const ValueId made = b.emit(op::Gather, {from, top[1]}, {{attr::axis, int64_t(0)}});
    return kept < d.most ? filled_up(call, made, d.most) : made;
  };
  return {taken(filled_up(call, column(call, chosen, 2), room)),
          taken(filled_up(call, column(call, chosen, 1), room)), taken(all),
          b.emit(op::Min, {count, b.scalar(DType::kI64, double(d.most))})};
}

void detect(Call& call) {
  aten::Builder& b = call.b;
  const Detection d = read_detection(call);
  const Dims said = b.dims(call.input(0)), kinds = b.dims(call.input(1)),
             anchors = b.dims(call.input(2));
  if (said.size() != 3 || said[0] != Dim(1) || kinds.size() != 3 || kinds[0] != Dim(1) ||
      anchors.size() != 2 || anchors[1] != Dim(4) || said[1] != anchors[0] ||
      kinds[1] != anchors[0])
    call.corrupt("its boxes have shape " + graph::text(said) + ", its classes " +
                 graph::text(kinds) + ", its anchors " + graph::text(anchors) +
                 "; expected [1, N, 4], [1, N, classes], [N, 4]");
  const auto coordinates = said[2].value(), all = kinds[2].value();
  if (!coordinates || *coordinates < 4 || !all || (*all != d.classes && *all != d.classes + 1))
    call.corrupt("its classes have shape " + graph::text(kinds) + ", num_classes is " +
                 std::to_string(d.classes) + ", with a background one more");
  const ValueId boxes = decoded_boxes(call, d, anchors[0]);
  const ValueId scores =
      b.slice(b.reshape(call.input(1), {kinds[1], kinds[2]}), 1, Dim(*all - d.classes), Dim(*all));
  const Found found = d.of_each_class ? find_of_each_class(call, d, boxes, scores)
                                      : find_best(call, d, boxes, scores);
  const ValueId is_there =
      b.reshape(b.emit(op::Less, {b.counting(Dim(d.most)), found.count}), {Dim(d.most), Dim(1)});
  const ValueId corners = b.emit(
      op::Where, {is_there, b.emit(op::Gather, {boxes, found.box}, {{attr::axis, int64_t(0)}}),
                  b.scalar(DType::kF32, 0)});
  call.give_all({b.reshape(corners, {Dim(1), Dim(d.most), Dim(4)}),
                 b.reshape(b.cast(found.kind, DType::kF32), {Dim(1), Dim(d.most)}),
                 b.reshape(found.score, {Dim(1), Dim(d.most)}),
                 b.reshape(b.cast(found.count, DType::kF32), {Dim(1)})});
}

}  // namespace

void add_detection(TranslateTable& table) {
  table["TFLite_Detection_PostProcess"] = {3, 3, detect};
}

}  // namespace ingot::tflite
