// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_compressed.h"

#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_float8.h"

namespace ingot::decoder {
namespace {

/// Where compressed-tensors says how groups are cut.
const Json* only_group(const Json& how) {
  const auto groups = how.find("config_groups");
  if (groups == how.end() || !groups->is_object() || groups->size() != 1) return nullptr;
  const Json& only = *groups->begin();
  const auto weights = only.is_object() ? only.find("weights") : only.end();
  return only.is_object() && weights != only.end() && weights->is_object() ? &only : nullptr;
}

}  // namespace

const Json& compressed_weights(const Json& json, const std::string& format,
                               const std::string& file) {
  Config how(json, file);
  const Json* const group = only_group(json);
  if (!group) how.refuse("config_groups", "one group with its weights");
  Config whole(*group, file);
  if (whole.text("format", format) != format) whole.refuse("format", format);
  for (const char* key : {"input_activations", "output_activations"}) {
    const bool is_ignored = format == kFloatQuantized && key == std::string("input_activations");
    if (!is_ignored && whole.find(key))
      whole.refuse(key, "none: activations are quantized as blocks have them");
  }
  if (const Json* other = how.find("transform_config"); other && !other->empty())
    how.refuse("transform_config", "none: it is not built");
  if (const Json* other = how.find("sparsity_config"); other && !other->empty())
    if (!other->is_object() || other->value("format", Json()) != "dense")
      how.refuse("sparsity_config", "none, or the format dense");
  return (*group)["weights"];
}

}  // namespace ingot::decoder
