#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

cast::InstructionSpec unary(ElementwiseOp op, int32_t from, int32_t to) { return {step(op), {from}, {to}, {}, 1}; }

/// if flag: y = relu x; else: t = neg x, y = tanh t
cast::FileSpec branches() {
  cast::FileSpec f;
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
  p.subprograms.push_back({"else", {unary(ElementwiseOp::kNeg, 1, 2), unary(ElementwiseOp::kTanh, 2, 3)}});
  add_ports(&f);
  return f;
}

IfAttributes& the_if(ProgramSpec& p) { return std::get<IfAttributes>(p.subprograms[0].instructions[0].attributes); }

/// `depth` Ifs inside each other, each with an empty else.
void nest(ProgramSpec* p, uint32_t depth) {
  uint32_t inside = 1;
  for (uint32_t i = 1; i < depth; i++) {
    const uint32_t then_branch = uint32_t(p->subprograms.size());
    p->subprograms.push_back({"", {}});
    p->subprograms.push_back({"", {}});
    p->subprograms[inside].instructions.push_back({IfAttributes{then_branch, then_branch + 1}, {0}, {}, {}, 1});
    inside = then_branch;
  }
}

}  // namespace

void add_control_cases(RefuseTable* t) {
  t->base("nested_if_16", [] {
    cast::FileSpec f = branches();
    nest(&f.program, 16);
    return f;
  });
  t->spec("nested_17", [](ProgramSpec& p) {
    ProgramSpec fresh = branches().program;
    nest(&fresh, 17);
    p = fresh;
  });

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
  t->spec("main_reads_from_else", [](ProgramSpec& p) { p.subprograms[0].instructions[1].inputs = {2}; });
  t->spec("output_written_before", [](ProgramSpec& p) {
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(), unary(ElementwiseOp::kNeg, 1, 3));
  });
  t->spec("output_written_after",
          [](ProgramSpec& p) { p.subprograms[0].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 3)); });
  t->spec("output_written_twice_inside",
          [](ProgramSpec& p) { p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 3)); });
  t->spec("both_write_what_is_not_listed",
          [](ProgramSpec& p) { p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 1, 2)); });
  t->spec("output_listed_twice", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {3, 3}; });
  t->spec("output_is_an_input", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {1}; });
  t->spec("output_not_listed", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {}; });
  t->spec("condition_f32", [](ProgramSpec& p) { p.values[0].dtype = DType::kF32; });
  t->spec("condition_of_two", [](ProgramSpec& p) { p.values[0].dims = {2}; });
  t->spec("condition_empty", [](ProgramSpec& p) { p.values[0].dims = {0}; });
  t->spec("condition_absent", [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs = {-1}; });
  t->spec("condition_missing", [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs = {}; });
  t->spec("condition_not_written", [](ProgramSpec& p) {
    p.values.push_back(activation("later", {}, DType::kBool));
    p.subprograms[0].instructions[0].inputs = {5};
  });
  t->spec("then_overwrites_what_else_reads", [](ProgramSpec& p) {
    p.values.push_back(activation("a", {4}));
    p.values.push_back(in_place_of(activation("b", {4}), 5));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin(), unary(ElementwiseOp::kNeg, 1, 5));
    p.subprograms[1].instructions.push_back(unary(ElementwiseOp::kNeg, 5, 6));
    p.subprograms[2].instructions[0].inputs = {5};
  });
  t->spec("no_subprograms", [](ProgramSpec& p) { p.subprograms.clear(); });
}

}  // namespace ingot::test
