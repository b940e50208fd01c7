// SPDX-License-Identifier: Apache-2.0
// ingot place - what would lie and run where, and why, without running anything.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/placement_report.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPlaceRows = 40;

struct PlaceArguments {
  std::string file;
  SessionArguments session;
  bool json = false, all = false;
};

/// What "auto" chose among, in one line, or as JSON.
Json offers() {
  Json rows = Json::array();
  ingot_device device{};
  device.size = sizeof device;
  for (uint32_t i = 0; ingot_device_at(i, &device) == INGOT_OK; i++) {
    const std::string kind = std::string(device.name).substr(0, 4);
    if (kind == "fake" || kind == "null") continue;  // of tests
    rows.push_back({{"name", device.name}, {"exists", bool(device.exists)}, {"why", device.why}});
  }
  return rows;
}

/// What an If or a Loop adds to a run of a device with launches, and who decides it.
Json branches_of(Engine& engine, const SessionSettings& settings) {
  static constexpr const char* kKinds[] = {"if true", "if false", "each iteration"};
  Json rows = Json::array();
  ingot_branch b{};
  b.size = sizeof b;
  for (uint32_t i = 0; engine.find_branch(settings, i, &b); i++)
    rows.push_back({{"name", b.name},
                    {"device", b.device},
                    {"instruction", b.instruction},
                    {"kind", kKinds[b.kind]},
                    {"in", b.parent},
                    {"launches", b.launches},
                    {"waits", b.waits},
                    {"most", b.most},
                    {"on_device", b.on_device != 0},
                    {"why", b.why}});
  return rows;
}

Json weights_of(const Assignment& assignment) {
  Json rows = Json::array();
  for (uint32_t i = 0; assignment.weight(i).name; i++) {
    const ingot_weight weight = assignment.weight(i);
    const ingot_weight_place place = assignment.place(i);
    Json lies_on = Json::array();
    for (uint32_t d = 0; assignment.device(d); d++)
      if (place.devices >> d & 1) lies_on.push_back(assignment.device(d));
    rows.push_back({{"name", weight.name},
                    {"dtype", ingot_dtype_name(weight.dtype)},
                    {"dims", std::vector<int64_t>(weight.dims, weight.dims + weight.rank)},
                    {"bytes", weight.bytes},
                    {"constant", weight.value},
                    {"trained_on", weight.trained_on},
                    {"asked", place.asked},
                    {"by_rule", bool(place.by_callback)},
                    {"lies_on", lies_on},
                    {"reason", place.reason}});
  }
  return rows;
}

/// Instructions that have several kernel variants on their device.
Json variants_of(Engine& engine, const SessionSettings& settings) {
  constexpr const char* kSources[] = {"only", "model", "tuned", "ignored"};
  Json rows = Json::array();
  ingot_variant variant;
  for (uint32_t i = 0; engine.find_variant(settings, i, &variant); i++) {
    if (variant.source == INGOT_VARIANT_ONLY) continue;
    ingot_instruction instruction{};
    ingot_model_instruction(engine.model().get(), i, &instruction);
    rows.push_back({{"instruction", i},
                    {"op", instruction.op},
                    {"name", instruction.name},
                    {"device", variant.device},
                    {"variant", variant.name},
                    {"parts", variant.parts},
                    {"variants", variant.variants},
                    {"source", kSources[variant.source & 3]},
                    {"why", variant.why}});
  }
  return rows;
}

/// How many are of which source; rows for what the file says in vain, or for all.
void print_variants(const Json& variants, bool all) {
  size_t tuned = 0, ignored = 0;
  Table table({"instruction", "op", "variant", ">of", "chosen by", "why"});
  for (const Json& c : variants) {
    tuned += c["source"] == "tuned", ignored += c["source"] == "ignored";
    if (!all && c["source"] != "ignored") continue;
    const std::string name = c["name"];
    const uint32_t parts = c["parts"];
    table.row({name.empty() ? c["instruction"].dump() : name, c["op"],
               c["variant"].get<std::string>() +
                   (parts > 1 ? ", " + std::to_string(parts) + " parts" : ""),
               c["variants"].dump(), c["source"], c["why"]});
  }
  if (variants.empty()) return;
  printf(
      "%zu instruction%s with several kernel variants: %zu tuned on this GPU, %zu by the cost "
      "model",
      variants.size(), variants.size() == 1 ? "" : "s", tuned, variants.size() - tuned - ignored);
  if (ignored) printf(", %zu where the file's tuning cannot be used", ignored);
  if (!tuned && !ignored) printf(" (%s)", variants[0]["why"].get<std::string>().c_str());
  printf("\n%s", table.empty() ? "" : table.text().c_str());
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : ", ") + item.get<std::string>();
  return text.empty() ? "-" : text;
}

void print_left(const Json& left, bool all) {
  if (left.empty()) return;
  printf("left to the CPU:\n");
  Table table({">instruction", "operator", "name", "why"});
  const size_t shown = all ? left.size() : std::min(left.size(), kMaxPlaceRows);
  for (size_t i = 0; i < shown; i++)
    table.row(
        {left[i]["instruction"].dump(), left[i]["operator"], left[i]["name"], left[i]["why"]});
  printf("%s", table.text().c_str());
  if (shown < left.size()) printf("  and %zu more: --all, or --json\n", left.size() - shown);
}

void print(const Json& report, bool all) {
  if (report["requested"] == "auto") {
    std::string passed_over;
    for (const Json& offer : report["known"])
      if (offer["name"] != report["default"])
        passed_over += (passed_over.empty() ? "" : "; ") + offer["name"].get<std::string>() + ": " +
                       offer["why"].get<std::string>();
    printf("auto: %s (%s)\n", report["default"].get<std::string>().c_str(), passed_over.c_str());
  }
  Table devices(
      {"device", ">instructions", ">launches", ">waits", ">weights", ">arena", ">in a run", "why"});
  for (const Json& d : report["devices"]) {
    const uint64_t up = d["upload_bytes"], down = d["download_bytes"];
    const std::string moves =
        d["uploads"].dump() + " in, " + d["downloads"].dump() + " out, " + short_bytes(up + down);
    devices.row({d["name"], d["instructions"].dump(), d["launches"].dump(), d["waits"].dump(),
                 short_bytes(d["weights_bytes"]), short_bytes(d["arena_bytes"]),
                 up + down ? moves : "-", d["reason"]});
  }
  printf("%s", devices.text().c_str());
  Table branches({"besides, in", "of", "taken", ">launches", ">waits", ">at most", "decided"});
  for (const Json& b : report["branches"])
    branches.row({b["name"], "instruction " + b["instruction"].dump(), b["kind"],
                  b["launches"].dump(), b["waits"].dump(), b["most"].dump(),
                  b["on_device"] ? "on the device" : "by the CPU: " + b["why"].get<std::string>()});
  if (!branches.empty()) printf("%s", branches.text().c_str());
  print_left(report["left_to_cpu"], all);
  print_variants(report["variants"], all);
  Table weights({"weight", "type", ">bytes", "trained on", "lies on", "why"});
  size_t shown = 0;
  for (const Json& w : report["weights"]) {
    if (!all && shown++ >= kMaxPlaceRows) continue;
    const std::string trained = w["trained_on"];
    weights.row({w["name"], w["dtype"], grouped(w["bytes"]), trained.empty() ? "-" : trained,
                 joined(w["lies_on"]), w["reason"]});
  }
  if (!weights.empty()) printf("%s", weights.text().c_str());
  if (!all && shown > kMaxPlaceRows)
    printf("  and %zu more: --all, or --json\n", shown - kMaxPlaceRows);
}

int run(const PlaceArguments& a) {
  const SessionSettings settings = a.session.session_settings();
  Engine engine(a.file, a.session.open_settings());
  engine.bind_dims(a.session.bindings());
  const std::string assumed = engine.assume_rest();
  const Assignment& assignment = engine.assign(settings);
  Json report = {{"file", a.file},
                 {"requested", settings.device},
                 {"default", engine.default_device(settings)}};
  report["known"] = offers();
  report["dims"] = engine.bindings();
  report["devices"] = shares_of(engine, settings);
  report["branches"] = branches_of(engine, settings);
  report["left_to_cpu"] = left_to_cpu(engine, assignment, report["default"]);
  report["variants"] = variants_of(engine, settings);
  report["weights"] = weights_of(assignment);
  if (a.json) {
    printf("%s\n", json_text(report, 1).c_str());
    return 0;
  }
  if (!assumed.empty()) printf("assuming %s\n", assumed.c_str());
  print(report, a.all);
  return 0;
}

}  // namespace

void add_place(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<PlaceArguments>();
  CLI::App* command = add_command(
      app, chosen, "place", "Show what would lie and run where, and why",
      "  ingot place model.ingot\n"
      "  ingot place model.ingot --device cpu --place 'encoder.*=cuda:0' --place '*.bias=cpu'\n"
      "  ingot place tuned.ingot --place '*=trained'",
      [a] { return run(*a); });
  takes_plugins(command);
  reads_file(command->add_option("FILE", a->file, "the .ingot file")->required()->type_name(""));
  a->session.declare(command, true);
  command->add_flag("--all", a->all,
                    "every weight and every instruction left to the CPU, not the first 40; every "
                    "instruction with several kernel variants");
  command->add_flag("--json", a->json, "the whole report as JSON");
}

}  // namespace ingot::cli
