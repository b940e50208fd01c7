// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/bytecode_blocks.cpp - the blocks of a method: JF with its JMP is an if,
// LOOP with its JMP back a for or a while.
#include <algorithm>

#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"
#include "tools/import/torchscript/bytecode_writer.h"

namespace ingot::torchscript {
namespace {

constexpr int kMaxNesting = 200;              // blocks in blocks
constexpr uint64_t kInstructionMemory = 400;  // of the statements that it becomes

}  // namespace

Function MethodWriter::write() {
  host::charge_metadata(method_.instructions.size() * kInstructionMemory);
  Function out;
  const size_t dot = method_.name.rfind('.');
  out.name = dot == std::string::npos ? method_.name : method_.name.substr(dot + 1);
  for (const BytecodeMethod::Argument& argument : method_.arguments) {
    FunctionParameter p;
    p.name = argument.name;
    p.type = write_.name(argument.type);
    if (argument.otherwise >= 0) p.otherwise = write_.constant(size_t(argument.otherwise));
    out.parameters.push_back(p);
    stack_.push_back({argument.name, -1, false});
  }
  const std::vector<StatementId> body = block(0, method_.instructions.size(), 0);
  if (!returned_) refuse(method_.instructions.size(), "ends without RET");
  out.body = write_.block(body);
  return out;
}

void MethodWriter::refuse(size_t at, const std::string& why, host::Exit exit_code) const {
  std::string where =
      path_ + ": bytecode of '" + method_.name + "', instruction " + std::to_string(at);
  if (at < method_.instructions.size())
    where += std::string(" (") + opcode_name(method_.instructions[at].opcode) + ")";
  graph::fail_conversion(
      exit_code,
      where + ": " + why + (exit_code == host::Exit::kCorrupt ? "; the file is damaged" : ""));
}

size_t MethodWriter::target(size_t at, int64_t distance, size_t begin, size_t end) const {
  constexpr int64_t kFurthest = int64_t{1} << 40;
  const bool is_near = distance > -kFurthest && distance < kFurthest;
  const int64_t to = is_near ? int64_t(at) + distance : -1;
  if (to < int64_t(begin) || to > int64_t(end))
    refuse(at, "jumps by " + std::to_string(distance) + ", out of its block of instructions " +
                   std::to_string(begin) + " to " + std::to_string(end));
  return size_t(to);
}
std::vector<StatementId> MethodWriter::block(size_t begin, size_t end, int nesting) {
  if (nesting > kMaxNesting)
    refuse(begin, "lies in more than " + std::to_string(kMaxNesting) + " blocks");
  std::vector<StatementId> statements;
  std::vector<StatementId>* const outer = to_;
  to_ = &statements;
  for (size_t at = begin; at < end;) {
    write_.line = uint32_t(at);
    const Instruction& i = method_.instructions[at];
    if (returned_) refuse(at, "stands behind RET");
    switch (i.opcode) {
      case Opcode::kJf: at = branch(at, begin, end, nesting); break;
      case Opcode::kLoop: at = loop(at, begin, end, nesting); break;
      case Opcode::kJmp: refuse(at, "jumps where no branch or loop ends");
      case Opcode::kRet:
        if (nesting > 0) refuse(at, "returns from within a branch or loop");
        say(StatementKind::kReturn, {}, stack_.empty() ? kNone : use(pop(at)));
        returned_ = true;
        at++;
        break;
      default: plain(at++);
    }
  }
  to_ = outer;
  return statements;
}

/// JF else; ...; JMP end; else: ...; end.
size_t MethodWriter::branch(size_t at, size_t begin, size_t end, int nesting) {
  const size_t otherwise = target(at, method_.instructions[at].x, at + 2, end);
  const Instruction& jump = method_.instructions[otherwise - 1];
  if (jump.opcode != Opcode::kJmp) refuse(at, "has no JMP behind its branch");
  const size_t behind = target(otherwise - 1, jump.x, otherwise, end);
  (void)begin;
  const ExpressionId condition = use(pop(at));
  std::vector<std::string> used_up;
  used_up.swap(forgotten_);
  detach_all(at);
  const std::vector<Slot> before = stack_;
  const size_t floor = floor_;
  floor_ = stack_.size();
  std::vector<std::vector<StatementId>> bodies;
  size_t results = 0;
  for (const auto& [from, to] : {std::pair(at + 1, otherwise - 1), std::pair(otherwise, behind)}) {
    std::vector<StatementId> body = block(from, to, nesting + 1);
    const size_t left = stack_.size() - floor_;
    if (!bodies.empty() && left != results)
      refuse(at, "leaves " + std::to_string(results) + " values where it is true, and " +
                     std::to_string(left) + " where not");
    results = left;
    append_results(at, &body);
    bodies.push_back(std::move(body));
    stack_ = before;
  }
  floor_ = floor;
  write_.line = uint32_t(at);
  const StatementId id = write_.statement(StatementKind::kIf, {}, condition);
  write_.at(id).body = write_.block(bodies[0]);
  write_.at(id).otherwise = write_.block(bodies[1]);
  to_->push_back(id);
  forgotten_ = std::move(used_up);
  forget();
  for (size_t i = 0; i < results; i++) stack_.push_back({fresh(at, int64_t(i)), -1, true});
  return behind;
}
/// What a block leaves on the stack, under names that do not depend on the block.
void MethodWriter::append_results(size_t at, std::vector<StatementId>* body) {
  std::vector<StatementId>* const outer = to_;
  to_ = body;
  for (size_t i = floor_; i < stack_.size(); i++) store(fresh(at, int64_t(i - floor_)), stack_[i]);
  to_ = outer;
}

bool MethodWriter::is_true(const Slot& slot) const {
  return slot.constant >= 0 && method_.truths.count(size_t(slot.constant)) != 0;
}
bool MethodWriter::is_endless(const Slot& slot) const {
  return slot.constant >= 0 && method_.endless.count(size_t(slot.constant)) != 0;
}
/// Whether a body reads which round it is: the first value that it stores.
bool MethodWriter::reads_round(size_t begin, size_t end) const {
  const Instruction& first = method_.instructions[begin];
  if (begin >= end || (first.opcode != Opcode::kStore && first.opcode != Opcode::kStoreN))
    return true;
  return std::any_of(method_.instructions.begin() + int64_t(begin) + 1,
                     method_.instructions.begin() + int64_t(end), [&](const Instruction& i) {
                       return (i.opcode == Opcode::kLoad || i.opcode == Opcode::kMove) &&
                              i.x == first.x;
                     });
}

/// On the stack: 0, most rounds, whether to begin, what is carried; in the body: round, carried;
/// behind it: whether to go on, carried. LOOP behind; ...; JMP back; behind.
size_t MethodWriter::loop(size_t at, size_t begin, size_t end, int nesting) {
  const Instruction& i = method_.instructions[at];
  const size_t behind = target(at, i.x, at + 2, end);
  const Instruction& jump = method_.instructions[behind - 1];
  if (jump.opcode != Opcode::kJmp || target(behind - 1, jump.x, begin, end) != at)
    refuse(at, "has no JMP back at its end");
  if (i.n < 2 || i.n > kMaxOperands || uint64_t(i.n) + 1 > stack_.size() - floor_)
    refuse(at, "takes " + std::to_string(i.n + 1) + " values of a stack of " +
                   std::to_string(stack_.size() - floor_));
  const size_t carried = size_t(i.n) - 2, first = stack_.size() - carried - 2;
  const bool begins = is_true(stack_[first + 1]), endless = is_endless(stack_[first]);
  const std::string round = fresh(at) + "_round", most = fresh(at) + "_most",
                    going = fresh(at) + "_going";
  store(most, stack_[first]);
  store(going, stack_[first + 1]);
  for (size_t c = 0; c < carried; c++) store(fresh(at, int64_t(c)), stack_[first + 2 + c]);
  (void)pop_many(carried + 2);
  forget_slot(pop(at));  // the first round's number
  detach_all(at);
  const std::vector<Slot> before = stack_;
  const size_t floor = floor_;
  floor_ = stack_.size();
  stack_.push_back({round, -1, false});
  for (size_t c = 0; c < carried; c++) stack_.push_back({fresh(at, int64_t(c)), -1, true});
  std::vector<StatementId> body = block(at + 1, behind - 1, nesting + 1);
  if (stack_.size() - floor_ != carried + 1)
    refuse(at, "carries " + std::to_string(carried) + " values, and a round leaves " +
                   std::to_string(stack_.size() - floor_));
  const bool counts = begins && is_true(stack_[floor_]);  // nothing but the rounds ends it
  std::vector<StatementId>* const outer = to_;
  to_ = &body;
  write_.line = uint32_t(at);
  // a value may be in the place of another: all are kept before any is set
  for (size_t c = 0; c < carried; c++) {
    const std::string next = fresh(at, int64_t(c)) + "_next";
    store(next, stack_[floor_ + 1 + c]);
    stack_[floor_ + 1 + c] = {next, -1, true};
  }
  if (!counts) store(going, stack_[floor_]);
  for (size_t c = 0; c < carried; c++) store(fresh(at, int64_t(c)), stack_[floor_ + 1 + c]);
  const bool has_round = !counts && (!endless || reads_round(at + 1, behind - 1));
  if (has_round)
    say(StatementKind::kAssign, {write_.name(round)},
        write_.call_operator("aten::add", "int", {write_.name(round), write_.integer(1)}));
  to_ = outer;
  if (counts)
    write_for(round, most, body);
  else
    write_while(endless ? "" : most, round, going, body);
  floor_ = floor;
  stack_ = before;
  forgotten_ = {most, going, round};
  forget();
  for (size_t c = 0; c < carried; c++) stack_.push_back({fresh(at, int64_t(c)), -1, true});
  return behind;
}
void MethodWriter::write_for(const std::string& round, const std::string& most,
                             const std::vector<StatementId>& body) {
  const ExpressionId rounds =
      write_.add(ExpressionKind::kCall, {write_.name("range"), write_.name(most)});
  const StatementId id = write_.statement(StatementKind::kFor, {write_.name(round)}, rounds);
  write_.at(id).body = write_.block(body);
  to_->push_back(id);
}
/// `most` is "" where there are as many rounds as can be.
void MethodWriter::write_while(const std::string& most, const std::string& round,
                               const std::string& going, const std::vector<StatementId>& body) {
  say(StatementKind::kAssign, {write_.name(round)}, write_.integer(0));
  ExpressionId more = write_.name(going);
  if (!most.empty()) {
    const ExpressionId left =
        write_.call_operator("aten::lt", "int", {write_.name(round), write_.name(most)});
    more = write_.call_operator("aten::__and__", "bool", {left, more});
  }
  const StatementId id = write_.statement(StatementKind::kWhile, {}, more);
  write_.at(id).body = write_.block(body);
  to_->push_back(id);
}
std::vector<MethodWriter::Slot> MethodWriter::pop_many(size_t count) {
  std::vector<Slot> out(stack_.end() - int64_t(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return out;
}
void MethodWriter::forget_slot(const Slot& slot) {
  if (slot.constant < 0 && slot.is_own) forgotten_.push_back(slot.name);
  forget();
}

std::unique_ptr<File> file_of_bytecode(const Bytecode& bytecode, const std::string& member,
                                       const std::string& path) {
  std::string module = member.substr(0, member.rfind(".py"));
  std::replace(module.begin(), module.end(), '/', '.');
  std::unique_ptr<File> file;
  host::charge_work(bytecode.methods.size());
  for (const BytecodeMethod& method : bytecode.methods) {
    const size_t end = method.name.rfind('.');
    const size_t begin =
        end == std::string::npos || end == 0 ? end : method.name.rfind('.', end - 1);
    if (begin == std::string::npos || method.name.compare(0, begin, module) != 0 ||
        begin != module.size())
      continue;
    if (!file) file = std::make_unique<File>();
    file->name = path + ": bytecode of " + module;
    Class& type = file->classes[method.name.substr(begin + 1, end - begin - 1)];
    type.name = method.name.substr(0, end);
    Function made = MethodWriter(method, *file, path).write();
    const std::string name = made.name;
    if (!type.methods.emplace(name, std::move(made)).second)
      graph::fail_corrupt(path, "bytecode has '" + method.name + "' twice; the file is damaged");
  }
  return file;
}

}  // namespace ingot::torchscript
