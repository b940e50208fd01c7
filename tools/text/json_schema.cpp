// SPDX-License-Identifier: Apache-2.0
#include "tools/text/json_schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/text/unicode.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/text/json_pattern.h"
#include "tools/text/json_pieces.h"
#include "tools/text/json_schema_merge.h"

namespace ingot::grammar {
namespace {

using Json = nlohmann::ordered_json;
using host::Exit;

constexpr int kMaxSchemas = 100000, kMaxNested = 100;
constexpr uint32_t kMaxLength = 1u << 20;
constexpr size_t kMaxOtherName = 200;  // bytes

class SchemaReader {
 public:
  SchemaReader(const Json& root, Grammar* grammar)
      : root_(root), g_(*grammar), pieces_(grammar), merge_(root, grammar->where()) {}

  uint32_t read() { return rule_of(root_, "#"); }

 private:
  [[noreturn]] void refuse(const std::string& path, const std::string& what) const {
    host::fail(Exit::kMismatch, g_.where() + ": " + path + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& path, const std::string& what) const {
    host::fail(Exit::kUnsupported, g_.where() + ": " + path + ": " + what + " is not supported");
  }

  /// The rule of a schema at a place of the document, which may lead back to itself.
  uint32_t rule_of(const Json& schema, const std::string& path) {
    const auto [at, is_new] = rules_.try_emplace(path, 0);
    if (!is_new) return at->second;
    const uint32_t rule = at->second = g_.add_rule(path, true);
    g_.define(rule, read(schema, path));
    return rule;
  }

  ExprId read(const Json& schema, const std::string& path) {
    if (++count_ > kMaxSchemas || depth_ >= kMaxNested)
      host::fail(
          Exit::kUnsupported,
          g_.where() + ": " + path + ": " +
              (depth_ >= kMaxNested ? "schemas nest deeper than " + std::to_string(kMaxNested)
                                    : "more than " + std::to_string(kMaxSchemas) + " schemas"));
    depth_++;
    const ExprId made = read_inside(schema, path);
    depth_--;
    return made;
  }

  ExprId read_inside(const Json& schema, const std::string& path) {
    if (schema.is_boolean()) return schema.get<bool>() ? pieces_.value() : g_.choice({});
    if (!schema.is_object()) refuse(path, "expected a schema, an object");
    merge_.check_keywords(schema, path);
    if (schema.contains("$ref") && merge_.is_alone(schema, "$ref")) {
      std::string target;
      const Json& other = merge_.resolve(schema, path, &target);
      return g_.call(rule_of(other, target));
    }
    if (schema.contains("$ref") || schema.contains("allOf"))
      return read(merge_.flattened(schema, path), path + "/allOf");
    for (const char* key : {"anyOf", "oneOf"})
      if (schema.contains(key)) return read_any(schema, key, path);
    if (schema.contains("const") || schema.contains("enum")) return read_values(schema, path);
    return read_types(schema, path);
  }

  ExprId read_any(const Json& schema, const char* key, const std::string& path) {
    const Json& list = schema[key];
    const std::string where = path + "/" + key;
    if (!list.is_array() || list.empty()) refuse(where, "expected a list of schemas");
    if (schema.contains("anyOf") && schema.contains("oneOf"))
      unsupported(path, "'anyOf' beside 'oneOf'");
    std::vector<ExprId> parts;
    for (size_t i = 0; i < list.size(); i++) {
      const std::string place = where + "/" + std::to_string(i);
      if (merge_.is_alone(schema, key)) {
        parts.push_back(read(list[i], place));
        continue;
      }
      Json rest = schema;
      rest.erase(key);
      rest["allOf"] = Json::array({list[i]});
      parts.push_back(read(rest, place));
    }
    return g_.choice(std::move(parts));
  }

  /// Values that the other keywords of type allow.
  ExprId read_values(const Json& schema, const std::string& path) {
    const bool has_both = schema.contains("const") && schema.contains("enum");
    Json values = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (!values.is_array()) refuse(path + "/enum", "expected a list of values");
    for (const auto& [key, value] : schema.items())
      if (key != "const" && key != "enum" && key != "type" && !merge_.is_annotation(key))
        unsupported(path + "/" + key, "'" + key + "' beside values");
    std::vector<ExprId> parts;
    for (const Json& value : values) {
      if (has_both && value != schema["const"]) continue;
      if (schema.contains("type") && !merge_.has_type(value, schema["type"], path)) continue;
      parts.push_back(g_.bytes(value.dump()));
    }
    return g_.choice(std::move(parts));
  }

  ExprId read_types(const Json& schema, const std::string& path) {
    std::vector<std::string> types = merge_.types_of(schema, path);
    if (types.empty()) return pieces_.value();
    std::vector<ExprId> parts;
    for (const std::string& type : types) {
      if (type == "object") parts.push_back(read_object(schema, path));
      if (type == "array") parts.push_back(read_array(schema, path));
      if (type == "string") parts.push_back(read_string(schema, path));
      if (type == "integer") parts.push_back(read_integer(schema, path));
      if (type == "number") parts.push_back(read_number(schema, path));
      if (type == "boolean") parts.push_back(pieces_.boolean());
      if (type == "null") parts.push_back(g_.bytes("null"));
    }
    return g_.choice(std::move(parts));
  }

  /// A part with brackets of its own is a rule: it is written once.
  ExprId part_of(const Json& schema, const std::string& path) {
    const bool is_small =
        schema.is_boolean() ||
        (schema.is_object() && schema.contains("type") && schema["type"].is_string() &&
         schema["type"] != "object" && schema["type"] != "array");
    return is_small ? read(schema, path) : g_.call(rule_of(schema, path));
  }

  uint32_t count_of(const Json& schema, const char* key, const std::string& path,
                    uint32_t standard) {
    const auto found = schema.find(key);
    if (found == schema.end()) return standard;
    const double number = found->is_number() ? found->get<double>() : -1;
    if (!(number >= 0) || number != std::floor(number))
      refuse(path + "/" + key, "expected a whole number from 0");
    if (number > kMaxLength)
      unsupported(path + "/" + key, "more than " + std::to_string(kMaxLength));
    return uint32_t(number);
  }

  ExprId read_object(const Json& schema, const std::string& path) {
    const Json none = Json::object();
    const Json& properties = schema.contains("properties") ? schema["properties"] : none;
    if (!properties.is_object()) refuse(path + "/properties", "expected an object of schemas");
    std::set<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) refuse(path + "/required", "expected a list of names");
      for (const Json& name : schema["required"]) {
        if (!name.is_string()) refuse(path + "/required", "expected a list of names");
        required.insert(name.get<std::string>());
      }
    }
    const auto found = schema.find("additionalProperties");
    const Json open = found != schema.end() ? *found : Json(properties.empty());
    Expr members;
    std::vector<std::string> names;
    const auto add = [&](const std::string& name, const Json& value, const std::string& place) {
      members.parts.push_back(
          g_.sequence({pieces_.name(g_.bytes(Json(name).dump())), part_of(value, place)}));
      members.required.push_back(required.count(name) > 0);
      names.push_back(name);
      required.erase(name);
    };
    for (const auto& [name, value] : properties.items())
      add(name, value, path + "/properties/" + merge_.escaped(name));
    const std::string place = path + "/additionalProperties";
    while (!required.empty()) {  // those that have no schema of their own
      const std::string name = *required.begin();
      add(name, found != schema.end() ? *found : Json(true), place);
    }
    members.has_extra = !(open.is_boolean() && !open.get<bool>());
    if (members.has_extra) {
      for (const std::string& name : names)
        if (name.size() > kMaxOtherName)
          unsupported(path, "others beside a property's name of more than " +
                                std::to_string(kMaxOtherName) + " bytes");
      members.extra = g_.sequence({pieces_.name(pieces_.other_name(names)), part_of(open, place)});
    }
    members.separator = pieces_.separator();
    members.behind = pieces_.space();
    return pieces_.braces(g_.members(std::move(members)));
  }

  ExprId read_array(const Json& schema, const std::string& path) {
    uint32_t least = count_of(schema, "minItems", path, 0);
    uint32_t most = count_of(schema, "maxItems", path, kUnbounded);
    const Json none = Json::array();
    const Json& prefix = schema.contains("prefixItems") ? schema["prefixItems"] : none;
    if (!prefix.is_array()) refuse(path + "/prefixItems", "expected a list of schemas");
    // Behind a prefix there is nothing, unless it is asked for.
    const bool is_open = schema.contains("items") || prefix.empty() || least > prefix.size();
    const Json items = schema.contains("items") ? schema["items"] : Json(true);
    const bool has_items = is_open && !(items.is_boolean() && !items.get<bool>());
    if (!has_items) most = std::min(most, uint32_t(prefix.size()));
    if (least > most) return g_.choice({});
    ExprId rest = g_.bytes("");
    const uint32_t fixed = std::min(uint32_t(prefix.size()), most);
    const ExprId item = has_items && most > fixed ? part_of(items, path + "/items") : 0;
    if (has_items && most > fixed && fixed > 0)
      rest = g_.repeat(g_.sequence({pieces_.separator(), item}), least > fixed ? least - fixed : 0,
                       most == kUnbounded ? kUnbounded : most - fixed);
    for (uint32_t i = fixed; i-- > 0;) {
      const ExprId one = part_of(prefix[i], path + "/prefixItems/" + std::to_string(i));
      rest = i ? g_.sequence({pieces_.separator(), one, rest})
               : g_.sequence({one, rest, pieces_.space()});
      if (i >= least) rest = g_.optional(rest);
    }
    if (fixed == 0 && most > 0) {
      const ExprId more = g_.repeat(g_.sequence({pieces_.separator(), item}), least ? least - 1 : 0,
                                    most == kUnbounded ? kUnbounded : most - 1);
      rest = g_.sequence({item, more, pieces_.space()});
      if (least == 0) rest = g_.optional(rest);
    }
    return pieces_.brackets(rest);
  }

  ExprId read_string(const Json& schema, const std::string& path) {
    const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
    for (const char* key : {"pattern", "format"}) {
      if (!schema.contains(key)) continue;
      const std::string place = path + "/" + key;
      if (has_length) unsupported(place, std::string("'") + key + "' beside a length");
      if (schema.contains("pattern") && schema.contains("format"))
        unsupported(place, "'pattern' beside 'format'");
      if (!schema[key].is_string()) refuse(place, "expected a text");
      const std::string text = schema[key].get<std::string>();
      if (*key == 'p')
        return pieces_.quoted(read_pattern(text, g_.where() + ": " + place, &g_, &pieces_));
      ExprId made = 0;
      if (!pieces_.format(text, &made)) unsupported(place, "the format '" + text + "'");
      return pieces_.quoted(made);
    }
    if (!has_length) return pieces_.string();
    const uint32_t least = count_of(schema, "minLength", path, 0);
    const uint32_t most = count_of(schema, "maxLength", path, kUnbounded);
    if (least > most) return g_.choice({});
    return pieces_.quoted(g_.repeat(pieces_.character(), least, most));
  }

  /// A bound as a whole number: the next inside.
  std::optional<int64_t> bound_of(const Json& schema, const char* key, bool is_low,
                                  bool is_exclusive, const std::string& path) {
    const auto found = schema.find(key);
    if (found == schema.end()) return {};
    const std::string place = path + "/" + key;
    if (!found->is_number()) refuse(place, "expected a number");
    const double number = found->get<double>();
    if (!(std::fabs(number) < 9e18)) unsupported(place, "a bound beyond 64 bits");
    const bool is_whole = found->is_number_integer();
    int64_t bound =
        is_whole ? found->get<int64_t>() : int64_t(is_low ? std::ceil(number) : std::floor(number));
    if (is_exclusive && (is_whole || double(bound) == number)) bound += is_low ? 1 : -1;
    return bound;
  }

  ExprId read_integer(const Json& schema, const std::string& path) {
    std::optional<int64_t> low = bound_of(schema, "minimum", true, false, path);
    std::optional<int64_t> high = bound_of(schema, "maximum", false, false, path);
    if (const auto other = bound_of(schema, "exclusiveMinimum", true, true, path))
      low = low ? std::max(*low, *other) : *other;
    if (const auto other = bound_of(schema, "exclusiveMaximum", false, true, path))
      high = high ? std::min(*high, *other) : *other;
    if (low && high && *low > *high) return g_.choice({});
    return low || high ? pieces_.integer_between(low, high) : pieces_.integer();
  }

  ExprId read_number(const Json& schema, const std::string& path) {
    for (const char* key : {"maximum", "exclusiveMinimum", "exclusiveMaximum"})
      if (schema.contains(key))
        unsupported(path + "/" + key, std::string("'") + key + "' of numbers");
    if (!schema.contains("minimum")) return pieces_.number();
    if (!schema["minimum"].is_number() || schema["minimum"].get<double>() != 0)
      unsupported(path + "/minimum", "'minimum' of numbers, but for 0");
    return pieces_.number(false);
  }

  const Json& root_;
  Grammar& g_;
  JsonPieces pieces_;
  SchemaMerge merge_;
  std::map<std::string, uint32_t> rules_;
  int count_ = 0, depth_ = 0;
};

}  // namespace

uint32_t add_json_schema(const Json& schema, Grammar* grammar) {
  return SchemaReader(schema, grammar).read();
}

std::vector<uint8_t> compile_json_schema(const Json& schema, const std::string& where) {
  Grammar grammar(where);
  return compile_grammar(grammar, add_json_schema(schema, &grammar));
}

std::vector<uint8_t> compile_schema_text(std::string_view text, const std::string& where) {
  if (!text::is_utf8({reinterpret_cast<const uint8_t*>(text.data()), text.size()}))
    host::fail(Exit::kMismatch, where + ": is not UTF-8");
  return compile_json_schema(checkpoint::parse_bounded_json(text, where), where);
}

}  // namespace ingot::grammar
