// SPDX-License-Identifier: Apache-2.0
// The report on a checkpoint: its tensors, what surrounds them, where they were trained.
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/checkpoint/tensors/file_bytes.h"
#include "tools/cli/inspect/inspect.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/digest_text.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"
#include "tools/files/work_budget.h"
#include "tools/import/pt2/archive.h"
#include "tools/import/tflite/import.h"
#include "tools/import/torchscript/import.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string digest_of(const checkpoint::Tensor& tensor) {
  Sha256 hash;
  checkpoint::read_tensor(tensor,
                          [&](const void* bytes, size_t count) { hash.update(bytes, count); });
  return host::digest_text(&hash);
}

Json value_of(const checkpoint::FactValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, double>)
          return finite_or_text(v);
        else
          return v;
      },
      value);
}

Json tensor_of(const checkpoint::Tensor& t, bool hashes) {
  Json json = {{"name", checkpoint::path_text(t.path)},
               {"path", t.path},
               {"dtype", checkpoint::element_name(t.type)},
               {"dims", t.dims},
               {"bytes", t.bytes()}};
  if (!t.location.empty()) json["location"] = t.location;
  if (t.is_parameter) json["parameter"] = true;
  if (t.quantization) {
    const checkpoint::Quantization& q = *t.quantization;
    json["quantization"] = {{"scheme", q.scheme},
                            {"scales", q.scales},
                            {"zero_points", q.zero_points},
                            {"axis", q.axis}};
    if (!q.float_zero_points.empty()) json["quantization"]["zero_points"] = q.float_zero_points;
  }
  if (hashes) json["sha256"] = digest_of(t);
  return json;
}

/// What forward() of a TorchScript file takes; null where the archive has no program that is
/// converted.
Json program_of(const std::string& path) {
  Json parameters = Json::array();
  try {
    for (const torchscript::Parameter& p : torchscript::describe_parameters(path))
      parameters.push_back({{"name", p.name},
                            {"type", p.type},
                            {"traced_with", p.shape},
                            {"has_default", p.has_default}});
  } catch (const host::Failure& failure) {
    return {{"convertible", false}, {"why", failure.message()}};
  } catch (const graph::ConversionError& error) {
    return {{"convertible", false}, {"why", error.message}};
  }
  return {{"method", "forward"}, {"parameters", parameters}};
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_program(const Json& program) {
  if (program.contains("why")) {
    printf("Program: %s\n", plain_text(program["why"]).c_str());
    return;
  }
  printf("Program: forward(), a TorchScript program\n");
  Table table({"", "", ""});
  for (const Json& p : program["parameters"]) {
    const std::string traced = plain_text(p["traced_with"]);
    table.row({plain_text(p["name"]), plain_text(p["type"]),
               traced.empty() ? p["has_default"].get<bool>() ? "has a default" : ""
                              : "traced with " + traced});
  }
  fputs(table.text().c_str(), stdout);
}

Json model_ports(const std::vector<importer::PortDescription>& ports) {
  Json out = Json::array();
  for (const importer::PortDescription& p : ports)
    out.push_back({{"name", p.name}, {"dtype", p.dtype}, {"dims", p.dims}});
  return out;
}
/// What a TFLite model takes and gives; null where its program is damaged.
Json tflite_model(const std::string& path) {
  try {
    const host::WorkBudget budget(path, host::file_bytes(path));
    const tflite::Description d = tflite::describe_tflite(path);
    Json signatures = Json::array(), operators = Json::object();
    for (const tflite::SignatureDescription& s : d.signatures)
      signatures.push_back({{"name", s.name},
                            {"subgraph", s.subgraph},
                            {"inputs", model_ports(s.inputs)},
                            {"outputs", model_ports(s.outputs)}});
    for (const auto& [name, count] : d.operators) operators[name] = count;
    return {{"inputs", model_ports(d.inputs)},
            {"outputs", model_ports(d.outputs)},
            {"signatures", signatures},
            {"operators", operators},
            {"subgraphs", d.subgraphs}};
  } catch (const graph::ConversionError& error) {
    return {{"why", error.message}};
  }
}
void print_model_ports(const char* title, const Json& ports) {
  if (ports.empty()) return;
  printf("%s\n", title);
  Table table({"", "", ""});
  for (const Json& p : ports) {
    std::string dims;
    for (const Json& d : p["dims"]) dims += (dims.empty() ? "" : ", ") + plain_text(d);
    table.row({plain_text(p["name"]), plain_text(p["dtype"]), "[" + dims + "]"});
  }
  fputs(table.text().c_str(), stdout);
}
void print_tflite_model(const Json& model) {
  if (model.contains("why")) {
    printf("Program: %s\n", plain_text(model["why"]).c_str());
    return;
  }
  print_model_ports("Inputs", model["inputs"]);
  print_model_ports("Outputs", model["outputs"]);
  for (const Json& s : model["signatures"]) {
    printf("Signature '%s' (subgraph %s)\n", plain_text(s["name"]).c_str(),
           plain_text(s["subgraph"]).c_str());
    print_model_ports("  takes", s["inputs"]);
    print_model_ports("  gives", s["outputs"]);
  }
  std::string operators;
  for (const auto& [name, count] : model["operators"].items())
    operators += (operators.empty() ? "" : ", ") + name + " " + plain_text(count);
  printf("Operators: %s\n", operators.c_str());
}

}  // namespace

bool is_checkpoint(const InspectArguments& a, host::FileKind kind) {
  const std::string& path = a.file;
  switch (kind) {
    case host::FileKind::kZip: return a.hashes || !pt2::is_exported_program(path);
    case host::FileKind::kNumpyArray:
    case host::FileKind::kTflite:  // its weights are what can be read of it
    case host::FileKind::kGguf:
    case host::FileKind::kHdf5:
    case host::FileKind::kBson:
    case host::FileKind::kPickle:
    case host::FileKind::kDistributed:
    case host::FileKind::kMobile:
    case host::FileKind::kSafetensors: return true;
    case host::FileKind::kOther: {
      const std::string text = host::kind_text(path, host::FileKind::kOther);
      // A name that promises weights gets the readers' own words on what is wrong with its content.
      const std::string end = path.substr(std::min(path.size(), path.rfind('.')));
      const bool named = end == ".safetensors" || end == ".pth" || end == ".pt" || end == ".ckpt";
      return named || text.find("JSON") != std::string::npos ||
             text.find("tar archive") != std::string::npos;
    }
    default: return false;
  }
}

Json inspect_checkpoint(const InspectArguments& a) {
  const checkpoint::Checkpoint c = weights::read_weights(a.file);
  Json report = {{"file", a.file},
                 {"kind", c.format == "tflite" ? "TFLite model" : "checkpoint"},
                 {"file_bytes", checkpoint::file_bytes(a.file)},
                 {"format", c.format}};
  report["tensor_count"] = c.tensors.size();
  uint64_t bytes = 0;
  std::map<std::string, uint64_t> types, locations;
  for (const checkpoint::Tensor& t : c.tensors) {
    bytes += t.bytes();
    types[checkpoint::element_name(t.type)]++;
    if (!t.location.empty()) locations[t.location]++;
  }
  report["tensor_bytes"] = bytes;
  report["dtypes"] = types;
  report["locations"] = locations;
  report["notes"] = c.notes;
  report["tensors"] = Json::array();
  for (const checkpoint::Tensor& t : c.tensors) report["tensors"].push_back(tensor_of(t, a.hashes));
  if (c.format == "torchscript") report["program"] = program_of(a.file);
  if (c.format == "tflite") report["model"] = tflite_model(a.file);
  report["facts"] = Json::array();
  const host::WorkBudget budget(a.file, host::file_bytes(a.file));
  for (const checkpoint::Fact& f : c.facts) {
    std::string name = checkpoint::path_text(f.path);
    constexpr uint64_t kFact = 400;  // an object of three members with a list
    host::charge_metadata(kFact + 2 * name.size() + f.path.size() * sizeof name);
    report["facts"].push_back(
        {{"name", std::move(name)}, {"path", f.path}, {"value", value_of(f.value)}});
  }
  return report;
}

void print_checkpoint(const Json& r, const InspectArguments& a) {
  printf("%s: %s (%s), %s bytes\n", a.file.c_str(), plain_text(r["kind"]).c_str(),
         plain_text(r["format"]).c_str(), grouped(r["file_bytes"].get<uint64_t>()).c_str());
  std::string types, locations;
  for (const auto& [type, count] : r["dtypes"].items())
    types += (types.empty() ? "" : ", ") + plain_text(count) + " " + type;
  for (const auto& [place, count] : r["locations"].items())
    locations += (locations.empty() ? "" : ", ") + place;
  printf("Tensors: %s of %s (%s)%s\n", plain_text(r["tensor_count"]).c_str(),
         short_bytes(r["tensor_bytes"].get<uint64_t>()).c_str(), types.c_str(),
         locations.empty()
             ? ""
             : (", saved on " + locations + ": where they lie is stated when a model is loaded")
                   .c_str());
  constexpr size_t kShort = 12;
  const bool all = a.tensors;
  Table tensors({"", "", ">", ""});
  size_t shown = 0;
  for (const Json& t : r["tensors"]) {
    if (!all && shown++ == kShort) break;
    tensors.row({plain_text(t["name"]), plain_text(t["dtype"]) + " " + t["dims"].dump(),
                 grouped(t["bytes"].get<uint64_t>()),
                 t.contains("sha256") ? plain_text(t["sha256"]) : ""});
  }
  fputs(tensors.text().c_str(), stdout);
  if (r.contains("program")) print_program(r["program"]);
  if (r.contains("model")) print_tflite_model(r["model"]);
  if (!all && r["tensors"].size() > kShort)
    printf("  ... %zu more; --tensors lists all\n", r["tensors"].size() - kShort);
  if (!r["facts"].empty()) {
    printf("Beside the tensors\n");
    Table facts({"", ""});
    shown = 0;
    for (const Json& f : r["facts"]) {
      if (!a.metadata && shown++ == kShort) break;
      std::string text = plain_text(f["value"]);
      if (text.size() > 100) text = text.substr(0, 97) + "...";
      facts.row({plain_text(f["name"]), text});
    }
    fputs(facts.text().c_str(), stdout);
    if (!a.metadata && r["facts"].size() > kShort)
      printf("  ... %zu more; --metadata lists all\n", r["facts"].size() - kShort);
  }
  for (const Json& text : r["notes"]) printf("note: %s\n", plain_text(text).c_str());
}

}  // namespace ingot::cli
