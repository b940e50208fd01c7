// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/report_html.h"

#include <algorithm>
#include <map>
#include <set>

#include "tools/cli/output/html_page.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/graph_view.h"
#include "tools/cli/reports/why_html.h"
#include "tools/session/metadata.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string percent(double part, double whole) {
  return whole > 0 ? number(100 * part / whole, 3) + " %" : "";
}

std::string type_of(const ProgramView& view, int32_t value) {
  const TensorType type = view.type(value);
  std::string dims;
  for (int i = 0; i < type.rank; i++) dims += (i ? "," : "") + std::to_string(type.dims[i]);
  return std::string(dtype_name(type.dtype)) + " [" + dims + "]";
}

std::string operand_text(const ProgramView& view, int32_t value) {
  static constexpr const char* kKinds[] = {"", "weights ", "input ", "output ", "state "};
  const ValueDef& def = view.program().values[size_t(value)];
  return kKinds[size_t(def.kind)] + view.value_name(value) + ", " + type_of(view, value) + ", " +
         grouped(view.bytes(value)) + " bytes";
}

/// The nodes of the source that an instruction came from.
void add_sources(const InstructionDef& instruction, const Metadata& metadata, GraphNode* node) {
  // one node may have become several parts of an instruction
  const std::set<uint32_t> sources(instruction.sources,
                                   instruction.sources + instruction.source_count);
  for (const uint32_t index : sources) {
    if (index >= metadata.nodes.size()) continue;
    const Metadata::Node& from = metadata.nodes[index];
    node->rows.emplace_back("source",
                            from.op + " " + (from.name.empty() ? from.output : from.name));
  }
}

void add_time(const Json& time, double total_ms, GraphNode* node) {
  const double ms = time["ms"];
  node->note = short_time(ms) + ", " + percent(ms, total_ms);
  node->rows.emplace_back("kernel", time["kernel"].get<std::string>());
  node->rows.emplace_back("time", node->note + " of all instructions");
  node->rows.emplace_back("bytes read and written", grouped(time["bytes"].get<uint64_t>()));
  if (!time["macs"].get<uint64_t>()) return;
  node->rows.emplace_back("multiply-adds", grouped(time["macs"].get<uint64_t>()));
  node->rows.emplace_back("GFLOP/s", number(time["gflops"].get<double>(), 3));
}

/// Which nodes wrote what an instruction reads. Results may be parts of one value, as those that a
/// Concat would join.
class Writers {
 public:
  explicit Writers(const ProgramView& view) : values_(view.program().values) {}

  void write(int32_t value, size_t node) {
    const ValueDef& def = values_[size_t(value)];
    std::vector<size_t>& parts = of_storage_[def.root];
    if (def.alias != AliasKind::kView) parts.clear();
    parts.push_back(node);
    of_value_[value] = node;
  }

  void add_read(int32_t value, std::set<size_t>* nodes) const {
    if (const auto whole = of_value_.find(value); whole != of_value_.end()) {
      nodes->insert(whole->second);
    } else if (const auto parts = of_storage_.find(values_[size_t(value)].root);
               parts != of_storage_.end()) {
      nodes->insert(parts->second.begin(), parts->second.end());
    }
  }

 private:
  Span<const ValueDef> values_;
  std::map<int32_t, std::vector<size_t>> of_storage_;
  std::map<int32_t, size_t> of_value_;
};

/// Inputs and states, then the instructions in the order of the file, then outputs.
std::vector<GraphNode> nodes_of(const Json& report, const ProgramView& view,
                                const Metadata& metadata) {
  const ProgramDef& program = view.program();
  std::vector<GraphNode> nodes;
  Writers writers(view);
  const auto add_source = [&](const char* head, int32_t value, const std::string& name) {
    writers.write(value, nodes.size());
    nodes.push_back({head,
                     name,
                     type_of(view, value),
                     "#fff",
                     false,
                     {},
                     {{head, name}, {"type", type_of(view, value)}}});
  };
  for (const PortDef& port : program.inputs) add_source("input", port.value, port.name);
  for (const StateDef& state : program.states) add_source("state", state.value, state.name);
  std::map<size_t, const Json*> times;
  for (const Json& time : report["instructions"]) times[time["index"].get<size_t>()] = &time;
  const double total_ms = report["instructions_ms"];
  for (size_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    const std::string op = op_name(instruction.op);
    GraphNode node{op, "", "", hue_of(op, 84), false, {}, {}};
    node.rows.emplace_back("instruction " + std::to_string(i), op);
    if (const auto time = times.find(i); time != times.end()) {
      add_time(*time->second, total_ms, &node);
    } else {
      node.note = "not run";
      node.rows.emplace_back("time", "not run on these inputs");
    }
    std::set<size_t> before;
    for (uint32_t o = 0; o < instruction.input_count; o++) {
      const int32_t value = instruction.inputs[o];
      if (value < 0) continue;
      writers.add_read(value, &before);
      node.rows.emplace_back("operand " + std::to_string(o), operand_text(view, value));
    }
    node.before.assign(before.begin(), before.end());
    for (uint32_t o = 0; o < instruction.output_count; o++) {
      const int32_t value = instruction.outputs[o];
      if (value < 0) continue;
      if (node.name.empty()) node.name = view.value_name(value);
      writers.write(value, nodes.size());
      node.rows.emplace_back("result " + std::to_string(o), operand_text(view, value));
    }
    add_sources(instruction, metadata, &node);
    nodes.push_back(std::move(node));
  }
  for (const PortDef& port : program.outputs) {
    std::set<size_t> before;
    writers.add_read(port.value, &before);
    nodes.push_back({"output",
                     port.name,
                     type_of(view, port.value),
                     "#fff",
                     false,
                     {before.begin(), before.end()},
                     {{"output", port.name}, {"type", type_of(view, port.value)}}});
  }
  return nodes;
}

void add_facts(const Json& report, const Engine& engine, const ProgramView& view,
               const Metadata& metadata, HtmlPage* page) {
  const auto add = [](const std::string& key, const std::string& value, Rows* rows) {
    if (!value.empty()) rows->push_back({key, value});
  };
  Rows rows;
  add("source", metadata.source_file, &rows);
  add("made by", metadata.source_producer, &rows);
  add("SHA-256 of the source", metadata.source_sha256, &rows);
  add("license", metadata.licence, &rows);
  for (uint32_t i = 0; i < engine.summary().input_count; i++)
    add("input " + engine.input_names()[i], engine.type_text(engine.input(i)), &rows);
  for (uint32_t i = 0; i < engine.summary().output_count; i++)
    add("output " + engine.output_names()[i], engine.type_text(engine.output(i)), &rows);
  uint64_t macs = 0;
  for (const Json& i : report["instructions"]) macs += i["macs"].get<uint64_t>();
  add("instructions", grouped(view.program().instructions.size), &rows);
  add("multiply-adds of a run", grouped(macs), &rows);
  add("arena", grouped(report["memory"]["arena_bytes"].get<uint64_t>()) + " bytes", &rows);
  page->table({"", ""}, rows);
}

void add_placement(const Json& report, HtmlPage* page) {
  Rows rows;
  for (const Json& s : report["shares"])
    rows.push_back({s["name"].get<std::string>(), grouped(s["instructions"].get<uint64_t>()),
                    grouped(s["arena_bytes"].get<uint64_t>()),
                    grouped(s["weights_bytes"].get<uint64_t>()),
                    grouped(s["upload_bytes"].get<uint64_t>()),
                    grouped(s["download_bytes"].get<uint64_t>()), s["reason"].get<std::string>()});
  page->table(
      {"device", ">instructions", ">arena", ">of it weights", ">bytes up", ">bytes down", "why"},
      rows);
  rows.clear();
  for (const Json& i : report["left_to_cpu"])
    rows.push_back({i["instruction"].dump(), i["operator"].get<std::string>(),
                    i["name"].get<std::string>(), i["why"].get<std::string>()});
  if (!rows.empty()) page->table({">#", "left to the CPU", "output", "why"}, rows);
}

/// Instructions by the type of their first result, and weights by the type that the file has.
void add_types(const Json& report, const ProgramView& view, HtmlPage* page) {
  struct Sum {
    size_t instructions = 0;
    double ms = 0;
    uint64_t weights = 0;
  };
  std::map<std::string, Sum> sums;
  const ProgramDef& program = view.program();
  for (const Json& time : report["instructions"]) {
    const InstructionDef& instruction = program.instructions[time["index"].get<size_t>()];
    if (!instruction.output_count || instruction.outputs[0] < 0) continue;
    Sum& sum = sums[dtype_name(program.values[size_t(instruction.outputs[0])].dtype)];
    sum.instructions++, sum.ms += time["ms"].get<double>();
  }
  for (const ValueDef& value : program.values) {
    if (value.kind != ValueKind::kConstant) continue;
    sums[dtype_name(is_widened(value) ? value.stored : value.dtype)].weights += stored_bytes(value);
  }
  Rows rows;
  for (const auto& [type, sum] : sums)
    rows.push_back({type, grouped(sum.instructions), short_time(sum.ms),
                    percent(sum.ms, report["instructions_ms"]), grouped(sum.weights)});
  page->table({"type", ">instructions", ">time", ">share", ">bytes of weights"}, rows);
}

}  // namespace

std::string report_html(const Json& report, const Engine& engine, const ProgramView& view) {
  const std::string file = report["file"];
  const Metadata metadata = read_metadata(engine);
  HtmlPage page("ingot report " + file);
  page.add("<header><h1>" + escaped(file) + "</h1><p>" + escaped(session_line(report)) +
           "</p></header>\n<section>\n");
  add_facts(report, engine, view, metadata, &page);
  page.add("</section>\n<section>\n");
  page.heading("Graph",
               "Each instruction of the file. Click one for its operands, kernel, time, "
               "bytes and the nodes of the source it came from.");
  add_graph(nodes_of(report, view, metadata), &page);
  page.add("</section>\n");
  add_why_sections(report, view, &page);
  page.add("<section>\n");
  page.heading("Types", "Where a network was quantized: what computes in integers, and what not.");
  add_types(report, view, &page);
  page.add("</section>\n<section>\n");
  page.heading("Placement");
  add_placement(report, &page);
  page.add("</section>\n");
  if (!metadata.notes.empty()) {
    page.add("<section>\n");
    page.heading("Notes of the conversion");
    Rows rows;
    for (const std::string& note : metadata.notes) rows.push_back({note});
    page.table({""}, rows);
    page.add("</section>\n");
  }
  return page.text();
}

}  // namespace ingot::cli
