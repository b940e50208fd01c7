// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/storage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "runtime/base/widen.h"
#include "tools/compile/write/program_encoder.h"
#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"
#include "tools/graph/block_type.h"

namespace ingot::convert {
namespace {

/// Leftovers in f32 get a weight part of their own, so that a session does not map or copy what it
/// only widens; below this a part's alignment would cost more than it saves.
constexpr uint64_t kWorthAPart = 256 << 10;
constexpr size_t kNamedAtMost = 8;

float number_at(const std::vector<uint8_t>& floats, size_t i) {
  float x;
  std::memcpy(&x, floats.data() + 4 * i, 4);
  return x;
}

/// * stands for any number of characters.
bool matches(const char* pattern, const char* name) {
  const char *star = nullptr, *from = nullptr;
  while (*name) {
    if (*pattern == '*') {
      star = pattern++;
      from = name;
    } else if (*pattern == *name) {
      pattern++, name++;
    } else if (star) {
      pattern = star + 1;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == 0;
}

/// As the source has it where it is found there: importers of programs number their constants.
std::string name_of(const ProgramSpec& program, int32_t id, const WeightNames& names) {
  const std::string& name = program.values[size_t(id)].name;
  if (const auto found = names.find(id); found != names.end() && found->second[0] != name)
    return found->second[0] + (found->second.size() > 1
                                   ? " and " + std::to_string(found->second.size() - 1) + " more"
                                   : "");
  if (!name.empty()) return name;
  for (const SubprogramSpec& subprogram : program.subprograms)
    for (const InstructionSpec& i : subprogram.instructions)
      if (std::count(i.inputs.begin(), i.inputs.end(), id) && !i.outputs.empty() &&
          i.outputs[0] >= 0 && !program.values[size_t(i.outputs[0])].name.empty())
        return "a constant of '" + program.values[size_t(i.outputs[0])].name + "'";
  return "constant " + std::to_string(id);
}

StorageLoss measure(DType dtype, const std::vector<uint8_t>& floats) {
  StorageLoss loss;
  const float least = dtype == DType::kF16 ? 0x1p-14f : 0x1p-126f;
  double sum = 0;
  uint64_t counted = 0;
  for (size_t i = 0; i < floats.size() / 4; i++) {
    const float x = number_at(floats, i);
    if (x == 0 || !std::isfinite(x)) continue;
    const float y = dtype == DType::kF16 ? host::widen_f16(host::narrow_f16(x))
                                         : host::widen_bf16(host::narrow_bf16(x));
    counted++;
    if (std::isinf(y)) {
      loss.overflowed++;
      if (std::fabs(double(x)) > std::fabs(loss.overflow)) loss.overflow = x;
      continue;
    }
    const double error = std::fabs(double(y) - double(x)) / std::fabs(double(x));
    if (y == 0)
      loss.to_zero++;
    else if (std::fabs(y) < least && y != x)
      loss.subnormal++;
    loss.largest = std::max(loss.largest, error);
    sum += error;
  }
  loss.mean = counted ? sum / double(counted) : 0;
  return loss;
}

uint64_t elements_of(const ValueSpec& value) {
  uint64_t n = 1;
  for (const Dim d : value.dims) n *= uint64_t(d);
  return n;
}

uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string short_number(double x) {
  char text[32];
  snprintf(text, sizeof text, "%.3g", x);
  return text;
}
std::string overflow_text(double x) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", x);
  return text;
}
std::string megabytes(uint64_t bytes) { return short_number(double(bytes) / 1e6) + " MB"; }

/// The constants that patterns name.
std::set<int32_t> kept_constants(const StorageOptions& options, const WeightNames& names,
                                 const ProgramSpec& program) {
  std::set<int32_t> kept;
  std::vector<std::string> all;
  std::vector<bool> used(options.keep_fp32.size());
  const auto offer = [&](int32_t id, const std::string& name) {
    if (name.empty()) return;
    all.push_back(name);
    for (size_t p = 0; p < used.size(); p++)
      if (matches(options.keep_fp32[p].c_str(), name.c_str())) used[p] = true, kept.insert(id);
  };
  for (size_t i = 0; i < program.values.size(); i++)
    if (program.values[i].kind == ValueKind::kConstant) offer(int32_t(i), program.values[i].name);
  for (const auto& [id, list] : names)
    for (const std::string& name : list) offer(id, name);
  for (size_t p = 0; p < used.size(); p++)
    if (!used[p])
      graph::fail_mismatch("--keep-fp32 " + options.keep_fp32[p] +
                           ": no weight of the converted program has such a name" +
                           host::did_you_mean(options.keep_fp32[p], all));
  return kept;
}

void refuse_overflow(const StorageReport& report) {
  std::string list;
  size_t count = 0;
  for (const StorageLoss& loss : report.tensors) {
    if (!loss.overflowed || count++ >= kNamedAtMost) continue;
    list += (list.empty() ? "'" : ", '") + loss.name + "' has " + overflow_text(loss.overflow) +
            (loss.overflowed > 1 ? " and " + std::to_string(loss.overflowed - 1) + " more" : "");
  }
  if (!count) return;
  if (count > kNamedAtMost)
    list += ", and " + std::to_string(count - kNamedAtMost) + " more weights";
  const bool f16 = report.dtype == DType::kF16;
  graph::fail_unsupported(
      std::string("--dtype ") + (f16 ? "fp16" : "bf16") + ": " + std::to_string(count) +
      (count == 1 ? " weight" : " weights") + " would become infinite, expected at most " +
      (f16 ? "65504" : "3.39e+38") + ": " + list + "; keep them with --keep-fp32 NAME, " +
      (f16 ? "take --dtype bf16, " : "") + "or let them with --allow-overflow");
}

/// "w8", "w4", with ":" and the size of blocks.
bool set_weight_bits(StorageOptions& options, const std::string& argument) {
  constexpr int64_t kUsualBlock = 32;
  if (argument.rfind("w8", 0) != 0 && argument.rfind("w4", 0) != 0) return false;
  const std::string block = argument.substr(2);
  int64_t size = argument[1] == '4' ? kUsualBlock : 0;
  if (!block.empty()) {
    char* end = nullptr;
    size = block[0] == ':' && block.size() > 1 && block.size() < 9
               ? std::strtol(block.c_str() + 1, &end, 10)
               : 0;
    if (size < 8 || size % 8 != 0 || *end != 0) return false;
  }
  options.weight_bits = argument[1] - '0', options.weight_block = size;
  return true;
}

}  // namespace

void set_storage(StorageOptions& options, const std::string& argument) {
  if (argument == "fp32")
    options.dtype = DType::kF32;
  else if (argument == "fp16")
    options.dtype = DType::kF16;
  else if (argument == "bf16")
    options.dtype = DType::kBF16;
  else if (!set_weight_bits(options, argument))
    graph::fail_usage("--dtype " + argument +
                      ": expected fp32, fp16, bf16, int8, w8, w8:BLOCK, w4 or "
                      "w4:BLOCK, where a block is a multiple of 8");
  options.chosen = true;
}

std::vector<uint8_t> narrow_floats(DType to, const std::vector<uint8_t>& floats) {
  std::vector<uint8_t> halves(floats.size() / 2);
  for (size_t i = 0; i < floats.size() / 4; i++) {
    const float x = number_at(floats, i);
    const uint16_t half = to == DType::kF16 ? host::narrow_f16(x) : host::narrow_bf16(x);
    std::memcpy(halves.data() + 2 * i, &half, 2);
  }
  return halves;
}

std::vector<uint8_t> widen_halves(DType from, const uint8_t* halves, uint64_t bytes) {
  std::vector<uint8_t> floats(size_t(bytes) * 2);
  (from == DType::kF16 ? widen_f16 : widen_bf16)(halves, floats.data(), size_t(bytes / 2));
  return floats;
}

StorageReport store_constants(const StorageOptions& options, uint32_t segment_alignment,
                              const std::function<WeightNames(const ProgramSpec&)>& names,
                              ProgramSpec* program) {
  StorageReport report;
  report.dtype = options.dtype;
  report.of_products = !options.constants.empty();
  if (options.dtype == DType::kF32) return report;
  const WeightNames found = names ? names(*program) : WeightNames();
  std::set<int32_t> kept, states;
  if (!options.keep_fp32.empty()) kept = kept_constants(options, found, *program);
  for (const StateSpec& state : program->states) states.insert(state.init);
  const uint64_t alignment = segment_alignment < 64 ? 16 : 64;
  bool others = false;
  for (size_t i = 0; i < program->values.size(); i++) {
    ValueSpec& value = program->values[i];
    if (value.kind != ValueKind::kConstant || value.inline_data) continue;
    const uint64_t bytes = constant_bytes(value);
    if (!options.constants.empty() && !options.constants[i]) {
      others = true;
      continue;
    }
    const bool winograd = value.packing == Packing::kWinogradF43;
    const bool small = aligned(bytes, alignment) == aligned(bytes / 2, alignment),
               keep = kept.count(int32_t(i));
    if (value.dtype != DType::kF32 || states.count(int32_t(i)) || small || keep || winograd) {
      others = true;
      report.winograd += winograd;
      report.small += value.dtype == DType::kF32 && small;
      report.kept += value.dtype == DType::kF32 && !small && !winograd && keep;
      continue;
    }
    StorageLoss loss = measure(options.dtype, *produce_constant(value));
    loss.value = int32_t(i);
    loss.name = name_of(*program, int32_t(i), found);
    loss.elements = elements_of(value);
    report.tensors.push_back(std::move(loss));
    report.bytes_before += bytes;
    report.bytes_after += bytes / 2;
    value.stored = options.dtype;
  }
  if (!options.allow_overflow) refuse_overflow(report);
  if (report.tensors.empty()) return report;
  program->required_features.push_back(kFeatureNames[size_t(Feature::kWidened)]);
  if (others && (segment_alignment < 64 || report.bytes_after >= kWorthAPart))
    for (ValueSpec& value : program->values)
      if (value.stored != DType::kInvalid) value.segment = 1;
  return report;
}

std::string StorageReport::summary() const {
  if (tensors.empty()) return "";
  uint64_t to_zero = 0, subnormal = 0, overflowed = 0;
  const StorageLoss* worst = &tensors[0];
  for (const StorageLoss& loss : tensors) {
    to_zero += loss.to_zero;
    subnormal += loss.subnormal;
    overflowed += loss.overflowed;
    if (loss.mean > worst->mean || (loss.mean == worst->mean && loss.largest > worst->largest))
      worst = &loss;
  }
  std::string text = "weights: " + std::to_string(tensors.size()) + " constants are stored as " +
                     dtype_name(dtype) + ", " + megabytes(bytes_after) + " instead of " +
                     megabytes(bytes_before) +
                     (of_products ? ", which a CPU that multiplies bf16 reads as they are; others "
                                    "convert them to f32 when a session is made"
                                  : ", and converted to f32 when a session is made");
  if (kept) text += "; " + std::to_string(kept) + " kept as f32";
  if (winograd) text += "; " + std::to_string(winograd) + " stay f32 for Winograd";
  if (small) text += "; " + std::to_string(small) + " stay f32, being too small to gain";
  text += "; relative error at most " + short_number(worst->largest) + ", mean " +
          short_number(worst->mean) + " in the worst of them, '" + worst->name + "'";
  if (to_zero) text += "; " + std::to_string(to_zero) + " numbers became zero";
  if (subnormal) text += "; " + std::to_string(subnormal) + " are subnormal and lost bits";
  if (overflowed) text += "; " + std::to_string(overflowed) + " became infinite, as allowed";
  return text;
}

namespace {

/// The type of what constants hold: of f16 and bf16 in blocks it is that of the node.
void collect_constants(const graph::Graph& graph, std::map<graph::ValueId, DType>* used) {
  for (const graph::Node& node : graph.nodes) {
    if (node.dead) continue;
    for (const graph::ValueId id : node.inputs) used->try_emplace(id, DType::kF32);
    if (node.op == op::BlockLinear || node.op == op::BlockGather || node.op == op::GroupedLinear) {
      const std::optional<BlockType> type = graph::find_block_type(node.text(attr::type, ""));
      const DType dtype = type == BlockType::kF16    ? DType::kF16
                          : type == BlockType::kBF16 ? DType::kBF16
                                                     : DType::kF32;
      (*used)[node.inputs[node.op == op::BlockGather ? 0 : 1]] = dtype;
    }
    for (const auto& inner : node.subgraphs()) collect_constants(*inner, used);
  }
}

/// "3 NaN and 1 infinite of 9", or "".
std::string count_not_finite(const graph::Constant& constant, DType dtype) {
  constexpr size_t kOften = size_t{1} << 16;
  const uint8_t* const bytes = constant.as<uint8_t>();
  const bool halves = dtype != DType::kF32;
  const size_t count = size_t(constant.elements()) / (halves ? 2 : 1);
  host::charge_work(count / 16);
  // of what is no number all bits of the exponent are set
  const auto count_odd = [&](auto exponent) {
    uint64_t odd = 0;
    for (size_t k = 0; k < count; k++) {
      auto bits = exponent;
      std::memcpy(&bits, bytes + k * sizeof bits, sizeof bits);
      odd += (bits & exponent) == exponent;
      if (k % kOften == kOften - 1) host::note_touched(sizeof bits * kOften);
    }
    return odd;
  };
  const auto number = [&](size_t k) {
    float x;
    uint16_t half;
    std::memcpy(&half, bytes + 2 * k, 2);
    if (halves) return dtype == DType::kF16 ? host::widen_f16(half) : host::widen_bf16(half);
    std::memcpy(&x, bytes + 4 * k, 4);
    return x;
  };
  const uint64_t odd = dtype == DType::kF16    ? count_odd(uint16_t{0x7c00})
                       : dtype == DType::kBF16 ? count_odd(uint16_t{0x7f80})
                                               : count_odd(0x7f800000u);
  if (!odd) return "";
  uint64_t nan = 0;
  bool mask = true;
  for (size_t k = 0; k < count; k++) {
    const float x = number(k);
    nan += std::isnan(x);
    mask &= x == 0 || x == 1 || std::isinf(x);
  }
  if (mask) return "";
  return (nan ? std::to_string(nan) + " NaN" : "") + (nan && odd > nan ? " and " : "") +
         (odd > nan ? std::to_string(odd - nan) + " infinite" : "") + " of " +
         std::to_string(count);
}

}  // namespace

std::string say_not_finite(const graph::Model& model) {
  std::map<graph::ValueId, DType> used;
  collect_constants(model.graph, &used);
  // values may share bytes
  std::map<std::pair<const void*, DType>, std::string> counted;
  std::string list;
  size_t count = 0;
  for (const auto& [id, dtype] : used) {
    const graph::Constant* constant = model.constant(id);
    const DType held = dtype == DType::kF32 ? DType::kF32 : DType::kU8;
    if (!constant || constant->dtype != held || constant->elements() < 2 || !constant->bytes)
      continue;
    const auto [entry, is_new] = counted.try_emplace({constant->bytes.get(), dtype});
    if (is_new) entry->second = count_not_finite(*constant, dtype);
    if (entry->second.empty() || count++ >= kNamedAtMost) continue;
    const std::string& name = model.values[size_t(id)].name;
    list += (list.empty() ? "'" : ", '") +
            (name.empty() ? "constant " + std::to_string(id) : name) + "' " + entry->second;
  }
  if (!count) return "";
  if (count > kNamedAtMost) list += ", and " + std::to_string(count - kNamedAtMost) + " more";
  return "weights: " + std::to_string(count) + (count == 1 ? " holds" : " hold") +
         " numbers that are NaN or infinite, which results will show: " + list;
}

}  // namespace ingot::convert
