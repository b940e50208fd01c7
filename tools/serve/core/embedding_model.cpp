// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/embedding_model.h"

#include <cstring>

#include "tools/serve/core/job.h"

namespace ingot::serve {
namespace {

constexpr const char* kTokens = "tokens";
constexpr const char* kVector = "embedding";

}  // namespace

std::unique_ptr<EmbeddingModel> EmbeddingModel::open(const Model& model, std::string* why_not) {
  const auto tokens = model.input(kTokens);
  const auto vector = model.output(kVector);
  if (!tokens || tokens->dtype != INGOT_I32 || tokens->rank != 2) {
    *why_not = "it has no input 'tokens'";
    return nullptr;
  }
  if (!vector || vector->dtype != INGOT_F32 || vector->rank != 2 || vector->dims[1] < 1) {
    *why_not = "it has no output 'embedding'";
    return nullptr;
  }
  auto text = Text::open(model);
  if (!text) {
    *why_not =
        text.error().code == INGOT_NOT_FOUND ? "its file has no tokenizer" : text.error().text();
    return nullptr;
  }
  auto made = std::make_unique<EmbeddingModel>();
  made->text_ = std::move(*text);
  made->width_ = uint64_t(vector->dims[1]);
  const int32_t symbol = tokens->dim_symbol[1];
  made->context_ = uint64_t(symbol < 0 ? tokens->dims[1] : model.symbol(uint32_t(symbol))->high);
  return made;
}

std::vector<int32_t> EmbeddingModel::encode(const std::string& text) const {
  auto ids = text_.encode(text);
  if (!ids) refuse(Refusal::kInvalid, ids.error().text(), "input");
  return std::move(*ids);
}

void EmbeddingModel::ask(const std::vector<int32_t>& ids, Job* job) {
  job->clear();
  InputTensor& input = job->inputs.add();
  input.name = kTokens;
  input.dtype = INGOT_I32;
  input.shape.rank = 2;
  input.shape.dims[0] = 1;
  input.shape.dims[1] = int64_t(ids.size());
  input.bytes = ids.size() * sizeof(int32_t);
  input.converted.resize(input.bytes);
  memcpy(input.converted.data(), ids.data(), input.bytes);
  input.data = input.converted.data();
  input.region.reset();
  input.region_offset = 0;
}

const float* EmbeddingModel::vector(const Job& job) {
  for (const OutputTensor& output : job.outputs)
    if (output.name == kVector) return reinterpret_cast<const float*>(output.elements.data());
  refuse(Refusal::kInternal, "the model gave no vector");
}

}  // namespace ingot::serve
