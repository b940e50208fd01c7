// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/gguf_xielu.h - numbers of an activation out of the metadata of GGUF.
// Errors   graph::ConversionError kUnsupported: not one for each layer, or what is not known.
#pragma once
#include <string>
#include <vector>

#include "tools/checkpoint/flat/gguf.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

/// Whose keys no architecture's name is in front of.
inline void read_xielu(const checkpoint::GgufFile& file, DecoderNumbers* n) {
  const auto all = [&](const char* key) {
    std::vector<double> each = file.numbers(key);
    if (each.size() != n->layers.size())
      graph::fail_unsupported(file.path(), std::string("its metadata '") + key + "' has " +
                                               std::to_string(each.size()) +
                                               " numbers, expected one for each layer");
    return each;
  };
  const auto positive = all("xielu.alpha_p"), negative = all("xielu.alpha_n"),
             linear = all("xielu.beta"), least = all("xielu.eps");
  for (size_t i = 0; i < n->layers.size(); i++) {
    n->layers[i].xielu = xielu_of(positive[i], negative[i], linear[i]);
    if (!(least[i] >= kLeastXielu && least[i] <= 0))
      graph::fail_unsupported(file.path(), "its metadata 'xielu.eps' has " +
                                               std::to_string(least[i]) +
                                               ", expected numbers next to 0");
  }
}

}  // namespace ingot::decoder
