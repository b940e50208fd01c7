// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/data_dependent.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

/// found [1, n], n <- NonZero(x [6]); where [n] views it; y [n] = x[where].
convert::FileSpec data_dependent() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  ProgramSpec& p = f.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  p.add_value(input("x", {6}));                                    // 0
  p.add_value(activation("found", {1, n}, DType::kI64));           // 1
  p.add_value(activation("count", {}, DType::kI64));               // 2
  p.add_value(view_of(activation("where", {n}, DType::kI64), 1));  // 3
  p.add_value(output("y", {n}));                                   // 4
  p.add_value(activation("tiled", {n}));                           // 5
  p.symbols[0].resolved_by = 2;
  p.symbols[0].bound = 6;
  p.add_instruction(NonZeroAttributes(), {0}, {1, 2});
  p.add_instruction(GatherAttributes(), {0, 3}, {4});
  p.add_instruction(TileAttributes(), {4}, {5});
  add_ports(&f);
  return f;
}

/// One operator, its last output the number found; -1 in the outputs' dims is the symbol that it
/// resolves.
convert::FileSpec finding(convert::Attributes attributes, std::vector<convert::ValueSpec> inputs,
                          std::vector<convert::ValueSpec> outputs, Dim bound) {
  convert::FileSpec f =
      one_instruction(std::move(attributes), std::move(inputs), std::move(outputs));
  ProgramSpec& p = f.program;
  p.required_features = {"measured"};
  p.add_symbol("found", 0, 0);
  p.symbols[0].resolved_by = int32_t(p.values.size() - 1);
  p.symbols[0].bound = bound;
  return f;
}

void set_bound(RefuseTable* t, const char* name, Dim bound) {
  t->spec_of(name, [bound](ProgramSpec& p) { p.symbols[0].bound = bound; });
}

/// A symbol of the same bound that another value resolves, in place of the operator's own.
void other_symbol(ProgramSpec* p, size_t value, size_t dim) {
  ElementwiseAttributes copy;
  copy.compute = ComputeType::kI64;
  const int32_t asked = p->add_value(input("asked", {}, DType::kI64));
  const int32_t other = p->add_value(activation("other", {}, DType::kI64));
  p->add_instruction(copy, {asked}, {other});
  p->values[value].dims[dim] = p->add_symbol("other", 0, 0);
  p->symbols[1].resolved_by = other;
  p->symbols[1].bound = p->symbols[0].bound;
}

void add_operators(RefuseTable* t) {
  t->base("non_zero", [] {
    return finding(NonZeroAttributes(), {input("x", {2, 3})},
                   {output("y", {2, -1}, DType::kI64), output("n", {}, DType::kI64)}, 6);
  });
  set_bound(t, "too_little_room", 5);
  t->dims("static_dims", 1, {2, 6});
  t->dims("static_dims_too_large", 1, {2, 16});
  t->spec("of_another_symbol", [](ProgramSpec& p) { other_symbol(&p, 1, 1); });
  t->spec("of_an_expression",
          [](ProgramSpec& p) { p.values[1].dims[1] = p.add_dim_expr(DimOp::kMax, -1, 6); });
  t->spec("of_a_free_symbol", [](ProgramSpec& p) {
    p.symbols = {{"free", 6, 6}};
    p.required_features = {};
  });
  t->dims("rank", 1, {6});
  t->dtype("indices_i32", 1, DType::kI32);
  t->dims("count_dims", 2, {1});
  t->dtype("count_dtype", 2, DType::kF32);
  t->spec("count_absent", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs[1] = -1; });

  t->base("unique", [] {
    return finding(UniqueAttributes{1, false, true}, {input("x", {2, 5})},
                   {output("y", {2, -1}), output("first", {-1}, DType::kI64),
                    output("inverse", {5}, DType::kI64), output("counts", {-1}, DType::kI64),
                    output("n", {}, DType::kI64)},
                   5);
  });
  t->attributes<UniqueAttributes>("axis_beyond_rank", [](UniqueAttributes& a) { a.axis = 2; });
  t->attributes<UniqueAttributes>("flat_instead", [](UniqueAttributes& a) { a.flat = true; });
  set_bound(t, "too_little_room", 4);
  t->dims("static_dims", 1, {2, 5});
  t->dims("first_static", 2, {5});
  t->dims("counts_static", 4, {5});
  t->dims("other_axis_is_found", 1, {-1, 5});
  t->dims("inverse_dims", 3, {6});
  t->dtype("output_dtype", 1, DType::kF64);
  t->spec("count_absent", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs[4] = -1; });

  t->base("non_max_suppression", [] {
    return finding(
        NonMaxSuppressionAttributes(),
        {input("boxes", {1, 5, 4}), input("scores", {1, 2, 5}), input("most", {1}, DType::kI64)},
        {output("y", {-1, 3}, DType::kI64), output("n", {}, DType::kI64)}, 10);
  });
  t->dims("static_dims", 3, {10, 3});
  t->dims("boxes_of_three", 0, {1, 5, 3});
  t->dims("scores_of_fewer_boxes", 1, {1, 2, 4});
  t->dims("limits", 2, {2});
  t->dtype("limit_dtype", 2, DType::kI32);
  t->dims("rows_of_two", 3, {-1, 2});
  t->dtype("rows_dtype", 3, DType::kI32);
}

}  // namespace

void add_data_dependent_cases(RefuseTable* t) {
  t->base("data_dependent", data_dependent);
  t->spec("by_no_value", [](ProgramSpec& p) { p.symbols[0].resolved_by = 6; });
  t->spec("by_a_vector", [](ProgramSpec& p) { p.symbols[0].resolved_by = 3; });
  t->spec("by_an_input", [](ProgramSpec& p) {
    p.values[0].dims = {}, p.values[0].dtype = DType::kI64, p.symbols[0].resolved_by = 0;
  });
  t->spec("by_what_nobody_writes", [](ProgramSpec& p) {
    p.values.push_back(activation("silent", {}, DType::kI64));
    p.symbols[0].resolved_by = 6;
  });
  t->spec("before_a_free_symbol", [](ProgramSpec& p) { p.symbols.push_back({"free", 1, 8}); });
  t->spec("bound_of_itself", [](ProgramSpec& p) { p.symbols[0].bound = -1; });
  t->spec("bound_beyond", [](ProgramSpec& p) { p.symbols[0].bound = -9; });
  t->spec("bound_huge", [](ProgramSpec& p) { p.symbols[0].bound = INT64_MAX; });
  t->spec("bound_too_small", [](ProgramSpec& p) { p.symbols[0].bound = 5; });
  t->spec("input_of_data_dependent_extents", [](ProgramSpec& p) { p.values[0].dims = {-1}; });
  t->spec("row_stride_of_data_dependent_extents",
          [](ProgramSpec& p) { p.values[5].row_stride = 7; });
  t->spec("view_that_is_static", [](ProgramSpec& p) { p.values[3].dims = {6}; });
  t->spec("view_at_an_offset", [](ProgramSpec& p) { p.values[3].alias_offset = 1; });
  add_operators(t);
}

}  // namespace ingot::test
