// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/golden/golden.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/files/failure.h"

namespace ingot::check {
namespace {

using host::Array;
using host::Exit;
using host::fail;
using Json = nlohmann::json;

[[noreturn]] void bad_meta(const std::string& path, const std::string& key,
                           const std::string& expected) {
  fail(Exit::kCorrupt, path + ": meta." + key + ": expected " + expected);
}

void read_meta(const std::string& text, Golden* golden) {
  const Json meta = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!meta.is_object()) fail(Exit::kCorrupt, golden->path + ": meta is no JSON object");
  if (const auto at = meta.find("steps"); at != meta.end() && !at->is_null()) {
    if (!at->is_number_unsigned() || *at == 0 || *at > 1'000'000)
      bad_meta(golden->path, "steps", "a number from 1 to 1,000,000");
    golden->steps = at->get<int64_t>();
  }
  if (const auto at = meta.find("opt_spread"); at != meta.end() && !at->is_null()) {
    if (!at->is_number() || !(at->get<double>() >= 0) || std::isinf(at->get<double>()))
      bad_meta(golden->path, "opt_spread", "a number from 0 up");
    golden->spread = at->get<double>();
  }
  if (const auto at = meta.find("feed"); at != meta.end() && !at->is_null()) {
    if (!at->is_object()) bad_meta(golden->path, "feed", "{output: input}");
    for (const auto& [output, input] : at->items()) {
      if (!input.is_string()) bad_meta(golden->path, "feed", "{output: input}");
      golden->feed[output] = input.get<std::string>();
    }
  }
  if (const auto at = meta.find("subsample"); at != meta.end() && !at->is_null()) {
    if (!at->is_object()) bad_meta(golden->path, "subsample", "{output: [strides]}");
    for (const auto& [output, strides] : at->items()) {
      if (!strides.is_array()) bad_meta(golden->path, "subsample", "{output: [strides]}");
      for (const Json& stride : strides) {
        if (!stride.is_number_unsigned() || stride == 0)
          bad_meta(golden->path, "subsample", "strides of at least 1");
        golden->subsample[output].push_back(stride.get<int64_t>());
      }
    }
  }
}

/// "in3" with prefix "in": 3; -1 otherwise.
int64_t port_number(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0 || name.size() == prefix.size() || name.size() > prefix.size() + 4)
    return -1;
  int64_t n = 0;
  for (size_t i = prefix.size(); i < name.size(); i++) {
    if (name[i] < '0' || name[i] > '9') return -1;
    n = n * 10 + (name[i] - '0');
  }
  return n;
}

bool take(const Array& array, const std::string& prefix, const std::vector<std::string>& ports,
          std::vector<Array>* to) {
  std::string name;
  if (array.name.rfind(prefix + ":", 0) == 0) {
    name = array.name.substr(prefix.size() + 1);
  } else {
    const int64_t n = port_number(array.name, prefix);
    if (n < 0 || size_t(n) >= ports.size()) return false;
    name = ports[size_t(n)];
  }
  to->push_back(array);
  to->back().name = name;
  return true;
}

}  // namespace

std::string Golden::fed_input(const std::string& output) const {
  const auto at = feed.find(output);
  return at == feed.end() ? "" : at->second;
}

bool Golden::is_fed_input(const std::string& input) const {
  for (const auto& [output, fed] : feed) {
    if (fed == input) return true;
  }
  return false;
}

Golden read_golden(const std::string& path, const std::vector<std::string>& input_names,
                   const std::vector<std::string>& output_names, bool needs_outputs) {
  Golden golden;
  golden.path = path;
  for (const Array& array : host::read_npz(path)) {
    if (array.name == "meta" && array.is_text)
      read_meta(array.text, &golden);
    else if (take(array, "in", input_names, &golden.inputs) ||
             take(array, "out", output_names, &golden.outputs))
      continue;
    else
      take(array, "mid", {}, &golden.intermediates);
  }
  if (needs_outputs && golden.outputs.empty()) {
    fail(Exit::kMismatch, path +
                              ": has no array 'out:NAME' to compare with; name inputs in:NAME and "
                              "expected outputs out:NAME");
  }
  return golden;
}

Array slice_step(const Array& array, int64_t step) {
  Array out;
  out.name = array.name;
  out.dtype = array.dtype;
  out.dims.assign(array.dims.begin() + 1, array.dims.end());
  const size_t bytes = size_t(out.elements()) * size_t(dtype_bytes(array.dtype));
  out.bytes.assign(array.bytes.begin() + std::ptrdiff_t(size_t(step) * bytes),
                   array.bytes.begin() + std::ptrdiff_t(size_t(step + 1) * bytes));
  return out;
}

void append_step(Array* gathered, const Array& step) {
  if (gathered->dims.empty()) {
    *gathered = step;
    gathered->dims.insert(gathered->dims.begin(), 1);
    return;
  }
  gathered->bytes.insert(gathered->bytes.end(), step.bytes.begin(), step.bytes.end());
  gathered->dims[0]++;
}

}  // namespace ingot::check
