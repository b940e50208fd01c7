// SPDX-License-Identifier: Apache-2.0
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

convert::InstructionSpec unary(ElementwiseOp op, int32_t from, int32_t to) {
  return {step(op), {from}, {to}, {}, 1};
}

/// if flag: y = relu x; else: t = neg x, y = tanh t
convert::FileSpec branches() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  ProgramSpec& p = f.program;
  p.add_value(input("flag", {}, DType::kBool));  // 0
  p.add_value(input("x", {4}));                  // 1
  p.add_value(activation("t", {4}));             // 2
  p.add_value(activation("chosen", {4}));        // 3
  p.add_value(output("y", {4}));                 // 4
  p.add_instruction(IfAttributes{1, 2}, {0}, {3});
  p.add_instruction(step(ElementwiseOp::kAbs), {3}, {4});
  p.subprograms.push_back({"then", {unary(ElementwiseOp::kRelu, 1, 3)}});
  p.subprograms.push_back(
      {"else", {unary(ElementwiseOp::kNeg, 1, 2), unary(ElementwiseOp::kTanh, 2, 3)}});
  add_ports(&f);
  return f;
}

/// p = relu x; loop up to 3 times: t = p + x, p = neg t; y = tanh p
convert::FileSpec looping() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  ProgramSpec& p = f.program;
  p.add_value(input("count", {}, DType::kI64));     // 0
  p.add_value(input("x", {4}));                     // 1
  p.add_value(activation("p", {4}));                // 2, carried
  p.add_value(activation("t", {4}));                // 3
  p.add_value(output("y", {4}));                    // 4
  p.add_value(activation("go", {}, DType::kBool));  // 5, carried: the condition
  p.add_value(activation("i", {}, DType::kI64));    // 6
  p.add_instruction(step(ElementwiseOp::kRelu), {1}, {2});
  ElementwiseAttributes positive = step(ElementwiseOp::kGreater, 0, 254);
  positive.compute = ComputeType::kI64;
  p.add_instruction(positive, {0}, {5});
  p.add_instruction(LoopAttributes{1, 3}, {0, 5, 2}, {6});
  p.add_instruction(step(ElementwiseOp::kTanh), {2}, {4});
  p.subprograms.push_back({"body",
                           {{step(ElementwiseOp::kAdd, 0, 1), {2, 1}, {3}, {}, 1},
                            {positive, {6}, {5}, {}, 1},
                            unary(ElementwiseOp::kNeg, 3, 2)}});
  add_ports(&f);
  return f;
}
LoopAttributes& the_loop(ProgramSpec& p) {
  return std::get<LoopAttributes>(p.subprograms[0].instructions[2].attributes);
}

void add_loop_cases(RefuseTable* t) {
  t->base("loop", looping);
  t->spec("body_is_main", [](ProgramSpec& p) { the_loop(p).body = 0; });
  t->spec("body_beyond", [](ProgramSpec& p) { the_loop(p).body = 2; });
  t->spec("body_of_two_loops", [](ProgramSpec& p) {
    const convert::InstructionSpec again = p.subprograms[0].instructions[2];
    p.subprograms[0].instructions.push_back(again);
  });
  t->spec("body_calls_itself", [](ProgramSpec& p) {
    p.subprograms[1].instructions.push_back({LoopAttributes{1, 3}, {0, -1}, {}, {}, 1});
  });
  t->spec("most_is_negative", [](ProgramSpec& p) { the_loop(p).most = -1; });  // no such expression
  t->spec("most_is_huge", [](ProgramSpec& p) { the_loop(p).most = int64_t{1} << 50; });
  t->spec("count_f32", [](ProgramSpec& p) { p.subprograms[0].instructions[2].inputs[0] = 1; });
  t->spec("count_carried_condition",
          [](ProgramSpec& p) { p.subprograms[0].instructions[2].inputs[0] = 5; });
  t->spec("condition_i64", [](ProgramSpec& p) { p.subprograms[0].instructions[2].inputs[1] = 6; });
  t->spec("condition_is_an_input", [](ProgramSpec& p) {
    p.values[0].dtype = DType::kBool;
    p.subprograms[0].instructions[2].inputs = {-1, 0, 2};
  });
  t->spec("operands_missing",
          [](ProgramSpec& p) { p.subprograms[0].instructions[2].inputs = {0}; });
  t->spec("carried_twice", [](ProgramSpec& p) {
    p.subprograms[0].instructions[2].inputs = {0, 5, 2, 2};
  });
  t->spec("carried_not_written_before", [](ProgramSpec& p) {
    p.subprograms[0].instructions.erase(p.subprograms[0].instructions.begin());
  });
  t->spec("carried_written_after", [](ProgramSpec& p) {
    std::swap(p.subprograms[0].instructions[0], p.subprograms[0].instructions[2]);
  });
  t->spec("carried_not_written_in_the_body",
          [](ProgramSpec& p) { p.subprograms[1].instructions.pop_back(); });
  t->spec("carried_written_twice_in_the_body", [](ProgramSpec& p) {
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 3, 2));
  });
  t->spec("condition_not_written_in_the_body", [](ProgramSpec& p) {
    p.subprograms[1].instructions.erase(p.subprograms[1].instructions.begin() + 1);
  });
  t->spec("written_in_the_body_and_not_carried", [](ProgramSpec& p) {
    p.subprograms[0].instructions[2].inputs = {0, 5};
  });
  t->spec("carried_constant", [](ProgramSpec& p) {
    p.values.push_back(constant("k", {4}));
    p.subprograms[0].instructions[2].inputs.push_back(7);
  });
  t->spec("carried_view", [](ProgramSpec& p) {
    p.values.push_back(activation("whole", {8}));
    p.values[2] = view_of(p.values[2], 7);
  });
  t->spec("carried_in_place_of_what_was", [](ProgramSpec& p) {
    p.values.push_back(activation("before", {4}));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(),
                                         unary(ElementwiseOp::kNeg, 1, 7));
    p.subprograms[0].instructions[1].inputs = {7};
    p.values[2] = in_place_of(p.values[2], 7);
  });
  t->spec("part_of_carried_written", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("half", {2}), 2));
    p.values.push_back(activation("other", {2}));
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 8, 7));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(),
                                         {SliceAttributes{1, {0}, {1}}, {1}, {8}, {}, 1});
  });
  t->spec("carried_overwritten_in_place", [](ProgramSpec& p) {
    p.values.push_back(in_place_of(activation("over", {4}), 2));
    p.subprograms[1].instructions.insert(p.subprograms[1].instructions.begin(),
                                         unary(ElementwiseOp::kNeg, 2, 7));
    p.subprograms[1].instructions[1].inputs = {7, 1};
  });
  // the next iteration would read what it became
  t->spec("outside_overwritten_in_place", [](ProgramSpec& p) {
    p.values.push_back(activation("outside", {4}));
    p.values.push_back(in_place_of(activation("over", {4}), 7));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(),
                                         unary(ElementwiseOp::kNeg, 1, 7));
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 7, 8));
  });
  t->spec("carried_from_itself_without_leave", [](ProgramSpec& p) {
    p.subprograms[1].instructions.pop_back();
    p.subprograms[1].instructions.push_back({TransposeAttributes{1, {0}}, {2}, {2}, {}, 1});
  });
  t->spec("body_reads_the_iteration_before", [](ProgramSpec& p) {
    std::swap(p.subprograms[1].instructions[0], p.subprograms[1].instructions[2]);
  });
  t->spec("main_reads_from_the_body",
          [](ProgramSpec& p) { p.subprograms[0].instructions[3].inputs = {3}; });
  t->spec("iteration_f32", [](ProgramSpec& p) { p.values[6].dtype = DType::kF32; });
  t->spec("iteration_written_in_the_body", [](ProgramSpec& p) {
    p.subprograms[1].instructions.push_back({CopyAttributes{}, {0}, {6}, {}, 1});
  });
  t->spec("two_iterations", [](ProgramSpec& p) {
    p.subprograms[0].instructions[2].outputs = {6, 3};
  });
}

IfAttributes& the_if(ProgramSpec& p) {
  return std::get<IfAttributes>(p.subprograms[0].instructions[0].attributes);
}

/// `depth` Ifs inside each other, each with an empty else.
void nest(ProgramSpec* p, uint32_t depth) {
  uint32_t inside = 1;
  for (uint32_t i = 1; i < depth; i++) {
    const uint32_t then_branch = uint32_t(p->subprograms.size());
    p->subprograms.push_back({"", {}});
    p->subprograms.push_back({"", {}});
    p->subprograms[inside].instructions.push_back(
        {IfAttributes{then_branch, then_branch + 1}, {0}, {}, {}, 1});
    inside = then_branch;
  }
}

}  // namespace

void add_control_cases(RefuseTable* t) {
  t->base("nested_if_16", [] {
    convert::FileSpec f = branches();
    nest(&f.program, 16);
    return f;
  });
  t->spec("nested_17", [](ProgramSpec& p) {
    ProgramSpec fresh = branches().program;
    nest(&fresh, 17);
    p = fresh;
  });

  add_loop_cases(t);

  t->base("if_without_else", [] {
    convert::FileSpec f = branches();
    the_if(f.program).else_subprogram = 0;
    f.program.subprograms.pop_back();
    f.program.values.erase(f.program.values.begin() + 2);  // t
    for (auto& s : f.program.subprograms)
      for (auto& i : s.instructions)
        for (auto* ids : {&i.inputs, &i.outputs})
          for (int32_t& id : *ids) id -= id > 2;
    for (auto* ports : {&f.program.inputs, &f.program.outputs})
      for (auto& port : *ports) port.value -= port.value > 2;
    return f;
  });
  t->spec("no_branch", [](ProgramSpec& p) {
    the_if(p).then_subprogram = 0;
    p.subprograms.pop_back();
  });
  t->spec("then_writes_nothing", [](ProgramSpec& p) { p.subprograms[1].instructions.clear(); });

  t->base("if", branches);
  t->spec("then_does_not_write", [](ProgramSpec& p) { p.subprograms[1].instructions.clear(); });
  t->spec("else_does_not_write", [](ProgramSpec& p) { p.subprograms[2].instructions.pop_back(); });
  t->spec("branch_is_main", [](ProgramSpec& p) { the_if(p).then_subprogram = 0; });
  t->spec("branch_beyond", [](ProgramSpec& p) { the_if(p).else_subprogram = 3; });
  t->spec("branch_huge", [](ProgramSpec& p) { the_if(p).else_subprogram = 0xffffffffu; });
  t->spec("branches_are_one", [](ProgramSpec& p) { the_if(p).else_subprogram = 1; });
  t->spec("subprogram_unused", [](ProgramSpec& p) { p.subprograms.push_back({"spare", {}}); });
  t->spec("subprogram_calls_itself", [](ProgramSpec& p) {
    p.subprograms.push_back({"", {}});
    p.subprograms[1].instructions.push_back({IfAttributes{1, 3}, {0}, {}, {}, 1});
  });
  t->spec("subprograms_call_each_other", [](ProgramSpec& p) {
    for (int i = 0; i < 4; i++) p.subprograms.push_back({"", {}});
    p.subprograms[3].instructions.push_back({IfAttributes{4, 5}, {0}, {}, {}, 1});
    p.subprograms[4].instructions.push_back({IfAttributes{3, 6}, {0}, {}, {}, 1});
  });
  t->spec("subprogram_of_two_ifs", [](ProgramSpec& p) {
    p.subprograms[0].instructions.push_back({IfAttributes{1, 2}, {0}, {}, {}, 1});
  });
  t->spec("else_reads_from_then", [](ProgramSpec& p) {
    p.values.push_back(activation("u", {4}));
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 5));
    p.subprograms[2].instructions[1].inputs = {5};
  });
  t->spec("main_reads_from_else",
          [](ProgramSpec& p) { p.subprograms[0].instructions[1].inputs = {2}; });
  t->spec("output_written_before", [](ProgramSpec& p) {
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(),
                                         unary(ElementwiseOp::kNeg, 1, 3));
  });
  t->spec("output_written_after", [](ProgramSpec& p) {
    p.subprograms[0].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 3));
  });
  t->spec("output_written_twice_inside", [](ProgramSpec& p) {
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 3));
  });
  t->spec("both_write_what_is_not_listed", [](ProgramSpec& p) {
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 2));
  });
  t->spec("output_listed_twice", [](ProgramSpec& p) {
    p.subprograms[0].instructions[0].outputs = {3, 3};
  });
  t->spec("output_is_an_input",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {1}; });
  t->spec("output_not_listed",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {}; });
  t->spec("condition_f32", [](ProgramSpec& p) { p.values[0].dtype = DType::kF32; });
  t->spec("condition_of_two", [](ProgramSpec& p) { p.values[0].dims = {2}; });
  t->spec("condition_empty", [](ProgramSpec& p) { p.values[0].dims = {0}; });
  t->spec("condition_absent",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs = {-1}; });
  t->spec("condition_missing",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs = {}; });
  t->spec("condition_not_written", [](ProgramSpec& p) {
    p.values.push_back(activation("later", {}, DType::kBool));
    p.subprograms[0].instructions[0].inputs = {5};
  });
  t->spec("then_overwrites_what_else_reads", [](ProgramSpec& p) {
    p.values.push_back(activation("a", {4}));
    p.values.push_back(in_place_of(activation("b", {4}), 5));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(),
                                         unary(ElementwiseOp::kNeg, 1, 5));
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 5, 6));
    p.subprograms[2].instructions[0].inputs = {5};
  });
  t->spec("no_subprograms", [](ProgramSpec& p) { p.subprograms.clear(); });
}

}  // namespace ingot::test
