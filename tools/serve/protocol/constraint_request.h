// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/constraint_request.h - fields of a request that say what form its answer
// has: `grammar`, `tools`, `tool_choice`, and one that holds a schema.
// Errors   ServeError kInvalid, with the field.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/serve/core/language_model.h"
#include "tools/serve/protocol/tool_calls.h"

namespace ingot::serve {

class ConstraintRequest {
 public:
  using Json = nlohmann::ordered_json;
  /// `format`: what the client calls the field of response_format.
  explicit ConstraintRequest(std::string format) : format_(std::move(format)) {}
  /// False: the field is none of these.
  bool read_field(const std::string& key, const Json& value);
  /// When all fields were read: what `use` and the answer's grammar are.
  void finish(const Text& text, ToolUse* use, std::vector<uint8_t>* grammar);
  /// For the template: those that may be called, or none.
  const Json& offered() const { return offered_; }

 private:
  void read_format(const Json& value);
  void read_tools(const Json& value);
  void read_choice(const Json& value);

  const std::string format_;
  Json tools_ = Json::array(), offered_ = Json::array();
  std::string field_, chosen_;  // of the constraint, and the tool by name
  std::vector<uint8_t> grammar_;
  enum class Choice { kAuto, kNone, kRequired, kNamed } choice_ = Choice::kAuto;
};

}  // namespace ingot::serve
