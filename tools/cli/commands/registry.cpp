// SPDX-License-Identifier: Apache-2.0
// ingot registry - models with versions and tags in a folder: what is there, and changes of it.
#include "tools/registry/registry.h"

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/digest_text.h"
#include "tools/files/standard_streams.h"
#include "tools/files/suggest.h"
#include "tools/session/engine.h"
#include "tools/session/file_parts.h"
#include "tools/session/metadata.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;
using registry::Reference;
using registry::Registry;
using registry::Version;

struct RegistryArguments {
  std::string action, root, note;
  std::vector<std::string> words, tags, metrics;
  bool json = false;
};

std::string root_of(const RegistryArguments& a) {
  if (!a.root.empty()) return a.root;
  const char* const root = std::getenv("INGOT_REGISTRY");
  if (!root || !*root)
    fail(Exit::kUsage, "registry: which one? name its folder with --root or INGOT_REGISTRY");
  return root;
}

/// The file is whole and can be opened; what it says of its source.
registry::Record examined(const std::string& path) {
  const Engine engine(path);
  FileParts parts(path);
  parts.check_hashes();
  registry::Record record;
  for (const FilePart& part : parts.parts())
    if (part.kind == PartKind::kWeights)
      record.parts.push_back({host::digest_text(part.sha256), part.from, part.bytes});
  const Metadata m = read_metadata(engine);
  const std::pair<const char*, const std::string*> facts[] = {
      {"name", &m.name},
      {"version", &m.version},
      {"licence", &m.licence},
      {"converted by", &m.producer},
      {"source", &m.source_file},
      {"source sha256", &m.source_sha256},
      {"source format", &m.source_format},
      {"source producer", &m.source_producer}};
  for (const auto& [key, value] : facts)
    if (!value->empty()) record.source.emplace_back(key, *value);
  return record;
}

std::string tag_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string said(const Reference& what) {
  return what.name + "@" + (what.version ? std::to_string(what.version) : what.tag);
}

nlohmann::json json_of(const Registry& all, const std::string& name, const Version& version) {
  nlohmann::json source = nlohmann::json::object();
  for (const auto& [key, value] : version.record.source) source[key] = value;
  nlohmann::json json = {{"name", name},
                         {"version", version.number},
                         {"path", all.path_of(name, version.number)},
                         {"bytes", version.record.bytes},
                         {"sha256", version.record.sha256},
                         {"added", version.record.added},
                         {"file", version.record.file},
                         {"note", version.record.note},
                         {"tags", version.tags},
                         {"pinned", version.pinned},
                         {"source", source},
                         {"metrics", version.record.metrics}};
  if (!version.fault.empty()) json["fault"] = version.fault;
  return json;
}

void print_json(const nlohmann::json& json) { printf("%s\n", json_text(json, 2).c_str()); }

int add(const RegistryArguments& a, Registry& all) {
  const std::string file = a.words[0] == "-" ? host::spool_standard_input() : a.words[0];
  const std::string& name = a.words[1];
  registry::Record record = examined(file);
  record.file = host::with_stream_names(file);
  record.note = a.note;
  for (const std::string& metric : a.metrics) {
    const size_t at = metric.find('=');
    if (at == 0 || at == std::string::npos)
      fail(Exit::kUsage, "--metric '" + metric + "': expected NAME=VALUE, as accuracy=93.7");
    if (!record.metrics.emplace(metric.substr(0, at), metric.substr(at + 1)).second)
      fail(Exit::kUsage, "--metric '" + metric.substr(0, at) + "': is given twice");
  }
  uint64_t shared = 0;
  const uint64_t number = all.add(name, file, record, a.tags, &shared);
  const uint64_t bytes = all.find({name, "", number}).record.bytes;
  summary("%s@%llu: %s%s%s\n", name.c_str(), static_cast<unsigned long long>(number),
          all.path_of(name, number).c_str(),
          a.tags.empty() ? "" : (", tagged " + tag_list(a.tags)).c_str(),
          shared == 0       ? ""
          : shared == bytes ? "; its bytes were there already and are stored once"
                            : ("; " + grouped(shared) + " of " + grouped(bytes) +
                               " bytes were there already and are stored once")
                                  .c_str());
  return 0;
}

int list(const RegistryArguments& a, const Registry& all) {
  const std::vector<std::string> names =
      a.words.empty() ? all.names() : std::vector<std::string>{a.words[0]};
  Table table({"name", ">version", "tags", "pinned", ">bytes", "added", "note"});
  nlohmann::json json = nlohmann::json::array();
  for (const std::string& name : names)
    for (const Version& v : all.versions(name)) {
      json.push_back(json_of(all, name, v));
      table.row({name, std::to_string(v.number), tag_list(v.tags), v.pinned ? "yes" : "",
                 v.fault.empty() ? grouped(v.record.bytes) : "", v.record.added,
                 one_line(v.fault.empty() ? v.record.note : v.fault)});
    }
  if (a.json)
    print_json(json);
  else if (table.empty())
    printf("no versions\n");
  else
    printf("%s", table.text("").c_str());
  return 0;
}

/// Side by side: what versions say of themselves, a row a fact.
int show(const RegistryArguments& a, const Registry& all) {
  std::vector<std::pair<std::string, Version>> shown;
  for (const std::string& word : a.words) {
    if (word.find('@') == std::string::npos) {
      for (const Version& version : all.versions(word)) shown.emplace_back(word, version);
    } else {
      const Reference what = registry::parse_reference(word);
      shown.emplace_back(what.name, all.find(what));
    }
  }
  if (a.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const auto& [name, version] : shown) json.push_back(json_of(all, name, version));
    print_json(json);
    return 0;
  }
  std::vector<std::string> headings = {""};
  for (const auto& [name, version] : shown)
    headings.push_back(name + "@" + std::to_string(version.number));
  Table table(headings);
  const auto row = [&](const std::string& heading, auto value) {
    std::vector<std::string> cells = {heading};
    bool any = false;
    for (const auto& [name, version] : shown) {
      cells.push_back(one_line(value(version)));
      any = any || !cells.back().empty();
    }
    if (any) table.row(cells);
  };
  row("tags", [](const Version& v) { return tag_list(v.tags); });
  row("pinned", [](const Version& v) { return std::string(v.pinned ? "yes" : ""); });
  row("fault", [](const Version& v) { return v.fault; });
  row("bytes",
      [](const Version& v) { return v.fault.empty() ? grouped(v.record.bytes) : std::string(); });
  row("sha256", [](const Version& v) { return v.record.sha256.substr(0, 16); });
  row("added", [](const Version& v) { return v.record.added; });
  row("from", [](const Version& v) { return v.record.file; });
  row("note", [](const Version& v) { return v.record.note; });
  std::map<std::string, bool> facts, metrics;
  for (const auto& [name, version] : shown) {
    for (const auto& fact : version.record.source) facts[fact.first] = true;
    for (const auto& metric : version.record.metrics) metrics[metric.first] = true;
  }
  for (const auto& [fact, is] : facts)
    row(fact, [&key = fact](const Version& v) {
      for (const auto& [name, value] : v.record.source)
        if (name == key) return name == "source sha256" ? value.substr(0, 16) : value;
      return std::string();
    });
  for (const auto& [metric, is] : metrics)
    row("metric " + metric, [&key = metric](const Version& v) {
      const auto found = v.record.metrics.find(key);
      return found == v.record.metrics.end() ? std::string() : found->second;
    });
  printf("%s", table.text("").c_str());
  return 0;
}

int tag(const RegistryArguments& a, Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  const uint64_t number = all.find(what).number,
                 before = all.set_tag(what.name, a.words[1], number);
  summary("%s@%s: version %llu%s\n", what.name.c_str(), a.words[1].c_str(),
          static_cast<unsigned long long>(number),
          before == 0        ? ""
          : before == number ? ", as before"
                             : (", was " + std::to_string(before)).c_str());
  return 0;
}

int untag(const RegistryArguments& a, Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  if (what.tag.empty()) fail(Exit::kUsage, a.words[0] + ": expected NAME@TAG");
  all.remove_tag(what.name, what.tag);
  summary("%s: tag removed; the version stays\n", said(what).c_str());
  return 0;
}

int promote(const RegistryArguments& a, Registry& all) {
  const Reference from = registry::parse_reference(a.words[0]);
  if (from.tag.empty())
    fail(Exit::kUsage, a.words[0] +
                           ": expected NAME@TAG, as digits@canary; a version by its "
                           "number is tagged with: ingot registry tag");
  return tag(a, all);
}

int rollback(const RegistryArguments& a, Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  if (what.tag.empty()) fail(Exit::kUsage, a.words[0] + ": expected NAME@TAG, as digits@prod");
  const uint64_t was = all.find(what).number, number = all.roll_back(what.name, what.tag);
  summary("%s: back to version %llu, was %llu\n", said(what).c_str(),
          static_cast<unsigned long long>(number), static_cast<unsigned long long>(was));
  return 0;
}

int pin(const RegistryArguments& a, Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  const uint64_t number = all.find(what).number;
  all.pin(what.name, number, a.action == "pin");
  summary("%s@%llu: %s\n", what.name.c_str(), static_cast<unsigned long long>(number),
          a.action == "pin" ? "pinned; it is not removed" : "no longer pinned");
  return 0;
}

int remove(const RegistryArguments& a, Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  if (what.version == 0)
    fail(Exit::kUsage,
         a.words[0] + ": expected NAME@VERSION; a tag goes with: ingot registry untag");
  all.remove(what.name, what.version);
  summary("%s: removed\n", said(what).c_str());
  return 0;
}

int path(const RegistryArguments& a, const Registry& all) {
  const Reference what = registry::parse_reference(a.words[0]);
  printf("%s\n", all.path_of(what.name, all.find(what).number).c_str());
  return 0;
}

int verify(const RegistryArguments&, const Registry& all) {
  const std::vector<std::string> faults = all.faults(), left = all.left_over();
  if (!faults.empty()) {
    std::string text = faults[0];
    if (faults.size() > 1) text += "; and " + std::to_string(faults.size() - 1) + " more faults:";
    for (size_t i = 1; i < faults.size(); i++) printf("%s\n", faults[i].c_str());
    fail(Exit::kCorrupt, text);
  }
  size_t versions = 0;
  for (const std::string& name : all.names()) versions += all.versions(name).size();
  summary("%zu versions of %zu models: every byte as it was added%s\n", versions,
          all.names().size(),
          left.empty() ? "" : "; a change that was ended left files, which the next one removes");
  return 0;
}

struct RegistryAction {
  const char* name;
  size_t least, most;  // words behind it
  const char* words;
  const char* summary;
  int (*run)(const RegistryArguments&, Registry&);
};

const RegistryAction kActions[] = {
    {"add", 2, 2, "FILE NAME", "the next version of a model; the file is checked first", add},
    {"list", 0, 1, "[NAME]", "models, versions, tags",
     [](const RegistryArguments& a, Registry& all) { return list(a, all); }},
    {"show", 1, 64, "NAME|NAME@TAG...", "sources and metrics of versions side by side",
     [](const RegistryArguments& a, Registry& all) { return show(a, all); }},
    {"path", 1, 1, "NAME@TAG", "the file, for a script",
     [](const RegistryArguments& a, Registry& all) { return path(a, all); }},
    {"tag", 2, 2, "NAME@VERSION TAG", "point a tag to a version", tag},
    {"untag", 1, 1, "NAME@TAG", "remove a tag", untag},
    {"promote", 2, 2, "NAME@TAG TAG", "point the second tag to what the first means", promote},
    {"rollback", 1, 1, "NAME@TAG", "point a tag to the version before", rollback},
    {"pin", 1, 1, "NAME@VERSION", "keep a version from being removed", pin},
    {"unpin", 1, 1, "NAME@VERSION", "the opposite", pin},
    {"remove", 1, 1, "NAME@VERSION", "remove a version that nothing refers to", remove},
    {"verify", 0, 0, "", "compare every byte with the records",
     [](const RegistryArguments& a, Registry& all) { return verify(a, all); }},
};

int act(const RegistryArguments& a) {
  std::vector<std::string> names;
  for (const RegistryAction& action : kActions) {
    names.emplace_back(action.name);
    if (a.action != action.name) continue;
    if (a.words.size() < action.least || a.words.size() > action.most)
      fail(Exit::kUsage, "registry: expected: ingot registry " + a.action + " " + action.words);
    if (a.action != "add" && !(a.tags.empty() && a.metrics.empty() && a.note.empty()))
      fail(Exit::kUsage, "registry " + a.action + ": --tag, --metric and --note are for add");
    Registry all(root_of(a));
    return action.run(a, all);
  }
  const std::string near = host::nearest(a.action, names);
  fail(Exit::kUsage,
       "registry: action '" + a.action + "' is unknown; " +
           (near.empty() ? "see: ingot registry --help" : "did you mean '" + near + "'?"));
}

}  // namespace

void add_registry(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<RegistryArguments>();
  std::string actions;
  for (const RegistryAction& action : kActions) {
    std::string words = std::string(action.name) + " " + action.words;
    words.resize(std::max<size_t>(words.size(), 26), ' ');
    actions += "  " + words + " " + action.summary + "\n";
  }
  CLI::App* command = add_command(
      app, chosen, "registry", "Keep versions of models in a folder, under tags that move",
      "  export INGOT_REGISTRY=/srv/models\n"
      "  ingot registry add digits.ingot digits --tag canary --metric accuracy=98.7\n"
      "  ingot registry promote digits@canary prod\n"
      "  ingot run registry:digits@prod --inputs in.npz --outputs out.npz\n"
      "  ingot registry rollback digits@prod\n\nActions:\n" +
          actions,
      [a] { return act(*a); });
  command->add_option("ACTION", a->action, "see below")->required()->type_name("");
  command->add_option("WORDS", a->words, "what the action takes")->type_name("");
  command->add_option("--root", a->root, "the registry's folder; else INGOT_REGISTRY")
      ->type_name("FOLDER");
  command->add_option("--tag", a->tags, "of add: tag of the new version (repeatable)")
      ->allow_extra_args(false)
      ->type_name("TAG");
  command->add_option("--metric", a->metrics, "of add: a figure that is kept beside it")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_option("--note", a->note, "of add: a line for people")->type_name("TEXT");
  command->add_flag("--json", a->json, "of list and show: for a script");
}

}  // namespace ingot::cli
