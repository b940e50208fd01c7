// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_float8.h"

#include <algorithm>
#include <cmath>

#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_compressed.h"

namespace ingot::decoder {
namespace {

using checkpoint::ElementType;
using checkpoint::Tensor;
using Scales = Float8::Scales;

constexpr const char *kWeight = ".weight", *kScales[] = {".weight_scale_inv", ".weight_scale"},
                     *kOfActivations[] = {".input_scale", ".activation_scale", ".k_scale",
                                          ".v_scale"};

/// `name` without its end; empty: it has another.
std::string stem_of(const std::string& name, const std::string& end) {
  const size_t size = name.size() - std::min(name.size(), end.size());
  return name.compare(size, std::string::npos, end) == 0 ? name.substr(0, size) : "";
}

std::string dims_of(const std::vector<int64_t>& dims) {
  return graph::text(graph::Dims(dims.begin(), dims.end()));
}

Float8 blocks_of(Config* config, const char* key) {
  const std::vector<double> sizes = config->numbers(key);
  const auto is_size = [](double x) { return x >= 1 && x <= 1 << 24 && x == std::floor(x); };
  if (sizes.size() != 2 || !is_size(sizes[0]) || !is_size(sizes[1]))
    config->refuse(key, "numbers of rows and columns");
  return {Scales::kOfBlocks, int64_t(sizes[0]), int64_t(sizes[1])};
}

Float8 read_compressed_floats(const Json& json, const std::string& file) {
  Config own(compressed_weights(json, kFloatQuantized, file), file);
  if (own.integer("num_bits", 0, 0, 64) != 8) own.refuse("num_bits", "8");
  if (own.text("type", "") != "float") own.refuse("type", "float");
  if (!own.flag("symmetric", true)) own.refuse("symmetric", "true");
  const std::string strategy = own.text("strategy", "");
  if (strategy == "tensor") return {Scales::kOfMatrix};
  if (strategy == "channel") return {Scales::kOfRows};
  if (strategy != "block") own.refuse("strategy", "tensor, channel or block");
  return blocks_of(&own, "block_structure");
}

}  // namespace

std::optional<Float8> read_float8(const Json& config, const std::string& file) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return std::nullopt;
  Config how(*found, file);
  const std::string method = how.text("quant_method", "");
  if (method == "compressed-tensors" && how.text("format", "") == kFloatQuantized)
    return read_compressed_floats(*found, file);
  if (method != "fp8") return std::nullopt;
  if (how.text("fmt", "e4m3") != "e4m3") how.refuse("fmt", "e4m3");
  constexpr const char* kBlock = "weight_block_size";
  return how.find(kBlock) ? blocks_of(&how, kBlock) : Float8();
}

void Float8Matrices::take(Tensors* tensors) {
  if (!how_) return;
  for (auto at = tensors->begin(); at != tensors->end();) {
    const auto is_end = [&](const char* end) { return !stem_of(at->first, end).empty(); };
    const bool is_left_out =
        std::any_of(std::begin(kOfActivations), std::end(kOfActivations), is_end);
    left_out_ += is_left_out;
    at = is_left_out ? tensors->erase(at) : std::next(at);
  }
  for (auto at = tensors->begin(); at != tensors->end();) {
    const auto [name, tensor] = *at;
    const std::string stem = stem_of(name, kWeight);
    if (stem.empty() || tensor->type != ElementType::kF8E4M3 || tensor->dims.size() != 2) {
      ++at;
      continue;
    }
    Scaled own{tensor, nullptr, ""};
    for (const char* end : kScales)
      if (const auto scales = tensors->find(stem + end); scales != tensors->end())
        own.scales = scales->second, own.scales_name = stem + end;
    if (!own.scales)
      graph::fail_mismatch(file_, "'" + name + "' is " + element_name(tensor->type) + " and its '" +
                                      stem + kScales[0] + "' or '" + stem + kScales[1] +
                                      "' is missing; get the folder anew");
    check(name, own);
    tensors->erase(own.scales_name);
    at = tensors->erase(at);
    matrices_.emplace(name, own);
  }
}

BlockScales Float8Matrices::block_of(const Tensor& matrix) const {
  const int64_t rows = std::max<int64_t>(matrix.dims[0], 1),
                columns = std::max<int64_t>(matrix.dims[1], 1);
  switch (how_->scales) {
    case Scales::kOfRows: return {{}, 1, columns};
    case Scales::kOfBlocks: return {{}, how_->rows, how_->columns};
    case Scales::kOfMatrix: break;
  }
  return {{}, rows, columns};
}

void Float8Matrices::check(const std::string& name, const Scaled& own) const {
  const ElementType type = own.scales->type;
  if (type != ElementType::kF32 && type != ElementType::kF16 && type != ElementType::kBf16)
    graph::fail_mismatch(file_, "'" + own.scales_name + "' is " + element_name(type) +
                                    ", expected float32, float16 or bfloat16; get the folder anew");
  const BlockScales block = block_of(*own.matrix);
  const std::vector<int64_t>& dims = own.matrix->dims;
  const std::vector<int64_t> expected = {(dims[0] + block.rows - 1) / block.rows,
                                         (dims[1] + block.columns - 1) / block.columns};
  const bool is_one = how_->scales == Scales::kOfMatrix && own.scales->elements() == 1,
             is_column = how_->scales == Scales::kOfRows &&
                         own.scales->dims == std::vector<int64_t>{expected[0]};
  if (!is_one && !is_column && own.scales->dims != expected)
    graph::fail_mismatch(file_, "'" + own.scales_name + "' is " + dims_of(own.scales->dims) +
                                    ", expected " + dims_of(expected) + " for '" + name + "' " +
                                    dims_of(dims) + " by quantization_config; get the folder anew");
}

std::vector<std::string> Float8Matrices::names() const {
  std::vector<std::string> all;
  for (const auto& [name, own] : matrices_) all.push_back(name);
  return all;
}

SourceTensor Float8Matrices::load(const std::string& name) const {
  const Scaled& own = matrices_.at(name);
  SourceTensor made = plain_tensor(name, *own.matrix);
  made.scales = block_of(*own.matrix);
  const int64_t count = own.scales->elements();
  if (count == 0) return made;  // as its codes
  made.scales.numbers.resize(size_t(count));
  widen_row(plain_tensor(own.scales_name, *own.scales), count, 0, made.scales.numbers.data());
  for (const float scale : made.scales.numbers)
    if (!std::isfinite(scale))
      graph::fail_mismatch(file_, "'" + own.scales_name + "' has a scale that is " +
                                      (std::isnan(scale) ? "no number" : "infinite") +
                                      "; get the folder anew");
  return made;
}

std::string Float8Matrices::note() const {
  if (matrices_.empty()) return "";
  return "matrices of float8 (" + std::to_string(matrices_.size()) +
         ") are multiplied by their scales; activations are not rounded to float8" +
         (left_out_ ? ", and their scales (" + std::to_string(left_out_) + ") are left out" : "");
}

}  // namespace ingot::decoder
