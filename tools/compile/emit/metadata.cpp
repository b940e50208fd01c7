// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/metadata.cpp - see metadata.h.
#include "tools/compile/emit/metadata.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#ifndef INGOT_VERSION
#define INGOT_VERSION "0.1.0"
#endif

namespace ingot::convert {
namespace {

void add_entries(const std::map<std::string, std::string>& from, MetadataSpec* metadata) {
  for (const auto& [key, value] : from) {
    if (key == "name")
      metadata->name = value;
    else if (key == "version")
      metadata->version = value;
    else if (key == "licence" || key == "license")
      metadata->licence = value;
    else
      metadata->entries.emplace_back(key, value);
  }
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

std::string percent(double ratio) {
  return std::to_string(int64_t((ratio - 1) * 1000 + 0.5) / 10) + "." +
         std::to_string(int64_t((ratio - 1) * 1000 + 0.5) % 10);
}

/// The stages of conversion as pass records, behind those of the graph.
void add_conversion_passes(const ConversionReport& report, MetadataSpec* metadata) {
  metadata->passes.push_back(
      {"winograd", "adds " + std::to_string(report.winograd_extra_bytes) + " bytes of weights",
       report.winograd});
  metadata->passes.push_back({"chains", "", report.chains});
  metadata->passes.push_back({"views", joined(report.copies), report.views});
  metadata->passes.push_back({"in_place", "", report.in_place});
  metadata->passes.push_back({"schedule",
                              "order: " + report.order + "; activations " +
                                  std::to_string(report.arena_bytes) + " bytes, " +
                                  percent(report.ratio()) + " % above the lower bound",
                              1});
}

/// Values that hold a tensor of the source in another order, or under another name: "4 0,2,3,1
/// conv1" under its index says that dimension k of it is dimension order[k] of conv1, which has 4;
/// -1 is a dimension of 1 that was added.
void add_reordered(const graph::Model& model, const ProgramSpec& program, MetadataSpec* metadata) {
  for (size_t i = 0; i < program.values.size(); i++) {
    const ValueSpec& value = program.values[i];
    if (value.kind != ValueKind::kActivation || value.graph_value < 0) continue;
    const graph::Value& held = model.values[size_t(value.graph_value)];
    if (held.source < 0 || held.source == value.graph_value) continue;
    const graph::Value& source = model.values[size_t(held.source)];
    if (source.name.empty() || source.name == value.name || held.order.size() != value.dims.size())
      continue;
    std::string order;
    for (const int64_t d : held.order) order += (order.empty() ? "" : ",") + std::to_string(d);
    metadata->entries.emplace_back("ingot.tensor." + std::to_string(i),
                                   std::to_string(source.dims.size()) + " " +
                                       (order.empty() ? "-" : order) + " " + source.name);
  }
}

}  // namespace

MetadataSpec make_metadata(const graph::Model& model, const ProgramSpec& program,
                           const ConvertOptions& options, const ConversionReport& report) {
  MetadataSpec metadata;
  metadata.name = model.name;
  metadata.producer = "ingot " INGOT_VERSION;
  metadata.source_format = model.source_format;
  metadata.source_producer = model.source_producer;
  for (const graph::SourceNode& node : model.source_nodes)
    metadata.source_nodes.push_back({node.name, node.op, node.output});
  for (size_t i = 0; i < program.values.size(); i++) {
    const ValueSpec& value = program.values[i];
    if (value.kind != ValueKind::kConstant || value.name.empty()) continue;
    SourceTensorSpec tensor;
    tensor.name = value.name;
    tensor.dtype = dtype_name(value.dtype);
    tensor.value = int32_t(i);
    tensor.dims = value.dims;  // constants are never symbolic
    metadata.source_tensors.push_back(std::move(tensor));
  }
  for (const passes::PassRecord& pass : report.passes)
    metadata.passes.push_back({pass.name, joined(pass.remarks), pass.changed});
  add_conversion_passes(report, &metadata);
  metadata.notes = report.notes;
  metadata.labels = options.labels;
  add_entries(model.metadata, &metadata);
  add_entries(options.metadata, &metadata);
  for (const auto& [symbol, extent] : report.binding)
    metadata.entries.emplace_back("ingot.typical." + symbol, std::to_string(extent));
  add_reordered(model, program, &metadata);
  for (size_t i = 0; i < report.instructions.size(); i++)
    if (!report.instructions[i].note.empty())
      metadata.entries.emplace_back("ingot.why." + std::to_string(i), report.instructions[i].note);
  for (const StorageLoss& loss : report.storage.tensors) {
    char text[128];
    snprintf(text, sizeof text,
             "%s largest %.3g mean %.3g zero %" PRIu64 " subnormal %" PRIu64 " infinite %" PRIu64,
             dtype_name(report.storage.dtype), loss.largest, loss.mean, loss.to_zero,
             loss.subnormal, loss.overflowed);
    metadata.entries.emplace_back("ingot.stored." + std::to_string(loss.value),
                                  text + (" of " + loss.name));
  }
  return metadata;
}

}  // namespace ingot::convert
