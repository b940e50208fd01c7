// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

void add_elementwise(RefuseTable* t) {
  t->base("elementwise", [] {
    return one_instruction(step(ElementwiseOp::kAdd), {input("a", {2, 4}), input("b", {4})},
                           {output("y", {2, 4})});
  });
  using E = ElementwiseAttributes;
  t->attributes<E>("op_unknown", [](E& a) { a.steps[0].op = ElementwiseOp(50); });
  t->attributes<E>("op_255", [](E& a) { a.steps[0].op = ElementwiseOp(255); });
  t->attributes<E>("compute_unknown", [](E& a) { a.compute = ComputeType(4); });
  t->attributes<E>("register_not_written", [](E& a) { a.steps[0].b = 2; });
  t->attributes<E>("register_253", [](E& a) { a.steps[0].a = 253; });
  t->attributes<E>("register_of_later_step",
                   [](E& a) { a.step_count = 2, a.steps[1] = a.steps[0], a.steps[0].a = 3; });
  t->attributes<E>("third_register",
                   [](E& a) { a.steps[0].op = ElementwiseOp::kFma, a.steps[0].c = 9; });
  t->attributes<E>("no_step_two_operands", [](E& a) { a.step_count = 0; });
  t->attributes<E>("exp_of_integers", [](E& a) {
    a.compute = ComputeType::kI64, a.steps[0].op = ElementwiseOp::kExp;
  });
  t->attributes<E>("shift_of_floats", [](E& a) { a.steps[0].op = ElementwiseOp::kShiftLeft; });
  t->dims("operand_does_not_broadcast", 1, {3});
  t->dims("operand_of_higher_rank", 1, {1, 2, 4});
  t->dims("output_smaller", 2, {1, 4});
  t->spec("nine_inputs", [](ProgramSpec& p) {
    p.subprograms[0].instructions[0].inputs = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  });
  t->spec("two_outputs", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {2, 2}; });
}

void add_reductions(RefuseTable* t) {
  t->base("reduce", [] {
    return one_instruction(ReduceAttributes{ReduceKind::kSum, 2}, {input("x", {2, 4})},
                           {output("y", {2, 1})});
  });
  using R = ReduceAttributes;
  t->attributes<R>("kind_unknown", [](R& a) { a.kind = ReduceKind(10); });
  t->attributes<R>("axis_beyond_rank", [](R& a) { a.axes = 4; });
  t->attributes<R>("axis_31", [](R& a) { a.axes = 0x80000000u; });
  t->attributes<R>("other_axis", [](R& a) { a.axes = 1; });
  t->dims("output_not_reduced", 1, {2, 4});
  t->dims("output_rank", 1, {2, 1, 1});
  t->dtype("output_dtype", 1, DType::kF64);
  t->spec("log_of_integers", [](ProgramSpec& p) {
    std::get<R>(p.subprograms[0].instructions[0].attributes).kind = ReduceKind::kLogSum;
    p.values[0].dtype = p.values[1].dtype = DType::kI32;
  });
  t->spec("sum_of_bool",
          [](ProgramSpec& p) { p.values[0].dtype = p.values[1].dtype = DType::kBool; });

  t->base("arg_reduce", [] {
    return one_instruction(ArgReduceAttributes{true, 1, false}, {input("x", {2, 4})},
                           {output("y", {2}, DType::kI64)});
  });
  t->attributes<ArgReduceAttributes>("axis_beyond_rank",
                                     [](ArgReduceAttributes& a) { a.axis = 2; });
  t->attributes<ArgReduceAttributes>("axis_huge",
                                     [](ArgReduceAttributes& a) { a.axis = 0xffffffffu; });
  t->dtype("output_f32", 1, DType::kF32);
  t->dims("output_dims", 1, {4});
  t->dims("empty_axis", 0, {2, 0});

  t->base("softmax", [] {
    return one_instruction(SoftmaxAttributes{1, false}, {input("x", {2, 4})},
                           {output("y", {2, 4})});
  });
  t->attributes<SoftmaxAttributes>("axis_beyond_rank", [](SoftmaxAttributes& a) { a.axis = 2; });
  t->dims("output_dims", 1, {4, 2});
  t->dtype("output_dtype", 1, DType::kF16);
  t->spec("of_integers",
          [](ProgramSpec& p) { p.values[0].dtype = p.values[1].dtype = DType::kI32; });
}

void add_norms(RefuseTable* t) {
  t->base("normalize", [] {
    NormalizeAttributes a;
    a.axis = 1;
    return one_instruction(a, {input("x", {2, 6}), constant("s", {6}), constant("b", {6})},
                           {output("y", {2, 6})});
  });
  using N = NormalizeAttributes;
  t->attributes<N>("kind_unknown", [](N& a) { a.kind = NormKind(4); });
  t->attributes<N>("axis_beyond_rank", [](N& a) { a.axis = 2; });
  t->attributes<N>("epsilon_negative", [](N& a) { a.epsilon = -1; });
  t->attributes<N>("epsilon_nan", [](N& a) { a.epsilon = std::nanf(""); });
  t->attributes<N>("group_zero", [](N& a) { a.kind = NormKind::kGroup, a.groups = 0; });
  t->attributes<N>("groups_do_not_divide", [](N& a) { a.kind = NormKind::kGroup, a.groups = 4; });
  t->dims("scale_length", 1, {5});
  t->dims("bias_length", 2, {7});
  t->dtype("scale_dtype", 1, DType::kF16);
  t->dims("output_dims", 3, {6, 2});
  t->spec("of_integers",
          [](ProgramSpec& p) { p.values[0].dtype = p.values[3].dtype = DType::kI8; });
  t->spec("instance_of_vector", [](ProgramSpec& p) {
    std::get<N>(p.subprograms[0].instructions[0].attributes).kind = NormKind::kInstance;
    p.values[0].dims = p.values[3].dims = {6};
  });
}

void add_sorting(RefuseTable* t) {
  t->base("top_k", [] {
    TopKAttributes a;
    a.axis = 1;
    return one_instruction(a, {input("x", {2, 6})},
                           {output("v", {2, 3}), output("i", {2, 3}, DType::kI64)});
  });
  t->attributes<TopKAttributes>("axis_beyond_rank", [](TopKAttributes& a) { a.axis = 3; });
  t->spec("more_than_there_are", [](ProgramSpec& p) {
    p.values[1].dims = p.values[2].dims = {2, 7};
  });
  t->spec("other_dimension", [](ProgramSpec& p) { p.values[1].dims = p.values[2].dims = {1, 3}; });
  t->dims("indices_dims", 2, {2, 2});
  t->dtype("indices_i32", 2, DType::kI32);
  t->dtype("values_dtype", 1, DType::kF64);
  t->spec("of_bool", [](ProgramSpec& p) { p.values[0].dtype = p.values[1].dtype = DType::kBool; });
  t->spec("indices_absent", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs = {1}; });

  t->base("cum_sum", [] {
    return one_instruction(CumSumAttributes{1, false, false}, {input("x", {2, 6})},
                           {output("y", {2, 6})});
  });
  t->attributes<CumSumAttributes>("axis_beyond_rank", [](CumSumAttributes& a) { a.axis = 2; });
  t->dims("output_dims", 1, {2, 5});
  t->dtype("output_dtype", 1, DType::kI64);
  t->spec("of_bool", [](ProgramSpec& p) { p.values[0].dtype = p.values[1].dtype = DType::kBool; });
}

}  // namespace

void add_map_cases(RefuseTable* table) {
  add_elementwise(table);
  add_reductions(table);
  add_norms(table);
  add_sorting(table);
}

}  // namespace ingot::test
