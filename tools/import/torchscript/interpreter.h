// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/interpreter.h - runs a TorchScript program during conversion: everything
// that is no tensor is computed, and what happens to tensors becomes the graph. Branches and loops
// on what is known are taken; on what only the run knows they become the graph's (branches.cpp,
// loops.cpp).
// Errors   graph::ConversionError: kCorrupt the program contradicts itself, kUnsupported what is
// not supported
//          (gathered in builder.unsupported; this is thrown where nothing can be gathered any
//          more), kMismatch the program raises for these inputs.   All name a file and a line of the code.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/import/aten/builder.h"
#include "tools/import/aten/lower.h"
#include "tools/import/torchscript/library.h"
#include "tools/import/torchscript/objects.h"

namespace ingot::torchscript {

/// The program raises an exception on the way that is taken.
struct Raised {
  std::string place, message;
};
/// Nothing more can be found: what is unsupported is in the builder.
struct Stopped {};
/// An input, which was taken as floating, is used as an index.
struct TakenAsIndex {
  std::string input;
};

class Interpreter {
 public:
  /// `constants`: the tuple of constants.pkl.
  Interpreter(aten::Builder& builder, Library& library, Value constants);
  aten::Builder& builder() { return builder_; }

  /// A method of an object, with all its arguments after self.
  Value call_method(const std::shared_ptr<Object>& self, const std::string& method,
                    std::vector<Value> arguments);
  int64_t most_steps = 4000000;      // statements and calls: no loop of a hostile file lasts longer
  std::set<graph::ValueId> guessed;  // inputs whose element type nobody gave

 private:
  struct Frame {
    const File* file = nullptr;
    std::map<std::string, Value> names;
    std::string path;  // of the object whose method runs
    bool returned = false;
    Value result;
  };
  struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keywords;
    std::string overload;   // of bytecode, which passes every argument by its place
    std::set<size_t> read;  // of the positional ones, by what is computed here and not lowered
  };

  // statements.cpp
  void run_block(Frame& frame, const Block& block);
  void run_statement(Frame& frame, const Statement& s);
  void run_with(Frame& frame, const Statement& s);
  void assign(Frame& frame, const Statement& s);
  void store(Frame& frame, ExpressionId target, Value value);
  void set_attribute(const Value& owner, const std::string& name, Value value,
                     const std::string& place);
  Value call_function(const File& file, const Function& function, Arguments arguments,
                      const std::string& path, const std::string& place);

  // expressions.cpp
  Value evaluate(Frame& frame, ExpressionId id);
  Value evaluate_name(Frame& frame, ExpressionId id);
  Value attribute(const Value& owner, const std::string& name, const std::string& place);
  static std::string slot_name(const Value& owner, int64_t slot);
  Value call_by_place(Frame& frame, const Expression& e);
  Value index(const Value& owner, const Value& index, const std::string& place);
  Value slice(const Value& owner, const Value& begin, const Value& end, const std::string& place);
  Value constant(const std::string& name, const std::string& place);
  Arguments arguments(Frame& frame, const Expression& call);
  Value call(Frame& frame, ExpressionId id);
  Value call_builtin(Frame& frame, const std::string& name, const Expression& e, bool* done);
  Value call_object(Frame& frame, const Value& owner, const std::string& method,
                    const Expression& e);
  Value make_object(const std::string& type, Arguments arguments, const std::string& place);

  // operators.cpp
  Value call_operator(Frame& frame, const std::string& name, Arguments arguments, uint32_t line);
  Value lower(Frame& frame, const std::string& name, Arguments arguments, uint32_t line);
  Value run_prepacked(Frame& frame, const std::string& name, Arguments given, uint32_t line);
  Value row_of(const std::vector<Value>& arguments, const std::string& place);
  Value plain_operator(const std::string& name, Arguments& arguments, const std::string& place,
                       bool* done);
  Value tensor_fact(const std::string& name, Arguments& arguments, const std::string& place,
                    bool* done);
  Value list_operator(const std::string& name, Arguments& arguments, const std::string& place,
                      bool* done);
  Value dictionary_operator(const std::string& name, Arguments& arguments, const std::string& place,
                            bool* done);
  Value number_operator(const std::string& name, const std::vector<Value>& v,
                        const std::string& place, bool* done);
  Value compare(const std::string& name, const Value& a, const Value& b, const std::string& place,
                bool* done);
  Value to_truth(const Value& value, const std::string& place);
  Value to_integer(const Value& value, const std::string& place);
  Value to_float(const Value& value, const std::string& place);
  aten::Tensor tensor_of(const Value& value, const std::string& place);  // of a plain number too

  // branches.cpp, loops.cpp
  struct Journal;
  struct Branch;
  class Merge;
  void run_if(Frame& frame, const Statement& s);
  void run_either(Frame& frame, const Statement& s, graph::ValueId condition,
                  const std::string& place);
  Branch run_branch(const Frame& around, const Block& block,
                    const std::function<void(Frame&)>& after);
  Value only(Merge* merge, const Branch& branch, const Value& value);
  void hold(const Value& value, std::map<const aten::Cell*, graph::ValueId>* to);
  void note_write(const aten::Tensor& owner);
  void note_change_of_view(const aten::Tensor& tensor);
  void note_change(const void* shared, const std::string& place);
  void note_made(const void* shared);
  void note_setting(const std::shared_ptr<Object>& object, const std::string& name);
  /// Whether a value is true, where that is known; else *asked is a bool of the graph.
  std::optional<bool> truth(const Value& value, const std::string& place, graph::ValueId* asked);
  void run_for(Frame& frame, const Statement& s);
  void run_while(Frame& frame, const Statement& s);
  void run_loop(Frame& frame, const Statement& s, graph::ValueId count, const std::string& place);
  bool lives_on(const Frame& frame, const std::string& name, const Value& given,
                uint64_t tensors) const;
  void check_growth(const std::string& place);

  void count_step(const std::string& place);
  [[noreturn]] void refuse(const std::string& op, const std::string& place, const std::string& why,
                           const std::string& hint = "");
  /// Adds it to what is unsupported; the value is unknown.
  Value report(const std::string& op, const std::string& place, const std::string& why,
               const std::string& hint = "");

  struct Deeper {
    Deeper(Interpreter* i, const std::string& place);
    ~Deeper() { interpreter->depth_--; }
    Interpreter* interpreter;
  };

  aten::Builder& builder_;
  Library& library_;
  Value constants_;
  Containers containers_;
  std::vector<Journal*> journals_;
  std::map<aten::Tensor, std::string> frozen_;  // owners that must not be written any more, and why
  bool quiet_ = false;                          // what is written now is only put back
  std::vector<std::string> wanted_;             // names of the results of the call that comes next
  int64_t steps_ = 0;
  int depth_ = 0;
  // where the first level stands, and how far below it the last may
  uintptr_t stack_ = 0, most_stack_ = 0;
};

}  // namespace ingot::torchscript
