// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_compiler.h"

#include <algorithm>
#include <map>
#include <set>

#include "tools/files/failure.h"
#include "tools/text/template_lexer.h"
#include "tools/text/template_names.h"
#include "tools/text/template_parser.h"

namespace ingot::chat {
namespace {

using Op = TemplateOperation;
using Names = std::set<std::string>;

template <class Visit>
void each_kid(const Node& node, const Visit& visit) {
  for (const NodePtr& kid : node.kids)
    if (kid) visit(*kid);
}

/// Names in any place, and those that something sets.
void collect(const Node& node, Names* all, Names* set) {
  const auto add_targets = [&](const Node& target, const auto& self) -> void {
    if (target.kind == NodeKind::kName) set->insert(target.text);
    if (target.kind == NodeKind::kTuple)
      each_kid(target, [&](const Node& kid) { self(kid, self); });
  };
  if (node.kind == NodeKind::kName) all->insert(node.text);
  if (node.kind == NodeKind::kFor || node.kind == NodeKind::kSet ||
      node.kind == NodeKind::kSetBlock)
    add_targets(*node.kids[0], add_targets);
  if (node.kind == NodeKind::kMacro) {
    all->insert(node.text), set->insert(node.text);
    for (size_t i = 0; i + 1 < node.kids.size(); i++) set->insert(node.kids[i]->text);
  }
  each_kid(node, [&](const Node& kid) { collect(kid, all, set); });
}

void add_names(const Node& target, std::vector<std::string>* names) {
  if (target.kind == NodeKind::kName) names->push_back(target.text);
  if (target.kind == NodeKind::kTuple)
    each_kid(target, [&](const Node& kid) { add_names(kid, names); });
}

/// What a body sets in its own scope.
void add_stores(const Node& node, std::vector<std::string>* names) {
  switch (node.kind) {
    case NodeKind::kSet:
    case NodeKind::kSetBlock: return add_names(*node.kids[0], names);
    case NodeKind::kMacro: names->push_back(node.text); return;
    case NodeKind::kBlock:
    case NodeKind::kIf: each_kid(node, [&](const Node& kid) { add_stores(kid, names); }); return;
    default: return;
  }
}

/// A place that jumps lead to, before or behind them.
struct Label {
  std::vector<size_t> uses;  // instructions in front of it
  int at = -1, depth = -1;
};

class Compiler {
 public:
  Compiler(std::string_view source, const std::string& where)
      : where_(where), tree_(parse_template(source, where)) {}

  CompiledTemplate run() {
    Names all;
    collect(*tree_, &all, &set_);
    all.insert("loop");
    for (const std::string& name : all) {
      if (is_built_in(name) && name != "dict") continue;
      root_[name] = uint16_t(out_.texts.size());
      text(name);
    }
    out_.inputs = uint16_t(out_.texts.size());
    begin_function({});
    slots_ = out_.inputs;
    statement(*tree_);
    end_function();
    for (size_t i = 0; i < macros_.size(); i++)
      compile_macro(*macros_[i].node, macros_[i].function);
    if (out_.code.size() > kMaxTemplateCode || out_.texts.size() > 65535)
      refuse(*tree_, "a template of so many instructions");
    return std::move(out_);
  }

 private:
  using Scope = std::map<std::string, uint16_t>;
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
    open_scope(body);
    inner_++;
    statement(body);
    inner_--;
    close_scope();
  }

  // --- statements

  void statement(const Node& node) {
    line_ = node.line;
    switch (node.kind) {
      case NodeKind::kBlock: each_kid(node, [&](const Node& kid) { statement(kid); }); return;
      case NodeKind::kText: emit(Op::kPrintText, 0, text(node.text)); return;
      case NodeKind::kPrint:
        value(*node.kids[0]);
        emit(Op::kPrint);
        return;
      case NodeKind::kIf: return if_statement(node);
      case NodeKind::kFor: return for_statement(node);
      case NodeKind::kSet:
        value(*node.kids[1]);
        store_target(*node.kids[0]);
        return;
      case NodeKind::kSetBlock:
        emit(Op::kCapture);
        captures_++;
        scoped(*node.kids[1]);
        captures_--;
        emit(Op::kEndCapture);
        if (node.kids[2]) value(*node.kids[2]);
        store_target(*node.kids[0]);
        return;
      case NodeKind::kFilterBlock:
        emit(Op::kCapture);
        captures_++;
        scoped(*node.kids[0]);
        captures_--;
        emit(Op::kEndCapture);
        value(*node.kids[1]);
        emit(Op::kPrint);
        return;
      case NodeKind::kScope: return scoped(*node.kids[0]);
      case NodeKind::kMacro: {
        if (function_ != 0 || inner_ > 0) refuse(node, "a macro in a macro, loop or block");
        // Functions follow the template in the order of their definitions.
        macros_.push_back({&node, macros_.size() + 1});
        emit(Op::kMacro, 0, unsigned(macros_.size()));
        store(node.text);
        return;
      }
      case NodeKind::kBreak:
      case NodeKind::kContinue:
        if (loops_.empty() || loops_.back().captures != captures_)
          refuse(node, "'break' or 'continue' outside of a loop");
        if (node.kind == NodeKind::kContinue) return jump(Op::kJump, loops_.back().head);
        emit(Op::kPop);
        return jump(Op::kJump, loops_.back().end);
      default: refuse(node, "this statement");
    }
  }

  void if_statement(const Node& node) {
    Label otherwise, end;
    value(*node.kids[0]);
    jump(Op::kJumpIfFalse, &otherwise);
    statement(*node.kids[1]);
    jump(Op::kJump, &end);
    bind(&otherwise);
    statement(*node.kids[2]);
    bind(&end);
  }

  void for_statement(const Node& node) {
    const Node &target = *node.kids[0], &body = *node.kids[2];
    std::vector<std::string> own;
    add_names(target, &own);
    if (target.kind == NodeKind::kAttribute) refuse(target, "an attribute that a loop sets");
    own.push_back("loop");
    value(*node.kids[1]);
    emit(Op::kIterate);
    Label head, end;
    // `else` is for a loop of which no turn came to its end.
    const int none_ended = node.kids[3] ? slots_++ : 0;
    if (node.kids[3]) set_flag(none_ended, true);
    if (node.kids[4]) {
      Label again, done;
      bind(&again);
      jump(Op::kNext, &done, 1);
      open_scope(Node{NodeKind::kBlock}, own);
      store_target(target);
      value(*node.kids[4]);
      emit(Op::kKeep);
      close_scope();
      jump(Op::kJump, &again);
      bind(&done);
      emit(Op::kIterate);
    }
    bind(&head);
    jump(Op::kNext, &end);
    // What the body sets begins anew in each turn.
    const size_t outer = scopes_.size();
    open_loop_scope(target, body, own);
    loops_.push_back({&head, &end, captures_});
    inner_++;
    statement(body);
    inner_--;
    loops_.pop_back();
    scopes_.resize(outer);
    if (node.kids[3]) set_flag(none_ended, false);
    jump(Op::kJump, &head);
    bind(&end);
    if (!node.kids[3]) return;
    Label over;
    emit(Op::kLoad, 0, unsigned(none_ended));
    jump(Op::kJumpIfFalse, &over);
    statement(*node.kids[3]);
    bind(&over);
  }
  void set_flag(int slot, bool value) {
    emit(Op::kSimple, unsigned(value ? TemplateSimple::kTrue : TemplateSimple::kFalse));
    emit(Op::kStore, 0, unsigned(slot));
  }
  /// The item is on the stack, over the loop.
  void open_loop_scope(const Node& target, const Node& body, const std::vector<std::string>& own) {
    const int item = slots_++;
    emit(Op::kStore, 0, unsigned(item));
    open_scope(body, own);
    emit(Op::kLoad, 0, unsigned(item));
    store_target(target);
    emit(Op::kCopy);
    store("loop");
  }

  void compile_macro(const Node& node, size_t function) {
    Scope arguments;
    const size_t count = node.kids.size() - 1;
    if (count > 255) refuse(node, "a macro of so many arguments");
    // Their names lie side by side.
    const size_t names = out_.texts.size();
    for (size_t i = 0; i < count; i++) {
      out_.texts.push_back(node.kids[i]->text);
      arguments[node.kids[i]->text] = uint16_t(i);
    }
    if (arguments.size() != count) refuse(node, "a macro with an argument twice");
    begin_function(std::move(arguments));
    slots_ = int(count);
    loops_.clear();
    captures_ = 0, inner_ = 1;
    out_.functions[function].arguments = uint16_t(count);
    out_.functions[function].names = uint16_t(count ? names : 0);
    for (size_t i = 0; i < count; i++) {
      if (node.kids[i]->kids.empty()) continue;
      Label given;
      jump(Op::kJumpIfGiven, &given, unsigned(i));
      value(*node.kids[i]->kids[0]);
      emit(Op::kStore, 0, unsigned(i));
      bind(&given);
    }
    std::vector<std::string> stores;
    const Node& body = *node.kids.back();
    add_stores(body, &stores);
    for (const std::string& name : stores) {
      if (scopes_[0].count(name)) continue;
      load(body, name);
      const uint16_t slot = new_slot();
      emit(Op::kStore, 0, slot);
      scopes_[0][name] = slot;
    }
    emit(Op::kCapture);
    statement(body);
    emit(Op::kEndCapture);
    emit(Op::kReturn);
    is_reached_ = false;
    end_function();
  }

  // --- expressions: each leaves one value

  void value(const Node& node);
  void values(const Node& node, size_t first = 0) {
    for (size_t i = first; i < node.kids.size(); i++) value(*node.kids[i]);
  }
  void integer(const Node& node, int64_t number);
  void compare(const Node& node);
  void call(const Node& node);
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
  bool is_reached_ = true;
};

/// Of 16 bits, or put together.
void Compiler::integer(const Node& node, int64_t number) {
  if (number >= -32768 && number < 32768) {
    emit(Op::kInteger, 0, uint16_t(number));
    return;
  }
  integer(node, number / 16384);
  emit(Op::kInteger, 0, 16384);
  emit(Op::kBinary, unsigned(TemplateBinary::kMultiply));
  emit(Op::kInteger, 0, uint16_t(number % 16384));
  emit(Op::kBinary, unsigned(TemplateBinary::kAdd));
}

void Compiler::value(const Node& node) {
  line_ = node.line;
  const auto simple = [&](TemplateSimple which) { emit(Op::kSimple, unsigned(which)); };
  switch (node.kind) {
    case NodeKind::kName: return load(node, node.text);
    case NodeKind::kConstant: emit(Op::kText, 0, text(node.text)); return;
    case NodeKind::kInteger:
      if (node.text.size() > 18) refuse(node, "a number of so many digits");
      return integer(node, std::stoll(node.text));
    case NodeKind::kFloat:
      emit(Op::kText, 0, text(node.text));
      emit(Op::kFilter, 0, unsigned(TemplateFilter::kFloat));
      return;
    case NodeKind::kTrue: return simple(TemplateSimple::kTrue);
    case NodeKind::kFalse: return simple(TemplateSimple::kFalse);
    case NodeKind::kNone: return simple(TemplateSimple::kNone);
    case NodeKind::kUndefined: return simple(TemplateSimple::kUndefined);
    case NodeKind::kList:
    case NodeKind::kTuple:
      values(node);
      emit(Op::kList, node.kind == NodeKind::kTuple, unsigned(node.kids.size()));
      return;
    case NodeKind::kDict:
      values(node);
      emit(Op::kDict, 0, unsigned(node.kids.size() / 2));
      return;
    case NodeKind::kAttribute:
      value(*node.kids[0]);
      emit(Op::kAttribute, 0, text(node.text));
      return;
    case NodeKind::kItem:
      values(node);
      emit(Op::kItem);
      return;
    case NodeKind::kSlice:
      values(node);
      emit(Op::kSlice);
      return;
    case NodeKind::kCall: return call(node);
    case NodeKind::kFilter: return filter(node);
    case NodeKind::kTest: return test(node);
    case NodeKind::kNot:
    case NodeKind::kMinus:
    case NodeKind::kPlus:
      value(*node.kids[0]);
      emit(Op::kUnary, unsigned(node.kind == NodeKind::kNot     ? TemplateUnary::kNot
                                : node.kind == NodeKind::kMinus ? TemplateUnary::kMinus
                                                                : TemplateUnary::kPlus));
      return;
    case NodeKind::kBinary: {
      static const std::map<std::string, TemplateBinary> kOperators = {
          {"+", TemplateBinary::kAdd},          {"-", TemplateBinary::kSubtract},
          {"*", TemplateBinary::kMultiply},     {"/", TemplateBinary::kDivide},
          {"//", TemplateBinary::kFloorDivide}, {"%", TemplateBinary::kRemainder}};
      values(node);
      emit(Op::kBinary, unsigned(kOperators.at(node.text)));
      return;
    }
    case NodeKind::kCompare: return compare(node);
    case NodeKind::kAnd:
    case NodeKind::kOr: {
      Label end;
      value(*node.kids[0]);
      jump(node.kind == NodeKind::kAnd ? Op::kJumpIfFalseOrPop : Op::kJumpIfTrueOrPop, &end);
      value(*node.kids[1]);
      return bind(&end);
    }
    case NodeKind::kJoin:
      values(node);
      emit(Op::kConcatenate, 0, unsigned(node.kids.size()));
      return;
    case NodeKind::kCondition: {
      Label otherwise, end;
      value(*node.kids[0]);
      jump(Op::kJumpIfFalse, &otherwise);
      value(*node.kids[1]);
      jump(Op::kJump, &end);
      bind(&otherwise);
      value(*node.kids[2]);
      return bind(&end);
    }
    default: refuse(node, "this expression");
  }
}

/// a < b < c: each operand once.
void Compiler::compare(const Node& node) {
  static const std::map<std::string, TemplateBinary> kOperators = {
      {"==", TemplateBinary::kEqual},  {"!=", TemplateBinary::kNotEqual},
      {"<", TemplateBinary::kLess},    {"<=", TemplateBinary::kLessEqual},
      {">", TemplateBinary::kGreater}, {">=", TemplateBinary::kGreaterEqual},
      {"in", TemplateBinary::kIn},     {"not in", TemplateBinary::kNotIn}};
  Label end;
  value(*node.kids[0]);
  for (size_t i = 0; i < node.operators.size(); i++) {
    const bool is_last = i + 1 == node.operators.size();
    value(*node.kids[i + 1]);
    const uint16_t kept = is_last ? 0 : new_slot();
    if (!is_last) emit(Op::kStore, 0, kept);
    if (!is_last) emit(Op::kLoad, 0, kept);
    emit(Op::kBinary, unsigned(kOperators.at(node.operators[i])));
    if (is_last) break;
    jump(Op::kJumpIfFalseOrPop, &end);
    emit(Op::kLoad, 0, kept);
  }
  bind(&end);
}

/// Arguments in the places of their names, undefined where there is none; how many there are.
unsigned Compiler::named_arguments(const Node& node, const std::vector<std::string>& names) {
  std::vector<const Node*> given;
  for (size_t i = 1; i < node.kids.size(); i++) {
    const Node& argument = *node.kids[i];
    const bool is_named = argument.kind == NodeKind::kKeyword;
    const size_t place =
        is_named ? size_t(std::find(names.begin(), names.end(), argument.text) - names.begin())
                 : i - 1;
    if (place >= names.size())
      refuse(argument, is_named ? "the argument '" + argument.text + "' of '" + node.text + "'"
                                : "an argument more of '" + node.text + "'");
    if (given.size() <= place) given.resize(place + 1);
    if (given[place]) refuse(argument, "an argument of '" + node.text + "' twice");
    given[place] = is_named ? argument.kids[0].get() : &argument;
  }
  for (const Node* each : given) {
    if (each)
      value(*each);
    else
      emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  }
  return unsigned(given.size());
}

void Compiler::call(const Node& node) {
  const Node& callee = *node.kids[0];
  const unsigned count = unsigned(node.kids.size() - 1);
  if (callee.kind == NodeKind::kAttribute) {
    TemplateMethod method;
    if (!find_method(callee.text, &method)) refuse(callee, "the method '" + callee.text + "'");
    value(*callee.kids[0]);
    unsigned given = count;
    bool has_names = false;
    for (unsigned i = 1; i <= count; i++)
      has_names = has_names || node.kids[i]->kind == NodeKind::kKeyword;
    if (has_names)
      given = named_arguments(node, arguments_of(method));
    else
      values(node, 1);
    line_ = node.line;
    emit(Op::kMethod, given, unsigned(method));
    return;
  }
  if (callee.kind != NodeKind::kName) refuse(callee, "a call of this value");
  TemplateBuiltIn function;
  const bool is_local = std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
    return scope.count(callee.text) != 0;
  });
  if (!is_local && is_built_in(callee.text) && find_built_in(callee.text, &function)) {
    const bool takes_names =
        function == TemplateBuiltIn::kNamespace || function == TemplateBuiltIn::kDict;
    for (unsigned i = 1; i <= count; i++) {
      const Node& argument = *node.kids[i];
      if ((argument.kind == NodeKind::kKeyword) != takes_names)
        refuse(argument, "this argument of '" + callee.text + "'");
      if (takes_names) emit(Op::kText, 0, text(argument.text));
      value(takes_names ? *argument.kids[0] : argument);
    }
    line_ = node.line;
    emit(Op::kBuiltIn, takes_names ? 2 * count : count, unsigned(function));
    return;
  }
  load(callee, callee.text);
  unsigned named = 0;
  for (unsigned i = 1; i <= count; i++) {
    const Node& argument = *node.kids[i];
    const bool is_named = argument.kind == NodeKind::kKeyword;
    if (is_named) emit(Op::kText, 0, text(argument.text));
    value(is_named ? *argument.kids[0] : argument);
    named += is_named;
  }
  line_ = node.line;
  emit(Op::kCall, count - named, named);
}

void Compiler::filter(const Node& node) {
  if (node.kids[0]) value(*node.kids[0]);  // else it is on the stack
  line_ = node.line;
  const std::string& name = node.text;
  if (name == "select" || name == "reject") return select(node, false, name == "reject");
  if (name == "selectattr" || name == "rejectattr") return select(node, true, name == "rejectattr");
  TemplateFilter which;
  if (name == "map") {
    const size_t count = node.kids.size() - 1;
    const Node* first = count > 0 ? node.kids[1].get() : nullptr;
    if (first && first->kind == NodeKind::kKeyword) {
      if (named_arguments(node, {"attribute", "default"}) == 1)
        emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
      emit(Op::kMapAttribute);
      return;
    }
    if (count != 1 || first->kind != NodeKind::kConstant || !find_filter(first->text, &which) ||
        which == TemplateFilter::kReplace)
      refuse(node, "this form of 'map'");
    emit(Op::kMap, 0, unsigned(which));
    return;
  }
  if (!find_filter(name, &which)) refuse(node, "the filter '" + name + "'");
  const unsigned count = named_arguments(node, arguments_of(which));
  if (which == TemplateFilter::kReplace && count < 2) refuse(node, "'replace' of one argument");
  line_ = node.line;
  emit(Op::kFilter, count, unsigned(which));
}

/// selectattr(attribute, test, argument), select(test, argument)
void Compiler::select(const Node& node, bool by_attribute, bool rejects) {
  const size_t first = by_attribute ? 2 : 1, count = node.kids.size();
  for (size_t i = 1; i < count; i++)
    if (node.kids[i]->kind == NodeKind::kKeyword)
      refuse(node, "a named argument of '" + node.text + "'");
  if (count < first || count > first + 2) refuse(node, "these arguments of '" + node.text + "'");
  TemplateTest which = TemplateTest::kDefined;
  unsigned how = (by_attribute ? kSelectAttribute : 0) | (rejects ? kSelectRejects : 0);
  if (count == first)
    how |= kSelectTruth;
  else if (node.kids[first]->kind != NodeKind::kConstant ||
           !find_test(node.kids[first]->text, &which))
    refuse(node, "this test of '" + node.text + "'");
  if (count == first + 2) how |= kSelectArgument;
  if (count > first && (which >= TemplateTest::kDivisibleBy) != (count == first + 2))
    refuse(node, "the arguments of the test in '" + node.text + "'");
  if (by_attribute)
    value(*node.kids[1]);
  else
    emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  if (how & kSelectArgument)
    value(*node.kids[first + 1]);
  else
    emit(Op::kSimple, unsigned(TemplateSimple::kUndefined));
  emit(Op::kSelect, how, unsigned(which));
}

void Compiler::test(const Node& node) {
  TemplateTest which;
  if (!find_test(node.text, &which)) refuse(node, "the test '" + node.text + "'");
  const size_t count = node.kids.size() - 1;
  if (count != size_t(which >= TemplateTest::kDivisibleBy) ||
      (count && node.kids[1]->kind == NodeKind::kKeyword))
    refuse(node, "these arguments of the test '" + node.text + "'");
  values(node);
  line_ = node.line;
  emit(Op::kTest, unsigned(count), unsigned(which));
}

}  // namespace

CompiledTemplate compile_template(std::string_view source, const std::string& where) {
  constexpr size_t kMost = 1 << 20;
  if (source.size() > kMost) refuse_template(where, 1, "a template of more than a megabyte");
  return Compiler(source, where).run();
}

ChatTemplate chat_template_of(std::string_view source, const std::string& where) {
  ChatTemplate chat;
  chat.is_there = true;
  try {
    chat.program = compile_template(source, where);
  } catch (const host::Failure& failure) {
    if (failure.exit() != host::Exit::kUnsupported) throw;
    chat.refused = failure.message();
  }
  return chat;
}

}  // namespace ingot::chat
