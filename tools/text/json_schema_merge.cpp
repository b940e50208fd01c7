// SPDX-License-Identifier: Apache-2.0
#include "tools/text/json_schema_merge.h"

#include <algorithm>
#include <set>

#include "tools/files/failure.h"

namespace ingot::grammar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxMerges = 10000, kMaxMergeDepth = 64;

struct Keyword {
  const char* name;
  const char* type;  // that it speaks of; "": any; null: an annotation
};
constexpr Keyword kKeywords[] = {
    {"type", ""},
    {"enum", ""},
    {"const", ""},
    {"anyOf", ""},
    {"oneOf", ""},
    {"allOf", ""},
    {"$ref", ""},
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
    {"$defs", nullptr},
    {"definitions", nullptr},
    {"$schema", nullptr},
    {"$id", nullptr},
    {"$comment", nullptr},
    {"title", nullptr},
    {"description", nullptr},
    {"default", nullptr},
    {"examples", nullptr},
    {"deprecated", nullptr},
    {"readOnly", nullptr},
    {"writeOnly", nullptr},
};

const Keyword* find_keyword(const std::string& key) {
  for (const Keyword& k : kKeywords)
    if (key == k.name) return &k;
  return nullptr;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded_pointer(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                           hex_digit(text[i + 2]) >= 0;
    if (is_escape) {
      out += char(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void SchemaMerge::refuse(const std::string& path, const std::string& what) const {
  host::fail(host::Exit::kMismatch, where_ + ": " + path + ": " + what);
}
void SchemaMerge::unsupported(const std::string& path, const std::string& what) const {
  host::fail(host::Exit::kUnsupported, where_ + ": " + path + ": " + what + " is not supported");
}

void SchemaMerge::check_keywords(const Json& schema, const std::string& path) const {
  for (const auto& [key, value] : schema.items()) {
    if (find_keyword(key)) continue;
    if (key == "uniqueItems" && value.is_boolean() && !value.get<bool>()) continue;
    unsupported(path + "/" + escaped(key), "'" + key + "'");
  }
}

bool SchemaMerge::is_annotation(const std::string& key) {
  const Keyword* const k = find_keyword(key);
  return !k || !k->type;  // what is not known was refused before, or says nothing
}

bool SchemaMerge::is_alone(const Json& schema, const char* key) {
  for (const auto& [name, value] : schema.items())
    if (name != key && !is_annotation(name)) return false;
  return true;
}

std::string SchemaMerge::escaped(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

const Json& SchemaMerge::at_pointer(const std::string& pointer, const std::string& path) const {
  if (pointer.empty() || pointer[0] != '#')
    unsupported(path + "/$ref", "'" + pointer + "', which is outside of the schema,");
  const Json* at = &root_;
  const std::string text = decoded_pointer(pointer.substr(1));
  for (size_t begin = 0; begin < text.size();) {
    if (text[begin] != '/') unsupported(path + "/$ref", "'" + pointer + "'");
    const size_t end = std::min(text.find('/', begin + 1), text.size());
    std::string name;
    for (size_t i = begin + 1; i < end; i++) {
      const bool is_escape = text[i] == '~' && i + 1 < end;
      name += !is_escape ? text[i] : text[i + 1] == '1' ? '/' : '~';
      i += is_escape;
    }
    const bool is_index = at->is_array() && !name.empty() && name.size() < 7 &&
                          name.find_first_not_of("0123456789") == std::string::npos;
    const Json* next = nullptr;
    if (is_index && size_t(std::stoul(name)) < at->size()) next = &(*at)[std::stoul(name)];
    if (at->is_object() && at->contains(name)) next = &(*at)[name];
    if (!next) refuse(path + "/$ref", "there is no '" + pointer + "'");
    at = next;
    begin = end;
  }
  return *at;
}

const Json& SchemaMerge::resolve(const Json& schema, const std::string& path,
                                 std::string* target) const {
  const Json* at = &schema;
  std::set<std::string> seen;
  while (at->is_object() && at->contains("$ref") && is_alone(*at, "$ref")) {
    const Json& pointer = (*at)["$ref"];
    if (!pointer.is_string()) refuse(path + "/$ref", "expected a text");
    *target = pointer.get<std::string>();
    if (!seen.insert(*target).second)
      refuse(path + "/$ref", "'" + *target + "' leads back to itself");
    at = &at_pointer(*target, path);
  }
  return *at;
}

Json SchemaMerge::flattened(const Json& schema, const std::string& path) {
  if (!schema.is_object()) return schema;
  check_keywords(schema, path);
  if (++merges_ > kMaxMerges || depth_ >= kMaxMergeDepth)
    unsupported(path, "so long a chain of 'allOf' and '$ref'");
  depth_++;
  Json all = schema;
  if (schema.contains("$ref")) {
    all.erase("$ref");
    std::string target;
    Json other = Json::object();
    other["$ref"] = schema["$ref"];
    all = merged(std::move(all), flattened(resolve(other, path, &target), target), path);
  }
  if (schema.contains("allOf")) {
    const Json& list = schema["allOf"];
    if (!list.is_array()) refuse(path + "/allOf", "expected a list of schemas");
    if (all.is_object()) all.erase("allOf");
    for (size_t i = 0; i < list.size(); i++) {
      const std::string place = path + "/allOf/" + std::to_string(i);
      all = merged(std::move(all), flattened(list[i], place), place);
    }
  }
  depth_--;
  return all;
}

/// What a part says of all that it does not name is not a keyword's, but of both parts.
void SchemaMerge::refuse_rests(const Json& a, const Json& b, const std::string& path) const {
  if (a.contains("prefixItems") && (b.contains("items") || b.contains("prefixItems")))
    unsupported(path, "'prefixItems' beside items of another part");
  if (!a.contains("additionalProperties") || a["additionalProperties"] == true) return;
  const Json none = Json::object();
  const Json& named = a.contains("properties") ? a["properties"] : none;
  for (const char* key : {"properties", "required"}) {
    if (!b.contains(key)) continue;
    for (const auto& [name, value] : b[key].items())
      if (!named.contains(b[key].is_array() && value.is_string() ? value.get<std::string>() : name))
        unsupported(path, "'additionalProperties' beside properties of another part");
  }
}

/// What satisfies both.
Json SchemaMerge::merged(Json a, const Json& b, const std::string& path) {
  if (++merges_ > kMaxMerges) unsupported(path, "so long a chain of 'allOf' and '$ref'");
  if (b.is_boolean()) return b.get<bool>() ? a : b;
  if (a.is_boolean()) return a.get<bool>() ? b : a;
  if (!a.is_object() || !b.is_object()) refuse(path, "expected a schema, an object");
  refuse_rests(a, b, path);
  refuse_rests(b, a, path);
  for (const auto& [key, value] : b.items()) {
    if (is_annotation(key)) continue;
    if (!a.contains(key) || a[key] == value) {
      a[key] = value;
    } else if (key == "type") {
      const auto of_a = listed_types(a[key], path), of_b = listed_types(value, path);
      const auto has = [](const std::vector<std::string>& list, const char* type) {
        return std::find(list.begin(), list.end(), type) != list.end();
      };
      Json both = Json::array();
      for (const char* type :
           {"object", "array", "string", "number", "integer", "boolean", "null"}) {
        const bool is_whole = std::string(type) == "integer";
        const bool in_a = has(of_a, type) || (is_whole && has(of_a, "number"));
        const bool in_b = has(of_b, type) || (is_whole && has(of_b, "number"));
        if (in_a && in_b) both.push_back(type);
      }
      if (both.empty()) return false;
      a[key] = both;
    } else if (key == "properties" && a[key].is_object() && value.is_object()) {
      for (const auto& [name, property] : value.items()) {
        if (!a[key].contains(name) || a[key][name] == property) {
          a[key][name] = property;
          continue;
        }
        const Json both = Json::array({a[key][name], property});
        a[key][name] = {{"allOf", both}};
      }
    } else if (key == "required" && a[key].is_array() && value.is_array()) {
      for (const Json& name : value)
        if (std::find(a[key].begin(), a[key].end(), name) == a[key].end()) a[key].push_back(name);
    } else if (key == "enum" && a[key].is_array() && value.is_array()) {
      Json both = Json::array();
      for (const Json& one : a[key])
        if (std::find(value.begin(), value.end(), one) != value.end()) both.push_back(one);
      a[key] = both;
    } else if (a[key].is_number() && value.is_number()) {
      const bool is_low = key.compare(0, 3, "min") == 0 || key == "exclusiveMinimum";
      if (is_low == (value.get<double>() > a[key].get<double>())) a[key] = value;
    } else {
      unsupported(path + "/" + key, "'" + key + "' twice, each another,");
    }
  }
  return a;
}

std::vector<std::string> SchemaMerge::listed_types(const Json& type,
                                                   const std::string& path) const {
  std::vector<std::string> types;
  const Json list = type.is_array() ? type : Json::array({type});
  for (const Json& one : list) {
    static const std::set<std::string> kKnown = {"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};
    if (!one.is_string() || !kKnown.count(one.get<std::string>()))
      refuse(path + "/type", "there is no type " + one.dump());
    types.push_back(one.get<std::string>());
  }
  return types;
}

std::vector<std::string> SchemaMerge::types_of(const Json& schema, const std::string& path) const {
  if (schema.contains("type")) {
    std::vector<std::string> types = listed_types(schema["type"], path);
    if (types.empty()) refuse(path + "/type", "expected a type");
    return types;
  }
  std::vector<std::string> types;
  for (const auto& [key, value] : schema.items()) {
    const Keyword* const k = find_keyword(key);
    if (!k || !k->type || !*k->type) continue;
    if (std::find(types.begin(), types.end(), k->type) == types.end()) types.push_back(k->type);
  }
  return types;
}

bool SchemaMerge::has_type(const Json& value, const Json& type, const std::string& path) const {
  for (const std::string& one : listed_types(type, path)) {
    const bool is_it = one == "object"    ? value.is_object()
                       : one == "array"   ? value.is_array()
                       : one == "string"  ? value.is_string()
                       : one == "number"  ? value.is_number()
                       : one == "integer" ? value.is_number_integer()
                       : one == "boolean" ? value.is_boolean()
                                          : value.is_null();
    if (is_it) return true;
  }
  return false;
}

}  // namespace ingot::grammar
