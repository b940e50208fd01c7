// SPDX-License-Identifier: Apache-2.0
// tools/text/template_build.h - the compiler of chat templates: code, names and slots. Statements
// are in template_compiler.cpp, expressions in template_operands.cpp.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/text/template_compiler.h"
#include "tools/text/template_lexer.h"
#include "tools/text/template_names.h"
#include "tools/text/template_parser.h"

namespace ingot::chat {

template <class Visit>
void each_kid(const Node& node, const Visit& visit) {
  for (const NodePtr& kid : node.kids)
    if (kid) visit(*kid);
}
/// Names in any place, and those that something sets.
void collect_names(const Node& node, std::set<std::string>* all, std::set<std::string>* set);
void add_names(const Node& target, std::vector<std::string>* names);
/// What a body sets in its own scope.
void add_stores(const Node& node, std::vector<std::string>* names);

/// A place that jumps lead to, before or behind them.
struct Label {
  std::vector<size_t> uses;  // instructions in front of it
  int at = -1, depth = -1;
};

class Compiler {
  using Op = TemplateOperation;
  using Names = std::set<std::string>;

 public:
  Compiler(std::string_view source, const std::string& where)
      : where_(where), tree_(parse_template(source, where)) {}

  CompiledTemplate run();

 private:
  using Scope = std::map<std::string, uint16_t>;
  /// Inside of `if` a filter or test that nobody has is an error of the rendering, as in Jinja2;
  /// bodies of loops, macros and blocks in there are outside again.
  class Leniency {
   public:
    Leniency(Compiler* of, bool is_inside) : of_(of), before_(of->is_lenient_) {
      of->is_lenient_ = is_inside;
    }
    ~Leniency() { of_->is_lenient_ = before_; }
    Leniency(const Leniency&) = delete;
    Leniency& operator=(const Leniency&) = delete;

   private:
    Compiler* of_;
    bool before_;
  };
  struct Macro {
    const Node* node;
    size_t function;
  };

  [[noreturn]] void refuse(const Node& at, const std::string& what) const {
    refuse_template(where_, at.line, what);
  }
  bool is_built_in(const std::string& name) const {
    TemplateBuiltIn function;
    return !set_.count(name) && find_built_in(name, &function);
  }

  // --- code

  uint16_t text(const std::string& text) {
    const auto [found, is_new] = texts_.emplace(text, uint16_t(out_.texts.size()));
    if (is_new) out_.texts.push_back(text);
    return found->second;
  }
  void begin_function(Scope arguments) {
    scopes_ = {std::move(arguments)};
    slots_ = 0, depth_ = 0, most_depth_ = 0, is_reached_ = true;
    function_ = out_.functions.size();
    out_.functions.push_back({uint32_t(out_.code.size()), 0, 0, 0, 0});
  }
  void end_function() {
    emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
    emit(Op::kReturn);
    out_.functions[function_].slots = uint16_t(slots_);
    out_.functions[function_].stack = uint16_t(most_depth_);
    if (slots_ > int(kMaxTemplateStack) || most_depth_ > int(kMaxTemplateStack))
      refuse(*tree_, "a template of so many variables");
  }
  /// False where the code here is never reached, and left out.
  bool emit(Op operation, unsigned a = 0, unsigned b = 0) {
    if (!is_reached_) return false;
    if (a > 255 || b > 65535) refuse_template(where_, line_, "a construct of so many parts");
    const TemplateInstruction i{operation, uint8_t(a), uint16_t(b)};
    out_.code.push_back(pack_instruction(operation, a, b));
    out_.lines.push_back(uint16_t(std::min(line_, 65535)));
    depth_ += int(template_pushes(i)) - int(template_pops(i));
    most_depth_ = std::max(most_depth_, depth_ + int(operation == Op::kReturn));
    if (operation == Op::kJump || operation == Op::kReturn) is_reached_ = false;
    return true;
  }
  void jump(Op operation, Label* to, unsigned a = 0) {
    const bool takes_one = operation == Op::kJumpIfFalse || (operation == Op::kNext && a == 0);
    const int there = depth_ - int(takes_one);
    const size_t at = out_.code.size();
    if (!emit(operation, a, to->at < 0 ? 0 : unsigned(to->at))) return;
    to->depth = there;
    if (to->at < 0) to->uses.push_back(at);
  }
  void bind(Label* label) {
    if (!is_reached_ && label->uses.empty()) return;
    if (!is_reached_) depth_ = label->depth, is_reached_ = true;
    label->at = int(out_.code.size());
    emit(Op::kLabel, 0, unsigned(depth_));
    for (const size_t use : label->uses) {
      const TemplateInstruction i = unpack_instruction(out_.code[use]);
      if (label->at > 65535) refuse_template(where_, line_, "a template of so many instructions");
      out_.code[use] = pack_instruction(i.operation, i.a, unsigned(label->at));
    }
  }

  // --- names

  uint16_t new_slot() { return uint16_t(slots_++); }
  void load(const Node& at, const std::string& name) {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) {
        emit(Op::kLoad, 0, found->second);
        return;
      }
    if (is_built_in(name) && name != "dict") {  // which is a name of values, too
      emit(Op::kFunction);
      return;
    }
    for (const char* global : {"lipsum", "cycler", "joiner", "self", "super"})
      if (name == global && !set_.count(name)) refuse(at, "'" + name + "'");
    for (const char* special : {"caller", "varargs", "kwargs"})
      if (name == special && function_ > 0) refuse(at, "'" + name + "' of a macro");
    emit(function_ == 0 ? Op::kLoad : Op::kLoadOuter, 0, root_.at(name));
  }
  void store(const std::string& name) {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) {
        emit(Op::kStore, 0, found->second);
        return;
      }
    emit(Op::kStore, 0, root_.at(name));
  }
  /// The value on the stack into names.
  void store_target(const Node& target) {
    line_ = target.line;
    if (target.kind == NodeKind::kTuple) {
      emit(Op::kUnpack, 0, unsigned(target.kids.size()));
      each_kid(target, [&](const Node& kid) { store_target(kid); });
    } else if (target.kind == NodeKind::kAttribute) {
      load(target, target.kids[0]->text);
      emit(Op::kSetAttribute, 0, text(target.text));
    } else {
      store(target.text);
    }
  }
  /// A scope whose names begin as those outside.
  void open_scope(const Node& body, const std::vector<std::string>& own = {}) {
    std::vector<std::string> names;
    add_stores(body, &names);
    Scope scope;
    for (const std::string& name : own) scope[name] = new_slot();
    for (const std::string& name : names) {
      if (scope.count(name)) continue;
      load(body, name);
      const uint16_t slot = new_slot();
      emit(Op::kStore, 0, slot);
      scope[name] = slot;
    }
    scopes_.push_back(std::move(scope));
  }
  void close_scope() { scopes_.pop_back(); }
  void scoped(const Node& body) {
    const Leniency outside(this, false);
    open_scope(body);
    inner_++;
    statement(body);
    inner_--;
    close_scope();
  }

  // --- statements

  void statement(const Node& node);
  bool uses_inner_names(const Node& macro) const;
  void if_statement(const Node& node);
  void for_statement(const Node& node);
  void set_flag(int slot, bool value);
  void open_loop_scope(const Node& target, const Node& body, const std::vector<std::string>& own);
  void compile_macro(const Node& node, size_t function);

  // --- expressions: each leaves one value

  void value(const Node& node);
  void values(const Node& node, size_t first = 0) {
    for (size_t i = first; i < node.kids.size(); i++) value(*node.kids[i]);
  }
  void integer(const Node& node, int64_t number);
  void compare(const Node& node);
  void call(const Node& node);
  void call_value(const Node& node);
  /// An error of the rendering in place of a value.
  void raise(const std::string& why) {
    emit(Op::kText, 0, text(why));
    emit(Op::kBuiltIn, 1, unsigned(TemplateBuiltIn::kRaise));
  }
  void filter(const Node& node);
  void select(const Node& node, bool by_attribute, bool rejects);
  void test(const Node& node);
  unsigned named_arguments(const Node& node, const std::vector<std::string>& names);

  struct OpenLoop {
    Label *head, *end;
    int captures;
  };

  const std::string& where_;
  NodePtr tree_;
  Names set_;
  CompiledTemplate out_;
  std::map<std::string, uint16_t> texts_, root_;
  std::vector<Scope> scopes_;
  std::vector<OpenLoop> loops_;
  std::vector<Macro> macros_;
  size_t function_ = 0;
  int slots_ = 0, depth_ = 0, most_depth_ = 0, captures_ = 0, inner_ = 0, line_ = 1;
  bool is_reached_ = true, is_lenient_ = false;
};

}  // namespace ingot::chat
