// SPDX-License-Identifier: Apache-2.0
// The report on a source: what is in it, and all that keeps it from being converted.

#include "tools/cli/conversion/conversion.h"
#include "tools/cli/inspect/inspect.h"
#include "tools/compile/write/file_writer.h"
#include "tools/files/file_kind.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json obstacles_of(const graph::ConversionError& error) {
  Json list = Json::array();
  for (const graph::Unsupported& u : error.unsupported) {
    list.push_back({{"op", u.op},
                    {"attribute", u.attribute},
                    {"node", u.node},
                    {"output", u.output},
                    {"why", u.why},
                    {"hint", u.hint}});
  }
  return list;
}

std::string dim_text(const convert::ProgramSpec& program, Dim dim) {
  if (dim >= 0) return std::to_string(dim);
  const DimExpr& e = program.dim_exprs[size_t(-1 - dim)];
  if (e.op == DimOp::kSymbol) return program.symbols[size_t(e.a)].name;
  return "?";
}

Json port_of(const std::string& name, const std::string& dtype,
             const std::vector<std::string>& dims, const std::string& layout) {
  Json port = {{"name", name}, {"dtype", dtype}};
  put_dims(&port, dims);
  port["layout"] = layout;
  return port;
}

Json port_of(const convert::ProgramSpec& program, const convert::PortSpec& port) {
  const convert::ValueSpec& value = program.values[size_t(port.value)];
  std::vector<std::string> dims = port.source_dims;
  if (dims.empty())
    for (const Dim dim : value.dims) dims.push_back(dim_text(program, dim));
  return port_of(port.name, host::array_dtype_name(value.dtype), dims, port.layout);
}

/// Inputs, outputs and nodes as the source states them, for one that the importer refuses.
void add_description(const importer::SourceDescription& source, Json* report) {
  const auto ports = [](const std::vector<importer::PortDescription>& all) {
    Json list = Json::array();
    for (const importer::PortDescription& port : all)
      list.push_back(port_of(port.name, port.dtype, port.dims, ""));
    return list;
  };
  (*report)["format"] = (*report)["kind"];
  (*report)["producer"] = source.producer;
  (*report)["inputs"] = ports(source.inputs);
  (*report)["outputs"] = ports(source.outputs);
  (*report)["op_counts"] = source.op_counts;
  (*report)["notes"] = Json::array();
}

/// What --ops, --tensors, --plan and --metadata ask for: of the program that conversion makes of
/// the source.
void add_program(const InspectArguments& a, const convert::FileSpec& file, Json* report) {
  const host::TemporaryPath converted(".ingot");
  convert::write_file(file, converted.path());
  InspectArguments of_file = a;
  of_file.file = converted.path();
  of_file.dims.clear();  // they are numbers in the file
  const Json program = inspect_file(of_file);
  for (const char* key : {"ops", "tensors", "plan", "metadata"})
    if (program.contains(key)) (*report)[key] = program[key];
}

}  // namespace

Json inspect_source(const InspectArguments& a) {
  const convert::Source source = convert::Source::open(a.file);
  Json report = {
      {"file", a.file}, {"kind", source.format()}, {"file_bytes", host::file_bytes(a.file)}};
  convert::ConvertOptions options;
  options.dims = a.dims;
  try {
    const convert::ConversionResult result = convert_with_progress(source, options);
    const convert::ProgramSpec& program = result.file.program;
    report["format"] = result.file.metadata.source_format;
    report["producer"] = result.file.metadata.source_producer;
    report["inputs"] = Json::array();
    report["outputs"] = Json::array();
    for (const convert::PortSpec& port : program.inputs)
      report["inputs"].push_back(port_of(program, port));
    for (const convert::PortSpec& port : program.outputs)
      report["outputs"].push_back(port_of(program, port));
    for (const char* ports : {"inputs", "outputs"})
      put_quantization(&report[ports], result.file.metadata.entries);
    Json counts = Json::object();
    for (const convert::SourceNodeSpec& node : result.file.metadata.source_nodes)
      counts[node.op] = counts.value(node.op, 0) + 1;
    report["op_counts"] = counts;
    report["weights_bytes"] = result.report.weight_bytes;
    report["activation_bytes"] = result.report.arena_bytes;
    report["notes"] = result.report.notes;
    report["convertible"] = true;
    report["obstacles"] = Json::array();
    if (a.ops || a.tensors || a.plan || a.metadata) add_program(a, result.file, &report);
  } catch (const graph::ConversionError& error) {
    if (error.exit_code != host::Exit::kUnsupported)
      throw;  // damaged, unsafe, out of reach: there is nothing to report on
    add_description(source.describe(), &report);
    report["convertible"] = false;
    report["why"] = error.message;
    report["obstacles"] = obstacles_of(error);
  }
  return report;
}

}  // namespace ingot::cli
