// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/syntax_writer.h - nodes of a File that is made and not parsed. Inside
// tools/import/torchscript only.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/import/torchscript/syntax.h"

namespace ingot::torchscript {

class SyntaxWriter {
 public:
  explicit SyntaxWriter(File& file) : file_(file) {}
  uint32_t line = 0;  // of what is made next

  ExpressionId name(const std::string& text) { return with_text(ExpressionKind::kName, text, {}); }
  ExpressionId attribute(ExpressionId owner, const std::string& text) {
    return with_text(ExpressionKind::kAttribute, text, {owner});
  }
  /// "CONSTANTS.c7"
  ExpressionId names(const std::string& dotted) {
    const size_t dot = dotted.rfind('.');
    if (dot == std::string::npos) return name(dotted);
    return attribute(names(dotted.substr(0, dot)), dotted.substr(dot + 1));
  }
  ExpressionId constant(size_t number) { return names("CONSTANTS.c" + std::to_string(number)); }
  ExpressionId integer(int64_t number) {
    const ExpressionId id = add(ExpressionKind::kInteger, {});
    file_.expressions[id].integer = number;
    return id;
  }
  ExpressionId slot(ExpressionId owner, int64_t number) {
    const ExpressionId id = add(ExpressionKind::kSlot, {owner});
    file_.expressions[id].integer = number;
    return id;
  }
  ExpressionId call_operator(const std::string& op, const std::string& overload,
                             std::vector<ExpressionId> arguments) {
    arguments.insert(arguments.begin(), {name(op), name(overload)});
    return add(ExpressionKind::kOperator, arguments);
  }
  ExpressionId add(ExpressionKind kind, const std::vector<ExpressionId>& items) {
    Expression e;
    e.kind = kind;
    e.line = line;
    e.first = uint32_t(file_.items.size());
    e.count = uint32_t(items.size());
    file_.items.insert(file_.items.end(), items.begin(), items.end());
    file_.expressions.push_back(e);
    return ExpressionId(file_.expressions.size() - 1);
  }

  StatementId statement(StatementKind kind, const std::vector<ExpressionId>& targets,
                        ExpressionId value) {
    Statement s;
    s.kind = kind;
    s.line = line;
    s.first = uint32_t(file_.items.size());
    s.count = uint32_t(targets.size());
    s.value = value;
    file_.items.insert(file_.items.end(), targets.begin(), targets.end());
    file_.statements.push_back(s);
    return StatementId(file_.statements.size() - 1);
  }
  Statement& at(StatementId id) { return file_.statements[id]; }
  Block block(const std::vector<StatementId>& statements) {
    const Block made = {uint32_t(file_.order.size()), uint32_t(statements.size())};
    file_.order.insert(file_.order.end(), statements.begin(), statements.end());
    return made;
  }

 private:
  ExpressionId with_text(ExpressionKind kind, const std::string& text,
                         const std::vector<ExpressionId>& items) {
    const ExpressionId id = add(kind, items);
    file_.expressions[id].text = uint32_t(file_.texts.size());
    file_.texts.push_back(text);
    return id;
  }
  File& file_;
};

}  // namespace ingot::torchscript
