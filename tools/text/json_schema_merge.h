// SPDX-License-Identifier: Apache-2.0
// tools/text/json_schema_merge.h - keywords of JSON schemas, where references lead, and several
// schemas as one.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::grammar {

class SchemaMerge {
 public:
  SchemaMerge(const nlohmann::ordered_json& root, const std::string& where)
      : root_(root), where_(where) {}
  using Json = nlohmann::ordered_json;

  /// @throws Failure for a keyword that is not known, by name
  void check_keywords(const Json& schema, const std::string& path) const;
  /// Says nothing about what is valid.
  static bool is_annotation(const std::string& key);
  /// No other keyword but annotations.
  static bool is_alone(const Json& schema, const char* key);
  /// Where `$ref` leads, as far as references alone lead on. `*target`: its path
  const Json& resolve(const Json& schema, const std::string& path, std::string* target) const;
  /// The schema with what its `$ref` and `allOf` say, as one without them.
  Json flattened(const Json& schema, const std::string& path);
  /// By `type`, else by the keywords that are there; none: any.
  std::vector<std::string> types_of(const Json& schema, const std::string& path) const;
  bool has_type(const Json& value, const Json& type, const std::string& path) const;
  static std::string escaped(const std::string& name);

 private:
  [[noreturn]] void refuse(const std::string& path, const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& path, const std::string& what) const;
  Json merged(Json a, const Json& b, const std::string& path);
  void refuse_rests(const Json& a, const Json& b, const std::string& path) const;
  const Json& at_pointer(const std::string& pointer, const std::string& path) const;
  std::vector<std::string> listed_types(const Json& type, const std::string& path) const;

  const Json& root_;
  const std::string where_;
  int merges_ = 0, depth_ = 0;
};

}  // namespace ingot::grammar
