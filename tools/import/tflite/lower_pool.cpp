// tools/import/tflite/lower_pool.cpp - pools over windows.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

ValueId pooled(Call& call, const char* op, ValueId x) {
  aten::Attributes attributes = {
      {"kernel_shape",
       std::vector<int64_t>{call.integer("filter_height"), call.integer("filter_width")}},
      {"strides", std::vector<int64_t>{call.integer("stride_h"), call.integer("stride_w")}},
      {"dilations", std::vector<int64_t>{1, 1}},
      {"auto_pad", std::string(call.integer("padding") == 0 ? "SAME_UPPER" : "VALID")},
      {"ceil_mode", int64_t(0)}};
  if (std::string(op) == "AveragePool") attributes["count_include_pad"] = int64_t(0);
  return call.b.emit(op, {x}, std::move(attributes));
}

void pool(Call& call, const char* op) {
  call.expect_inputs(1, 1);
  call.expect_rank(0, 4);
  const ValueId x = pooled(call, op, call.channels_second(call.input(0)));
  call.give(call.channels_last(call.activated(x)));
}
void max_pool(Call& call) { pool(call, "MaxPool"); }
void average_pool(Call& call) { pool(call, "AveragePool"); }

/// The root of the mean of squares.
void l2_pool(Call& call) {
  call.expect_inputs(1, 1);
  call.expect_rank(0, 4);
  const ValueId x = call.channels_second(call.input(0));
  const ValueId mean = pooled(call, "AveragePool", call.b.emit("Mul", {x, x}));
  call.give(call.channels_last(call.activated(call.b.emit("Sqrt", {mean}))));
}

}  // namespace

void add_pool(TranslateTable& table) {
  table["MAX_POOL_2D"] = max_pool;
  table["AVERAGE_POOL_2D"] = average_pool;
  table["L2_POOL_2D"] = l2_pool;
}

}  // namespace ingot::tflite
