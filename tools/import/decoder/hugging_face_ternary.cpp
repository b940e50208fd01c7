// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_ternary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/ternary.h"

namespace ingot::decoder {
namespace {

using checkpoint::ElementType;
using checkpoint::Tensor;

constexpr const char *kMatrixEnd = ".weight", *kScaleEnd = ".weight_scale";
constexpr int64_t kInByte = 4;
constexpr float kLeastMean = 1e-5f;  // as transformers has it

bool is_number_type(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF16 || type == ElementType::kBf16;
}

}  // namespace

std::optional<Ternary> read_ternary(const Json& config, const std::string& file) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return std::nullopt;
  Config how(*found, file);
  if (how.text("quant_method", "") != "bitnet") return std::nullopt;
  const std::string kind = how.text("linear_class", "bitlinear"),
                    mode = how.text("quantization_mode", "offline");
  if (kind != "bitlinear" && kind != "autobitlinear")
    how.refuse("linear_class", "bitlinear or autobitlinear");
  if (mode != "offline" && mode != "online") how.refuse("quantization_mode", "offline or online");
  if (how.flag("use_rms_norm", false)) how.refuse("use_rms_norm", "false");
  Ternary made;
  made.divides = kind == "bitlinear", made.is_online = !made.divides && mode == "online";
  if (const Json* kept = how.find("modules_to_not_convert"); kept && kept->is_array())
    for (const Json& name : *kept)
      if (name.is_string()) made.kept.push_back(name.get<std::string>());
  return made;
}

bool TernaryMatrices::is_kept(const std::string& name) const {
  return std::any_of(how_->kept.begin(), how_->kept.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

void TernaryMatrices::take(Tensors* tensors, const std::string& layers) {
  if (!how_) return;
  for (auto at = tensors->begin(); at != tensors->end();) {
    const auto [name, tensor] = *at;
    const std::string end = kMatrixEnd;
    const bool is_weight =
        name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
    const std::string stem = is_weight ? name.substr(0, name.size() - end.size()) : name;
    const auto scale = is_weight ? tensors->find(stem + kScaleEnd) : tensors->end();
    const bool is_packed = tensor->type == ElementType::kU8,
               is_rounded = how_->is_online && is_number_type(tensor->type) && !is_kept(name) &&
                            name.compare(0, layers.size(), layers) == 0;
    if (!is_weight || tensor->dims.size() != 2 ||
        (!is_packed && !is_rounded && scale == tensors->end())) {
      ++at;
      continue;
    }
    const auto refuse = [&](const std::string& what) {
      graph::fail_mismatch(file_, what + "; get the folder anew");
    };
    if (is_packed && scale == tensors->end())
      refuse("'" + name + "' is packed and its '" + stem + kScaleEnd + "' is missing");
    if (!is_packed && !is_number_type(tensor->type))
      refuse("'" + name + "' is " + element_name(tensor->type) +
             ", expected uint8, float32, float16 or bfloat16");
    if (scale != tensors->end() &&
        (!is_number_type(scale->second->type) || scale->second->elements() != 1))
      refuse("'" + stem + kScaleEnd + "' is " + element_name(scale->second->type) + " " +
             graph::text(graph::Dims(scale->second->dims.begin(), scale->second->dims.end())) +
             ", expected one number of float32, float16 or bfloat16");
    matrices_.emplace(name, Scaled{tensor, scale != tensors->end() ? scale->second : nullptr});
    if (scale != tensors->end()) tensors->erase(scale);
    at = tensors->erase(at);
  }
}

std::vector<std::string> TernaryMatrices::names() const {
  std::vector<std::string> all;
  for (const auto& [name, own] : matrices_) all.push_back(name);
  return all;
}

float TernaryMatrices::scale_of(const std::string& name, const Scaled& own) const {
  float scale = 0;
  if (own.scale) {
    widen_row(plain_tensor(name, *own.scale), 1, 0, &scale);
    if (how_->divides) scale = 1 / scale;
  } else {
    const SourceTensor weights = plain_tensor(name, *own.matrix);
    std::vector<float> row(size_t(own.matrix->dims[1]));
    double sum = 0;
    for (int64_t r = 0; r < own.matrix->dims[0]; r++) {
      widen_row(weights, own.matrix->dims[1], r, row.data());
      for (const float w : row) sum += std::fabs(double(w));
    }
    const double count = double(std::max<int64_t>(own.matrix->elements(), 1));
    scale = 1 / (1 / std::max(float(sum / count), kLeastMean));
  }
  if (!std::isfinite(scale))
    graph::fail_mismatch(file_, "the scale of '" + name + "' is " +
                                    (std::isnan(scale) ? "no number" : "infinite") +
                                    "; get the folder anew");
  return scale;
}

SourceTensor TernaryMatrices::load(const std::string& name) const {
  const Scaled& own = matrices_.at(name);
  const float scale = scale_of(name, own);
  const SourceTensor stored = plain_tensor(name, *own.matrix);
  const bool is_packed = own.matrix->type == ElementType::kU8;
  const int64_t rows = own.matrix->dims[0] * (is_packed ? kInByte : 1),
                columns = own.matrix->dims[1];
  if (own.scale && !is_packed) {  // numbers of files that were not packed
    SourceTensor made = stored;
    made.scales = {{scale}, std::max<int64_t>(rows, 1), std::max<int64_t>(columns, 1)};
    return made;
  }
  std::vector<float> row(size_t(is_packed ? 0 : columns));
  int64_t read = -1;
  const TernaryCodes codes = [&](int64_t r, int64_t column, uint8_t* to) {
    const int64_t n = std::min(kTernaryUnit, columns - column);
    if (is_packed) {
      const int64_t quarter = rows / kInByte;
      const uint8_t* const from = stored.bytes.data + r % quarter * columns + column;
      for (int64_t i = 0; i < n; i++) to[i] = uint8_t(from[i] >> r / quarter * 2 & 3);
      return;
    }
    if (read != r) widen_row(stored, columns, read = r, row.data());
    const float by = 1 / scale;
    for (int64_t i = 0; i < n; i++) {
      const float rounded = std::nearbyint(row[size_t(column + i)] * by);
      to[i] = uint8_t(int(std::min(std::max(rounded, -1.f), 1.f)) + 1);
    }
  };
  TernaryScale kept;
  if (columns % kTernaryUnit == 0) {
    if (!kept.find(scale)) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", double(scale));
      graph::fail_unsupported(file_, "'" + name + "' has the scale " + text +
                                         ", which blocks of f16 scales do not hold; take another "
                                         "model, or a GGUF file of this one");
    }
    return ternary_matrix(name, rows, columns, kept, codes);
  }
  const uint64_t count = uint64_t(rows) * uint64_t(columns);
  host::charge_memory(count * sizeof(float));
  const auto made = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(count * sizeof(float)));
  float* to = reinterpret_cast<float*>(made->data());
  for (int64_t r = 0; r < rows; r++)
    for (int64_t column = 0; column < columns; column += kTernaryUnit) {
      uint8_t some[kTernaryUnit];
      codes(r, column, some);
      for (int64_t i = 0; i < std::min(kTernaryUnit, columns - column); i++)
        *to++ = scale * float(int(some[i]) - 1);
    }
  return {name, {rows, columns}, nullptr, ElementType::kF32, {made, made->data(), made->size()}};
}

std::string TernaryMatrices::note() const {
  if (matrices_.empty()) return "";
  return "matrices of -1, 0 and 1 (" + std::to_string(matrices_.size()) +
         ") are kept as Q2_K, where their rows are a multiple of 256, else as f32; inputs are "
         "rounded to 8 bits by blocks of 256, not by rows";
}

}  // namespace ingot::decoder
