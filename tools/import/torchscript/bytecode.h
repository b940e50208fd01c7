// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/bytecode.h - a program of PyTorch Mobile: for each method the
// instructions of a stack machine with registers. They came from blocks, branches and loops, and
// are turned into these again (bytecode_blocks.cpp), so that the interpreter follows them as it
// follows code.
// Errors   graph::ConversionError: kCorrupt what no writer makes (jumps out of their block, an
// empty stack
//          read), kUnsupported instructions that are not supported. All name the method and the instruction.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/torch/value_tree.h"
#include "tools/import/torchscript/syntax.h"

namespace ingot::torchscript {

/// As torch numbers and spells them.
enum class Opcode : uint8_t {
  kOp,
  kOpN,
  kLoad,
  kMove,
  kStoreN,
  kStore,
  kDrop,
  kDropR,
  kLoadC,
  kJf,
  kJmp,
  kLoop,
  kRet,
  kWait,
  kCall,
  kGuard,
  kTypeCheck,
  kFailGuard,
  kProfileOp,
  kTailCall,
  kInterfaceCall,
  kGetAttr,
  kSetAttr,
  kListUnpack,
  kTupleConstruct,
  kNamedTupleConstruct,
  kListConstruct,
  kDictConstruct,
  kCreateObject,
  kIsInstance,
  kTupleSlice,
  kTupleIndex,
  kRaiseException,
  kDictIndex,
  kUncheckedCast,
  kIs,
  kUninitialized,
  kIsNot,
  kFormat,
  kDevice,
  kDtype,
  kDim,
  kNot,
  kToList,
  kNumToTensor,
  kIsCuda,
  kFork,
  kWarn,
  kEnter,
  kExit,
  kAwaitable,
};
constexpr size_t kOpcodes = size_t(Opcode::kAwaitable) + 1;
/// "LIST_CONSTRUCT"
const char* opcode_name(Opcode opcode);

struct Instruction {
  Opcode opcode = Opcode::kRet;
  int64_t x = 0, n = 0;
};

struct BytecodeOperator {
  std::string name, overload;  // "aten::add", "Tensor"
  int64_t arguments = -1;      // that are on the stack; negative: the file is too old to say
};

struct BytecodeMethod {
  std::string name;  // "__torch__.Net.forward"
  std::vector<Instruction> instructions;
  std::vector<BytecodeOperator> operators;
  size_t first_constant = 0, constants = 0;  // in Bytecode::constants
  std::set<size_t> truths, endless;     // constants that are True, and as many rounds as can be
  std::map<size_t, std::string> texts;  // and those that are texts
  std::vector<std::string> types;
  struct Argument {
    std::string name, type;
    int64_t otherwise = -1;  // in Bytecode::constants; negative: none
  };
  std::vector<Argument> arguments;  // of the object itself first
};

struct Bytecode {
  std::vector<BytecodeMethod> methods;
  std::vector<checkpoint::NodeId> constants;  // of all methods
};

/// Of the tree of bytecode.pkl. `path` begins every error.
Bytecode read_bytecode(const checkpoint::ValueTree& tree, const std::string& path);

/// The classes of a file of code ("__torch__/torch/nn.py") with the methods that there are; nothing
/// where there is none. Constants are CONSTANTS.c7.
std::unique_ptr<File> file_of_bytecode(const Bytecode& bytecode, const std::string& member,
                                       const std::string& path);

}  // namespace ingot::torchscript
