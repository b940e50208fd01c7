// SPDX-License-Identifier: Apache-2.0
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

void add_fields(RefuseTable* t) {
  t->base("value", [] {
    return one_instruction(step(ElementwiseOp::kFma, 0, 1),
                           {input("x", {2, 4}), constant("w", {4}), constant("v", {2, 4})},
                           {output("y", {2, 4})});
  });
  t->dtype("dtype_zero", 0, DType::kInvalid);
  t->dtype("dtype_14", 0, DType(14));
  t->dtype("dtype_255", 3, DType(255));
  t->spec("packing_unknown", [](ProgramSpec& p) { p.values[0].packing = Packing(6); });
  t->spec("packed_input", [](ProgramSpec& p) { p.values[0].packing = Packing::kPanels16; });
  t->spec("packed_output", [](ProgramSpec& p) { p.values[3].packing = Packing::kVector16; });
  t->spec("kind_unknown", [](ProgramSpec& p) { p.values[3].kind = ValueKind(5); });
  t->spec("alias_unknown", [](ProgramSpec& p) { p.values[3].alias = AliasKind(3); });
  t->spec("source_dtype_unknown", [](ProgramSpec& p) { p.values[3].source_dtype = DType(14); });
  t->dims("rank_9", 0, {1, 1, 1, 1, 1, 1, 1, 2, 4});
  t->dims("dim_no_such_expression", 0, {2, -1});
  t->dims("dim_minimum", 0, {2, INT64_MIN});
  t->dims("dim_maximum", 0, {INT64_MAX, 4});
  t->dims("dim_beyond_2_40", 0, {(int64_t{1} << 40) + 1, 4});
  t->dims("product_overflows", 0, {int64_t{1} << 40, int64_t{1} << 40});
  t->dims("empty_times_huge", 0, {0, int64_t{1} << 40, int64_t{1} << 40});
  t->spec("row_stride_short", [](ProgramSpec& p) { p.values[0].row_stride = 3; });
  t->spec("row_stride_huge", [](ProgramSpec& p) { p.values[0].row_stride = int64_t{1} << 60; });
  t->spec("row_stride_no_such_expression", [](ProgramSpec& p) { p.values[0].row_stride = -7; });
  t->spec("alias_of_without_alias", [](ProgramSpec& p) { p.values[3].alias_of = 0; });
  t->spec("alias_offset_without_alias", [](ProgramSpec& p) { p.values[3].alias_offset = 4; });

  t->bytes("constant_segment", [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegment, 1); });
  t->bytes("constant_segment_huge",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegment, 0xffffffffu); });
  t->bytes("constant_offset_unaligned",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, 4); });
  t->bytes("constant_offset_outside",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, 48); });
  t->bytes("constant_offset_overflows",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, ~uint64_t{15}); });
  t->bytes("constant_larger_than_part", [](Bytes& b) { set_dim(&b, 1, 0, 400); });
  t->bytes("constant_dim_symbolic", [](Bytes& b) { set_dim(&b, 1, 0, -1); });
  t->bytes("constant_dim_huge", [](Bytes& b) { set_dim(&b, 1, 0, INT64_MAX); });
  t->bytes("segment_of_an_activation",
           [](Bytes& b) { set_value_field(&b, 2, ValueField::kKind, 0); });
  t->bytes(
      "dims_not_aligned", [](Bytes& b) { shift_dims(&b, 0); }, Code::kStructureInvalid);
  t->spec("constant_row_stride", [](ProgramSpec& p) { p.values[2].row_stride = 8; });
  t->spec("constant_alias",
          [](ProgramSpec& p) { p.values[2].alias = AliasKind::kView, p.values[2].alias_of = 1; });
  t->spec("alignment_zero", [](ProgramSpec& p) { p.alignment = 0; });
  t->spec("alignment_48", [](ProgramSpec& p) { p.alignment = 48; });
  t->spec("alignment_8192", [](ProgramSpec& p) { p.alignment = 8192; });
  t->spec(
      "plan_of_fewer_values",
      [](ProgramSpec& p) {
        p.plan = convert::PlanSpec{{0, 0}, 64, 64};
      },
      Code::kPlanInvalid);

  t->base("packed", [] {
    return one_instruction(LinearAttributes(),
                           {input("x", {2, 5}), constant("w", {3, 5}, Packing::kPanels16)},
                           {output("y", {2, 3})});
  });
  t->bytes("packing_unknown", [](Bytes& b) { set_value_field(&b, 1, ValueField::kPacking, 77); });
  t->bytes("packing_does_not_fit_rank", [](Bytes& b) {
    set_value_field(&b, 1, ValueField::kPacking, uint64_t(Packing::kVector16));
  });
  t->bytes("winograd_without_3x3", [](Bytes& b) {
    set_value_field(&b, 1, ValueField::kPacking, uint64_t(Packing::kWinogradF43));
  });
  t->bytes("larger_than_part", [](Bytes& b) { set_dim(&b, 1, 0, 17); });

  t->base("inline", [] {
    convert::FileSpec f = one_instruction(
        step(ElementwiseOp::kAdd), {input("x", {2, 4}), constant("w", {4})}, {output("y", {2, 4})});
    f.program.values[1].inline_data = true;
    return f;
  });
  t->bytes("bytes_missing", [](Bytes& b) { set_dim(&b, 1, 0, 5); });
  t->bytes("bytes_too_many", [](Bytes& b) { set_dim(&b, 1, 0, 1); });
  t->bytes("of_an_input", [](Bytes& b) { set_value_field(&b, 1, ValueField::kKind, 2); });
}

void add_stored(RefuseTable* t) {
  t->base("stored", [] {
    convert::FileSpec f = one_instruction(
        step(ElementwiseOp::kFma, 0, 1),
        {input("x", {2, 40}), constant("w", {40}), constant("v", {2, 40})}, {output("y", {2, 40})});
    f.program.required_features = {"widened"};
    f.program.values[1].stored = DType::kF16;
    f.program.values[2].stored = DType::kBF16;
    return f;
  });
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features.clear(); });
  t->spec("as_f32", [](ProgramSpec& p) { p.values[1].stored = DType::kF32; });
  t->spec("as_f64", [](ProgramSpec& p) { p.values[1].stored = DType::kF64; });
  t->spec("as_type_255", [](ProgramSpec& p) { p.values[1].stored = DType(255); });
  t->dtype("of_an_i32", 1, DType::kI32);
  t->dtype("of_an_f16", 1, DType::kF16);
  t->spec("inline", [](ProgramSpec& p) { p.values[1].inline_data = true; });
  t->spec("input", [](ProgramSpec& p) { p.values[0].stored = DType::kF16; });
  t->spec("output", [](ProgramSpec& p) { p.values[3].stored = DType::kBF16; });
  t->bytes("segment", [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegment, 1); });
  t->bytes("offset_unaligned",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, 2); });
  t->bytes("offset_outside",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, 176); });
  t->bytes("offset_overflows",
           [](Bytes& b) { set_value_field(&b, 1, ValueField::kSegmentOffset, ~uint64_t{15}); });
  t->bytes("larger_than_part", [](Bytes& b) { set_dim(&b, 2, 1, 41 * 2); });
  t->bytes("dims_huge", [](Bytes& b) { set_dim(&b, 1, 0, INT64_MAX); });
  t->spec("aliased",
          [](ProgramSpec& p) { p.values[1].alias = AliasKind::kView, p.values[1].alias_of = 2; });
}

void add_ports_and_states(RefuseTable* t) {
  t->base("port", [] {
    return one_instruction(step(ElementwiseOp::kAdd), {input("a", {4}), input("b", {4})},
                           {output("y", {4})});
  });
  t->spec("input_value_negative", [](ProgramSpec& p) { p.inputs[0].value = -1; });
  t->spec("input_value_beyond", [](ProgramSpec& p) { p.inputs[0].value = 3; });
  t->spec("input_value_is_output", [](ProgramSpec& p) { p.inputs[0].value = 2; });
  t->spec("input_missing", [](ProgramSpec& p) { p.inputs.pop_back(); });
  t->spec("input_twice", [](ProgramSpec& p) { p.inputs[1].value = 0; });
  t->spec("input_name_twice", [](ProgramSpec& p) { p.inputs[1].name = "a"; });
  t->spec("input_name_empty", [](ProgramSpec& p) { p.inputs[0].name = ""; });
  t->spec("input_name_with_zero",
          [](ProgramSpec& p) { p.inputs[0].name = std::string("a\0c", 3); });
  t->spec("input_name_long", [](ProgramSpec& p) { p.inputs[0].name = std::string(1025, 'n'); });
  t->spec("output_value_is_input", [](ProgramSpec& p) { p.outputs[0].value = 0; });
  t->spec("output_value_beyond", [](ProgramSpec& p) { p.outputs[0].value = INT32_MAX; });
  t->spec("output_missing", [](ProgramSpec& p) { p.outputs.clear(); });
  t->spec("output_twice", [](ProgramSpec& p) { p.outputs.push_back({"z", 2, "", {}}); });
  t->spec("output_name_twice", [](ProgramSpec& p) { p.outputs.push_back(p.outputs[0]); });

  t->base("state", [] {
    convert::FileSpec f = one_instruction(
        step(ElementwiseOp::kAdd), {input("x", {4}), activation("s", {4}), constant("init", {4})},
        {output("y", {4})});
    f.program.subprograms[0].instructions[0].inputs = {0, 1};
    f.program.values[1].kind = ValueKind::kState;
    f.program.states.push_back({"s", 1, 2, 0, 0});
    return f;
  });
  t->spec("value_negative", [](ProgramSpec& p) { p.states[0].value = -1; });
  t->spec("value_is_no_state", [](ProgramSpec& p) { p.states[0].value = 0; });
  t->spec("missing", [](ProgramSpec& p) { p.states.clear(); });
  t->spec("twice", [](ProgramSpec& p) { p.states.push_back(p.states[0]); });
  t->spec("init_beyond", [](ProgramSpec& p) { p.states[0].init = 4; });
  t->spec("init_minus_two", [](ProgramSpec& p) { p.states[0].init = -2; });
  t->spec("init_is_no_constant", [](ProgramSpec& p) { p.states[0].init = 0; });
  t->dtype("init_dtype", 2, DType::kI32);
  t->dims("init_dims", 2, {5});
  t->dims("init_rank", 2, {4, 1});
  t->spec("init_packed", [](ProgramSpec& p) { p.values[2].packing = Packing::kVector16; });
  t->spec("input_port_beyond", [](ProgramSpec& p) { p.states[0].input = 1; });
  t->spec("output_port_minus_two", [](ProgramSpec& p) { p.states[0].output = -2; });
}

void add_dims(RefuseTable* t) {
  t->base("symbolic_state", [] {
    convert::FileSpec f =
        one_instruction(step(ElementwiseOp::kAdd), {activation("s", {2}), constant("init", {2})},
                        {output("y", {2})});
    f.program.subprograms[0].instructions[0].inputs = {0, 0};
    f.program.values[0].kind = ValueKind::kState;
    f.program.values[0].dims[0] = f.program.values[2].dims[0] = f.program.add_symbol("N", 2, 8);
    f.program.states.push_back({"s", 0, 1, -1, -1});
    return f;
  });
  t->spec("init_of_another_size", [](ProgramSpec& p) { p.symbols[0].low = 3; });

  t->base("symbol", [] {
    convert::FileSpec f = one_instruction(
        step(ElementwiseOp::kAdd), {input("x", {1, 4}), constant("w", {4})}, {output("y", {1, 4})});
    const Dim n = f.program.add_symbol("N", 2, 8);
    const Dim twice = f.program.add_dim_expr(DimOp::kMul, n, 2);
    f.program.values[0].dims[0] = f.program.values[2].dims[0] =
        f.program.add_dim_expr(DimOp::kFloorDiv, twice, 2);
    return f;
  });
  t->bytes("constant_dim", [](Bytes& b) { set_dim(&b, 1, 0, -1); });
  t->spec("low_negative", [](ProgramSpec& p) { p.symbols[0].low = -1; });
  t->spec("low_huge", [](ProgramSpec& p) { p.symbols[0].low = INT64_MAX, p.symbols[0].high = 0; });
  t->spec("high_below_low", [](ProgramSpec& p) { p.symbols[0].high = 1; });
  t->spec("high_negative", [](ProgramSpec& p) { p.symbols[0].high = -8; });
  t->spec("name_empty", [](ProgramSpec& p) { p.symbols[0].name = ""; });
  t->spec("name_twice", [](ProgramSpec& p) { p.symbols.push_back(p.symbols[0]); });
  t->spec("expr_op_unknown", [](ProgramSpec& p) { p.dim_exprs[1].op = DimOp(8); });
  t->spec("expr_no_such_symbol", [](ProgramSpec& p) { p.dim_exprs[0].a = 1; });
  t->spec("expr_symbol_negative", [](ProgramSpec& p) { p.dim_exprs[0].a = -1; });
  t->spec("expr_symbol_with_second", [](ProgramSpec& p) { p.dim_exprs[0].b = 3; });
  t->spec("expr_of_itself", [](ProgramSpec& p) { p.dim_exprs[1].a = -2; });
  t->spec("expr_of_a_later_one", [](ProgramSpec& p) { p.dim_exprs[1].b = -3; });
  t->spec("expr_minimum", [](ProgramSpec& p) { p.dim_exprs[1].a = INT64_MIN; });
  t->spec("expr_number_huge", [](ProgramSpec& p) { p.dim_exprs[1].b = INT64_MAX; });
  t->spec("expr_divides_by_zero", [](ProgramSpec& p) { p.dim_exprs[2].b = 0; });
  t->spec(
      "expr_divides_by_less_than_one",
      [](ProgramSpec& p) {
        p.dim_exprs[1] = {DimOp::kSub, -1, 2};  // 0 at the low bound
        p.dim_exprs[2] = {DimOp::kCeilDiv, 8, -2};
      },
      Code::kDimensionOutOfBounds);
  t->spec(
      "expr_overflows",
      [](ProgramSpec& p) {
        p.dim_exprs[1] = {DimOp::kMul, -1, int64_t{1} << 40};
        p.dim_exprs[2] = {DimOp::kMul, -2, -2};
      },
      Code::kDimensionOutOfBounds);
  t->spec(
      "dim_negative",
      [](ProgramSpec& p) {
        p.dim_exprs[2] = {DimOp::kSub, -1, 9};
      },
      Code::kDimensionOutOfBounds);
  t->spec(
      "dims_disagree", [](ProgramSpec& p) { p.values[2].dims[0] = -2; }, Code::kShapeMismatch);

  t->base("static_expr", [] {
    convert::FileSpec f =
        one_instruction(step(ElementwiseOp::kRelu), {input("x", {1, 4})}, {output("y", {1, 4})});
    f.program.dim_exprs.push_back({DimOp::kMul, 2, 3});
    f.program.values[0].dims[0] = f.program.values[1].dims[0] = -1;
    return f;
  });
  t->spec("negative", [](ProgramSpec& p) { p.dim_exprs[0] = {DimOp::kSub, 2, 3}; });
  t->spec("overflows", [](ProgramSpec& p) {
    p.dim_exprs[0] = {DimOp::kMul, int64_t{1} << 40, int64_t{1} << 40};
  });
  t->spec("divides_by_zero", [](ProgramSpec& p) { p.dim_exprs[0] = {DimOp::kCeilDiv, 2, 0}; });
}

}  // namespace

void add_value_cases(RefuseTable* table) {
  add_fields(table);
  add_stored(table);
  add_ports_and_states(table);
  add_dims(table);
}

}  // namespace ingot::test
