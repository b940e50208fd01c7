// SPDX-License-Identifier: Apache-2.0
#include "tools/import/keras/layer_call.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/import/keras/no_effect.h"

namespace ingot::keras {
LayerCall::LayerCall(Network& network, const Layer& l, const Weights& weights, std::string p,
                     std::string of_wrapper, int v, std::vector<ValueId> in,
                     std::vector<double> plain, std::vector<ValueId> masks)
    : net(network),
      b(network.b),
      layer(l),
      source(weights),
      place(std::move(p)),
      part(std::move(of_wrapper)),
      version(v),
      inputs_(std::move(in)),
      numbers_(std::move(plain)),
      masks_(std::move(masks)) {}

void LayerCall::corrupt(const std::string& why) const {
  graph::fail_corrupt(layer.kind + " '" + layer.name + "': " + why);
}
bool LayerCall::is_masked() const {
  return std::any_of(masks_.begin(), masks_.end(), [](ValueId mask) { return mask != kAbsent; });
}
void LayerCall::expect_rank(int64_t wanted) const {
  if (rank() != wanted)
    corrupt("its input has shape " + graph::text(b.dims(inputs_[0])) + ", expected " +
            std::to_string(wanted) + " dimensions");
}
int64_t LayerCall::extent(int64_t axis) const {
  const auto n = b.dims(inputs_[0])[size_t(axis)].value();
  if (!n)
    refuse("", "dimension " + std::to_string(axis) + " of its input is symbolic",
           "bind it with --dim or --input-shape");
  return *n;
}

const Json* LayerCall::field(const std::string& key) {
  known_.insert(key);
  if (!layer.config.is_object()) return nullptr;
  const auto found = layer.config.find(key);
  return found == layer.config.end() || found->is_null() ? nullptr : &*found;
}
int64_t LayerCall::integer(const std::string& key, int64_t otherwise) {
  const Json* found = field(key);
  if (!found) return otherwise;
  if (!found->is_number_integer()) corrupt("'" + key + "' is no whole number");
  const int64_t n = found->get<int64_t>();
  if (n > (int64_t{1} << 40) || n < -(int64_t{1} << 40))
    corrupt("'" + key + "' is " + std::to_string(n));
  return n;
}
double LayerCall::number(const std::string& key, double otherwise) {
  const Json* found = field(key);
  if (!found) return otherwise;
  if (found->is_array() && found->size() == 1 && (*found)[0].is_number())
    return (*found)[0].get<double>();
  if (!found->is_number()) corrupt("'" + key + "' is no number");
  return found->get<double>();
}
bool LayerCall::truth(const std::string& key, bool otherwise) {
  const Json* found = field(key);
  if (!found) return otherwise;
  if (!found->is_boolean()) corrupt("'" + key + "' is neither true nor false");
  return found->get<bool>();
}
std::string LayerCall::text(const std::string& key, const std::string& otherwise) {
  const Json* found = field(key);
  if (!found) return otherwise;
  if (!found->is_string()) corrupt("'" + key + "' is no text");
  return found->get<std::string>();
}
std::vector<int64_t> LayerCall::integers(const std::string& key, size_t count, int64_t otherwise) {
  const Json* found = field(key);
  if (!found) return std::vector<int64_t>(count, otherwise);
  std::vector<int64_t> out;
  if (found->is_array()) {
    for (const Json& item : *found) {
      if (!item.is_number_integer()) corrupt("'" + key + "' holds what is no whole number");
      out.push_back(item.get<int64_t>());
    }
  } else {
    out.assign(count, integer(key, otherwise));
  }
  if (out.size() == 1 && count > 1) out.assign(count, out[0]);
  if (out.size() != count)
    corrupt("'" + key + "' has " + std::to_string(out.size()) + " numbers, expected " +
            std::to_string(count));
  for (const int64_t n : out)
    if (n > (int64_t{1} << 31) || n < -(int64_t{1} << 31))
      corrupt("'" + key + "' holds " + std::to_string(n));
  return out;
}
int64_t LayerCall::axis(const std::string& key, int64_t otherwise, int64_t rank) {
  const int64_t axis = integer(key, otherwise);
  if (axis < -rank || axis >= rank) corrupt("its axis is " + std::to_string(axis));
  return axis < 0 ? axis + rank : axis;
}
std::vector<int64_t> LayerCall::whole_numbers_of(const std::string& key) {
  constexpr double kMax = double(int64_t{1} << 40);
  std::vector<int64_t> out;
  if (const Json* said = field(key))
    for (const Json& item : said->flatten())
      if (!item.is_number() && !item.empty()) corrupt("'" + key + "' holds what is no number");
  for (const double number : numbers_of(key)) {
    if (!(std::abs(number) <= kMax) || number != std::floor(number))
      corrupt("'" + key + "' holds " + std::to_string(number));
    out.push_back(int64_t(number));
  }
  return out;
}
std::vector<int64_t> LayerCall::axes(const std::string& key, int64_t rank) {
  std::set<int64_t> found;
  for (const int64_t axis : whole_numbers_of(key)) {
    if (axis < -rank || axis >= rank) corrupt("its axis is " + std::to_string(axis));
    found.insert(axis < 0 ? axis + rank : axis);
  }
  return {found.begin(), found.end()};
}
std::vector<double> LayerCall::numbers_of(const std::string& key) {
  const Json* found = field(key);
  std::vector<double> out;
  if (!found) return out;
  std::vector<const Json*> open = {found};  // in their order, however they nest
  while (!open.empty()) {
    const Json* at = open.back();
    open.pop_back();
    if (at->is_number()) out.push_back(at->get<double>());
    if (at->is_array())
      for (size_t i = at->size(); i-- > 0;) open.push_back(&(*at)[i]);
  }
  return out;
}
/// An activation layer that is used as a function has parameters, which are read for none: only
/// their neutral values are taken.
static void refuse_parameters(const LayerCall& call, const std::string& key, const Json& function) {
  static const std::map<std::string, Json> kNeutral = {
      {"ReLU", {{"max_value", nullptr}, {"negative_slope", 0.0}, {"threshold", 0.0}}},
      {"LeakyReLU", {{"negative_slope", 0.2}, {"alpha", 0.2}}},
      {"ELU", {{"alpha", 1.0}}},
      {"Softmax", {{"axis", -1}}}};
  const auto config = function.find("config"), kind = function.find("class_name");
  if (config == function.end() || !config->is_object() || kind == function.end() ||
      !kind->is_string())
    return;
  const auto neutral = kNeutral.find(kind->get<std::string>());
  for (const auto& [name, value] : config->items()) {
    if (value.is_null() || no_effect("", name)) continue;
    const bool known = neutral != kNeutral.end() && neutral->second.contains(name);
    if (known && value.is_number() && neutral->second[name] == value) continue;
    call.refuse(
        key,
        "is a " + kind->get<std::string>() + " with " + name + " " + value.dump().substr(0, 60),
        "make it a layer of its own");
  }
}
std::string LayerCall::activation(const std::string& key, const std::string& otherwise) {
  const Json* found = field(key);
  std::string name = otherwise;
  if (found && found->is_string()) name = found->get<std::string>();
  if (found && found->is_object()) {
    refuse_parameters(*this, key, *found);
    const auto inner = found->find("config"), kind = found->find("class_name");
    if (inner != found->end() && inner->is_string())
      name = inner->get<std::string>();
    else if (kind != found->end() && kind->is_string())
      // an activation layer used as a function, in its default form
      name = kind->get<std::string>();
  }
  if (name.rfind("__lambda__", 0) == 0 || name == "__lambda__" || name == "<lambda>")
    refuse(key, "is a lambda, which is never executed", "use a named activation");
  name = layers::plain_name(name);
  if (name == "hardsigmoid" && version < 3) return "hardsigmoid2";
  if (name == "leakyrelu") return "leakyrelu02";
  if (name == "gelu" && found && found->is_object()) return "gelu";
  return name;
}

void LayerCall::refuse_unknown_fields() const {
  const std::string key = unread_field(layer.kind, layer.config, {known_.begin(), known_.end()});
  if (key.empty()) return;
  refuse(key,
         "is " + layer.config[key].dump().substr(0, 60) + ", which is not known of a " + layer.kind,
         "");
}
void LayerCall::refuse_unread_arguments() const {
  const size_t read = all_read_ ? inputs_.size() : size_t(first_read_);
  if (inputs_.size() > std::max<size_t>(read, 1))
    refuse("inputs",
           "has " + std::to_string(inputs_.size()) + " tensors, of which the second is not read");
  if (!numbers_.empty() && !numbers_read_)
    refuse("",
           "is called with the number " + std::to_string(numbers_[0]) + ", which is not supported");
}

std::vector<Weight> LayerCall::all_weights(const std::string& of) {
  std::string at = part;
  if (!of.empty()) at += (at.empty() ? "" : "/") + of;
  std::vector<Weight> out;
  for (const checkpoint::Tensor* tensor : source.at(place, at)) out.push_back(net.weight(*tensor));
  return out;
}
std::vector<Weight> LayerCall::weights(size_t count, const std::string& of) {
  std::vector<Weight> out = all_weights(of);
  if (out.size() != count)
    graph::fail_mismatch(layer.kind + " '" + layer.name + "': has " + std::to_string(out.size()) +
                         " weights at '" + place + "', its configuration asks for " +
                         std::to_string(count) +
                         "; configuration and weights belong to different models");
  return out;
}
void LayerCall::expect_dims(const Weight& weight, const std::vector<int64_t>& dims,
                            const char* what) const {
  if (weight.dims == dims) return;
  const auto shape = [](const std::vector<int64_t>& all) {
    std::string text;
    for (const int64_t d : all) text += (text.empty() ? "" : ", ") + std::to_string(d);
    return "[" + text + "]";
  };
  graph::fail_mismatch(layer.kind + " '" + layer.name + "': its " + what + " has shape " +
                       shape(weight.dims) + ", expected " + shape(dims) +
                       "; configuration and weights belong to different models");
}

bool LayerCall::channels_last() {
  const std::string format = text("data_format", "channels_last");
  if (format != "channels_last" && format != "channels_first")
    refuse("data_format", "'" + format + "' is not known");
  return format == "channels_last";
}
ValueId LayerCall::to_channels_first(ValueId x, bool last) {
  if (!last) return x;
  const int64_t rank = b.rank(x);
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; d++) perm.push_back(d);
  return b.transpose(x, perm);
}
ValueId LayerCall::from_channels_first(ValueId x, bool last) {
  if (!last) return x;
  std::vector<int64_t> perm = {0};
  for (int64_t d = 2; d < b.rank(x); d++) perm.push_back(d);
  perm.push_back(1);
  return b.transpose(x, perm);
}

const TranslateTable& translate_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_dense(table);
    add_convolutions(table);
    add_pools(table);
    add_shapes(table);
    add_elementwise(table);
    add_normalizations(table);
    add_recurrent(table);
    add_attention(table);
    add_images(table);
    add_convolutional_recurrences(table);
    return table;
  }();
  return kTable;
}
const TranslateTable& operation_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_operations(table);
    add_moving_operations(table);
    return table;
  }();
  return kTable;
}

Weight turned_kernel(const Weight& weight) {
  const int64_t spatial = int64_t(weight.dims.size()) - 2;
  std::vector<int64_t> perm = {spatial + 1, spatial};
  for (int64_t d = 0; d < spatial; d++) perm.push_back(d);
  return layers::transposed(weight, perm);
}

}  // namespace ingot::keras
