// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/convert_options_of.h"

#include <filesystem>

#include "tools/files/suggest.h"
#include "tools/graph/block_type.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

/// What --weights names is a type of blocks. A file of that name is given as ./q8_0.
bool set_blocks(convert::ConvertOptions* to, const ConvertArguments& a) {
  to->blocks = graph::find_weight_type(a.weights);
  std::error_code unknown;
  if (!to->blocks) {
    if (a.weights.empty() || a.weights.find_first_of("./") != std::string::npos ||
        std::filesystem::exists(a.weights, unknown))
      return false;
    std::vector<std::string> types;
    for (int i = 0; i < graph::kWeightTypes; i++) types.push_back(block_type_name(BlockType(i)));
    fail(Exit::kUsage, "--weights " + a.weights +
                           ": is neither a file nor a type of blocks to quantize to" +
                           host::did_you_mean(a.weights, types));
  }
  if (!a.dtype.empty())
    fail(Exit::kUsage, "--weights " + a.weights + " and --dtype " + a.dtype +
                           ": both choose the type of the weights; leave one out");
  return true;
}

void set_weights(overlay::OverlayOptions* to, const ConvertArguments& a) {
  to->checkpoint = a.weights;
  to->key = a.key;
  to->strip_prefix = a.strip_prefix;
  to->partial = a.partial;
  for (const std::string& text : a.map_key) overlay::add_rename(*to, text);
  for (const std::string& text : a.allow_missing)
    overlay::add_allowed(to->allow_missing, "--allow-missing", text);
  for (const std::string& text : a.allow_unused)
    overlay::add_allowed(to->allow_unused, "--allow-unused", text);
  if (!a.bn_eps.empty()) overlay::set_batch_norm_epsilon(*to, a.bn_eps);
}

void set_stream_and_ram(convert::ConvertOptions* to, const ConvertArguments& a) {
  const bool has_budget = to->winograd == convert::WinogradMode::kBudget;
  if (!a.stream.empty()) convert::set_stream(to->stream, a.stream);
  if (!a.latency.empty())
    to->stream.latency = parse_integer("--latency", a.latency, 0, int64_t(1) << 30);
  if (!a.stream.empty() && has_budget)
    fail(Exit::kUsage, "--stream computes row by row, without Winograd; leave --winograd out");
  to->min_ram.is_wanted = a.min_ram;
  to->min_ram.max_work = parse_real("--max-work", a.max_work, 1, 1000);
  if (a.min_ram && has_budget)
    fail(Exit::kUsage, "--min-ram computes in patches, without Winograd; leave --winograd out");
  if (a.min_ram && to->targets != std::vector<std::string>{"mcu"})
    fail(Exit::kUsage,
         "--min-ram lays the arena out as a microcontroller has it; add --target mcu, alone");
}

}  // namespace

convert::ConvertOptions convert_options_of(const ConvertArguments& a) {
  convert::ConvertOptions options;
  std::string targets;
  for (const std::string& text : a.target) targets += (targets.empty() ? "" : ",") + text;
  if (!targets.empty()) convert::set_targets(options, targets);
  if (!a.precision.empty()) convert::set_precision(options, a.precision);
  convert::set_winograd(options, a.winograd);
  set_stream_and_ram(&options, a);
  for (const std::string& text : a.io_layout) convert::add_io_layout(options, text);
  for (const std::string& text : a.state) convert::add_state(options, text);
  for (const std::string& text : a.state_init) convert::set_state_init(options, text);
  for (const std::string& text : a.metadata) convert::add_metadata(options, text);
  for (const std::string& text : a.image) convert::add_image_input(options.images, text);
  options.keep_blocks = a.dtype.empty();
  if (a.dtype != "int8") {
    if (!a.dtype.empty()) convert::set_storage(options.storage, a.dtype);
    options.storage.keep_fp32 = a.keep_fp32;  // layers otherwise
  }
  options.storage.allow_overflow = a.allow_overflow;
  options.keep_weights = a.keep_weights;
  options.keep_training_state = a.keep_training_state;
  if (!set_blocks(&options, a)) set_weights(&options.weights, a);
  options.input_shapes = a.input_shapes;
  options.input_types = a.input_types;
  options.signature = a.signature;
  options.exact_to = a.exact_to;
  options.arguments = a.argument;
  options.dims = a.dims;
  if (!a.max_elements.empty())
    options.max_elements = parse_integer("--max-elements", a.max_elements, 1, int64_t(1) << 40);
  if (!a.context.empty())
    options.context = parse_integer("--context", a.context, 1, int64_t(1) << 24);
  if (a.cache == "f16")
    options.cache = DType::kF16;
  else if (a.cache == "q8")
    options.cache = DType::kU8;
  else if (!a.cache.empty() && a.cache != "f32")
    fail(Exit::kUsage, "--cache " + a.cache + ": expected f32, f16 or q8");
  options.full_windows = a.full_windows;
  if (!a.slots.empty()) options.slots = int32_t(parse_integer("--slots", a.slots, 2, 256));
  if (!a.lookup.empty()) options.lookup = int32_t(parse_integer("--lookup", a.lookup, 1, 63));
  a.check_together();
  return options;
}

}  // namespace ingot::cli
