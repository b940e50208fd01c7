// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_compiler.h"

#include "tools/files/failure.h"
#include "tools/text/template_build.h"

namespace ingot::chat {
void collect_names(const Node& node, std::set<std::string>* all, std::set<std::string>* set) {
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
  each_kid(node, [&](const Node& kid) { collect_names(kid, all, set); });
}

void add_names(const Node& target, std::vector<std::string>* names) {
  if (target.kind == NodeKind::kName) names->push_back(target.text);
  if (target.kind == NodeKind::kTuple)
    each_kid(target, [&](const Node& kid) { add_names(kid, names); });
}

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

CompiledTemplate Compiler::run() {
  Names all;
  collect_names(*tree_, &all, &set_);
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
  for (size_t i = 0; i < macros_.size(); i++) compile_macro(*macros_[i].node, macros_[i].function);
  if (out_.code.size() > kMaxTemplateCode || out_.texts.size() > 65535)
    refuse(*tree_, "a template of so many instructions");
  return std::move(out_);
}

void Compiler::statement(const Node& node) {
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
      if (function_ != 0 || uses_inner_names(node))
        refuse(node, "a macro in a macro, or of the variables of a loop or block");
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

/// Whether it has names of the scopes around it, which are slots of this function.
bool Compiler::uses_inner_names(const Node& macro) const {
  Names all, set;
  each_kid(macro, [&](const Node& kid) { collect_names(kid, &all, &set); });
  for (size_t i = 0; i + 1 < macro.kids.size(); i++) all.erase(macro.kids[i]->text);
  return std::any_of(all.begin(), all.end(), [&](const std::string& name) {
    return std::any_of(scopes_.begin() + 1, scopes_.end(),
                       [&](const Scope& scope) { return scope.count(name) != 0; });
  });
}

void Compiler::if_statement(const Node& node) {
  const Leniency inside(this, true);
  Label otherwise, end;
  value(*node.kids[0]);
  jump(Op::kJumpIfFalse, &otherwise);
  statement(*node.kids[1]);
  jump(Op::kJump, &end);
  bind(&otherwise);
  statement(*node.kids[2]);
  bind(&end);
}

void Compiler::for_statement(const Node& node) {
  const Node &target = *node.kids[0], &body = *node.kids[2];
  std::vector<std::string> own;
  add_names(target, &own);
  if (target.kind == NodeKind::kAttribute) refuse(target, "an attribute that a loop sets");
  own.push_back("loop");
  value(*node.kids[1]);
  const Leniency outside(this, false);
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

void Compiler::set_flag(int slot, bool value) {
  emit(Op::kSimple, unsigned(value ? TemplateSimple::kTrue : TemplateSimple::kFalse));
  emit(Op::kStore, 0, unsigned(slot));
}

/// The item is on the stack, over the loop.
void Compiler::open_loop_scope(const Node& target, const Node& body,
                               const std::vector<std::string>& own) {
  const int item = slots_++;
  emit(Op::kStore, 0, unsigned(item));
  open_scope(body, own);
  emit(Op::kLoad, 0, unsigned(item));
  store_target(target);
  emit(Op::kCopy);
  store("loop");
}

void Compiler::compile_macro(const Node& node, size_t function) {
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

CompiledTemplate compile_template(std::string_view source, const std::string& where) {
  constexpr size_t kMaxSource = 1 << 20;
  if (source.size() > kMaxSource) refuse_template(where, 1, "a template of more than a megabyte");
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
