// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_parser.h"

#include "tools/text/template_lexer.h"

namespace ingot::chat {
namespace {

constexpr int kMaxDepth = 100, kMaxChain = 1000;

class Parser {
 public:
  Parser(std::string_view source, const std::string& where)
      : where_(where), tokens_(lex_template(source, where)) {}

  NodePtr run() {
    NodePtr block = statements({});
    if (now().kind != TokenKind::kEnd) refuse("the tag '" + tokens_[at_ + 1].text + "' here");
    return block;
  }

 private:
  class Depth {
   public:
    explicit Depth(Parser* parser) : parser_(parser) {
      if (++parser->depth_ > kMaxDepth) parser->refuse("a construct this deep");
    }
    ~Depth() { parser_->depth_--; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Parser* parser_;
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
  bool is_word(std::string_view text) const { return is(TokenKind::kName, text); }
  bool take_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    at_++;
    return true;
  }
  bool take_word(std::string_view text) {
    if (!is_word(text)) return false;
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

  // --- statements

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
    if (!take_word("in")) refuse(shown() + " in place of 'in'");
    NodePtr iterable = tuple(false), condition;
    if (take_word("if")) condition = expression();
    if (is_word("recursive")) refuse("a recursive loop");
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

  // --- expressions, from the loosest binding to the tightest

  NodePtr tuple(bool with_condition) {
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

  NodePtr expression() {
    const Depth deeper(this);
    NodePtr value = either();
    while (take_word("if")) {
      NodePtr condition = either();
      NodePtr otherwise = take_word("else") ? expression() : make(NodeKind::kUndefined);
      value = make_of(NodeKind::kCondition, std::move(condition), std::move(value),
                      std::move(otherwise));
    }
    return value;
  }
  NodePtr either() {
    NodePtr left = both();
    while (take_word("or")) left = make_of(NodeKind::kOr, std::move(left), both());
    return left;
  }
  NodePtr both() {
    NodePtr left = negation();
    while (take_word("and")) left = make_of(NodeKind::kAnd, std::move(left), negation());
    return left;
  }
  NodePtr negation() {
    if (!take_word("not")) return comparison();
    const Depth deeper(this);
    return make_of(NodeKind::kNot, negation());
  }

  NodePtr comparison() {
    NodePtr first = sum();
    NodePtr node;
    for (;;) {
      std::string op;
      for (const char* one : {"==", "!=", "<=", ">=", "<", ">"})
        if (op.empty() && take_operator(one)) op = one;
      if (op.empty() && take_word("in")) op = "in";
      if (op.empty() && is_word("not") && ahead().kind == TokenKind::kName && ahead().text == "in")
        at_ += 2, op = "not in";
      if (op.empty()) return node ? std::move(node) : std::move(first);
      if (!node) node = make_of(NodeKind::kCompare, std::move(first));
      node->operators.push_back(op);
      add(node, sum());
    }
  }

  /// Left to right over some operators.
  template <class Operand>
  NodePtr chain(std::initializer_list<const char*> operators, const Operand& operand) {
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
  NodePtr sum() {
    return chain({"+", "-"}, [&] { return joined(); });
  }
  NodePtr joined() {
    NodePtr first = product();
    if (!is_operator("~")) return first;
    NodePtr all = make_of(NodeKind::kJoin, std::move(first));
    while (take_operator("~")) add(all, product());
    return all;
  }
  NodePtr product() {
    return chain({"*", "/", "//", "%"}, [&] {
      NodePtr value = unary(true);
      if (is_operator("**")) refuse("the operator '**'");
      return value;
    });
  }

  NodePtr unary(bool with_filters) {
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

  NodePtr primary() {
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

  NodePtr postfix(NodePtr value) {
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

  NodePtr subscript(NodePtr value) {
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
  void arguments(Node* node) {
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
  NodePtr call(NodePtr callee) {
    NodePtr node = make_of(NodeKind::kCall, std::move(callee));
    arguments(node.get());
    return node;
  }

  NodePtr filtered(NodePtr value) {
    for (;;) {
      if (is_operator("|"))
        value = filter_chain(std::move(value), false);
      else if (is_word("is"))
        value = test(std::move(value));
      else if (is_operator("("))
        value = call(std::move(value));
      else
        return value;
    }
  }

  /// Filters over a value, which may be null. `begins`: the first has no "|" in front of it.
  NodePtr filter_chain(NodePtr value, bool begins) {
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

  NodePtr test(NodePtr value) {
    at_++;
    const bool is_not = take_word("not");
    NodePtr node = make(NodeKind::kTest);
    node->text = expect_name();
    add(node, std::move(value));
    const TokenKind kind = now().kind;
    const bool is_word_of_more = is_word("else") || is_word("or") || is_word("and");
    if (is_operator("(")) {
      arguments(node.get());
    } else if ((kind == TokenKind::kName && !is_word_of_more) || kind == TokenKind::kString ||
               kind == TokenKind::kInteger || kind == TokenKind::kFloat || is_operator("[") ||
               is_operator("{")) {
      if (is_word("is")) refuse("a chain of 'is'");
      add(node, postfix(primary()));
    }
    return is_not ? make_of(NodeKind::kNot, std::move(node)) : std::move(node);
  }

  const std::string& where_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

NodePtr parse_template(std::string_view source, const std::string& where) {
  return Parser(source, where).run();
}

}  // namespace ingot::chat
