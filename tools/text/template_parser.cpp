// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_parser.h"

#include "tools/text/template_expressions.h"

namespace ingot::chat {
namespace {

class Parser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  NodePtr run() {
    NodePtr block = statements({});
    if (now().kind != TokenKind::kEnd) refuse("the tag '" + tokens_[at_ + 1].text + "' here");
    return block;
  }

 private:
  /// Up to a tag that begins with one of `ends`, which stays.
  NodePtr statements(const std::vector<std::string>& ends) {
    const Depth deeper(this);
    NodePtr block = make(NodeKind::kBlock);
    for (;;) {
      switch (now().kind) {
        case TokenKind::kEnd:
          if (!ends.empty()) refuse("a block without '" + ends.back() + "'");
          return block;
        case TokenKind::kData:
          add(block, make(NodeKind::kText, now().text));
          at_++;
          break;
        case TokenKind::kPrintBegin:
          at_++;
          add(block, make_of(NodeKind::kPrint, tuple(true)));
          expect(TokenKind::kPrintEnd);
          break;
        default: {
          for (const std::string& end : ends)
            if (ahead().kind == TokenKind::kName && ahead().text == end) return block;
          if (ends.empty() && ahead().text.substr(0, 3) == "end") return block;
          at_++;
          if (NodePtr node = statement()) add(block, std::move(node));
        }
      }
    }
  }
  /// The tag that ends a block; its word.
  std::string end_tag() {
    at_++;
    return expect_name();
  }
  NodePtr body(const std::string& end) {
    NodePtr block = statements({end});
    end_tag();
    if (now().kind == TokenKind::kName && end == "endmacro") at_++;
    expect(TokenKind::kBlockEnd);
    return block;
  }

  NodePtr statement() {
    const std::string word = expect_name();
    if (word == "if") return if_statement();
    if (word == "for") return for_statement();
    if (word == "set") return set_statement();
    if (word == "macro") return macro();
    if (word == "break" || word == "continue") {
      expect(TokenKind::kBlockEnd);
      return make(word == "break" ? NodeKind::kBreak : NodeKind::kContinue);
    }
    if (word == "generation") {
      expect(TokenKind::kBlockEnd);
      return make_of(NodeKind::kScope, body("endgeneration"));
    }
    if (word == "filter") {
      NodePtr filters = filter_chain(nullptr, true);
      expect(TokenKind::kBlockEnd);
      NodePtr inner = body("endfilter");
      return make_of(NodeKind::kFilterBlock, std::move(inner), std::move(filters));
    }
    if (word == "do") {
      NodePtr value = tuple(true);
      refuse("the tag 'do'");
    }
    refuse("the tag '" + word + "'");
  }

  NodePtr if_statement() {
    NodePtr node = make(NodeKind::kIf);
    add(node, tuple(false));
    expect(TokenKind::kBlockEnd);
    add(node, statements({"elif", "else", "endif"}));
    const std::string word = end_tag();
    NodePtr otherwise = make(NodeKind::kBlock);
    if (word == "elif") {
      const Depth deeper(this);
      add(otherwise, if_statement());
    } else {
      expect(TokenKind::kBlockEnd);
      if (word == "else") otherwise = body("endif");
    }
    add(node, std::move(otherwise));
    return node;
  }

  NodePtr for_statement() {
    NodePtr node = make(NodeKind::kFor);
    NodePtr variables = target();
    if (!take_name("in")) refuse(shown() + " in place of 'in'");
    NodePtr iterable = tuple(false), condition;
    if (take_name("if")) condition = expression();
    if (is_name("recursive")) refuse("a recursive loop");
    expect(TokenKind::kBlockEnd);
    NodePtr inner = statements({"else", "endfor"}), otherwise;
    const bool has_else = end_tag() == "else";
    expect(TokenKind::kBlockEnd);
    if (has_else) otherwise = body("endfor");
    for (NodePtr* kid : {&variables, &iterable, &inner, &otherwise, &condition})
      add(node, std::move(*kid));
    return node;
  }

  /// Names that are set, and of `set` an attribute.
  NodePtr target() {
    NodePtr first = one_target();
    if (!is_operator(",")) return first;
    NodePtr all = make(NodeKind::kTuple);
    add(all, std::move(first));
    while (take_operator(",")) add(all, one_target());
    return all;
  }
  NodePtr one_target() {
    if (take_operator("(")) {
      const Depth deeper(this);
      NodePtr inner = target();
      expect_operator(")");
      return inner;
    }
    NodePtr name = make(NodeKind::kName);
    name->text = expect_name();
    if (!take_operator(".")) return name;
    NodePtr attribute = make_of(NodeKind::kAttribute, std::move(name));
    attribute->text = expect_name();
    return attribute;
  }

  NodePtr set_statement() {
    NodePtr variables = target();
    if (take_operator("=")) {
      NodePtr value = tuple(true);
      expect(TokenKind::kBlockEnd);
      return make_of(NodeKind::kSet, std::move(variables), std::move(value));
    }
    NodePtr filters = filter_chain(nullptr, false);
    expect(TokenKind::kBlockEnd);
    NodePtr inner = body("endset");
    NodePtr node = make_of(NodeKind::kSetBlock, std::move(variables), std::move(inner));
    add(node, std::move(filters));
    return node;
  }

  NodePtr macro() {
    NodePtr node = make(NodeKind::kMacro);
    node->text = expect_name();
    expect_operator("(");
    bool has_default = false;
    while (!take_operator(")")) {
      if (!node->kids.empty()) expect_operator(",");
      if (take_operator(")")) break;
      NodePtr argument = make(NodeKind::kName);
      argument->text = expect_name();
      if (take_operator("=")) {
        add(argument, expression());
        has_default = true;
      } else if (has_default) {
        refuse("an argument without a default behind one with it");
      }
      add(node, std::move(argument));
    }
    expect(TokenKind::kBlockEnd);
    add(node, body("endmacro"));
    return node;
  }
};

}  // namespace

NodePtr parse_template(std::string_view source, const std::string& where) {
  return Parser(source, where).run();
}

}  // namespace ingot::chat
