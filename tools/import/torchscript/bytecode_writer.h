// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/bytecode_writer.h - one method's instructions as statements. What lies
// on the stack is known at each instruction, so that each of its values has a name or is a
// constant. Inside tools/import/torchscript only.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/import/torchscript/bytecode.h"
#include "tools/import/torchscript/syntax_writer.h"

namespace ingot::torchscript {

constexpr int64_t kMaxOperands = 10000;  // of one instruction
// of names: no argument of a method has such a one
constexpr const char *kRegister = "r:", *kValue = "v:";

class MethodWriter {
 public:
  MethodWriter(const BytecodeMethod& method, File& file, const std::string& path)
      : method_(method), write_(file), path_(path) {}

  Function write();

 private:
  /// One value on the stack: a name, or a constant.
  struct Slot {
    std::string name;
    int64_t constant = -1;  // of the method
    bool is_own = true;     // the name is this value's alone: nobody reads it behind its use
  };

  [[noreturn]] void refuse(size_t at, const std::string& why,
                           host::Exit exit_code = host::Exit::kCorrupt) const;

  // Values.
  Slot pop(size_t at) {
    if (stack_.size() <= floor_) refuse(at, "takes a value of an empty stack");
    Slot slot = std::move(stack_.back());
    stack_.pop_back();
    return slot;
  }
  ExpressionId use(const Slot& slot) {
    if (slot.constant >= 0) return write_.constant(method_.first_constant + size_t(slot.constant));
    if (slot.is_own) forgotten_.push_back(slot.name);
    return write_.name(slot.name);
  }
  std::vector<ExpressionId> use_many(size_t at, int64_t count) {
    if (count < 0 || count > kMaxOperands || uint64_t(count) > stack_.size() - floor_)
      refuse(at, "takes " + std::to_string(count) + " values of a stack of " +
                     std::to_string(stack_.size() - floor_));
    std::vector<ExpressionId> out;
    for (size_t i = stack_.size() - size_t(count); i < stack_.size(); i++)
      out.push_back(use(stack_[i]));
    stack_.resize(stack_.size() - size_t(count));
    return out;
  }
  static std::string register_name(int64_t number) { return kRegister + std::to_string(number); }
  std::string fresh(size_t at, int64_t part = -1) const {
    return kValue + std::to_string(at) + (part < 0 ? "" : "_" + std::to_string(part));
  }

  // Statements. What was used up by one is forgotten behind it.
  void say(StatementKind kind, const std::vector<ExpressionId>& targets, ExpressionId value) {
    to_->push_back(write_.statement(kind, targets, value));
    forget();
  }
  void forget() {
    if (forgotten_.empty()) return;
    std::vector<ExpressionId> targets;
    for (const std::string& name : forgotten_) targets.push_back(write_.name(name));
    forgotten_.clear();
    to_->push_back(write_.statement(StatementKind::kForget, targets, kNone));
  }
  void push(size_t at, ExpressionId value) {
    stack_.push_back({fresh(at), -1, true});
    say(StatementKind::kAssign, {write_.name(stack_.back().name)}, value);
  }
  void push_unpacked(size_t at, ExpressionId value, int64_t count) {
    if (count < 0 || count > kMaxOperands) refuse(at, "unpacks " + std::to_string(count));
    std::vector<ExpressionId> targets;
    for (int64_t i = 0; i < count; i++) {
      stack_.push_back({fresh(at, i), -1, true});
      targets.push_back(write_.name(stack_.back().name));
    }
    const StatementId id = write_.statement(StatementKind::kAssign, targets, value);
    write_.at(id).unpacks = true;
    to_->push_back(id);
    forget();
  }
  void store(const std::string& name, const Slot& slot) {
    if (slot.constant < 0 && slot.name == name) return;
    say(StatementKind::kAssign, {write_.name(name)}, use(slot));
  }
  /// Slots that show a name which is about to become another value's get one of their own.
  void detach(size_t at, const std::string& name) {
    for (size_t i = 0; i < stack_.size(); i++) {
      if (stack_[i].constant >= 0 || stack_[i].name != name) continue;
      const std::string own = fresh(at, int64_t(i)) + "_kept";
      say(StatementKind::kAssign, {write_.name(own)}, write_.name(name));
      stack_[i] = {own, -1, true};
    }
  }
  /// Before a block of which nobody knows how often it runs.
  void detach_all(size_t at) {
    for (size_t i = 0; i < stack_.size(); i++)
      if (stack_[i].constant < 0 && stack_[i].name.rfind(kValue, 0) != 0)
        detach(at, std::string(stack_[i].name));
  }
  void set_register(size_t at, int64_t number, const Slot& slot) {
    if (number < 0) refuse(at, "names the register " + std::to_string(number));
    detach(at, register_name(number));
    store(register_name(number), slot);
  }

  // Blocks (bytecode_blocks.cpp).
  size_t target(size_t at, int64_t distance, size_t begin, size_t end) const;
  std::vector<StatementId> block(size_t begin, size_t end, int nesting);
  size_t branch(size_t at, size_t begin, size_t end, int nesting);
  void append_results(size_t at, std::vector<StatementId>* body);
  bool is_true(const Slot& slot) const;
  bool is_endless(const Slot& slot) const;
  bool reads_round(size_t begin, size_t end) const;
  size_t loop(size_t at, size_t begin, size_t end, int nesting);
  void write_for(const std::string& round, const std::string& most,
                 const std::vector<StatementId>& body);
  void write_while(const std::string& most, const std::string& round, const std::string& going,
                   const std::vector<StatementId>& body);
  std::vector<Slot> pop_many(size_t count);
  void forget_slot(const Slot& slot);

  // One instruction that goes on with the next (bytecode_instructions.cpp).
  void plain(size_t at);
  std::string register_of(size_t at) const;
  void store_many(size_t at);
  const std::string& type_of(size_t at, int64_t number) const;
  void is_instance(size_t at);
  void create_object(size_t at);
  void call_method(size_t at);
  const BytecodeOperator& op_of(size_t at) const;
  int64_t arguments_of(size_t at, const BytecodeOperator& op) const;
  int64_t results_of(size_t at, const BytecodeOperator& op) const;
  void call(size_t at, const BytecodeOperator& op, std::optional<int64_t> given);
  void print(std::vector<ExpressionId> arguments);

  const BytecodeMethod& method_;
  SyntaxWriter write_;
  const std::string& path_;
  std::vector<Slot> stack_;
  size_t floor_ = 0;  // of the block: what lies below is not its own
  std::vector<std::string> forgotten_;
  std::vector<StatementId>* to_ = nullptr;
  bool returned_ = false;
};

}  // namespace ingot::torchscript
