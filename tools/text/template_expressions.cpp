// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_expressions.h"

namespace ingot::chat {

NodePtr ExpressionParser::tuple(bool with_condition) {
  NodePtr first = with_condition ? expression() : either();
  if (!is_operator(",")) return first;
  NodePtr all = make(NodeKind::kTuple);
  add(all, std::move(first));
  while (take_operator(",")) {
    if (now().kind == TokenKind::kBlockEnd || now().kind == TokenKind::kPrintEnd ||
        is_operator(")"))
      break;
    add(all, with_condition ? expression() : either());
  }
  return all;
}

NodePtr ExpressionParser::expression() {
  const Depth deeper(this);
  NodePtr value = either();
  while (take_name("if")) {
    NodePtr condition = either();
    NodePtr otherwise = take_name("else") ? expression() : make(NodeKind::kUndefined);
    value =
        make_of(NodeKind::kCondition, std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

NodePtr ExpressionParser::either() {
  NodePtr left = both();
  while (take_name("or")) left = make_of(NodeKind::kOr, std::move(left), both());
  return left;
}

NodePtr ExpressionParser::both() {
  NodePtr left = negation();
  while (take_name("and")) left = make_of(NodeKind::kAnd, std::move(left), negation());
  return left;
}

NodePtr ExpressionParser::negation() {
  if (!take_name("not")) return comparison();
  const Depth deeper(this);
  return make_of(NodeKind::kNot, negation());
}

NodePtr ExpressionParser::comparison() {
  NodePtr first = sum();
  NodePtr node;
  for (;;) {
    std::string op;
    for (const char* one : {"==", "!=", "<=", ">=", "<", ">"})
      if (op.empty() && take_operator(one)) op = one;
    if (op.empty() && take_name("in")) op = "in";
    if (op.empty() && is_name("not") && ahead().kind == TokenKind::kName && ahead().text == "in")
      at_ += 2, op = "not in";
    if (op.empty()) return node ? std::move(node) : std::move(first);
    if (!node) node = make_of(NodeKind::kCompare, std::move(first));
    node->operators.push_back(op);
    add(node, sum());
  }
}

/// Left to right over some operators.
template <class Operand>
NodePtr ExpressionParser::chain(std::initializer_list<const char*> operators,
                                const Operand& operand) {
  NodePtr left = operand();
  for (;;) {
    std::string op;
    for (const char* one : operators)
      if (op.empty() && take_operator(one)) op = one;
    if (op.empty()) return left;
    left = make_of(NodeKind::kBinary, std::move(left), operand());
    left->text = op;
  }
}

NodePtr ExpressionParser::sum() {
  return chain({"+", "-"}, [&] { return joined(); });
}

NodePtr ExpressionParser::joined() {
  NodePtr first = product();
  if (!is_operator("~")) return first;
  NodePtr all = make_of(NodeKind::kJoin, std::move(first));
  while (take_operator("~")) add(all, product());
  return all;
}

NodePtr ExpressionParser::product() {
  return chain({"*", "/", "//", "%"}, [&] {
    NodePtr value = unary(true);
    if (is_operator("**")) refuse("the operator '**'");
    return value;
  });
}

NodePtr ExpressionParser::unary(bool with_filters) {
  const Depth deeper(this);
  NodePtr value;
  if (take_operator("-"))
    value = make_of(NodeKind::kMinus, unary(false));
  else if (take_operator("+"))
    value = make_of(NodeKind::kPlus, unary(false));
  else
    value = primary();
  value = postfix(std::move(value));
  return with_filters ? filtered(std::move(value)) : std::move(value);
}

NodePtr ExpressionParser::primary() {
  const Token token = now();
  switch (token.kind) {
    case TokenKind::kName: {
      at_++;
      const std::string& word = token.text;
      if (word == "true" || word == "True") return make(NodeKind::kTrue);
      if (word == "false" || word == "False") return make(NodeKind::kFalse);
      if (word == "none" || word == "None") return make(NodeKind::kNone);
      for (const char* reserved : {"if", "else", "elif", "and", "or", "not", "in", "is", "for"})
        if (word == reserved) refuse("'" + word + "' in place of a value");
      return make(NodeKind::kName, word);
    }
    case TokenKind::kString: {
      NodePtr text = make(NodeKind::kConstant);
      while (now().kind == TokenKind::kString) text->text += tokens_[at_++].text;
      return text;
    }
    case TokenKind::kInteger: at_++; return make(NodeKind::kInteger, token.text);
    case TokenKind::kFloat: at_++; return make(NodeKind::kFloat, token.text);
    default: break;
  }
  if (take_operator("(")) {
    if (take_operator(")")) return make(NodeKind::kTuple);
    NodePtr inner = tuple(true);
    expect_operator(")");
    return inner;
  }
  if (take_operator("[")) {
    NodePtr list = make(NodeKind::kList);
    while (!take_operator("]")) {
      if (!list->kids.empty()) expect_operator(",");
      if (take_operator("]")) break;
      add(list, expression());
    }
    return list;
  }
  if (take_operator("{")) {
    NodePtr dict = make(NodeKind::kDict);
    while (!take_operator("}")) {
      if (!dict->kids.empty()) expect_operator(",");
      if (take_operator("}")) break;
      add(dict, expression());
      expect_operator(":");
      add(dict, expression());
    }
    return dict;
  }
  refuse(shown() + " in place of a value");
}

NodePtr ExpressionParser::postfix(NodePtr value) {
  for (;;) {
    if (take_operator(".")) {
      if (now().kind == TokenKind::kInteger) {
        NodePtr key = make(NodeKind::kInteger, tokens_[at_++].text);
        value = make_of(NodeKind::kItem, std::move(value), std::move(key));
        continue;
      }
      const std::string name = expect_name();
      value = make_of(NodeKind::kAttribute, std::move(value));
      value->text = name;
    } else if (take_operator("[")) {
      value = subscript(std::move(value));
    } else if (is_operator("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

NodePtr ExpressionParser::subscript(NodePtr value) {
  NodePtr parts[3];
  int part = 0;
  bool is_slice = false;
  for (;;) {
    if (take_operator("]")) break;
    if (take_operator(":")) {
      is_slice = true;
      if (++part > 2) refuse("a slice of four parts");
    } else if (parts[part]) {
      refuse(shown() + " in place of ']'");
    } else {
      parts[part] = expression();
    }
  }
  if (!is_slice) {
    if (!parts[0]) refuse("'[]' behind a value");
    return make_of(NodeKind::kItem, std::move(value), std::move(parts[0]));
  }
  NodePtr node = make_of(NodeKind::kSlice, std::move(value));
  for (NodePtr& each : parts) add(node, each ? std::move(each) : make(NodeKind::kNone));
  return node;
}

/// "(a, b, name=c)"
void ExpressionParser::arguments(Node* node) {
  expect_operator("(");
  bool has_keyword = false;
  for (bool is_first = true; !take_operator(")"); is_first = false) {
    if (!is_first) expect_operator(",");
    if (take_operator(")")) break;
    if (is_operator("*") || is_operator("**")) refuse("'*' in front of an argument");
    if (now().kind == TokenKind::kName && ahead().kind == TokenKind::kOperator &&
        ahead().text == "=") {
      NodePtr keyword = make(NodeKind::kKeyword, now().text);
      at_ += 2;
      add(keyword, expression());
      add(node, std::move(keyword));
      has_keyword = true;
    } else {
      if (has_keyword) refuse("an argument without a name behind one with it");
      add(node, expression());
    }
  }
}

NodePtr ExpressionParser::call(NodePtr callee) {
  NodePtr node = make_of(NodeKind::kCall, std::move(callee));
  arguments(node.get());
  return node;
}

NodePtr ExpressionParser::filtered(NodePtr value) {
  for (;;) {
    if (is_operator("|"))
      value = filter_chain(std::move(value), false);
    else if (is_name("is"))
      value = test(std::move(value));
    else if (is_operator("("))
      value = call(std::move(value));
    else
      return value;
  }
}

/// Filters over a value, which may be null. `begins`: the first has no "|" in front of it.
NodePtr ExpressionParser::filter_chain(NodePtr value, bool begins) {
  while (begins || take_operator("|")) {
    begins = false;
    NodePtr node = make(NodeKind::kFilter);
    node->text = expect_name();
    while (take_operator(".")) node->text += "." + expect_name();
    add(node, std::move(value));
    if (is_operator("(")) arguments(node.get());
    value = std::move(node);
  }
  return value;
}

NodePtr ExpressionParser::test(NodePtr value) {
  at_++;
  const bool is_not = take_name("not");
  NodePtr node = make(NodeKind::kTest);
  node->text = expect_name();
  add(node, std::move(value));
  const TokenKind kind = now().kind;
  const bool is_operator_name = is_name("else") || is_name("or") || is_name("and");
  if (is_operator("(")) {
    arguments(node.get());
  } else if ((kind == TokenKind::kName && !is_operator_name) || kind == TokenKind::kString ||
             kind == TokenKind::kInteger || kind == TokenKind::kFloat || is_operator("[") ||
             is_operator("{")) {
    if (is_name("is")) refuse("a chain of 'is'");
    add(node, postfix(primary()));
  }
  return is_not ? make_of(NodeKind::kNot, std::move(node)) : std::move(node);
}

}  // namespace ingot::chat
