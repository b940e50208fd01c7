// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/sampling.h - the sampling that a source asks for, as entries of metadata:
// ingot.sampling.NAME. People read them; nothing samples by them unasked.
#pragma once
#include <cstdio>

#include "tools/import/common/program.h"

namespace ingot::decoder {

struct SamplingKey {
  const char* name;  // of runtime/text/sampler_options.def
  const char* gguf;  // behind "general.sampling."
  const char* hugging_face;
};
constexpr SamplingKey kSamplingKeys[] = {
    {"temperature", "temp", "temperature"},
    {"top_k", "top_k", "top_k"},
    {"top_p", "top_p", "top_p"},
    {"min_p", "min_p", "min_p"},
    {"typical", "typical_p", "typical_p"},
    {"repeat_penalty", "penalty_repeat", "repetition_penalty"},
};

inline void add_sampling(importer::Program* program, const std::string& name, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  program->model.metadata["ingot.sampling." + name] = text;
}

}  // namespace ingot::decoder
