// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/attention.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

Conv2dAttributes conv3x3() {
  Conv2dAttributes a;
  a.kernel_h = a.kernel_w = 3;
  a.pad_top = a.pad_left = a.pad_bottom = a.pad_right = 1;
  return a;
}

void add_conv2d(RefuseTable* t) {
  t->base("conv2d", [] {
    return one_instruction(
        conv3x3(),
        {input("x", {1, 4, 4, 3}), constant("w", {8, 3, 3, 3}, Packing::kPanels16),
         constant("b", {8}, Packing::kVector16), input("r", {1, 4, 4, 8})},
        {output("y", {1, 4, 4, 8})});
  });
  using A = Conv2dAttributes;
  t->attributes<A>("kernel_zero", [](A& a) { a.kernel_h = 0; });
  t->attributes<A>("kernel_huge", [](A& a) { a.kernel_w = 0xffffffffu; });
  t->attributes<A>("stride_zero", [](A& a) { a.stride_w = 0; });
  t->attributes<A>("dilation_zero", [](A& a) { a.dilation_h = 0; });
  t->attributes<A>("dilation_huge", [](A& a) { a.dilation_w = 0x7fffffffu; });
  t->attributes<A>("pad_huge", [](A& a) { a.pad_top = 0xfffffff0u; });
  t->attributes<A>("groups_zero", [](A& a) { a.groups = 0; });
  t->attributes<A>("groups_two_direct", [](A& a) { a.groups = 2; });
  t->attributes<A>("method_unknown", [](A& a) { a.method = ConvMethod(9); });
  t->attributes<A>("layout_unknown", [](A& a) { a.input_layout = ChannelLayout(2); });
  t->attributes<A>("activation_unknown",
                   [](A& a) { a.activation.kind = Activation(kActivationCount); });
  t->attributes<A>("activation_prelu", [](A& a) { a.activation.kind = Activation::kPrelu; });
  t->attributes<A>("window_larger_than_image", [](A& a) { a.dilation_h = 9; });
  t->attributes<A>("depthwise_without_groups", [](A& a) { a.method = ConvMethod::kDepthwise; });
  t->dims("x_rank", 0, {4, 4, 3});
  t->dims("x_channels", 0, {1, 4, 4, 5});
  t->dims("weights_rank", 1, {8, 27});
  t->dims("weights_channels", 1, {8, 3, 3, 4});
  t->dims("weights_kernel", 1, {8, 5, 3, 3});
  t->spec("weights_packing", [](ProgramSpec& p) { p.values[1].packing = Packing::kDepthwise16; });
  t->dims("bias_length", 2, {9});
  t->spec("bias_rank", [](ProgramSpec& p) {
    p.values[2].packing = Packing::kDense, p.values[2].dims = {8, 1};
  });
  t->spec("bias_panels16", [](ProgramSpec& p) { p.values[2].packing = Packing::kPanels16; });
  t->dims("residual_dims", 3, {1, 4, 4, 4});
  t->dims("y_rank", 4, {4, 4, 8});
  t->dims("y_height", 4, {1, 5, 4, 8});
  t->dims("y_channels", 4, {1, 4, 4, 16});
  t->dims("y_batch", 4, {2, 4, 4, 8});
  t->dtype("x_f16", 0, DType::kF16);
  t->dtype("weights_i8", 1, DType::kI8);
  t->dtype("y_f64", 4, DType::kF64);
  t->spec("weights_absent",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs[1] = -1; });
  t->spec("too_few_inputs", [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs = {0}; });
  t->spec("too_many_inputs", [](ProgramSpec& p) {
    p.subprograms[0].instructions[0].inputs = {0, 1, 2, 3, 3};
  });
  t->spec("no_output", [](ProgramSpec& p) { p.subprograms[0].instructions[0].outputs.clear(); });

  t->base("conv2d_winograd", [] {
    Conv2dAttributes a = conv3x3();
    a.method = ConvMethod::kWinogradF43;
    return one_instruction(
        a, {input("x", {1, 4, 4, 1}), constant("w", {1, 3, 3, 1}, Packing::kWinogradF43)},
        {output("y", {1, 4, 4, 1})});
  });
  t->attributes<A>("stride_two", [](A& a) { a.stride_h = a.stride_w = 2; });
  t->attributes<A>("reads_nchw", [](A& a) { a.input_layout = ChannelLayout::kNchw; });
  t->spec("panels16", [](ProgramSpec& p) { p.values[1].packing = Packing::kPanels16; });

  t->base("conv2d_depthwise", [] {
    Conv2dAttributes a = conv3x3();
    a.method = ConvMethod::kDepthwise;
    a.groups = 4;
    return one_instruction(
        a, {input("x", {1, 4, 4, 4}), constant("w", {4, 3, 3, 1}, Packing::kDepthwise16)},
        {output("y", {1, 4, 4, 4})});
  });
  t->attributes<A>("groups_not_channels", [](A& a) { a.groups = 2; });
  t->spec("more_outputs_than_channels", [](ProgramSpec& p) {
    p.values[1].dims = {8, 3, 3, 1}, p.values[2].dims = {1, 4, 4, 8};
  });

  t->base("conv2d_grouped", [] {
    Conv2dAttributes a = conv3x3();
    a.method = ConvMethod::kGrouped;
    a.groups = 2;
    return one_instruction(a, {input("x", {1, 4, 4, 4}), constant("w", {4, 3, 3, 2})},
                           {output("y", {1, 4, 4, 4})});
  });
  t->attributes<A>("groups_do_not_divide", [](A& a) { a.groups = 3; });
  t->spec("outputs_do_not_divide", [](ProgramSpec& p) {
    p.values[1].dims = {5, 3, 3, 2}, p.values[2].dims = {1, 4, 4, 5};
  });
}

void add_other_convolutions(RefuseTable* t) {
  t->base("conv_transpose2d", [] {
    ConvTranspose2dAttributes a;
    a.kernel_h = a.kernel_w = a.stride_h = a.stride_w = 2;
    return one_instruction(a,
                           {input("x", {1, 2, 2, 3}), constant("w", {4, 2, 2, 3}, Packing::kDense),
                            constant("b", {4}, Packing::kVector16)},
                           {output("y", {1, 4, 4, 4})});
  });
  using T = ConvTranspose2dAttributes;
  t->attributes<T>("stride_zero", [](T& a) { a.stride_h = 0; });
  t->attributes<T>("groups_zero", [](T& a) { a.groups = 0; });
  t->attributes<T>("groups_do_not_divide", [](T& a) { a.groups = 2; });
  t->attributes<T>("activation_prelu", [](T& a) { a.activation.kind = Activation::kPrelu; });
  t->dims("y_too_high", 3, {1, 6, 4, 4});
  t->dims("y_too_narrow", 3, {1, 4, 3, 4});
  t->dims("y_batch", 3, {2, 4, 4, 4});
  t->dims("y_channels", 3, {1, 4, 4, 5});
  t->dims("weights_channels", 1, {4, 2, 2, 2});
  t->dims("x_rank", 0, {2, 2, 3});
  t->dtype("x_f64", 0, DType::kF64);

  t->base("chain", [] {
    ChainAttributes a;
    a.stage_count = 2;
    a.stages[0] = Conv2dAttributes();
    a.stages[1] = conv3x3();
    a.stages[1].method = ConvMethod::kDepthwise;
    a.stages[1].groups = 8;
    convert::FileSpec f =
        one_instruction(a,
                        {input("x", {1, 4, 4, 3}), constant("w", {8, 1, 1, 3}, Packing::kPanels16),
                         constant("b", {8}, Packing::kVector16),
                         constant("d", {8, 3, 3, 1}, Packing::kDepthwise16)},
                        {output("y", {1, 4, 4, 8})});
    f.program.subprograms[0].instructions[0].inputs = {0, 1, 2, 3, -1};
    return f;
  });
  using C = ChainAttributes;
  t->attributes<C>("no_stages", [](C& a) { a.stage_count = 0; });
  t->attributes<C>("one_stage_of_two", [](C& a) { a.stage_count = 1; });
  t->attributes<C>("band_zero", [](C& a) { a.band_rows = 0; });
  t->attributes<C>("band_huge", [](C& a) { a.band_rows = 1u << 30; });
  t->attributes<C>("winograd_stage", [](C& a) { a.stages[1].method = ConvMethod::kWinogradF43; });
  t->attributes<C>("nchw_inside", [](C& a) { a.stages[1].input_layout = ChannelLayout::kNchw; });
  t->attributes<C>("residual_inside", [](C& a) { a.stages[0].residual_first = true; });
  t->attributes<C>("groups_of_stage", [](C& a) { a.stages[1].groups = 4; });
  t->dims("second_weights", 3, {4, 3, 3, 1});
  t->dims("y_channels", 4, {1, 4, 4, 16});
  t->spec("weights_absent",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs[3] = -1; });
  t->spec("inputs_of_three_stages", [](ProgramSpec& p) {
    p.subprograms[0].instructions[0].inputs = {0, 1, 2, 3, -1, -1, 3, -1};
  });
}

void add_products(RefuseTable* t) {
  t->base("linear", [] {
    return one_instruction(LinearAttributes(),
                           {input("x", {2, 5}), constant("w", {3, 5}, Packing::kPanels16),
                            constant("b", {3}, Packing::kVector16)},
                           {output("y", {2, 3})});
  });
  using L = LinearAttributes;
  t->attributes<L>("activation_prelu", [](L& a) { a.activation.kind = Activation::kPrelu; });
  t->dims("x_scalar", 0, {});
  t->dims("x_columns", 0, {2, 6});
  t->dims("weights_rank", 1, {3, 5, 1});
  t->dims("bias_length", 2, {4});
  t->dims("y_rank", 3, {1, 2, 3});
  t->dims("y_columns", 3, {2, 4});
  t->dims("y_rows", 3, {3, 3});
  t->dtype("weights_u8", 1, DType::kU8);
  t->spec("weights_depthwise16",
          [](ProgramSpec& p) { p.values[1].packing = Packing::kDepthwise16; });

  t->base("linear_quantized", [] {
    LinearAttributes a;
    a.block = 8;
    convert::FileSpec f = one_instruction(
        a,
        {input("x", {2, 20}), constant("w", {3, 10}, Packing::kPanels16x4, DType::kU8),
         constant("s", {3, 3}, Packing::kPanels16),
         constant("z", {3, 3}, Packing::kPanels16, DType::kI8)},
        {output("y", {2, 3})});
    f.program.required_features = {"quantized_weights"};
    f.program.subprograms[0].instructions[0].inputs = {0, 1, -1, -1, 2, 3};
    return f;
  });
  t->attributes<L>("block_of_twelve", [](L& a) { a.block = 12; });
  t->attributes<L>("block_zero", [](L& a) { a.block = 0; });
  t->attributes<L>("block_huge", [](L& a) { a.block = 1u << 31; });
  t->dims("weights_columns", 1, {3, 20});
  t->dims("scales_count", 2, {3, 2});
  t->dims("scales_rows", 2, {4, 3});
  t->dims("zeros_count", 3, {3, 4});
  t->dtype("scales_i32", 2, DType::kI32);
  t->dtype("zeros_u8", 3, DType::kU8);
  t->spec("weights_panels16", [](ProgramSpec& p) { p.values[1].packing = Packing::kPanels16; });
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features.clear(); });
  t->spec("zeros_without_scales",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs[4] = -1; });

  t->base("matmul", [] {
    return one_instruction(MatMulAttributes(), {input("a", {2, 3, 4}), input("b", {1, 4, 5})},
                           {output("y", {2, 3, 5})});
  });
  t->attributes<MatMulAttributes>("trans_b", [](MatMulAttributes& a) { a.trans_b = true; });
  t->dims("a_vector", 0, {4});
  t->dims("b_vector", 1, {4});
  t->dims("inner", 1, {1, 3, 5});
  t->dims("batch", 1, {3, 4, 5});
  t->dims("y_rows", 2, {2, 4, 5});
  t->dims("y_columns", 2, {2, 3, 6});
  t->dims("y_batch", 2, {1, 3, 5});
  t->dims("y_rank", 2, {3, 5});
  t->dtype("a_i32", 0, DType::kI32);

  t->base("pool2d", [] {
    Pool2dAttributes a;
    a.kernel_h = a.kernel_w = a.stride_h = a.stride_w = 2;
    return one_instruction(a, {input("x", {1, 4, 4, 3})}, {output("y", {1, 2, 2, 3})});
  });
  using P = Pool2dAttributes;
  t->attributes<P>("kind_unknown", [](P& a) { a.kind = PoolKind(7); });
  t->attributes<P>("kernel_zero", [](P& a) { a.kernel_w = 0; });
  t->attributes<P>("stride_zero", [](P& a) { a.stride_h = 0; });
  t->attributes<P>("pad_huge", [](P& a) { a.pad_left = 0x80000000u; });
  t->attributes<P>("p_three", [](P& a) { a.kind = PoolKind::kLp, a.p = 3; });
  t->attributes<P>("window_larger_than_image", [](P& a) { a.kernel_h = 9; });
  t->dims("x_rank", 0, {4, 4, 3});
  t->dims("y_height", 1, {1, 3, 2, 3});
  t->dims("y_channels", 1, {1, 2, 2, 4});
  t->dtype("y_f16", 1, DType::kF16);
}

void add_recurrent(RefuseTable* t) {
  t->base("recurrent", [] {
    RecurrentAttributes a;
    a.hidden = 4;
    convert::FileSpec f = one_instruction(
        a,
        {input("x", {3, 1, 5}), constant("w", {64, 5}, Packing::kPanels16),
         constant("r", {64, 4}, Packing::kPanels16), constant("bias", {1, 1, 64}),
         input("h0", {1, 1, 4}), input("c0", {1, 1, 4}), input("lens", {1}, DType::kI32)},
        {output("y", {3, 1, 1, 4}), output("h", {1, 1, 4}), output("c", {1, 1, 4})});
    return f;
  });
  using R = RecurrentAttributes;
  t->attributes<R>("kind_unknown", [](R& a) { a.kind = RecurrentKind(3); });
  t->attributes<R>("kind_gru", [](R& a) { a.kind = RecurrentKind::kGru; });
  t->attributes<R>("direction_unknown", [](R& a) { a.direction = Direction(3); });
  t->attributes<R>("direction_both", [](R& a) { a.direction = Direction::kBidirectional; });
  t->attributes<R>("hidden_zero", [](R& a) { a.hidden = 0; });
  t->attributes<R>("hidden_huge", [](R& a) { a.hidden = 0x80000000u; });
  t->attributes<R>("hidden_other", [](R& a) { a.hidden = 5; });
  t->attributes<R>("clip_negative", [](R& a) { a.clip = -1; });
  t->attributes<R>("linear_before_reset_lstm", [](R& a) { a.linear_before_reset = true; });
  t->attributes<R>("two_activations", [](R& a) { a.activation_count = 2; });
  t->attributes<R>("activation_prelu", [](R& a) {
    a.activation_count = 3, a.activations[1].kind = Activation::kPrelu;
  });
  t->attributes<R>("activation_unknown",
                   [](R& a) { a.activation_count = 3, a.activations[0].kind = Activation(99); });
  t->attributes<R>("batch_first", [](R& a) { a.batch_first = true; });
  t->dims("x_rank", 0, {3, 5});
  t->dims("weights_rows", 1, {16, 5});
  t->dims("recurrent_columns", 2, {64, 5});
  t->spec("weights_vector16", [](ProgramSpec& p) { p.values[1].packing = Packing::kDepthwise16; });
  t->dims("bias_two_of_lstm", 3, {1, 2, 64});
  t->dims("h0_batch", 4, {1, 2, 4});
  t->dims("c0_hidden", 5, {1, 1, 5});
  t->dims("lens_batch", 6, {2});
  t->dtype("lens_i64", 6, DType::kI64);
  t->dtype("x_f16", 0, DType::kF16);
  t->dims("y_steps", 7, {4, 1, 1, 4});
  t->dims("h_rank", 8, {1, 4});
  t->dtype("c_f64", 9, DType::kF64);
}

void add_linear_recurrence(RefuseTable* t) {
  t->base("linear_recurrence", [] {
    return one_instruction(
        LinearRecurrenceAttributes{4, 2, 2},
        {input("q", {3, 10}), input("k", {3, 10}), input("v", {3, 28}), input("states", {2, 140}),
         input("from", {3}, DType::kI64), input("to", {3}, DType::kI64), input("decay", {3, 4}),
         input("beta", {3, 4})},
        {output("after", {2, 140}), output("y", {3, 28})});
  });
  using R = LinearRecurrenceAttributes;
  t->attributes<R>("heads_none", [](R& a) { a.heads = 0; });
  t->attributes<R>("heads_huge", [](R& a) { a.heads = 0x80000000u; });
  t->attributes<R>("heads_without_a_key", [](R& a) { a.key_heads = 3; });
  t->attributes<R>("heads_without_a_query", [](R& a) { a.query_heads = 3; });
  t->dtype("q_f16", 0, DType::kF16);
  t->dims("q_width", 0, {3, 12});
  t->dims("k_tokens", 1, {4, 10});
  t->dims("v_rank", 2, {84});
  t->dims("states_row", 3, {2, 139});
  t->dtype("from_i32", 4, DType::kI32);
  t->dims("to_tokens", 5, {4});
  t->dims("decay_width", 6, {3, 5});
  t->dims("beta_width", 7, {3, 2});
  t->dims("states_after", 8, {3, 140});
  t->dims("y_width", 9, {3, 32});
}

/// LSTM of bytes: its operands 3 to 7 are absent.
void add_recurrent_of_bytes(RefuseTable* t) {
  t->base("recurrent_bytes", [] {
    RecurrentAttributes a;
    a.hidden = 4;
    convert::FileSpec f = one_instruction(
        a,
        {input("x", {3, 1, 5}), constant("w", {64, 5}, Packing::kPanels16x4, DType::kI8),
         constant("r", {64, 4}, Packing::kPanels16x4, DType::kI8),
         constant("w_channels", {3, 64}, Packing::kDense, DType::kI32),
         constant("r_channels", {4, 64}, Packing::kDense, DType::kI32)},
        {output("y", {3, 1, 1, 4})});
    f.program.subprograms[0].instructions[0].inputs = {0, 1, 2, -1, -1, -1, -1, -1, 3, 4};
    return f;
  });
  t->attributes<RecurrentAttributes>("bytes_of_gru", [](auto& a) { a.kind = RecurrentKind::kGru; });
  t->spec("bytes_in_panels16", [](ProgramSpec& p) { p.values[1].packing = Packing::kPanels16; });
  t->spec("bytes_without_channels",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs.resize(9); });
  t->spec("bytes_with_bias",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs[3] = 0; });
  t->spec("channels_of_f32_weights", [](ProgramSpec& p) {
    for (const size_t i : {1, 2})
      p.values[i].dtype = DType::kF32, p.values[i].packing = Packing::kPanels16;
  });
  t->dims("channels_two_rows", 3, {2, 64});
  t->dims("channels_columns", 4, {4, 48});
  t->dtype("channels_f32", 3, DType::kF32);
  t->dtype("one_of_bytes", 2, DType::kF32);
}

void add_attention(RefuseTable* t) {
  t->base("attention", [] {
    AttentionAttributes a;
    a.heads = 4, a.kv_heads = 2, a.empty_rows = EmptyRows::kMean;
    convert::FileSpec f =
        one_instruction(a,
                        {input("q", {1, 3, 8}), input("k", {1, 5, 4}), input("v", {1, 5, 6}),
                         input("mask", {1, 1, 3, 5}, DType::kBool)},
                        {output("y", {1, 3, 12})});
    f.program.required_features = {"empty_rows"};
    return f;
  });
  using A = AttentionAttributes;
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features.clear(); });
  t->attributes<A>("empty_rows_unknown", [](A& a) { a.empty_rows = EmptyRows(3); });
  t->attributes<A>("causal_unknown", [](A& a) { a.causal = CausalMask(3); });
  t->attributes<A>("heads_zero", [](A& a) { a.heads = 0; });
  t->attributes<A>("kv_heads_three", [](A& a) { a.kv_heads = 3; });
  t->attributes<A>("softcap_negative", [](A& a) { a.softcap = -1; });
  t->dtype("mean_with_floats", 3, DType::kF32);
  t->dims("mask_keys", 3, {1, 1, 3, 4});
  t->dims("y_width", 4, {1, 3, 8});
  t->dtype("keys_f16_alone", 1, DType::kF16);
  t->dtype("queries_f16", 0, DType::kF16);
  t->spec("keys_u8_of_parts", [](ProgramSpec& p) {
    for (size_t i = 1; i < 3; i++) p.values[i].dtype = DType::kU8;
  });
  t->base("attention_batches", [] {
    AttentionAttributes a;
    convert::FileSpec f =
        one_instruction(a,
                        {input("q", {2, 1, 8}), input("k", {3, 5, 8}), input("v", {3, 5, 8}),
                         input("batches", {2}, DType::kI64)},
                        {output("y", {2, 1, 8})});
    f.program.subprograms[0].instructions[0].inputs = {0, 1, 2, -1, -1, 3};
    f.program.required_features = {"key_batches"};
    return f;
  });
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features.clear(); });
  t->dims("of_another_number", 3, {3});
  t->dtype("f32", 3, DType::kF32);
  t->base("attention_sinks", [] {
    AttentionAttributes a;
    a.heads = 2;
    convert::FileSpec f = one_instruction(
        a,
        {input("q", {1, 3, 8}), input("k", {1, 5, 4}), input("v", {1, 5, 4}), input("sinks", {2})},
        {output("y", {1, 3, 8})});
    f.program.subprograms[0].instructions[0].inputs = {0, 1, 2, -1, -1, -1, 3};
    f.program.required_features = {"attention_sinks", "empty_rows"};
    return f;
  });
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features = {"empty_rows"}; });
  t->attributes<A>("with_empty_rows", [](A& a) { a.empty_rows = EmptyRows::kNan; });
  t->dims("of_another_number", 3, {3});
  t->dims("rank", 3, {1, 2});
  t->dtype("f16", 3, DType::kF16);
}

}  // namespace

void add_product_cases(RefuseTable* table) {
  add_conv2d(table);
  add_other_convolutions(table);
  add_products(table);
  add_recurrent(table);
  add_linear_recurrence(table);
  add_recurrent_of_bytes(table);
  add_attention(table);
}

}  // namespace ingot::test
