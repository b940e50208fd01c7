// SPDX-License-Identifier: Apache-2.0
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

std::vector<int32_t>& inputs_of(ProgramSpec& p, size_t i) {
  return p.subprograms[0].instructions[i].inputs;
}
std::vector<int32_t>& outputs_of(ProgramSpec& p, size_t i) {
  return p.subprograms[0].instructions[i].outputs;
}

/// x [2,4] -> relu -> left, neg -> right, both views of all [2,8]; copy all -> y.
convert::FileSpec joined() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  ProgramSpec& p = f.program;
  p.add_value(input("x", {2, 4}));                             // 0
  p.add_value(activation("all", {2, 8}));                      // 1
  p.add_value(view_of(activation("left", {2, 4}), 1, 0, 8));   // 2
  p.add_value(view_of(activation("right", {2, 4}), 1, 4, 8));  // 3
  p.add_value(output("y", {2, 8}));                            // 4
  p.add_value(constant("w", {16, 8}, Packing::kPanels16));     // 5
  p.add_value(constant("c", {2, 8}));                          // 6
  p.add_instruction(step(ElementwiseOp::kRelu), {0}, {2});
  p.add_instruction(step(ElementwiseOp::kNeg), {0}, {3});
  p.add_instruction(CopyAttributes(), {1}, {4});
  add_ports(&f);
  return f;
}

void add_views(RefuseTable* t) {
  t->base("view", joined);
  t->spec("half_is_not_written", [](ProgramSpec& p) {
    p.subprograms[0].instructions.erase(p.subprograms[0].instructions.begin());
  });
  t->spec("half_is_written_too_late", [](ProgramSpec& p) {
    std::swap(p.subprograms[0].instructions[1], p.subprograms[0].instructions[2]);
  });
  t->spec("halves_overlap", [](ProgramSpec& p) { p.values[3].alias_offset = 3; });
  t->spec("halves_are_the_same", [](ProgramSpec& p) { p.values[3].alias_offset = 0; });
  t->spec("offset_leaves_the_root", [](ProgramSpec& p) { p.values[3].alias_offset = 5; });
  t->spec("offset_huge", [](ProgramSpec& p) { p.values[3].alias_offset = INT64_MAX; });
  t->spec("offset_beyond_2_48",
          [](ProgramSpec& p) { p.values[3].alias_offset = int64_t{1} << 49; });
  t->spec("offset_no_such_expression", [](ProgramSpec& p) { p.values[3].alias_offset = -1; });
  t->spec("offset_negative", [](ProgramSpec& p) {
    p.dim_exprs.push_back({DimOp::kSub, 0, 4});
    p.values[3].alias_offset = -1;
  });
  t->spec("row_stride_leaves_the_root", [](ProgramSpec& p) { p.values[3].row_stride = 9; });
  t->spec("dtype_differs", [](ProgramSpec& p) { p.values[3].dtype = DType::kI32; });
  t->spec("of_itself", [](ProgramSpec& p) { p.values[3].alias_of = 3; });
  t->spec("of_nothing", [](ProgramSpec& p) { p.values[3].alias_of = -1; });
  t->spec("of_no_value", [](ProgramSpec& p) { p.values[3].alias_of = 7; });
  t->spec("cycle_of_two",
          [](ProgramSpec& p) { p.values[1].alias = AliasKind::kView, p.values[1].alias_of = 2; });
  t->spec("cycle_of_three", [](ProgramSpec& p) {
    p.values[1].alias = AliasKind::kView, p.values[1].alias_of = 3;
    p.values[3].alias_of = 2;
  });
  t->spec("of_a_packed_constant", [](ProgramSpec& p) { p.values[3].alias_of = 5; });
  t->spec("of_a_constant_is_written", [](ProgramSpec& p) { p.values[3].alias_of = 6; });
  t->spec("of_an_input_is_written", [](ProgramSpec& p) {
    p.values[3] = view_of(activation("right", {2, 4}), 0);
  });
  t->spec("input_is_a_view", [](ProgramSpec& p) {
    p.values[0] = view_of(input("x", {2, 4}), 1, 0, 8);
  });
  t->spec("output_is_a_view_of_an_input", [](ProgramSpec& p) {
    p.values[4] = view_of(output("y", {2, 4}), 0);
    p.subprograms[0].instructions.pop_back();
  });
  t->spec("output_is_a_view_of_a_constant", [](ProgramSpec& p) {
    p.values[4] = view_of(output("y", {2, 8}), 6);
    p.subprograms[0].instructions.pop_back();
  });
  t->spec("output_is_half_of_an_unwritten_value", [](ProgramSpec& p) {
    p.values[4] = view_of(output("y", {8}), 1, 8);
    p.subprograms[0].instructions.erase(p.subprograms[0].instructions.begin() + 1,
                                        p.subprograms[0].instructions.end());
  });
  t->spec("of_a_view_leaves_it", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("wide", {2, 5}), 2, 0, 8));
    inputs_of(p, 2) = {7};
    p.values[4].dims = {2, 5};
  });
  t->spec("reads_what_it_writes",
          [](ProgramSpec& p) { inputs_of(p, 1) = {2}, p.values[3].alias_offset = 2; });
  t->spec("whole_is_written_over_halves", [](ProgramSpec& p) {
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin() + 2,
                                         {step(ElementwiseOp::kNeg), {6}, {1}, {}, 1});
  });
  t->spec("strided_operand_must_be_dense", [](ProgramSpec& p) {
    p.values.push_back(constant("i", {2}, Packing::kDense, DType::kI64));
    p.subprograms[0].instructions[2] = {GatherAttributes{0}, {2, 7}, {4}, {}, 1};
    p.values[4].dims = {2, 4};
  });
  t->spec("strided_result_must_be_dense", [](ProgramSpec& p) {
    p.values.push_back(constant("i", {2}, Packing::kDense, DType::kI64));
    p.subprograms[0].instructions[1] = {GatherAttributes{0}, {0, 7}, {3}, {}, 1};
  });
}

/// x -> relu a -> tanh b in place of a -> add (b, x) -> y
convert::FileSpec overwritten() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  ProgramSpec& p = f.program;
  p.add_value(input("x", {2, 4}));                       // 0
  p.add_value(activation("a", {2, 4}));                  // 1
  p.add_value(in_place_of(activation("b", {2, 4}), 1));  // 2
  p.add_value(output("y", {2, 4}));                      // 3
  p.add_value(constant("c", {2, 4}));                    // 4
  p.add_instruction(step(ElementwiseOp::kRelu), {0}, {1});
  p.add_instruction(step(ElementwiseOp::kTanh), {1}, {2});
  p.add_instruction(step(ElementwiseOp::kAdd), {2, 0}, {3});
  add_ports(&f);
  return f;
}

void add_in_place(RefuseTable* t) {
  t->base("in_place", overwritten);
  t->spec("read_later", [](ProgramSpec& p) { inputs_of(p, 2) = {2, 1}; });
  t->spec("view_read_later", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("flat", {2, 4}), 1));
    inputs_of(p, 2) = {2, 5};
  });
  t->spec("part_read_later", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("row", {4}), 1, 4));
    inputs_of(p, 2) = {2, 5};
  });
  t->spec("parent_read_later", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("view", {2, 4}), 1));
    p.values[2].alias_of = 5;
    inputs_of(p, 1) = {5};
    inputs_of(p, 2) = {2, 1};
  });
  t->spec("twice_of_the_same", [](ProgramSpec& p) {
    p.values.push_back(in_place_of(activation("d", {2, 4}), 1));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin() + 2,
                                         {step(ElementwiseOp::kNeg), {1}, {5}, {}, 1});
  });
  t->spec("is_an_output_before", [](ProgramSpec& p) {
    p.values[1].kind = ValueKind::kOutput;
    p.outputs.push_back({"a", 1, "", {}});
  });
  t->spec("of_an_input", [](ProgramSpec& p) {
    p.values[1] = in_place_of(activation("a", {2, 4}), 0);
  });
  t->spec("of_a_constant", [](ProgramSpec& p) { p.values[2].alias_of = 4, inputs_of(p, 1) = {4}; });
  t->spec("of_what_is_not_read", [](ProgramSpec& p) { inputs_of(p, 1) = {0}; });
  t->spec("with_an_offset", [](ProgramSpec& p) { p.values[2].alias_offset = 1; });
  t->spec("other_size", [](ProgramSpec& p) { p.values[2].dtype = DType::kF64; });
  t->spec("other_dims", [](ProgramSpec& p) { p.values[2].dims = {4}; });
  t->spec("larger", [](ProgramSpec& p) {
    p.values[1].dims = {4};
    inputs_of(p, 0) = {4};
    p.values[4].dims = {4};
  });
  t->spec("of_the_wrong_operand", [](ProgramSpec& p) {  // normalize may overwrite x, not its scale
    NormalizeAttributes a;
    a.axis = 1;
    p.values[0].dims = p.values[1].dims = p.values[2].dims = p.values[3].dims =
        p.values[4].dims = {1, 4};
    p.subprograms[0].instructions[1] = {a, {0, 1}, {2}, {}, 1};
  });
  t->spec("of_two_operands_one_not_allowed", [](ProgramSpec& p) {
    NormalizeAttributes a;
    a.axis = 1;
    p.values[0].dims = p.values[1].dims = p.values[2].dims = p.values[3].dims =
        p.values[4].dims = {1, 4};
    p.subprograms[0].instructions[1] = {a, {1, 1}, {2}, {}, 1};
  });
  t->spec("of_a_broadcast_operand", [](ProgramSpec& p) {
    p.values[1].dims = {1, 4};
    p.values[4].dims = {1, 4};
    inputs_of(p, 0) = {4};
    inputs_of(p, 1) = {1, 0};
  });
  t->spec("operator_has_none", [](ProgramSpec& p) {
    SliceAttributes a;
    a.rank = 2;
    p.subprograms[0].instructions[1].attributes = a;
  });
  t->spec("second_result", [](ProgramSpec& p) {
    TopKAttributes a;
    a.axis = 1;
    p.values[2].dtype = DType::kI64;
    p.values[1].dtype = p.values[0].dtype = p.values[4].dtype = DType::kI64;
    p.values.push_back(activation("v", {2, 4}, DType::kI64));
    p.subprograms[0].instructions[1] = {a, {1}, {5, 2}, {}, 1};
  });
  t->spec("nobody_writes_it", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("flat", {8}), 2));
    p.subprograms[0].instructions[1] = {CopyAttributes(), {4}, {5}, {}, 1};
  });
  t->spec("dense_over_strided", [](ProgramSpec& p) {
    p.values.push_back(activation("wide", {2, 8}));
    p.values[1] = view_of(activation("a", {2, 4}), 5, 0, 8);
  });
  t->spec("other_view_read_in_the_same_step", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("row", {4}), 1, 4));
    p.subprograms[0].instructions[1] = {step(ElementwiseOp::kAdd), {1, 5}, {2}, {}, 1};
  });
}

/// x -> relu -> left, neg -> right, both views of all; z = tanh all in place of it; copy z -> y.
convert::FileSpec joined_and_overwritten() {
  convert::FileSpec f = joined();
  f.program.values.push_back(in_place_of(activation("z", {2, 8}), 1));  // 7
  f.program.subprograms[0].instructions.insert(f.program.subprograms[0].instructions.begin() + 2,
                                               {step(ElementwiseOp::kTanh), {1}, {7}, {}, 1});
  inputs_of(f.program, 3) = {7};
  return f;
}

void add_overwritten_wholes(RefuseTable* t) {
  t->base("in_place_of_parts", joined_and_overwritten);
  t->spec("whole_read_later", [](ProgramSpec& p) { inputs_of(p, 3) = {1}; });
  t->spec("part_read_later", [](ProgramSpec& p) {
    inputs_of(p, 3) = {2}, p.values[4].dims = {2, 4};
  });
  t->spec("view_of_the_whole_read_later", [](ProgramSpec& p) {
    p.values.push_back(view_of(activation("flat", {16}), 1));
    inputs_of(p, 3) = {8};
  });
  t->spec("part_written_later", [](ProgramSpec& p) {
    std::swap(p.subprograms[0].instructions[1], p.subprograms[0].instructions[2]);
  });
  t->spec("twice", [](ProgramSpec& p) {
    p.values.push_back(in_place_of(activation("z2", {2, 8}), 1));
    p.subprograms[0].instructions.insert(p.subprograms[0].instructions.begin() + 3,
                                         {step(ElementwiseOp::kNeg), {1}, {8}, {}, 1});
  });

  // all is read after its left half was overwritten: it then has the new half
  t->base("in_place_of_a_part", [] {
    convert::FileSpec f = joined();
    f.program.values.push_back(in_place_of(view_of(activation("new", {2, 4}), 2, 0, 8), 2));  // 7
    f.program.subprograms[0].instructions.insert(f.program.subprograms[0].instructions.begin() + 1,
                                                 {step(ElementwiseOp::kTanh), {2}, {7}, {}, 1});
    return f;
  });
  t->spec("part_read_later", [](ProgramSpec& p) {
    p.subprograms[0].instructions[3] = {step(ElementwiseOp::kAdd), {2, 3}, {4}, {}, 1};
    p.values[4].dims = {2, 4};
  });
}

void add_order(RefuseTable* t) {
  t->base("order", [] {
    convert::FileSpec f;
    f.segment_alignment = 16;
    ProgramSpec& p = f.program;
    p.add_value(input("x", {4}));       // 0
    p.add_value(activation("a", {4}));  // 1
    p.add_value(activation("b", {4}));  // 2
    p.add_value(output("y", {4}));      // 3
    p.add_value(constant("c", {4}));    // 4
    p.add_instruction(step(ElementwiseOp::kAdd), {0, 4}, {1});
    p.add_instruction(step(ElementwiseOp::kNeg), {1}, {2});
    p.add_instruction(step(ElementwiseOp::kAdd), {1, 2}, {3});
    add_ports(&f);
    return f;
  });
  t->spec("read_before_written", [](ProgramSpec& p) {
    std::swap(p.subprograms[0].instructions[0], p.subprograms[0].instructions[1]);
  });
  t->spec("never_written", [](ProgramSpec& p) {
    p.subprograms[0].instructions.erase(p.subprograms[0].instructions.begin() + 1);
  });
  t->spec("reads_its_own_result", [](ProgramSpec& p) { inputs_of(p, 1) = {2}; });
  t->spec("output_never_written", [](ProgramSpec& p) { p.subprograms[0].instructions.pop_back(); });
  t->spec("written_twice", [](ProgramSpec& p) { outputs_of(p, 1) = {1}; });
  t->spec("writes_an_input", [](ProgramSpec& p) { outputs_of(p, 1) = {0}; });
  t->spec("writes_a_constant", [](ProgramSpec& p) { outputs_of(p, 1) = {4}; });
  t->spec("input_index_beyond", [](ProgramSpec& p) { inputs_of(p, 1) = {5}; });
  t->spec("input_index_minus_two", [](ProgramSpec& p) { inputs_of(p, 1) = {-2}; });
  t->spec("input_index_minimum", [](ProgramSpec& p) { inputs_of(p, 1) = {INT32_MIN}; });
  t->spec("input_index_maximum", [](ProgramSpec& p) { inputs_of(p, 1) = {INT32_MAX}; });
  t->spec("output_index_beyond", [](ProgramSpec& p) { outputs_of(p, 1) = {5}; });
  t->spec("output_index_minus_two", [](ProgramSpec& p) { outputs_of(p, 1) = {-2}; });
  t->spec("output_absent", [](ProgramSpec& p) { outputs_of(p, 2) = {-1}; });
  t->spec("no_instructions", [](ProgramSpec& p) { p.subprograms[0].instructions.clear(); });
  t->spec(
      "version_two", [](ProgramSpec& p) { p.subprograms[0].instructions[1].version = 2; },
      Code::kUnsupportedOperator);
  t->spec(
      "version_zero", [](ProgramSpec& p) { p.subprograms[0].instructions[1].version = 0; },
      Code::kUnsupportedOperator);
  t->bytes(
      "operator_250", [](Bytes& b) { set_operator(&b, 1, 250); }, Code::kUnsupportedOperator);
  t->bytes(
      "operator_255", [](Bytes& b) { set_operator(&b, 1, 255); }, Code::kUnsupportedOperator);
  t->bytes(
      "operator_none", [](Bytes& b) { set_operator(&b, 1, 0); }, Code::kUnsupportedOperator);
  t->spec(
      "required_feature", [](ProgramSpec& p) { p.required_features = {"time travel"}; },
      Code::kUnsupportedFeature);
  t->spec(
      "too_many_operands",
      [](ProgramSpec& p) {
        p.subprograms[0].instructions[1] = {
            ConcatAttributes{0}, std::vector<int32_t>(9000, 1), {2}, {}, 1};
      },
      Code::kLimitExceeded);
  t->spec(
      "shared_storage_without_end",
      [](ProgramSpec& p) {  // more pairs than any real model has
        for (convert::ValueSpec& v : p.values) v.dims = {4000};
        for (int i = 0; i < 4000; i++) {
          const int32_t v = p.add_value(view_of(activation("", {1}), 1, i));
          const int32_t w = p.add_value(in_place_of(activation("", {1}), v));
          p.add_instruction(step(ElementwiseOp::kNeg), {v}, {w});
        }
      },
      Code::kLimitExceeded);
}

}  // namespace

void add_alias_cases(RefuseTable* table) {
  add_views(table);
  add_in_place(table);
  add_overwritten_wholes(table);
  add_order(table);
}

}  // namespace ingot::test
