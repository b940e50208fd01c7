// SPDX-License-Identifier: Apache-2.0
// ingot inspect - what is in a file.
#include "tools/cli/inspect/inspect.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/session/state_files.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The extents of a port, value or variable; the name where one is open.
std::string dims_text(const Json& of) {
  const Json& dims = of["dims"];
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); i++) {
    const bool named = of.contains("dim_names") && !of["dim_names"][i].get<std::string>().empty();
    out += (i ? "," : "") + text_of(named ? of["dim_names"][i] : dims[i]);
  }
  return out + "]";
}

void print_ports(const char* title, const Json& ports) {
  Table table({"", "", ""});
  for (const Json& port : ports) {
    std::string more = text_of(port["layout"]);
    if (port.contains("scale"))
      more += (more.empty() ? "scale " : ", scale ") + number(port["scale"].get<double>(), 9) +
              ", zero point " + port["zero_point"].dump();
    table.row({text_of(port["name"]), text_of(port["dtype"]) + " " + dims_text(port), more});
  }
  printf("%s\n%s", title, table.empty() ? "  none\n" : table.text().c_str());
}

/// Names that differ in a number alone are alike: keys.0 to keys.29 of a language model's layers.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c < '0' || c > '9')
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

void print_states(const Json& states) {
  if (states.empty()) return;
  struct Alike {
    std::string first, last, type, more;
    int count;
  };
  std::vector<Alike> rows;
  std::map<std::string, size_t> row_of;
  for (const Json& state : states) {
    const std::string name = text_of(state["name"]), output = text_of(state["output"]);
    const std::string type = text_of(state["dtype"]) + " " + dims_text(state);
    const std::string more =
        (output.empty() ? "" : "was fed back from " + output + "; ") +
        (state["starts_at_zero"].get<bool>() ? "starts at zero" : "starts at a value in the file");
    const auto [at, is_new] = row_of.emplace(without_numbers(name + more) + type, rows.size());
    if (is_new) rows.push_back({name, name, type, more, 0});
    rows[at->second].last = name;
    rows[at->second].count++;
  }
  Table table({"", "", ""});
  for (const Alike& r : rows)
    table.row({r.count == 1 ? r.first : r.first + " to " + r.last,
               r.count == 1 ? r.type : std::to_string(r.count) + " x " + r.type,
               r.count == 1 ? r.more : without_numbers(r.more)});
  printf("State\n%s", table.text().c_str());
}

void print_state_file(const Json& r) {
  printf("%s: saved state, format %s, %s bytes\n  of the program  sha256 %s\n",
         text_of(r["file"]).c_str(), text_of(r["format"]).c_str(),
         grouped(r["file_bytes"].get<uint64_t>()).c_str(), text_of(r["program_sha256"]).c_str());
  Table table({"", "", ">"});
  for (const Json& v : r["state_variables"])
    table.row({text_of(v["name"]), text_of(v["dtype"]) + " " + dims_text(v),
               grouped(v["bytes"].get<uint64_t>()) + " bytes"});
  printf("Variables\n%s", table.empty() ? "  none\n" : table.text().c_str());
}

void print_counts(const Json& counts) {
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [op, count] : counts.items()) sorted.emplace_back(-count.get<int>(), op);
  std::sort(sorted.begin(), sorted.end());
  std::string line = "  ";
  for (const auto& [count, op] : sorted) {
    if (line.size() > 100) {
      printf("%s\n", line.c_str());
      line = "  ";
    }
    line += op + " " + std::to_string(-count) + "  ";
  }
  printf("%s\n", line.c_str());
}

void print_metadata(const Json& m, bool all) {
  Table table({"", ""});
  const auto add = [&](const char* key, const char* name) {
    if (m.contains(key) && !text_of(m[key]).empty()) table.row({name, text_of(m[key])});
  };
  add("name", "name");
  add("version", "version");
  add("licence", "licence");
  std::string source = text_of(m["source_file"]);
  const std::string format = text_of(m["source_format"]);  // of standard input all that is known
  if (!format.empty()) source = source.empty() ? format : source + " (" + format + ")";
  if (!source.empty()) table.row({"source", source});
  add("producer", "converted by");
  if (all) {
    add("source_sha256", "source sha256");
    add("source_producer", "exported by");
    for (const auto& [key, value] : m["entries"].items()) table.row({key, text_of(value)});
    std::string labels;
    for (const Json& label : m["labels"]) labels += (labels.empty() ? "" : ", ") + text_of(label);
    if (!labels.empty()) table.row({"labels", labels});
  }
  for (const Json& remark : m["notes"]) table.row({"note", text_of(remark)});
  fputs(table.text().c_str(), stdout);
  if (!all) return;
  Table passes({"pass", ">changed", "note"});
  passes.wrap_last();
  for (const Json& pass : m["passes"])
    add_pass_rows(&passes, text_of(pass["name"]), text_of(pass["changed"]), text_of(pass["note"]),
                  3);
  if (!passes.empty()) printf("Passes\n%s", passes.text().c_str());
}

/// What storing weights smaller cost, tensor by tensor.
void print_storage(const Json& storage) {
  Table table({"stored", "type", ">largest error", ">mean", ">to zero", ">subnormal", ">infinite"});
  for (const Json& t : storage["tensors"]) {
    if (!t.contains("mean_error")) continue;
    table.row({text_of(text_of(t["source"]).empty() ? t["name"] : t["source"]),
               text_of(t["stored"]), number(t["largest_error"].get<double>(), 3),
               number(t["mean_error"].get<double>(), 3), text_of(t["to_zero"]),
               text_of(t["subnormal"]), text_of(t["infinite"])});
  }
  if (!table.empty()) printf("Weights that were rounded\n%s", table.text().c_str());
}

void print_ops(const Json& ops) {
  Table table({">#", "op", "output", ">MMAC", "from"});
  table.wrap_last();
  for (const Json& op : ops) {
    std::string from;
    for (const Json& node : op["source"]) from += (from.empty() ? "" : " + ") + text_of(node);
    const double macs = op.value("macs", 0.0);
    table.row({text_of(op["index"]), text_of(op["op"]),
               op.contains("output") ? text_of(op["output"]) : "",
               macs > 0 ? number(macs / 1e6, 3) : "", from});
  }
  printf("Instructions\n%s", table.text().c_str());
}

void print_tensors(const Json& tensors) {
  Table table({">#", "kind", "type", ">bytes", "packing", "storage", "name"});
  table.wrap_last();
  for (const Json& t : tensors) {
    std::string storage;
    if (t.contains("alias_of"))
      storage = text_of(t["alias"]) + " of " + text_of(t["alias_of"]);
    else if (t.value("inline", false))
      storage = "program";
    else if (t.contains("segment"))
      storage =
          "part " + text_of(t["segment"]) + " + " + grouped(t["segment_offset"].get<uint64_t>());
    table.row({text_of(t["index"]), text_of(t["kind"]),
               text_of(t["dtype"]) + " " + dims_text(t) +
                   (t.contains("stored") ? ", stored as " + text_of(t["stored"]) : ""),
               t.contains("bytes") ? grouped(t["bytes"].get<uint64_t>()) : "",
               text_of(t["packing"]), storage, text_of(t["name"])});
  }
  printf("Tensors\n%s", table.text().c_str());
}

void print_plan(const Json& plan) {
  if (plan.contains("open_dims")) {
    printf("Plan\n  made when the dynamic dimensions get numbers; set them with --dim\n");
    return;
  }
  Table table({">offset", ">bytes", ">first", ">last", "value"});
  for (const Json& v : plan["values"]) {
    table.row({grouped(v["offset"].get<uint64_t>()), grouped(v["bytes"].get<uint64_t>()),
               text_of(v["first_step"]), text_of(v["last_step"]), text_of(v["name"])});
  }
  if (const uint64_t widened = plan["widened_bytes"].get<uint64_t>())
    printf(
        "Converted at load: %s bytes of weights as f32, before the plan in every session's arena\n",
        grouped(widened).c_str());
  printf("Plan of %s bytes, lower bound %s at step %s\n%s",
         grouped(plan["bytes"].get<uint64_t>()).c_str(),
         grouped(plan["lower_bound"].get<uint64_t>()).c_str(), text_of(plan["peak_step"]).c_str(),
         table.text().c_str());
}

void print_source(const Json& r, const InspectArguments& a) {
  if (r.contains("format")) {
    printf("  %s%s\n", text_of(r["format"]).c_str(),
           text_of(r["producer"]).empty() ? "" : (", by " + text_of(r["producer"])).c_str());
    print_ports("Inputs", r["inputs"]);
    print_ports("Outputs", r["outputs"]);
    printf("Nodes\n");
    print_counts(r["op_counts"]);
    for (const Json& text : r["notes"]) printf("note: %s\n", text_of(text).c_str());
  }
  if (r["convertible"].get<bool>()) {
    printf("Can be converted: yes, weights %s, activations %s\n",
           short_bytes(r["weights_bytes"]).c_str(), short_bytes(r["activation_bytes"]).c_str());
    if (r.contains("metadata")) print_metadata(r["metadata"], a.metadata);
    if (r.contains("ops")) print_ops(r["ops"]);
    if (r.contains("tensors")) print_tensors(r["tensors"]);
    if (r.contains("plan")) print_plan(r["plan"]);
    return;
  }
  if (r["obstacles"].empty()) {
    printf("Can be converted: no. %s\n", text_of(r["why"]).c_str());
    return;
  }
  printf("Can be converted: no, %zu %s in the way\n", r["obstacles"].size(),
         r["obstacles"].size() == 1 ? "thing stands" : "things stand");
  std::map<std::string, size_t> kinds;  // how many had the same fault
  for (const Json& o : r["obstacles"]) {
    std::string line = "  " + text_of(o["op"]);
    if (!text_of(o["attribute"]).empty()) line += "." + text_of(o["attribute"]);
    constexpr size_t kListed = 3;
    if (++kinds[line + ": " + text_of(o["why"])] > kListed) continue;
    if (!text_of(o["node"]).empty()) line += " '" + text_of(o["node"]) + "'";
    if (!text_of(o["output"]).empty()) line += " -> '" + text_of(o["output"]) + "'";
    line += ": " + text_of(o["why"]);
    if (!text_of(o["hint"]).empty()) line += "; " + text_of(o["hint"]);
    printf("%s\n", line.c_str());
  }
  for (const auto& [fault, count] : kinds)
    if (count > 3) printf("%s (%s more)\n", fault.c_str(), counted(count - 3, "node").c_str());
}

/// Options that say nothing about this kind of file are refused, not passed over.
void refuse_ignored(const InspectArguments& a, bool tensors_only) {
  const auto refuse = [&](bool given, const char* option, const char* about) {
    if (given)
      host::fail(host::Exit::kUsage, a.file + ": inspect " + option + " is about " + about +
                                         ", and this is none; leave the option out");
  };
  if (tensors_only) {
    refuse(a.ops, "--ops", "programs");
    refuse(a.plan, "--plan", "programs");
    refuse(a.metadata, "--metadata", "programs");
    refuse(!a.dims.empty(), "--dim", "programs");
  } else {
    refuse(a.hashes, "--hashes", "checkpoints");
  }
}

void print_dims(const Json& dims) {
  if (dims.empty()) return;
  Table table({"", ""});
  for (const Json& dim : dims) {
    table.row({text_of(dim["name"]),
               "from " + text_of(dim["low"]) +
                   (dim["high"].is_null() ? " up" : " to " + text_of(dim["high"]))});
  }
  printf("Dynamic dimensions (set them with --dim)\n%s", table.text().c_str());
}

void print_text(const Json& text, const Json& sampling) {
  if (text.is_null()) return;
  constexpr size_t kShown = 8;
  const Json& chat = text["chat_template"];
  printf("Text: a tokenizer of %s (%s), %s\n",
         counted(text["pieces"].get<uint64_t>(), "piece").c_str(), text_of(text["kind"]).c_str(),
         chat.is_null()          ? "no chat template"
         : chat["refused"] == "" ? "a chat template"
                                 : ("no chat template: " + text_of(chat["refused"])).c_str());
  const Json& control = text["control_tokens"];
  std::string line;
  size_t count = 0;
  for (const auto& [id, piece] : control.items())
    if (count++ < kShown) line += (line.empty() ? "" : ", ") + id + " " + text_of(piece);
  if (count > kShown) line += ", and " + std::to_string(count - kShown) + " more (--json)";
  if (count) printf("Control tokens: %s\n", line.c_str());
  line.clear();
  for (const auto& [name, value] : sampling.items())
    line += (line.empty() ? "" : ", ") + name + " " + text_of(value);
  if (!line.empty()) printf("Sampling that the source asks for: %s\n", line.c_str());
}

void print_precision_check(const Json& check) {
  if (check.is_null()) return;
  const std::string text = text_of(check["text"]), why = text_of(check["why_unknown"]),
                    asked = text_of(check["asked"]), written = text_of(check["written"]);
  if (!text.empty())
    printf("Precision: %s%s\n", text.c_str(),
           asked == written ? "" : (", so " + written + " was written").c_str());
  if (check["inputs"] == "off")
    printf("Precision: what %s loses was not looked at\n", written.c_str());
  else if (!why.empty())
    printf("Precision: what %s loses is not known: %s\n", written.c_str(), why.c_str());
}

}  // namespace

void print_inspection(const Json& r, const InspectArguments& a) {
  const std::string kind = r["kind"] == "ingot"  ? "Ingot file, format " + text_of(r["format"])
                           : r["kind"] == "pt2"  ? "PyTorch program (.pt2)"
                           : r["kind"] == "onnx" ? "ONNX model"
                                                 : text_of(r["kind"]) + " model";
  printf("%s: %s, %s bytes\n", a.file.c_str(), kind.c_str(),
         grouped(r["file_bytes"].get<uint64_t>()).c_str());
  if (r["kind"] != "ingot") return print_source(r, a);
  if (!r["metadata"].is_null()) print_metadata(r["metadata"], a.metadata);
  print_ports("Inputs", r["inputs"]);
  print_ports("Outputs", r["outputs"]);
  print_states(r["state_variables"]);
  print_dims(r["dims"]);
  print_text(r["text"], r["sampling"]);
  printf(
      "Instructions: %s%s\n", text_of(r["instructions"]).c_str(),
      r["macs"].is_null()
          ? ""
          : (", " + number(r["macs"].get<double>() / 1e6, 4) + " million multiply-adds").c_str());
  print_counts(r["op_counts"]);
  if (r["precision"] != "exact")
    printf("Products on a GPU: %s (%s)\n", text_of(r["precision"]).c_str(),
           r["precision"] == "fp16"
               ? "also on 64-bit Arm that multiplies f16; other CPUs compute them in f32"
           : r["precision"] == "bf16"
               ? "as fast has them; in bf16 on CPUs that multiply it; others compute them in f32"
               : "the CPU computes them in f32");
  print_precision_check(r["precision_check"]);
  for (const Json& t : r["tunings"]) {
    std::string dims;
    for (const Json& d : t["dims"]) dims += (dims.empty() ? ", dimensions " : " ") + d.dump();
    printf("Tuned on: %s, %u.%u, %u multiprocessors%s: %s\n", text_of(t["gpu"]).c_str(),
           t["compute_capability"].get<unsigned>() / 10,
           t["compute_capability"].get<unsigned>() % 10, t["multiprocessors"].get<unsigned>(),
           dims.c_str(), counted(t["instructions"].size(), "instruction").c_str());
  }
  printf("Bytes\n");
  Table bytes({"", ">", ""});
  bytes.row({"program", grouped(r["program_bytes"].get<uint64_t>()), ""});
  bytes.row({"weights", grouped(r["weights_bytes"].get<uint64_t>()),
             counted(r["weight_parts"].get<uint64_t>(), "part") + " at multiples of " +
                 grouped(r["segment_alignment"].get<uint64_t>())});
  if (!r["storage"].is_null())
    bytes.row({"converted", grouped(r["storage"]["widened_bytes"].get<uint64_t>()),
               std::string("of weights as f32 in every session's arena") +
                   (r["precision"] == "bf16" ? " where a CPU does not read bf16" : "") +
                   ", stored as " + text_of(r["storage"]["tensors"][0]["stored"]) + " in " +
                   grouped(r["storage"]["stored_bytes"].get<uint64_t>())});
  bytes.row({"metadata", grouped(r["metadata_bytes"].get<uint64_t>()), ""});
  bytes.row({"golden", grouped(r["golden_bytes"].get<uint64_t>()), ""});
  if (!r["activation_bytes"].is_null()) {
    bytes.row(
        {"activations", grouped(r["activation_bytes"].get<uint64_t>()),
         "in the arena; lower bound " + grouped(r["activation_lower_bound"].get<uint64_t>())});
  }
  fputs(bytes.text().c_str(), stdout);
  if (!r["steps"].is_null()) {
    const uint64_t steps = r["steps"].get<uint64_t>();
    printf("A run: %s\n", steps == UINT64_MAX
                              ? "no bound on its instructions"
                              : (counted(steps, "instruction") + " at most").c_str());
  }
  if (a.tensors && !r["storage"].is_null()) print_storage(r["storage"]);
  if (r.contains("ops")) print_ops(r["ops"]);
  if (r.contains("tensors")) print_tensors(r["tensors"]);
  if (r.contains("plan")) print_plan(r["plan"]);
}

namespace {

int inspect_many(const InspectArguments& a) {
  for (const bool given : {a.ops, a.tensors, a.plan, a.metadata, a.hashes, a.weights})
    if (given)
      host::fail(host::Exit::kUsage,
                 a.file + ": has many models; of these inspect takes --json and --dim alone");
  const Json report =
      std::filesystem::is_directory(a.file) ? inspect_folder(a) : inspect_archive(a);
  if (a.json)
    printf("%s\n", json_text(report).c_str());
  else
    print_folder(report);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<InspectArguments>();
  CLI::App* command = add_command(
      app, chosen, "inspect", "Show what is in an .ingot file, a source or a saved state",
      "  ingot inspect model.ingot\n"
      "  ingot inspect model.ingot --ops --plan\n"
      "  ingot inspect model.onnx          # can it be converted, and if not, all that "
      "stands in the way\n"
      "  ingot inspect program.pt2         # the same of torch.export; --weights lists "
      "its tensors\n"
      "  ingot inspect checkpoint.pth      # tensors, where they were trained, what "
      "lies beside them\n"
      "  ingot inspect run/step_1000       # a folder that torch.distributed saved: one "
      "checkpoint\n"
      "  ingot inspect models/             # every model in a folder or zip\n"
      "  ingot inspect model.ingot --json | jq .inputs",
      [a] {
        const bool is_folder =
            std::filesystem::is_directory(a->file) && !host::is_distributed_checkpoint(a->file);
        if (is_folder) return inspect_many(*a);
        const host::FileKind kind = host::file_kind(a->file);
        if (kind == host::FileKind::kZip && is_archive_of_models(a->file)) return inspect_many(*a);
        const bool ours = kind == host::FileKind::kIngot,
                   state = kind == host::FileKind::kIngotState;
        const bool weights = a->weights || (!ours && !state && is_checkpoint(*a, kind));
        refuse_ignored(*a, weights || state);
        const Json report = weights ? inspect_checkpoint(*a)
                            : ours  ? inspect_file(*a)
                            : state ? inspect_state(a->file)
                                    : inspect_source(*a);
        if (weights && !a->json)
          print_checkpoint(report, *a);
        else if (a->json)
          printf("%s\n", exact_json_text(report).c_str());
        else if (state)
          print_state_file(report);
        else
          print_inspection(report, *a);
        return 0;
      });
  takes_plugins(command);
  command->add_flag("--weights", a->weights,
                    "of a program: its weights alone, as those of a checkpoint are shown");
  command->add_flag("--hashes", a->hashes,
                    "of a checkpoint: the SHA-256 of each tensor's row-major bytes");
  reads_file(command
                 ->add_option(
                     "FILE", a->file,
                     "an .ingot file, a source, a checkpoint, a saved state, or a folder or zip of "
                     "models")
                 ->required()
                 ->type_name(""));
  command->add_flag("--json", a->json, "print a report for scripts");
  command->add_flag("--ops", a->ops, "list the instructions");
  command->add_flag("--tensors", a->tensors, "list the values");
  command->add_flag("--plan", a->plan, "list where each value lies in the arena, and when");
  command->add_flag("--metadata", a->metadata, "list the metadata of the file");
  takes_dims(command, &a->dims);
}

}  // namespace ingot::cli
