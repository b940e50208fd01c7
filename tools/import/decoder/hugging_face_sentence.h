// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_sentence.h - what sentence-transformers keeps beside a model:
// how the rows of a text become one vector. Needs nlohmann-json.
// Errors   graph::ConversionError kUnsupported: a module or a pooling that is not built.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

struct SentenceModel {
  Pooling pooling = Pooling::kNone;  // kNone: the folder has no modules.json
  bool is_normalized = false;
  int64_t most_tokens = 0;  // of a text; 0: not said
  // matrices that the vector goes through, in a folder of their own each
  struct Dense {
    int64_t in = 0, out = 0;
    std::string weights;  // a file, whose tensor is "linear.weight"
  };
  std::vector<Dense> dense;
  std::map<std::string, std::string> prompts;  // what is put before a text, by what it is for
};
SentenceModel read_sentence_model(const std::string& folder);
/// At most 1 MB.
std::string read_config_text(const std::string& path);

}  // namespace ingot::decoder
