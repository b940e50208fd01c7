// tools/import/keras/layers_pool.cpp - pools over windows and over everything.
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

void pool(LayerCall& call, const char* op, size_t spatial) {
  call.expect_rank(int64_t(spatial) + 2);
  const std::vector<int64_t> size = call.integers("pool_size", spatial, 2);
  const std::vector<int64_t> strides =
      call.field("strides") ? call.integers("strides", spatial, 1) : size;
  const std::string padding = call.text("padding", "valid");
  const bool last = call.channels_last();
  if (padding != "same" && padding != "valid")
    call.refuse("padding", "'" + padding + "' is not known here");
  aten::Attributes attributes = {
      {"kernel_shape", size},
      {"strides", strides},
      {"dilations", std::vector<int64_t>(spatial, 1)},
      {"auto_pad", std::string(padding == "same" ? "SAME_UPPER" : "VALID")},
      {"ceil_mode", int64_t(0)}};
  if (std::string(op) == "AveragePool") attributes["count_include_pad"] = int64_t(0);
  const ValueId x =
      call.b.emit(op, {call.to_channels_first(call.input(), last)}, std::move(attributes));
  call.give(call.from_channels_first(x, last));
}
template <size_t spatial>
void max_pool(LayerCall& call) {
  pool(call, "MaxPool", spatial);
}
template <size_t spatial>
void average_pool(LayerCall& call) {
  pool(call, "AveragePool", spatial);
}

void global(LayerCall& call, const char* op, size_t spatial) {
  call.expect_rank(int64_t(spatial) + 2);
  const int64_t first = call.channels_last() ? 1 : 2;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < spatial; i++) axes.push_back(first + int64_t(i));
  call.give(call.b.reduce(op, call.input(), axes, call.truth("keepdims", false)));
}
template <size_t spatial>
void global_max(LayerCall& call) {
  global(call, "ReduceMax", spatial);
}
template <size_t spatial>
void global_average(LayerCall& call) {
  global(call, "ReduceMean", spatial);
}

}  // namespace

void add_pools(TranslateTable& table) {
  table["MaxPooling1D"] = table["MaxPool1D"] = max_pool<1>;
  table["MaxPooling2D"] = table["MaxPool2D"] = max_pool<2>;
  table["AveragePooling1D"] = table["AvgPool1D"] = average_pool<1>;
  table["AveragePooling2D"] = table["AvgPool2D"] = average_pool<2>;
  table["GlobalMaxPooling1D"] = table["GlobalMaxPool1D"] = global_max<1>;
  table["GlobalMaxPooling2D"] = table["GlobalMaxPool2D"] = global_max<2>;
  table["GlobalAveragePooling1D"] = table["GlobalAvgPool1D"] = global_average<1>;
  table["GlobalAveragePooling2D"] = table["GlobalAvgPool2D"] = global_average<2>;
}

}  // namespace ingot::keras
