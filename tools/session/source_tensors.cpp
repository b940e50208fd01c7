// SPDX-License-Identifier: Apache-2.0
#include "tools/session/source_tensors.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "tools/files/suggest.h"
#include "tools/session/metadata.h"

namespace ingot::cli {
namespace {

using host::Array;

constexpr char kEntry[] = "ingot.tensor.";  // written by tools/compile/emit/metadata.cpp

/// The source's tensor: dimension order[k] of it is dimension k of `held`.
Array in_source_order(const Array& held, size_t rank, const std::vector<int64_t>& order,
                      const std::string& name) {
  Array made = held;
  made.name = name;
  made.dims.assign(rank, 1);
  std::vector<int64_t> strides(order.size(), 0);  // of the result, by dimension of `held`
  for (size_t k = 0; k < order.size(); k++)
    if (order[k] >= 0) made.dims[size_t(order[k])] = held.dims[k];
  for (size_t k = 0; k < order.size(); k++) {
    if (order[k] < 0) continue;
    strides[k] = 1;
    for (size_t d = size_t(order[k]) + 1; d < rank; d++) strides[k] *= made.dims[d];
  }
  const size_t element = held.elements() ? held.bytes.size() / size_t(held.elements()) : 0;
  std::vector<int64_t> at(held.dims.size(), 0);
  int64_t to = 0;
  for (int64_t i = 0, n = held.elements(); i < n; i++) {
    memcpy(made.bytes.data() + size_t(to) * element, held.bytes.data() + size_t(i) * element,
           element);
    for (size_t k = at.size(); k-- > 0;) {
      to += strides[k];
      if (++at[k] < held.dims[k]) break;
      to -= strides[k] * held.dims[k];
      at[k] = 0;
    }
  }
  return made;
}

}  // namespace

SourceTensors::SourceTensors(const Engine& engine) {
  const uint32_t count = engine.summary().value_count;
  for (uint32_t v = 0; v < count; v++) {
    ingot_value_type type{};
    if (ingot_model_value(engine.model().get(), v, &type) != INGOT_OK || !*type.name ||
        type.kind == 1)
      continue;
    if (by_name_.emplace(type.name, v).second) names_.emplace_back(type.name);
  }
  for (const auto& [key, text] : read_metadata(engine).entries)
    if (key.rfind(kEntry, 0) == 0) read_entry(key.substr(sizeof kEntry - 1), text, count);
  std::set<uint32_t> is_reordered;
  for (const auto& [name, held] : reordered_) is_reordered.insert(held.value);
  for (const std::string& name : names_)
    if (!is_reordered.count(by_name_.at(name))) shown_.push_back(name);
  for (const auto& [name, held] : reordered_) {
    if (by_name_.count(name)) continue;
    names_.push_back(name);
    shown_.push_back(name);
  }
}

/// "4 0,2,3,1 conv1" under the value's index: of rank 4. Anything else is somebody else's entry.
void SourceTensors::read_entry(const std::string& key, const std::string& text, uint32_t values) {
  std::istringstream index(key), words(text);
  Held held{};
  std::string order, name;
  if (!(index >> held.value) || held.value >= values || !(words >> held.rank >> order) ||
      held.rank > 64)
    return;
  words.get();
  std::getline(words, name, '\0');
  std::istringstream numbers(order == "-" ? "" : order);
  std::vector<bool> taken(held.rank, false);
  for (std::string number; std::getline(numbers, number, ',');) {
    char* end = nullptr;
    const int64_t d = strtoll(number.c_str(), &end, 10);
    if (*end || d < -1 || d >= int64_t(held.rank) || (d >= 0 && taken[size_t(d)])) return;
    if (d >= 0) taken[size_t(d)] = true;
    held.order.push_back(d);
  }
  if (!name.empty()) reordered_.emplace(name, std::move(held));
}

bool SourceTensors::take(Engine* engine, const std::string& name, Array* out,
                         std::string* why) const {
  const auto plain = by_name_.find(name);
  const auto held = reordered_.find(name);
  if (plain == by_name_.end() && held == reordered_.end()) {
    *why = "no value of that name is left in the file (fused or folded)";
    return false;
  }
  // A value of that very name is the source's tensor as it is.
  const bool is_plain = plain != by_name_.end();
  ingot_tensor tensor{};
  Error error;
  if (ingot_session_value(engine->session().get(), is_plain ? plain->second : held->second.value,
                          &tensor, &error) != INGOT_OK) {
    *why = error.text();
    return false;
  }
  if (!tensor.data && tensor.bytes) {
    *why = "it lies in no memory";
    return false;
  }
  *out = copy_out(tensor, name);
  if (is_plain) return true;
  if (out->dims.size() != held->second.order.size()) {
    *why = "the metadata says another rank than the program";
    return false;
  }
  *out = in_source_order(*out, held->second.rank, held->second.order, name);
  return true;
}

}  // namespace ingot::cli
