// SPDX-License-Identifier: Apache-2.0
// tools/text/template_expressions.h - the parser of what stands between the words of a tag, from
// the loosest binding to the tightest.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tools/text/template_lexer.h"
#include "tools/text/template_parser.h"

namespace ingot::chat {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view source, const std::string& where)
      : where_(where), tokens_(lex_template(source, where)) {}

 protected:
  static constexpr int kMaxDepth = 100, kMaxChain = 1000;

  class Depth {
   public:
    explicit Depth(ExpressionParser* parser) : parser_(parser) {
      if (++parser->depth_ > kMaxDepth) parser->refuse("a construct this deep");
    }
    ~Depth() { parser_->depth_--; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    ExpressionParser* parser_;
  };

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  [[noreturn]] void refuse(const std::string& what) const {
    refuse_template(where_, now().line, what);
  }
  bool is(TokenKind kind, std::string_view text) const {
    return now().kind == kind && now().text == text;
  }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  bool take_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    at_++;
    return true;
  }
  bool take_name(std::string_view text) {
    if (!is_name(text)) return false;
    at_++;
    return true;
  }
  std::string shown() const {
    switch (now().kind) {
      case TokenKind::kEnd: return "the end of the template";
      case TokenKind::kBlockEnd: return "'%}'";
      case TokenKind::kPrintEnd: return "'}}'";
      default: return "'" + now().text + "'";
    }
  }
  void expect_operator(std::string_view text) {
    if (!take_operator(text)) refuse(shown() + " in place of '" + std::string(text) + "'");
  }
  std::string expect_name() {
    if (now().kind != TokenKind::kName) refuse(shown() + " in place of a name");
    return tokens_[at_++].text;
  }
  void expect(TokenKind kind) {
    if (now().kind != kind) refuse(shown() + " in this tag");
    at_++;
  }
  NodePtr make(NodeKind kind, std::string text = "") const {
    auto node = std::make_unique<Node>();
    node->kind = kind, node->line = now().line, node->text = std::move(text);
    return node;
  }
  void add(Node* to, NodePtr kid) const {
    if (kid && kid->depth >= to->depth) to->depth = kid->depth + 1;
    if (to->depth > kMaxChain) refuse("a construct of so many parts");
    to->kids.push_back(std::move(kid));
  }
  void add(const NodePtr& to, NodePtr kid) const { add(to.get(), std::move(kid)); }
  template <class... Kids>
  NodePtr make_of(NodeKind kind, Kids... kids) const {
    NodePtr node = make(kind);
    (add(node, std::move(kids)), ...);
    if (node->kids[0]) node->line = node->kids[0]->line;
    return node;
  }

  /// "a, b"; `with_condition`: of "x if y else z".
  NodePtr tuple(bool with_condition);
  NodePtr expression();
  NodePtr either();
  NodePtr both();
  NodePtr negation();
  NodePtr comparison();
  template <class Operand>
  NodePtr chain(std::initializer_list<const char*> operators, const Operand& operand);
  NodePtr sum();
  NodePtr joined();
  NodePtr product();
  NodePtr unary(bool with_filters);
  NodePtr primary();
  NodePtr postfix(NodePtr value);
  NodePtr subscript(NodePtr value);
  void arguments(Node* node);
  NodePtr call(NodePtr callee);
  NodePtr filtered(NodePtr value);
  NodePtr filter_chain(NodePtr value, bool begins);
  NodePtr test(NodePtr value);

  const std::string& where_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace ingot::chat
