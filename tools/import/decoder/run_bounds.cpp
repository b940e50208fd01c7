// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/run_bounds.h"

#include <algorithm>
#include <set>

#include "runtime/op/attention_blocks.h"
#include "tools/import/common/source_errors.h"

namespace ingot::decoder {

const char* cache_name(DType dtype) { return dtype == DType::kU8 ? "q8" : dtype_name(dtype); }

importer::ImportOptions with_bounds(importer::ImportOptions options, const std::string& file,
                                    const DecoderNumbers& n) {
  const bool is_typed = options.cache != DType::kF32;
  if (n.pooling != Pooling::kNone && (options.slots || options.lookup || is_typed))
    graph::fail_mismatch(file,
                         (options.slots    ? "--slots " + std::to_string(options.slots)
                          : options.lookup ? "--lookup " + std::to_string(options.lookup)
                                           : std::string("--cache ") + cache_name(options.cache)) +
                             ": an embedding model keeps nothing between runs");
  if (n.row->has_positions && n.context > n.trained_context)
    graph::fail_mismatch(file, "--context " + std::to_string(n.context) + ": the model has " +
                                   std::to_string(n.trained_context) +
                                   " learned positions and none beyond; give at most that");
  std::set<int64_t> widths = {n.key_width, n.value_width};
  for (const LayerNumbers& layer : n.layers) widths.insert(n.key_width_of(layer));
  for (const int64_t width : widths)
    if (!n.row->only_mixes && options.cache == DType::kU8 && width % attention::kScaledUnit != 0)
      graph::fail_mismatch(file, "--cache q8: heads are " + std::to_string(width) +
                                     " wide, expected a multiple of 32: f16 takes any");
  const int64_t most = n.pooling == Pooling::kNone ? std::min(n.context, kMaxTokens) : n.context;
  const auto [given, is_new] = options.dims.emplace("T", graph::SymbolBounds{1, most});
  if (!is_new && (given->second.low < 1 || given->second.high > n.context))
    graph::fail_mismatch(file, "--dim T=" + std::to_string(given->second.low) + ".." +
                                   std::to_string(given->second.high) + ": a run takes 1 to " +
                                   std::to_string(n.context) +
                                   " tokens, those of the context (--context)");
  if (given->second.high < options.slots)
    graph::fail_mismatch(file, "--slots " + std::to_string(options.slots) + ": a run takes " +
                                   std::to_string(given->second.high) +
                                   " tokens at most (--dim T, --context), expected one for each");
  if (options.lookup && given->second.high <= options.lookup)
    graph::fail_mismatch(file, "--lookup " + std::to_string(options.lookup) + ": a run takes " +
                                   std::to_string(given->second.high) +
                                   " tokens at most (--dim T, --context), expected one more than "
                                   "it checks");
  return options;
}

}  // namespace ingot::decoder
