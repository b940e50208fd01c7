// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/syntax.h - what one file of a TorchScript archive's code says, as pools
// of small nodes that refer to each other by index: neither building nor freeing recurses, and a
// byte of source becomes at most a few dozen of memory.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::torchscript {

using ExpressionId = uint32_t;
using StatementId = uint32_t;
constexpr uint32_t kNone = 0xffffffffu;

enum class ExpressionKind : uint8_t {
  kName,
  kInteger,
  kFloat,
  kText,
  kNothing,
  kTrue,
  kFalse,
  kAttribute,  // items: owner; text: name
  kCall,       // items: callee, arguments; keyword arguments are kKeyword
  kKeyword,    // items: value; text: name
  kIndex,      // items: owner, index
  kSlice,      // items: owner, begin, end (kNothing where left out)
  kList,
  kTuple,
  kDict,  // items: key, value, key, value, ...
  kMinus,
  kSlot,      // of bytecode. items: owner; integer: the attribute's number in the class
  kOperator,  // of bytecode. items: name ("aten::add"), overload, arguments by their place
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kNothing;
  uint16_t height = 1;  // of the tree below, so that walking it is known to be shallow
  uint32_t line = 0;
  uint32_t first = 0, count = 0;  // items
  union {
    int64_t integer = 0;
    double number;
    uint32_t text;  // index into File::texts
  };
};

enum class StatementKind : uint8_t {
  kAssign,      // targets = value; names, attributes, or an index; more than one: unpacked
  kExpression,  // value
  kIf,          // value, body, otherwise
  kWhile,       // value, body
  kFor,         // targets: one name; value: what is iterated; body
  kWith,        // value, body
  kReturn,      // value, or kNone
  kAssert,      // value
  kRaise,       // value, or kNone
  kPass,
  kForget,  // of bytecode. targets: names that nobody reads any more
};

/// A run of statements in File::order.
struct Block {
  uint32_t first = 0, count = 0;
};

struct Statement {
  StatementKind kind = StatementKind::kPass;
  bool unpacks = false;  // of an assignment: `a, = x`
  uint32_t line = 0;
  uint32_t first = 0, count = 0;  // targets, in File::items
  ExpressionId value = kNone;
  Block body, otherwise;
};

struct FunctionParameter {
  std::string name;
  ExpressionId type = kNone, otherwise = kNone;
};

struct Function {
  std::string name;
  uint32_t line = 0;
  std::vector<FunctionParameter> parameters;
  ExpressionId result = kNone;  // its type
  Block body;
};

struct Field {
  std::string name;
  ExpressionId type = kNone, value = kNone;  // value: of a constant (`Final[int] = 4`)
};

struct Class {
  std::string name, base;  // base: "Module", "NamedTuple", "Enum", "Interface" or ""
  uint32_t line = 0;
  std::vector<Field> fields;
  std::map<std::string, Function> methods;
};

struct File {
  std::string name;  // for messages: "net.pt: code/__torch__.py"
  std::vector<Expression> expressions;
  std::vector<Statement> statements;
  std::vector<uint32_t> items;  // of expressions, and targets of statements
  std::vector<StatementId> order;
  std::vector<std::string> texts;
  std::map<std::string, Class> classes;
  std::map<std::string, Function> functions;

  const Expression& at(ExpressionId id) const { return expressions[id]; }
  ExpressionId item(const Expression& e, uint32_t i) const { return items[e.first + i]; }
  const std::string& text(const Expression& e) const { return texts[e.text]; }
  /// "net.pt: code/__torch__.py:12"
  std::string place(uint32_t line) const { return name + ":" + std::to_string(line); }
};

/// "__torch__.torch.nn.functional.relu" of a chain of attributes; "" for anything else.
std::string dotted(const File& file, ExpressionId id);
/// A type as it is spelled: "Optional[Tuple[Tensor, Tensor]]".
std::string type_text(const File& file, ExpressionId id);

}  // namespace ingot::torchscript
