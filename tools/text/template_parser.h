// SPDX-License-Identifier: Apache-2.0
// tools/text/template_parser.h - a chat template as a tree, by the grammar of Jinja2.
// Errors   host::Failure kUnsupported "WHERE: line N: what", for all that is not known.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::chat {

enum class NodeKind {
  // statements
  kBlock,        // kids
  kText,         // text
  kPrint,        // expression
  kIf,           // condition, then, otherwise (a kBlock)
  kFor,          // target, iterable, body, otherwise, condition (or null)
  kSet,          // target, value
  kSetBlock,     // target, body, then filters over null
  kFilterBlock,  // body, filters over null
  kScope,        // body
  kMacro,        // text: name; arguments: kName (text) with a default as kid; body last
  kBreak,
  kContinue,
  // expressions
  kName,      // text
  kConstant,  // a text
  kInteger,
  kFloat,
  kTrue,
  kFalse,
  kNone,
  kUndefined,
  kList,
  kTuple,
  kDict,       // keys and values in turns
  kAttribute,  // of; text: name
  kItem,       // of, key
  kSlice,      // of, from, to, step (kNone where not given)
  kCall,       // callee, arguments
  kFilter,     // value, arguments; text: name
  kTest,       // value, arguments; text: name
  kNot,
  kMinus,
  kPlus,
  kBinary,   // text: operator
  kCompare,  // first, then operands; operators
  kAnd,
  kOr,
  kJoin,       // a ~ b ~ c
  kCondition,  // condition, then, otherwise
  kKeyword     // an argument of a call; text: name
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

struct Node {
  NodeKind kind;
  int line = 0;
  std::string text{};
  std::vector<NodePtr> kids{};
  std::vector<std::string> operators{};
  int depth = 1;
};

NodePtr parse_template(std::string_view source, const std::string& where);

}  // namespace ingot::chat
