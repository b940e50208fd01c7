// SPDX-License-Identifier: Apache-2.0
// Instructions of PyTorch Mobile as blocks: what writers make is followed, anything else is refused
// with the instruction.
#include "tools/import/torchscript/bytecode.h"

#include <doctest/doctest.h>

#include "tools/graph/graph.h"
#include "tools/import/torchscript/interpreter.h"

using namespace ingot;
using namespace ingot::torchscript;
using graph::Dim;
using Kind = Value::Kind;

namespace {

/// One method f(self, x) of a class M. Constants: 0 True, 1 a great number, 2 zero, 3 one, 4
/// "text".
struct Method {
  Method(std::vector<Instruction> instructions) {
    BytecodeMethod f;
    f.name = "__torch__.M.f";
    f.instructions = {{Opcode::kStoreN, 1, 2}};  // r1 = self, r2 = x
    f.instructions.insert(f.instructions.end(), instructions.begin(), instructions.end());
    f.operators = {{"aten::add", "int", 2}, {"aten::lt", "int", 2}, {"prim::TupleUnpack", "", 1}};
    f.constants = 5;
    f.truths = {0}, f.endless = {1}, f.texts = {{4, "text"}};
    f.types = {"int"};
    f.arguments = {{"self", "__torch__.M"}, {"x", "int"}};
    bytecode.methods = {f};
  }
  Value run(int64_t x) {
    graph::Model model;
    aten::Builder builder(model);
    Library library("net.ptl", [this](const std::string& member) {
      return file_of_bytecode(bytecode, member, "net.ptl");
    });
    Interpreter interpreter(
        builder, library,
        Value::tuple({Value::of(true), Value::of(Dim(INT64_MAX)), Value::of(Dim(0)),
                      Value::of(Dim(1)), Value::of(std::string("text"))}));
    interpreter.most_steps = 20000;
    auto module = std::make_shared<Object>();
    module->type = "__torch__.M";
    module->slots = {"first", "second"};
    module->attributes["second"] = Value::of(Dim(5));
    return interpreter.call_method(module, "f", {Value::of(Dim(x))});
  }
  int64_t number(int64_t x) {
    const Value made = run(x);
    REQUIRE(made.is(Kind::kInt));
    return made.integer.value().value();
  }
  std::string refusal() {
    try {
      (void)run(3);
    } catch (const graph::ConversionError& error) {
      return error.message;
    }
    return "nothing";
  }
  Bytecode bytecode;
};

const Instruction kTrue = {Opcode::kLoadC, 0}, kEndless = {Opcode::kLoadC, 1},
                  kZero = {Opcode::kLoadC, 2}, kOne = {Opcode::kLoadC, 3}, kX = {Opcode::kLoad, 2},
                  kAdd = {Opcode::kOp, 0}, kLess = {Opcode::kOp, 1}, kRet = {Opcode::kRet};
Instruction with(Opcode opcode, int64_t x, int64_t n = 0) { return {opcode, x, n}; }

}  // namespace

TEST_CASE("bytecode: values, registers, attributes by their slot") {
  CHECK(Method({kX, kOne, kAdd, kRet}).number(4) == 5);
  CHECK(Method({with(Opcode::kLoad, 1), with(Opcode::kGetAttr, 1), kX, kAdd, kRet}).number(4) == 9);
  CHECK(Method({with(Opcode::kLoad, 1), kX, with(Opcode::kSetAttr, 1), with(Opcode::kMove, 1),
                with(Opcode::kGetAttr, 1), kRet})
            .number(4) == 4);
  // What was loaded stays what it was when its register becomes another value.
  CHECK(Method({kX, kOne, with(Opcode::kStore, 2), with(Opcode::kLoad, 2), kAdd, kRet}).number(4) ==
        5);
  CHECK(Method({kX, kOne, with(Opcode::kTupleConstruct, 2), with(Opcode::kOp, 2),
                with(Opcode::kStoreN, 3, 2), with(Opcode::kMove, 4), with(Opcode::kMove, 3), kAdd,
                kRet})
            .number(4) == 5);
}

TEST_CASE("bytecode: branches and loops") {
  // x < 1 ? x + x : 1
  const Method branch(
      {kX, kOne, kLess, with(Opcode::kJf, 5), kX, kX, kAdd, with(Opcode::kJmp, 2), kOne, kRet});
  CHECK(Method(branch).number(0) == 0);
  CHECK(Method(branch).number(-3) == -6);
  CHECK(Method(branch).number(7) == 1);
  // for round in range(x): sum += round, from 1 on
  CHECK(
      Method({kZero, kX, kTrue, kOne, with(Opcode::kLoop, 7, 3), with(Opcode::kStoreN, 5, 2), kTrue,
              with(Opcode::kMove, 6), with(Opcode::kMove, 5), kAdd, with(Opcode::kJmp, -6), kRet})
          .number(4) == 7);
  // while n < x: n += 1, from 0 on
  CHECK(Method({kZero, kEndless, kTrue, kZero, with(Opcode::kLoop, 10, 3),
                with(Opcode::kStoreN, 5, 2), with(Opcode::kMove, 6), kOne, kAdd,
                with(Opcode::kStore, 7), with(Opcode::kLoad, 7), kX, kLess, with(Opcode::kMove, 7),
                with(Opcode::kJmp, -10), kRet})
            .refusal()
            .find("LOOP") != std::string::npos);  // its end lies elsewhere
  const Method rounds({kZero, kEndless, kTrue, kZero, with(Opcode::kLoop, 11, 3),
                       with(Opcode::kStoreN, 5, 2), with(Opcode::kMove, 6), kOne, kAdd,
                       with(Opcode::kStore, 7), with(Opcode::kLoad, 7), kX, kLess,
                       with(Opcode::kMove, 7), with(Opcode::kJmp, -10), kRet});
  CHECK(Method(rounds).number(6) == 6);
  // while True
  CHECK(Method({kZero, kEndless, kTrue, with(Opcode::kLoop, 4, 2), with(Opcode::kStore, 5), kTrue,
                with(Opcode::kJmp, -3), kX, kRet})
            .refusal()
            .find("rounds") != std::string::npos);
}

TEST_CASE("bytecode that no writer makes is refused with its instruction") {
  const auto refuses = [](std::vector<Instruction> instructions, const char* what) {
    const std::string said = Method(std::move(instructions)).refusal();
    CAPTURE(said);
    CHECK(said.find(what) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  };
  refuses({kAdd, kRet}, "instruction 1 (OP): takes 2 values of a stack of 0");
  refuses({kRet, kRet}, "instruction 2 (RET): stands behind RET");
  refuses({kX}, "ends without RET");
  refuses({kX, with(Opcode::kJf, 90), kRet}, "(JF): jumps by 90, out of its block");
  refuses({kX, with(Opcode::kJf, -2), kRet}, "(JF): jumps by -2");
  refuses({kX, with(Opcode::kJf, INT64_MIN), kRet}, "(JF): jumps by -9223372036854775808");
  refuses({kX, with(Opcode::kJf, 2), kX, kRet}, "(JF): has no JMP behind its branch");
  refuses({with(Opcode::kJmp, 0), kRet}, "(JMP): jumps where no branch or loop ends");
  refuses({kX, with(Opcode::kJf, 3), kX, with(Opcode::kJmp, 1), kRet},
          "leaves 1 values where it is true, and 0 where not");
  refuses({kX, with(Opcode::kJf, 3), kRet, with(Opcode::kJmp, 1), kX, kRet},
          "(RET): returns from within a branch or loop");
  refuses({kX, kX, with(Opcode::kJf, 3), kAdd, with(Opcode::kJmp, 1), kRet},
          "(OP): takes 2 values of a stack of 0");  // those below are not the branch's
  refuses({kZero, kX, kTrue, with(Opcode::kLoop, 3, 9), kTrue, with(Opcode::kJmp, -2), kX, kRet},
          "(LOOP): takes 10 values of a stack of 3");
  refuses({with(Opcode::kLoadC, 9), kRet}, "(LOADC): names constant 9 of 5");
  refuses({with(Opcode::kLoad, -1), kRet}, "(LOAD): names the register -1");
  refuses({with(Opcode::kLoad, 77), kRet}, "is not defined");
  refuses({kX, with(Opcode::kOp, 3), kRet}, "(OP): names operator 3 of 3");
  refuses({with(Opcode::kStoreN, 1, INT64_MAX), kRet}, "(STOREN): stores 9223372036854775807");
  refuses({with(Opcode::kListConstruct, 0, -1), kRet}, "(LIST_CONSTRUCT): takes -1 values");
  refuses({kX, with(Opcode::kIsInstance, 1, 1), kRet}, "(ISINSTANCE): names type 1 of 1");
  refuses({with(Opcode::kWait, 0), kRet}, "(WAIT): the instruction is not supported");
  refuses({kX, with(Opcode::kInterfaceCall, 3, 1), kRet}, "(INTERFACE_CALL): names no method");
}
