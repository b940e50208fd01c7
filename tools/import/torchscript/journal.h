// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/journal.h - what a branch or the body of a loop changes around it while
// it is followed, so that it can be taken back and both outcomes merged. Inside
// tools/import/torchscript only.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/import/torchscript/interpreter.h"

namespace ingot::torchscript {

struct Interpreter::Journal {
  struct Write {
    aten::Tensor owner;
    graph::ValueId before = graph::kAbsent, after = graph::kAbsent;
  };
  struct Setting {
    std::shared_ptr<Object> object;
    std::string name;
    bool was_there = false;
    Value before, after;
  };
  uint64_t tensors = 0;  // that were made before it
  std::vector<Write> writes;
  std::vector<Setting> settings;
  std::vector<aten::Tensor> views;  // taken anew inside: what they hold is known inside alone
  std::set<const void*> made;       // lists and dictionaries of the branch's own
};

/// One way through the code, with the nodes that it makes.
struct Interpreter::Branch {
  std::shared_ptr<graph::Graph> graph = std::make_shared<graph::Graph>();
  Journal journal;
  std::map<std::string, Value> names;
  // what the tensors in names and settings held at its end
  std::map<const aten::Cell*, graph::ValueId> held;
  bool raised = false;
  std::string why;
};

}  // namespace ingot::torchscript
