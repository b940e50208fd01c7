// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_loop.h - what Loop and Scan become, step by step. Inside tools/graph
// only.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// Of an axis of what a loop carries: what an iteration makes of its extent.
struct Growth {
  bool is_known = false;
  std::optional<Dim> each;     // so many elements more
  std::optional<Dim> reaches;  // always so many
};
/// By the place among what is carried, and the axis.
using Growths = std::map<size_t, std::map<size_t, Growth>>;

class LoopBuilder {
 public:
  LoopBuilder(Inference& run, Node& node, Growths growths);
  /// What is to be known before the body is walked again; empty when nothing is.
  const Growths& found_growths() const { return found_growths_; }
  /// From ONNX's Loop: count, condition, carried; the body's inputs are iteration, condition,
  /// carried; its outputs condition, carried, rows.
  void read_loop();
  /// Of such a Loop, in the place of reading it: how often it runs, where that is a number and no
  /// condition may end it before. Changes the node's ports as read_loop() does.
  std::optional<int64_t> fixed_trips();
  /// From ONNX's Scan: carried, sequences; the body's inputs are carried, rows; its outputs
  /// carried, rows.
  void read_scan();
  /// @pre the node is in its graph: what follows it.
  void place_stacks();
  /// Where the bound for all sizes alone ends the loop: an If without an else that ends a run whose
  /// condition still holds, to be placed behind the loop.
  std::optional<Node> guard_bound();

 private:
  struct Carried {
    ValueId initial = kAbsent, inner = kAbsent, next = kAbsent, result = kAbsent;
    size_t place = 0;  // among what the source carries
  };
  /// A carried value of growing axes: where its buffer and its extents are carried, and the dims
  /// that it has inside.
  struct Grown {
    Carried original;
    std::vector<int64_t> axes;
    Dims symbols, most;
    std::vector<size_t> numbers;
    size_t buffer = 0;
  };
  /// A row that each iteration makes; `result` is all of them along `axis`.
  struct Written {
    ValueId row = kAbsent, result = kAbsent;
    int64_t axis = 0;
    bool reverse = false;
  };

  ValueId typed(const std::string& name, DType dtype, Dims dims);
  void set_type_of(ValueId inner, ValueId outer);
  const Node* maker(ValueId id) const;
  ValueId behind(ValueId id, bool conversions) const;
  bool is_true(ValueId id) const;
  void drop_invariants();
  std::optional<Dim> counted() const;
  void find_trips(ValueId count);
  void read_loop_ports();
  void read_row(ValueId sequence, ValueId row, int64_t axis, bool reverse);
  ValueId index(bool reverse);
  ValueId inside(Operator op, std::vector<ValueId> inputs, Attributes attributes);
  void add_stack(const Written& written);
  Dim most_of(const Dim& start, const Growth& growth) const;
  std::string extent_name(const Carried& carried, size_t axis) const;
  void begin_growing(const Growths& growths);
  Growths find_growth(const Growths& known) const;
  void end_growing();
  void place_grown();
  bool is_read(const Graph& graph, ValueId id) const;
  bool begin_with_zeros(Carried& each, const Value& after);
  void check_carried();
  void finish(const std::vector<Written>& rows);
  /// Iterations that ran, where a condition may end the loop before its rows are complete.
  void count_iterations();

  Inference& run_;
  Node& node_;
  std::shared_ptr<Graph> body_;
  std::unordered_map<ValueId, const Node*> made_by_;  // of the source's body
  std::vector<Carried> carried_;
  ValueId iteration_ = kAbsent, backwards_ = kAbsent;
  ValueId always_ = kAbsent;  // true
  ValueId condition_ = kAbsent, inner_condition_ = kAbsent, next_condition_ = kAbsent;
  bool has_condition_ = false;
  bool is_bounded_ = false;                                  // by Model::max_elements alone
  ValueId iterations_ = kAbsent, last_condition_ = kAbsent;  // behind the loop
  std::vector<ValueId> guarded_;  // its results, which are outputs of guard_bound()
  Dim trips_;
  const Growths growths_;
  Growths found_growths_;
  std::vector<Grown> grown_;
  std::vector<std::pair<ValueId, Written>> stacks_;
};

}  // namespace ingot::graph
