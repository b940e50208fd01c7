// SPDX-License-Identifier: Apache-2.0
// tools/registry/registry.cpp - reading a registry; change.cpp makes changes visible.
#include "tools/registry/registry.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/files/failure.h"
#include "tools/files/suggest.h"
#include "tools/registry/change.h"

namespace ingot::registry {

using host::Exit;
using host::fail;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxName = 100;

/// Letters, digits, '-', '_' and '.', and no dot first: a name is a folder's.
bool is_plain(const std::string& text) {
  if (text.empty() || text.size() > kMaxName || text[0] == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

/// 0: no number of a version.
uint64_t version_number(const std::string& text) {
  if (text.empty() || text.size() > 9 || text[0] == '0') return 0;
  uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + uint64_t(c - '0');
  }
  return number;
}

std::string shortened(const std::string& text) {
  return text.size() <= kMaxName ? text : text.substr(0, kMaxName) + "...";
}

void require_name(const std::string& name) {
  if (!is_plain(name) || name == "tags" || name == "pins")
    fail(Exit::kUsage, "model name '" + shortened(name) +
                           "': expected at most 100 letters, digits, '-', '_' or '.', and no dot "
                           "first");
}

void require_tag(const std::string& tag) {
  if (!is_plain(tag) || (tag[0] >= '0' && tag[0] <= '9'))
    fail(Exit::kUsage, "tag '" + shortened(tag) +
                           "': expected at most 100 letters, digits, '-', '_' or '.', and a letter "
                           "first, as prod");
}

std::vector<std::string> sorted_entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// 0 where the link is not there or is no link to a version.
uint64_t target_of(const std::string& link) {
  std::error_code error;
  const std::string to = fs::read_symlink(link, error).string();
  return error || to.rfind("../", 0) != 0 ? 0 : version_number(to.substr(3));
}

Record read_record(const std::string& path) {
  const nlohmann::json json =
      nlohmann::json::parse(read_small_file(path), nullptr, /*allow_exceptions=*/false);
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                       : std::string();
  };
  Record record;
  if (json.is_object() && json.contains("bytes") && json["bytes"].is_number_unsigned())
    record.bytes = json["bytes"].get<uint64_t>();
  if (!json.is_object() || text("sha256").size() != 64 || record.bytes == 0)
    fail(Exit::kCorrupt, path + ": expected the record of a version, with sha256 and bytes");
  record.sha256 = text("sha256"), record.added = text("added"), record.file = text("file");
  record.note = text("note");
  if (json.contains("parts") && json["parts"].is_array())
    for (const nlohmann::json& entry : json["parts"]) {
      Part part;
      const std::pair<const char*, uint64_t*> numbers[] = {{"offset", &part.offset},
                                                           {"bytes", &part.bytes}};
      for (const auto& [key, number] : numbers)
        if (entry.is_object() && entry.contains(key) && entry[key].is_number_unsigned())
          *number = entry[key].get<uint64_t>();
      if (entry.is_object() && entry.contains("sha256") && entry["sha256"].is_string())
        part.sha256 = entry["sha256"].get<std::string>();
      if (part.offset <= record.bytes && part.bytes <= record.bytes - part.offset)
        record.parts.push_back(std::move(part));
    }
  for (const char* list : {"source", "metrics"}) {
    if (!json.contains(list) || !json[list].is_object()) continue;
    for (const auto& [key, value] : json[list].items()) {
      if (!value.is_string()) continue;
      if (list[0] == 's')
        record.source.emplace_back(key, value.get<std::string>());
      else
        record.metrics[key] = value.get<std::string>();
    }
  }
  return record;
}

std::string record_text(const Record& record) {
  nlohmann::json json = {{"sha256", record.sha256},  {"bytes", record.bytes},
                         {"added", record.added},    {"file", record.file},
                         {"note", record.note},      {"source", nlohmann::json::object()},
                         {"metrics", record.metrics}};
  for (const auto& [key, value] : record.source) json["source"][key] = value;
  for (const Part& part : record.parts)
    json["parts"].push_back(
        {{"sha256", part.sha256}, {"offset", part.offset}, {"bytes", part.bytes}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

constexpr uint64_t kMaxVersion = 999999999;

struct Done {
  std::string what, tag;
  uint64_t version = 0, from = 0;
};

/// Lines that are whole and say what was done; others were never finished.
std::vector<Done> history_of(const std::string& folder) {
  std::vector<Done> lines;
  std::error_code error;
  if (!fs::exists(folder + "/history.jsonl", error)) return lines;
  const std::string text = read_small_file(folder + "/history.jsonl");
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const nlohmann::json line =
        nlohmann::json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    Done done;
    const std::pair<const char*, std::string*> words[] = {{"do", &done.what}, {"tag", &done.tag}};
    for (const auto& [key, word] : words)
      if (line.is_object() && line.contains(key) && line[key].is_string())
        *word = line[key].get<std::string>();
    const std::pair<const char*, uint64_t*> numbers[] = {{"version", &done.version},
                                                         {"from", &done.from}};
    for (const auto& [key, number] : numbers)
      if (line.is_object() && line.contains(key) && line[key].is_number_unsigned())
        *number = std::min(line[key].get<uint64_t>(), kMaxVersion);
    if (done.version != 0) lines.push_back(std::move(done));
  }
  return lines;
}

void require_record(const Version& version) {
  if (!version.fault.empty())
    fail(Exit::kCorrupt, version.fault +
                             "; add its file anew, and remove this version: ingot "
                             "registry remove");
}

}  // namespace

Reference parse_reference(const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos || at + 1 == text.size())
    fail(Exit::kUsage, "'" + text + "': expected NAME@TAG or NAME@VERSION, as digits@prod");
  Reference what;
  what.name = text.substr(0, at);
  require_name(what.name);
  const std::string which = text.substr(at + 1);
  what.version = version_number(which);
  if (what.version == 0) require_tag(which), what.tag = which;
  return what;
}

std::string path_of_reference(const std::string& text) {
  const char* const root = std::getenv("INGOT_REGISTRY");
  if (!root || !*root) fail(Exit::kUsage, text + ": the variable INGOT_REGISTRY names no folder");
  const Reference what = parse_reference(text.substr(text.find(':') + 1));
  const Registry all(root);
  return all.path_of(what.name, all.find(what).number);
}

std::vector<std::string> Registry::names() const {
  std::error_code error;
  if (!fs::is_directory(root_, error))
    fail(Exit::kUnavailable, root_ + ": no registry is there; ingot registry add makes one");
  std::vector<std::string> names;
  for (const std::string& name : sorted_entries(root_))
    if (is_plain(name) && fs::is_directory(root_ + "/" + name, error)) names.push_back(name);
  return names;
}

std::vector<Version> Registry::versions(const std::string& name) const {
  require_name(name);
  const std::string folder = root_ + "/" + name;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    const std::string near = host::nearest(name, names());  // refuses where no registry is
    fail(Exit::kMismatch, root_ + ": has no model '" + name + "'" +
                              (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  std::vector<Version> all;
  for (const std::string& entry : sorted_entries(folder)) {
    Version version;
    version.number = version_number(entry);
    if (version.number == 0) continue;
    try {
      version.record = read_record(folder + "/" + entry + "/record.json");
    } catch (const host::Failure& failure) {
      version.fault = failure.message();
    }
    version.pinned = fs::exists(folder + "/pins/" + entry, error);
    all.push_back(std::move(version));
  }
  std::sort(all.begin(), all.end(),
            [](const Version& a, const Version& b) { return a.number < b.number; });
  for (const std::string& tag : sorted_entries(folder + "/tags")) {
    const uint64_t number = target_of(folder + "/tags/" + tag);
    for (Version& version : all)
      if (version.number == number) version.tags.push_back(tag);
  }
  return all;
}

std::string Registry::path_of(const std::string& name, uint64_t version) const {
  return root_ + "/" + name + "/" + std::to_string(version) + "/model.ingot";
}

Version Registry::find(const Reference& what) const {
  const std::vector<Version> all = versions(what.name);
  std::vector<std::string> tags;
  for (const Version& version : all) {
    if (what.version && version.number == what.version) return version;
    for (const std::string& tag : version.tags)
      if (what.tag == tag) return version;
    tags.insert(tags.end(), version.tags.begin(), version.tags.end());
  }
  if (what.version)
    fail(Exit::kMismatch, what.name + ": has no version " + std::to_string(what.version) +
                              "; see: ingot registry list " + what.name);
  std::string list;
  for (const std::string& tag : tags) list += (list.empty() ? "" : ", ") + tag;
  fail(Exit::kMismatch, what.name + ": tag '" + what.tag +
                            "' points to nothing; its tags: " + (list.empty() ? "none" : list));
}

/// Calls use(path, record) until it returns true. Records and files that cannot be read are passed
/// over: verify() names them, and another version is added all the same.
template <class Use>
void Registry::each_version(Use use) const {
  for (const std::string& name : names()) {
    std::vector<Version> all;
    try {
      all = versions(name);
    } catch (const host::Failure&) {
    }
    for (const Version& version : all) try {
        if (version.fault.empty() && use(path_of(name, version.number), version.record)) return;
      } catch (const host::Failure&) {
      }
  }
}

/// Lets `copy` have the blocks of versions that records say have the same bytes. The bytes
/// themselves are compared before: a record is only where to look. @return how many are shared
uint64_t Registry::share(Change& change, const Record& record, const std::string& copy) const {
  uint64_t shared = 0;
  each_version([&](const std::string& path, const Record& other) {
    if (other.sha256 == record.sha256 && change.share(path, record.sha256, copy))
      shared = record.bytes;
    return shared != 0;
  });
  if (shared != 0) return shared;
  std::map<std::string, const Part*> wanted;
  for (const Part& part : record.parts) wanted[part.sha256] = &part;
  each_version([&](const std::string& path, const Record& other) {
    for (const Part& theirs : other.parts) {
      const auto found = wanted.find(theirs.sha256);
      if (found == wanted.end() || found->second->bytes != theirs.bytes) continue;
      const Part& ours = *found->second;
      const uint64_t bytes =
          change.share_blocks(path, theirs.offset, copy, ours.offset, ours.bytes);
      shared += bytes;
      if (bytes != 0) wanted.erase(found);
    }
    return wanted.empty();
  });
  return shared;
}

uint64_t Registry::add(const std::string& name, const std::string& file, Record record,
                       const std::vector<std::string>& tags, uint64_t* shared) {
  require_name(name);
  for (const std::string& tag : tags) require_tag(tag);
  Change change(root_, name, true);
  uint64_t next = 1;
  for (const std::string& entry : sorted_entries(change.folder()))
    next = std::max(next, version_number(entry) + 1);
  for (const Done& done : history_of(change.folder())) next = std::max(next, done.version + 1);
  if (next > kMaxVersion)
    fail(Exit::kMismatch, change.folder() + ": has no number left for a version");
  const std::string made = change.make_folder("version");
  record.added = change.time();
  if (record.file.empty()) record.file = file;
  change.copy(file, made + "/model.ingot", &record);
  *shared = share(change, record, made + "/model.ingot");
  change.write(made + "/record.json", record_text(record));
  change.note({{"do", "add"}, {"version", next}});
  change.publish(made, std::to_string(next));
  for (const std::string& tag : tags) change.tag(tag, next);
  return next;
}

uint64_t Registry::set_tag(const std::string& name, const std::string& tag, uint64_t version) {
  require_tag(tag);
  versions(name);  // says what is missing before anything is made
  Change change(root_, name);
  require_record(find({name, "", version}));
  const uint64_t before = target_of(change.folder() + "/tags/" + tag);
  if (before != version) change.tag(tag, version);
  return before;
}

void Registry::remove_tag(const std::string& name, const std::string& tag) {
  versions(name);  // says what is missing before anything is made
  Change change(root_, name);
  const Version version = find({name, tag, 0});
  change.note({{"do", "untag"}, {"tag", tag}, {"version", version.number}});
  change.remove("tags/" + tag);
}

uint64_t Registry::roll_back(const std::string& name, const std::string& tag) {
  versions(name);  // says what is missing before anything is made
  Change change(root_, name);
  const uint64_t now = find({name, tag, 0}).number;
  // The last line that led here says from where. A line whose change was not made led elsewhere.
  // What a rollback itself did is passed over, so that two of them go back two versions.
  uint64_t before = 0;
  for (const Done& done : history_of(change.folder()))
    if (done.what == "tag" && done.tag == tag && done.version == now && done.from != 0)
      before = done.from;
  if (before == 0)
    fail(Exit::kMismatch, name + ": tag '" + tag + "' points to version " + std::to_string(now) +
                              ", and no version before that is known; nothing to go back to");
  require_record(find({name, "", before}));
  change.tag(tag, before, "rollback");
  return before;
}

void Registry::pin(const std::string& name, uint64_t version, bool pinned) {
  versions(name);  // says what is missing before anything is made
  Change change(root_, name);
  const bool is = find({name, "", version}).pinned;
  const std::string pin = "pins/" + std::to_string(version);
  if (pinned && !is) change.write(change.subfolder("pins") + "/" + std::to_string(version), "");
  if (!pinned && is) change.remove(pin);
}

void Registry::remove(const std::string& name, uint64_t version) {
  versions(name);  // says what is missing before anything is made
  Change change(root_, name);
  const Version found = find({name, "", version});
  std::string held;
  for (const std::string& tag : found.tags) held += (held.empty() ? "tag " : ", tag ") + tag;
  if (found.pinned) held += held.empty() ? "a pin" : ", a pin";
  if (!held.empty())
    fail(Exit::kMismatch, name + ": version " + std::to_string(version) +
                              " is still referred to by " + held +
                              "; move the tag or unpin it first");
  change.note({{"do", "remove"}, {"version", version}});
  change.remove(std::to_string(version));
}

std::vector<std::string> Registry::faults() const {
  std::vector<std::string> all;
  for (const std::string& name : names()) {
    const std::string folder = root_ + "/" + name;
    for (const std::string& entry : sorted_entries(folder)) {
      if (version_number(entry) == 0) continue;
      const std::string at = folder + "/" + entry;
      try {
        const Record record = read_record(at + "/record.json");
        uint64_t bytes = 0;
        const std::string sha256 = sha256_of_file(at + "/model.ingot", &bytes);
        if (bytes != record.bytes || sha256 != record.sha256)
          all.push_back(at + "/model.ingot: expected " + std::to_string(record.bytes) +
                        " bytes with sha256 " + record.sha256 + ", found " + std::to_string(bytes) +
                        " with " + sha256);
      } catch (const host::Failure& failure) {
        all.push_back(failure.message());
      }
    }
    for (const std::string& tag : sorted_entries(folder + "/tags")) {
      const uint64_t number = target_of(folder + "/tags/" + tag);
      std::error_code error;
      if (number == 0 || !fs::is_regular_file(path_of(name, number), error))
        all.push_back(folder + "/tags/" + tag + ": points to no version");
    }
    for (const std::string& pin : sorted_entries(folder + "/pins")) {
      std::error_code error;
      if (!fs::is_regular_file(folder + "/" + pin + "/model.ingot", error))
        all.push_back(folder + "/pins/" + pin + ": pins no version");
    }
  }
  return all;
}

std::vector<std::string> Registry::left_over() const { return sorted_entries(root_ + "/.changes"); }

}  // namespace ingot::registry
