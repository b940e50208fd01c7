// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>

#include "tools/checkpoint/flat/safetensors.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"

namespace ingot::checkpoint {

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  // Text as it comes: an object of JSON in the order of the file searches itself at each key.
  using Json = nlohmann::ordered_json;
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + Json(metadata).dump();
  uint64_t at = 0;
  std::set<std::string> seen;
  for (const NamedTensor& t : tensors) {
    if (!seen.insert(t.name).second || t.name == "__metadata__")
      host::fail(host::Exit::kMismatch, path + ": two tensors would be named '" + t.name +
                                            "'; choose a part of the checkpoint with --key");
    const char* type = safetensors_name(t.tensor->type);
    if (!*type)
      host::fail(host::Exit::kUnsupported, path + ": tensor '" + t.name + "' is " +
                                               element_name(t.tensor->type) +
                                               ", which safetensors cannot hold");
    const Json entry = {
        {"dtype", type}, {"shape", t.tensor->dims}, {"data_offsets", {at, at + t.tensor->bytes()}}};
    text += (text.size() > 1 ? "," : "") + Json(t.name).dump() + ":" + entry.dump();
    at += t.tensor->bytes();
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  host::OutputFile out(path);
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = uint8_t(uint64_t(text.size()) >> (8 * i));
  out.write(length, sizeof length);
  out.write(text.data(), text.size());
  for (const NamedTensor& t : tensors)
    read_tensor(*t.tensor, [&](const void* bytes, size_t count) { out.write(bytes, count); });
  out.commit();
}

}  // namespace ingot::checkpoint
