// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/parse.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "tools/graph/graph.h"
#include "tools/import/torchscript/tokens.h"

namespace ingot::torchscript {
namespace {

class Parser {
 public:
  Parser(std::string_view source, const std::string& name) : tokens_(source, name) {
    file_.name = name;
    advance();
  }

  File run() {
    while (now_.kind != TokenKind::kEnd) {
      if (is_name("class"))
        class_definition();
      else if (is_name("def")) {
        Function function = function_definition();
        add(file_.functions, std::move(function));
      } else {
        top_statement();
      }
    }
    return std::move(file_);
  }

 private:
  // Tokens.
  void advance() { now_ = tokens_.next(); }
  bool is_mark(std::string_view text) const {
    return now_.kind == TokenKind::kMark && now_.text == text;
  }
  bool is_name(std::string_view text) const {
    return now_.kind == TokenKind::kName && now_.text == text;
  }
  bool take_mark(std::string_view text) {
    if (!is_mark(text)) return false;
    advance();
    return true;
  }
  bool take_name(std::string_view text) {
    if (!is_name(text)) return false;
    advance();
    return true;
  }
  std::string found() const {
    switch (now_.kind) {
      case TokenKind::kLineEnd: return "the end of the line";
      case TokenKind::kIndent: return "a deeper indentation";
      case TokenKind::kDedent: return "the end of the block";
      case TokenKind::kEnd: return "the end of the file";
      default: return "'" + std::string(now_.text.substr(0, 40)) + "'";
    }
  }
  [[noreturn]] void refuse(const std::string& what) const {
    graph::fail_corrupt(file_.place(now_.line), what);
  }
  [[noreturn]] void expected(const std::string& what) const {
    refuse("expected " + what + ", found " + found());
  }
  void need_mark(std::string_view text) {
    if (!take_mark(text)) expected("'" + std::string(text) + "'");
  }
  void need(TokenKind kind, const char* what) {
    if (now_.kind != kind) expected(what);
    advance();
  }
  std::string need_name(const char* what) {
    if (now_.kind != TokenKind::kName) expected(what);
    std::string name(now_.text);
    advance();
    return name;
  }
  template <class T>
  void add(std::map<std::string, T>& to, T made) {
    const std::string name = made.name;
    if (!to.emplace(name, std::move(made)).second) refuse("'" + name + "' is defined twice");
  }

  // Pools.
  struct Deeper {
    explicit Deeper(Parser* p) : parser(p) {
      if (++parser->depth_ > kMaxHeight)
        parser->refuse("nests deeper than " + std::to_string(kMaxHeight) + " levels");
    }
    ~Deeper() { parser->depth_--; }
    Parser* parser;
  };
  ExpressionId make(ExpressionKind kind, uint32_t line,
                    const std::vector<ExpressionId>& items = {}) {
    Expression e;
    e.kind = kind;
    e.line = line;
    e.first = uint32_t(file_.items.size());
    e.count = uint32_t(items.size());
    for (const ExpressionId item : items)
      e.height = std::max<uint16_t>(e.height, uint16_t(file_.at(item).height + 1));
    if (e.height > kMaxHeight)
      refuse("an expression nests deeper than " + std::to_string(kMaxHeight) + " levels");
    file_.items.insert(file_.items.end(), items.begin(), items.end());
    file_.expressions.push_back(e);
    return ExpressionId(file_.expressions.size() - 1);
  }
  void set_text(ExpressionId id, std::string text) {
    file_.expressions[id].text = uint32_t(file_.texts.size());
    file_.texts.push_back(std::move(text));
  }
  ExpressionId make_named(ExpressionKind kind, uint32_t line, std::string text,
                          const std::vector<ExpressionId>& items = {}) {
    const ExpressionId id = make(kind, line, items);
    set_text(id, std::move(text));
    return id;
  }
  StatementId make(const Statement& statement) {
    file_.statements.push_back(statement);
    return StatementId(file_.statements.size() - 1);
  }

  // Expressions.
  ExpressionId expression() {
    const Deeper deeper(this);
    const uint32_t line = now_.line;
    if (take_mark("-")) {
      const ExpressionId operand = expression();
      Expression& e = file_.expressions[operand];
      if (e.kind == ExpressionKind::kInteger && !negated_)
        e.integer = -e.integer;
      else if (e.kind == ExpressionKind::kFloat && !negated_)
        e.number = -e.number;
      else
        return make(ExpressionKind::kMinus, line, {operand});
      return operand;
    }
    ExpressionId left = atom();
    while (now_.kind == TokenKind::kMark) {
      const uint32_t here = now_.line;
      if (take_mark(".")) {
        std::string name = need_name("a name after '.'");
        left = make_named(ExpressionKind::kAttribute, here, std::move(name), {left});
      } else if (is_mark("(")) {
        left = call(left);
      } else if (is_mark("[")) {
        left = subscript(left);
      } else {
        break;
      }
    }
    return left;
  }

  ExpressionId call(ExpressionId callee) {
    const uint32_t line = now_.line;
    need_mark("(");
    std::vector<ExpressionId> items{callee};
    bool keywords = false;
    while (!take_mark(")")) {
      const uint32_t here = now_.line;
      ExpressionId argument = expression();
      if (file_.at(argument).kind == ExpressionKind::kName && take_mark("=")) {
        const std::string name = file_.text(file_.at(argument));
        argument = make_named(ExpressionKind::kKeyword, here, name, {expression()});
        keywords = true;
      } else if (keywords) {
        refuse("an argument without a name follows one with a name");
      }
      items.push_back(argument);
      if (!take_mark(",") && !is_mark(")")) expected("',' or ')'");
    }
    return make(ExpressionKind::kCall, line, items);
  }

  ExpressionId subscript(ExpressionId owner) {
    const uint32_t line = now_.line;
    need_mark("[");
    const auto end_of_range = [&] {
      return is_mark(":") || is_mark("]") ? make(ExpressionKind::kNothing, now_.line)
                                          : expression();
    };
    // Several indices in types alone: Dict[str, Tensor].
    std::vector<ExpressionId> indices;
    ExpressionId first = end_of_range();
    if (take_mark(":")) {
      const ExpressionId last = end_of_range();
      need_mark("]");
      return make(ExpressionKind::kSlice, line, {owner, first, last});
    }
    indices.push_back(first);
    bool tuple = false;
    while (take_mark(",")) {
      tuple = true;
      if (is_mark("]")) break;
      indices.push_back(expression());
    }
    need_mark("]");
    const ExpressionId index = tuple ? make(ExpressionKind::kTuple, line, indices) : first;
    return make(ExpressionKind::kIndex, line, {owner, index});
  }

  ExpressionId atom() {
    const Token token = now_;
    switch (token.kind) {
      case TokenKind::kName: {
        advance();
        if (token.text == "None") return make(ExpressionKind::kNothing, token.line);
        if (token.text == "True") return make(ExpressionKind::kTrue, token.line);
        if (token.text == "False") return make(ExpressionKind::kFalse, token.line);
        return make_named(ExpressionKind::kName, token.line, std::string(token.text));
      }
      case TokenKind::kInteger: return integer(token);
      case TokenKind::kFloat: {
        const ExpressionId id = make(ExpressionKind::kFloat, token.line);
        file_.expressions[id].number = real(token);
        advance();
        return id;
      }
      case TokenKind::kText: {
        const ExpressionId id =
            make_named(ExpressionKind::kText, token.line, unquoted(token, file_.place(token.line)));
        advance();
        return id;
      }
      default: break;
    }
    if (is_mark("(")) return tuple_or_group();
    if (is_mark("[")) return sequence("[", "]", ExpressionKind::kList);
    if (is_mark("{")) return dictionary();
    expected("an expression");
  }

  ExpressionId integer(const Token& token) {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    const bool lowest = token.text == "9223372036854775808";  // only ever behind a minus
    if (!lowest && (error != std::errc() || end != token.text.data() + token.text.size()))
      refuse("'" + std::string(token.text.substr(0, 40)) + "' is no integer of 64 bits");
    const ExpressionId id = make(ExpressionKind::kInteger, token.line);
    file_.expressions[id].integer = lowest ? INT64_MAX : value;
    advance();
    return id;
  }
  double real(const Token& token) const {
    const std::string text(token.text);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size()) refuse("'" + text.substr(0, 40) + "' is no number");
    return value;
  }

  ExpressionId sequence(std::string_view open, std::string_view close, ExpressionKind kind) {
    const uint32_t line = now_.line;
    need_mark(open);
    std::vector<ExpressionId> items;
    while (!take_mark(close)) {
      items.push_back(expression());
      if (!take_mark(",") && !is_mark(close)) expected("',' or '" + std::string(close) + "'");
    }
    return make(kind, line, items);
  }
  ExpressionId tuple_or_group() {
    const uint32_t line = now_.line;
    need_mark("(");
    std::vector<ExpressionId> items;
    bool comma = false;
    while (!take_mark(")")) {
      items.push_back(expression());
      if (take_mark(","))
        comma = true;
      else if (!is_mark(")"))
        expected("',' or ')'");
    }
    return items.size() == 1 && !comma ? items[0] : make(ExpressionKind::kTuple, line, items);
  }
  ExpressionId dictionary() {
    const uint32_t line = now_.line;
    need_mark("{");
    std::vector<ExpressionId> items;
    while (!take_mark("}")) {
      items.push_back(expression());
      need_mark(":");
      items.push_back(expression());
      if (!take_mark(",") && !is_mark("}")) expected("',' or '}'");
    }
    return make(ExpressionKind::kDict, line, items);
  }

  // Statements.
  void
  // "op_version_set = 1", "import __torch__.a": of old versions, and they say nothing that is
  // needed
  top_statement() {
    if (take_name("import")) {
      expression();
    } else if (now_.kind == TokenKind::kName) {
      advance();
      need_mark("=");
      expression();
    } else {
      expected("'class' or 'def'");
    }
    need(TokenKind::kLineEnd, "the end of the line");
  }

  Block block() {
    const Deeper deeper(this);
    need_mark(":");
    need(TokenKind::kLineEnd, "the end of the line");
    need(TokenKind::kIndent, "an indented block");
    std::vector<StatementId> made;
    while (now_.kind != TokenKind::kDedent) made.push_back(statement());
    advance();
    const Block out{uint32_t(file_.order.size()), uint32_t(made.size())};
    file_.order.insert(file_.order.end(), made.begin(), made.end());
    return out;
  }

  StatementId statement() {
    Statement s;
    s.line = now_.line;
    if (take_name("if")) {
      s.kind = StatementKind::kIf;
      branches(&s);
      return make(s);
    }
    if (take_name("while")) {
      s.kind = StatementKind::kWhile;
      s.value = expression();
      s.body = block();
      return make(s);
    }
    if (take_name("for")) {
      s.kind = StatementKind::kFor;
      set_targets(&s, {make_named(ExpressionKind::kName, s.line, need_name("a name"))});
      if (!take_name("in")) expected("'in'");
      s.value = expression();
      s.body = block();
      return make(s);
    }
    if (take_name("with")) {
      s.kind = StatementKind::kWith;
      s.value = expression();
      if (take_name("as"))
        set_targets(&s, {make_named(ExpressionKind::kName, s.line, need_name("a name"))});
      s.body = block();
      return make(s);
    }
    simple(&s);
    need(TokenKind::kLineEnd, "the end of the line");
    return make(s);
  }

  void branches(Statement* s) {
    s->value = expression();
    s->body = block();
    if (is_name("elif")) {
      const Deeper deeper(this);
      Statement nested;
      nested.kind = StatementKind::kIf;
      nested.line = now_.line;
      advance();
      branches(&nested);
      s->otherwise = {uint32_t(file_.order.size()), 1};
      file_.order.push_back(make(nested));
    } else if (take_name("else")) {
      s->otherwise = block();
    }
  }

  void simple(Statement* s) {
    const auto ends = [&] { return now_.kind == TokenKind::kLineEnd; };
    if (take_name("pass")) return;
    if (take_name("return")) {
      s->kind = StatementKind::kReturn;
      if (!ends()) s->value = expression();
      return;
    }
    if (take_name("raise")) {
      s->kind = StatementKind::kRaise;
      if (!ends()) s->value = expression();
      return;
    }
    if (take_name("assert")) {
      s->kind = StatementKind::kAssert;
      s->value = expression();
      if (take_mark(",")) expression();
      return;
    }
    s->kind = StatementKind::kExpression;
    std::vector<ExpressionId> left{expression()};
    if (take_mark(":")) {  // a declared variable
      expression();
      need_mark("=");
      return assign(s, left);
    }
    while (take_mark(",")) {
      s->unpacks = true;
      if (is_mark("=")) break;
      left.push_back(expression());
    }
    if (take_mark("=")) return assign(s, left);
    if (s->unpacks) expected("'='");
    s->value = left[0];
  }

  void assign(Statement* s, const std::vector<ExpressionId>& left) {
    s->kind = StatementKind::kAssign;
    for (const ExpressionId id : left) {
      const ExpressionKind kind = file_.at(id).kind;
      if (kind != ExpressionKind::kName && kind != ExpressionKind::kAttribute &&
          kind != ExpressionKind::kIndex)
        refuse("only a name, an attribute or an item can be assigned to");
    }
    // `a, b = x, y` gives a tuple.
    std::vector<ExpressionId> right{expression()};
    bool tuple = false;
    while (take_mark(",")) {
      tuple = true;
      if (now_.kind == TokenKind::kLineEnd) break;
      right.push_back(expression());
    }
    s->value = tuple ? make(ExpressionKind::kTuple, s->line, right) : right[0];
    set_targets(s, left);
  }
  void set_targets(Statement* s, const std::vector<ExpressionId>& targets) {
    s->first = uint32_t(file_.items.size());
    s->count = uint32_t(targets.size());
    file_.items.insert(file_.items.end(), targets.begin(), targets.end());
  }

  // Definitions.
  Function function_definition() {
    Function made;
    made.line = now_.line;
    if (!take_name("def")) expected("'def'");
    made.name = need_name("a function's name");
    need_mark("(");
    while (!take_mark(")")) {
      FunctionParameter p;
      p.name = need_name("a parameter's name");
      if (take_mark(":")) p.type = expression();
      if (take_mark("=")) p.otherwise = expression();
      made.parameters.push_back(std::move(p));
      if (!take_mark(",") && !is_mark(")")) expected("',' or ')'");
    }
    if (take_mark("->")) made.result = expression();
    made.body = block();
    return made;
  }

  void class_definition() {
    Class made;
    made.line = now_.line;
    advance();
    const std::string name = need_name("a class's name");
    made.name = name;
    if (take_mark("(")) {
      if (!is_mark(")")) made.base = need_name("a base class");
      need_mark(")");
    }
    need_mark(":");
    need(TokenKind::kLineEnd, "the end of the line");
    need(TokenKind::kIndent, "an indented block");
    while (now_.kind != TokenKind::kDedent) {
      if (is_name("def")) {
        Function function = function_definition();
        add(made.methods, std::move(function));
      } else {
        field(&made);
      }
    }
    advance();
    add(file_.classes, std::move(made));
  }

  /// `x : Tensor`, `x : Final[int] = 4`, `__annotations__["0"] = Tensor`, `__parameters__ = ["x",
  /// ]`, `RED = 1`.
  void field(Class* to) {
    if (take_name("pass")) return need(TokenKind::kLineEnd, "the end of the line");
    Field made;
    const ExpressionId left = expression();
    if (take_mark(":")) made.type = expression();
    if (take_mark("=")) made.value = expression();
    need(TokenKind::kLineEnd, "the end of the line");
    const Expression& e = file_.at(left);
    if (e.kind == ExpressionKind::kName) {
      made.name = file_.text(e);
    } else if (e.kind == ExpressionKind::kIndex &&
               dotted(file_, file_.item(e, 0)) == "__annotations__" &&
               file_.at(file_.item(e, 1)).kind == ExpressionKind::kText) {
      made.name = file_.text(file_.at(file_.item(e, 1)));
      std::swap(made.type, made.value);
    } else {
      refuse("expected a field or a method of class '" + to->name + "'");
    }
    to->fields.push_back(std::move(made));
  }

  Tokens tokens_;
  Token now_;
  File file_;
  int depth_ = 0;
  bool negated_ = false;
};

}  // namespace

File parse_file(std::string_view source, const std::string& name) {
  if (source.size() > kMaxCode)
    graph::fail_corrupt(name, "has " + std::to_string(source.size()) + " bytes, at most " +
                                  std::to_string(kMaxCode) + " are read");
  return Parser(source, name).run();
}

}  // namespace ingot::torchscript
