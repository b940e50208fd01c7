// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/block_linear.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

constexpr DType kU8 = DType::kU8, kI16 = DType::kI16;

template <class A>
void add_output_steps(RefuseTable* t) {
  t->attributes<A>("high_beyond_byte", [](A& a) { a.high = 256; });
  t->attributes<A>("high_huge", [](A& a) { a.high = 0xffffffffu; });
  t->attributes<A>("low_above_high", [](A& a) { a.low = 9, a.high = 8; });
}

void add_conversions(RefuseTable* t) {
  t->base("quantize", [] {
    return one_instruction(QuantizeAttributes{0.1f, 3, QuantizeRounding::kAway, true},
                           {input("x", {2, 4})}, {output("y", {2, 4}, kU8)});
  });
  using Q = QuantizeAttributes;
  t->attributes<Q>("scale_zero", [](Q& a) { a.scale = 0; });
  t->attributes<Q>("scale_negative", [](Q& a) { a.scale = -1; });
  t->attributes<Q>("scale_nan", [](Q& a) { a.scale = __builtin_nanf(""); });
  t->attributes<Q>("scale_denormal", [](Q& a) { a.scale = 1e-40f; });
  t->attributes<Q>("zero_beyond_type", [](Q& a) { a.zero_point = 256; });
  t->attributes<Q>("zero_negative", [](Q& a) { a.zero_point = -1; });
  t->attributes<Q>("rounding_unknown", [](Q& a) { a.rounding = QuantizeRounding(2); });
  t->dtype("x_f16", 0, DType::kF16);
  t->dtype("y_i64", 1, DType::kI64);
  t->dims("y_dims", 1, {4, 2});

  t->base("dequantize", [] {
    return one_instruction(DequantizeAttributes{0.1f, 3}, {input("x", {2, 4}, kU8)},
                           {output("y", {2, 4})});
  });
  using D = DequantizeAttributes;
  t->attributes<D>("scale_infinite", [](D& a) { a.scale = __builtin_inff(); });
  t->attributes<D>("zero_beyond_type", [](D& a) { a.zero_point = INT32_MIN; });
  t->dtype("x_bool", 0, DType::kBool);
  t->dtype("x_i32_with_zero", 0, DType::kI32);
  t->dtype("y_f16", 1, DType::kF16);

  t->base("lookup", [] {
    return one_instruction(LookupAttributes{},
                           {input("x", {2, 4}, kU8), constant("t", {256}, Packing::kDense, kU8)},
                           {output("y", {2, 4}, kU8)});
  });
  t->dims("table_short", 1, {255});
  t->dims("table_rank", 1, {16, 16});
  t->dtype("x_i8", 0, DType::kI8);
  t->dtype("table_i16", 1, DType::kI16);
  t->dims("y_dims", 2, {8});
}

void add_binary(RefuseTable* t) {
  t->base("quantized_elementwise", [] {
    QuantizedElementwiseAttributes a;
    a.y_shift = 20;
    return one_instruction(a, {input("a", {2, 4}, kU8), input("b", {4}, kU8)},
                           {output("y", {2, 4}, kU8)});
  });
  using A = QuantizedElementwiseAttributes;
  constexpr RequantMode kUp = RequantMode::kFixedUp;
  t->attributes<A>("function_unknown", [](A& a) { a.function = QuantizedFunction(3); });
  t->attributes<A>("requant_unknown", [](A& a) { a.requant = RequantMode(7); });
  t->attributes<A>("requant_wide", [](A& a) { a.requant = RequantMode::kFixedWide; });
  t->attributes<A>("requant_to_float", [](A& a) { a.requant = RequantMode::kToFloat; });
  t->attributes<A>("zero_beyond_byte", [](A& a) { a.b_zero = 256; });
  t->attributes<A>("multiplier_huge", [](A& a) { a.a_multiplier = INT32_MIN; });
  t->attributes<A>("shift_zero", [](A& a) { a.y_shift = 0; });
  t->attributes<A>("shift_huge", [](A& a) { a.y_shift = 31; });
  t->attributes<A>("fixed_multiplier_negative", [](A& a) { a.requant = kUp, a.y_multiplier = -1; });
  t->attributes<A>("fixed_shift_huge", [](A& a) { a.requant = kUp, a.y_shift = 32; });
  t->attributes<A>("fixed_shift_of_a_left", [](A& a) { a.requant = kUp, a.a_shift = -1; });
  t->attributes<A>("scale_of_product_zero",
                   [](A& a) { a.function = QuantizedFunction::kMul, a.scale = 0; });
  add_output_steps<A>(t);
  t->dtype("a_f32", 0, DType::kF32);
  t->dims("b_dims", 1, {3});
}

void add_rows(RefuseTable* t) {
  t->base("quantized_pool2d", [] {
    QuantizedPool2dAttributes a;
    a.kind = PoolKind::kAverage, a.kernel_h = a.kernel_w = a.stride_h = a.stride_w = 2;
    return one_instruction(a, {input("x", {1, 4, 4, 3}, kU8)}, {output("y", {1, 2, 2, 3}, kU8)});
  });
  using P = QuantizedPool2dAttributes;
  t->attributes<P>("kind_lp", [](P& a) { a.kind = PoolKind::kLp; });
  t->attributes<P>("kind_unknown", [](P& a) { a.kind = PoolKind(4); });
  t->attributes<P>("offset_beyond_byte", [](P& a) { a.offset = 256; });
  t->attributes<P>("stride_zero", [](P& a) { a.stride_h = 0; });
  t->attributes<P>("window_huge", [](P& a) { a.kernel_h = a.kernel_w = 1u << 20; });
  t->attributes<P>("pad_huge", [](P& a) { a.pad_left = 0xfffffff0u; });
  add_output_steps<P>(t);
  t->dims("x_rank", 0, {4, 4, 3});
  t->dims("y_channels", 1, {1, 2, 2, 4});
  t->dtype("x_i8", 0, DType::kI8);

  t->base("quantized_softmax", [] {
    return one_instruction(QuantizedSoftmaxAttributes{},
                           {input("x", {2, 4}, kU8), constant("t", {256})},
                           {output("y", {2, 4}, kU8)});
  });
  using S = QuantizedSoftmaxAttributes;
  t->attributes<S>("scale_zero", [](S& a) { a.scale = 0; });
  t->attributes<S>("zero_beyond_type", [](S& a) { a.y_zero = 256; });
  t->dims("x_scalar", 0, {});
  t->dims("table_long", 1, {257});
  t->dtype("table_f64", 1, DType::kF64);
  t->dtype("y_i8", 2, DType::kI8);
}

void add_products(RefuseTable* t) {
  t->base("quantized_linear", [] {
    return one_instruction(
        QuantizedLinearAttributes{},
        {input("x", {2, 8}, kU8), constant("w", {16, 8}, Packing::kPanels16x4, DType::kI8),
         constant("c", {2, 16}, Packing::kDense, DType::kI32)},
        {output("y", {2, 16}, kU8)});
  });
  using L = QuantizedLinearAttributes;
  t->attributes<L>("requant_unknown", [](L& a) { a.requant = RequantMode(7); });
  t->attributes<L>("wide_of_bytes", [](L& a) { a.requant = RequantMode::kDoubleAway; });
  t->attributes<L>("to_float_of_bytes", [](L& a) { a.requant = RequantMode::kToFloat; });
  t->attributes<L>("fixed_without_shifts", [](L& a) { a.requant = RequantMode::kFixedUp; });
  t->attributes<L>("w_zero_huge", [](L& a) { a.w_zero = 256; });
  t->attributes<L>("y_zero_beyond_byte", [](L& a) { a.y_zero = 256; });
  add_output_steps<L>(t);
  t->dims("weights_depth", 1, {16, 9});
  t->dims("channels_length", 2, {2, 15});
  t->dims("channels_rank", 2, {32});
  t->dtype("channels_f32", 2, DType::kF32);
  t->spec("weights_panels16", [](ProgramSpec& p) { p.values[1].packing = Packing::kPanels16; });

  t->base("quantized_conv2d", [] {
    QuantizedConv2dAttributes a;
    a.kernel_h = a.kernel_w = 3;
    return one_instruction(a,
                           {input("x", {1, 5, 5, 4}, kU8),
                            constant("w", {16, 3, 3, 4}, Packing::kPanels16x4, DType::kI8),
                            constant("c", {2, 16}, Packing::kDense, DType::kI32)},
                           {output("y", {1, 3, 3, 16}, kU8)});
  });
  using C = QuantizedConv2dAttributes;
  t->attributes<C>("method_winograd", [](C& a) { a.method = ConvMethod::kWinogradF43; });
  t->attributes<C>("method_unknown", [](C& a) { a.method = ConvMethod(4); });
  t->attributes<C>("x_zero_beyond_byte", [](C& a) { a.x_zero = 256; });
  t->attributes<C>("groups_zero", [](C& a) { a.method = ConvMethod::kGrouped, a.groups = 0; });
  t->attributes<C>("stride_zero", [](C& a) { a.stride_w = 0; });
  t->attributes<C>("window_larger_than_image", [](C& a) { a.dilation_w = 9; });
  add_output_steps<C>(t);
  t->dims("weights_channels", 1, {16, 3, 3, 5});
  t->dims("y_height", 3, {1, 4, 3, 16});
  t->dtype("x_f32", 0, DType::kF32);
}

void add_chains(RefuseTable* t) {
  t->base("quantized_chain", [] {
    QuantizedChainAttributes a;
    a.stage_count = 2;
    a.stages[1].method = ConvMethod::kDepthwise, a.stages[1].groups = 16;
    a.stages[1].kernel_h = a.stages[1].kernel_w = 3;
    return one_instruction(a,
                           {input("x", {1, 5, 5, 4}, kU8),
                            constant("w", {16, 1, 1, 4}, Packing::kPanels16x4, DType::kI8),
                            constant("c", {2, 16}, Packing::kDense, DType::kI32),
                            constant("d", {16, 3, 3, 1}, Packing::kDepthwise16, DType::kI8),
                            constant("e", {2, 16}, Packing::kDense, DType::kI32)},
                           {output("y", {1, 3, 3, 16}, kU8)});
  });
  using C = QuantizedChainAttributes;
  t->attributes<C>("no_stages", [](C& a) { a.stage_count = 0; });
  t->attributes<C>("one_stage_of_two", [](C& a) { a.stage_count = 1; });
  t->attributes<C>("band_zero", [](C& a) { a.band_rows = 0; });
  t->attributes<C>("band_huge", [](C& a) { a.band_rows = 1u << 30; });
  t->attributes<C>("method_unknown", [](C& a) { a.stages[1].method = ConvMethod(4); });
  t->attributes<C>("two_pointwise", [](C& a) { a.stages[1] = {}; });
  t->attributes<C>("strided_expansion", [](C& a) { a.stages[0].stride_h = 2; });
  t->attributes<C>("fixed_point", [](C& a) { a.stages[0].requant = RequantMode::kFixedUp; });
  t->attributes<C>("zero_beyond_byte", [](C& a) { a.stages[0].y_zero = 256; });
  t->attributes<C>("window_larger_than_image", [](C& a) { a.stages[1].dilation_w = 9; });
  t->dims("x_channels", 0, {1, 5, 5, 6});
  t->dims("second_weights", 3, {8, 3, 3, 1});
  t->dims("second_channels", 4, {2, 8});
  t->dims("y_height", 5, {1, 4, 3, 16});
  t->dtype("x_f32", 0, DType::kF32);
  t->spec("weights_absent",
          [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs[3] = -1; });
}

/// What a run quantizes, and products of it.
void add_dynamic(RefuseTable* t) {
  t->base("dynamic_quantize", [] {
    return one_instruction(DynamicQuantizeAttributes{DynamicRange::kFull, 1}, {input("x", {2, 4})},
                           {output("y", {2, 4}, kU8), output("s", {2, 2})});
  });
  using Q = DynamicQuantizeAttributes;
  t->attributes<Q>("range_unknown", [](Q& a) { a.range = DynamicRange(3); });
  t->attributes<Q>("axis_beyond_rank", [](Q& a) { a.axis = 3; });
  t->attributes<Q>("axis_huge", [](Q& a) { a.axis = 0xffffffffu; });
  t->dtype("x_f16", 0, DType::kF16);
  t->dtype("y_i8", 1, DType::kI8);
  t->dims("y_dims", 1, {4, 2});
  t->dims("steps_groups", 2, {1, 2});
  t->dims("steps_rank", 2, {4});
  t->dtype("steps_f64", 2, DType::kF64);

  t->base("quantized_linear_to_float", [] {
    QuantizedLinearAttributes a;
    a.requant = RequantMode::kToFloat;
    return one_instruction(
        a,
        {input("x", {6, 8}, kU8), constant("w", {16, 8}, Packing::kPanels16x4, DType::kI8),
         constant("c", {3, 16}, Packing::kDense, DType::kI32), input("s", {3, 2})},
        {output("y", {6, 16})});
  });
  using L = QuantizedLinearAttributes;
  t->attributes<L>("w_zero", [](L& a) { a.w_zero = 1; });
  t->dims("channels_two", 2, {2, 16});
  t->dims("channels_five", 2, {5, 16});
  t->dims("steps_four", 3, {4, 2});
  t->dims("steps_none", 3, {0, 2});
  t->dims("steps_wide", 3, {3, 3});
  t->dtype("steps_i32", 3, DType::kI32);
  t->dtype("y_u8", 4, kU8);

  t->base("quantized_mat_mul", [] {
    return one_instruction(QuantizedMatMulAttributes{},
                           {input("a", {2, 3, 8}, kU8), input("b", {2, 8, 5}, kU8)},
                           {output("y", {2, 3, 5}, kU8)});
  });
  using M = QuantizedMatMulAttributes;
  t->attributes<M>("a_zero_beyond_byte", [](M& a) { a.a_zero = 256; });
  t->attributes<M>("b_zero_huge", [](M& a) { a.b_zero = 0xffffffffu; });
  t->attributes<M>("scale_infinite", [](M& a) { a.scale = __builtin_inff(); });
  t->attributes<M>("fixed_with_scale", [](M& a) { a.requant = RequantMode::kFixedAway; });
  t->attributes<M>("fixed_shift_33",
                   [](M& a) { a.requant = RequantMode::kFixedAway, a.scale = 0, a.shift = 33; });
  t->attributes<M>("turned", [](M& a) { a.trans_b = true; });
  add_output_steps<M>(t);
  t->dims("a_vector", 0, {8});
  t->dims("b_depth", 1, {2, 7, 5});
  t->dims("b_batch", 1, {1, 8, 5});
  t->dims("y_rows", 2, {2, 4, 5});
  t->dtype("b_i8", 1, DType::kI8);
  t->dtype("y_f32", 2, DType::kF32);

  t->base("quantized_conv2d_to_float", [] {
    QuantizedConv2dAttributes a;
    a.kernel_h = a.kernel_w = 3, a.requant = RequantMode::kToFloat;
    return one_instruction(
        a,
        {input("x", {2, 5, 5, 4}, kU8),
         constant("w", {16, 3, 3, 4}, Packing::kPanels16x4, DType::kI8),
         constant("c", {4, 16}, Packing::kDense, DType::kI32), input("s", {2, 2})},
        {output("y", {2, 3, 3, 16})});
  });
  t->dims("steps_three", 3, {3, 2});
  t->dtype("y_f16", 4, DType::kF16);
}

/// Numbers of 16 bits.
void add_words(RefuseTable* t) {
  t->base("lookup_words", [] {
    return one_instruction(
        LookupAttributes{},
        {input("x", {2, 4}, kI16), constant("t", {65536}, Packing::kDense, kI16)},
        {output("y", {2, 4}, kI16)});
  });
  t->dims("table_of_bytes", 1, {256});
  t->dtype("y_u8", 2, kU8);

  t->base("quantized_elementwise_words", [] {
    QuantizedElementwiseAttributes a;
    a.requant = RequantMode::kFixedUp;
    a.a_zero = a.b_zero = a.y_zero = 32768, a.high = 65535;
    return one_instruction(a, {input("a", {2, 4}, kI16), input("b", {4}, kI16)},
                           {output("y", {2, 4}, kI16)});
  });
  using A = QuantizedElementwiseAttributes;
  t->attributes<A>("requant_float", [](A& a) { a.requant = RequantMode::kFloatEven; });
  t->attributes<A>("zero_of_b", [](A& a) { a.b_zero = 32767; });
  t->attributes<A>("zero_of_y", [](A& a) { a.y_zero = 0; });
  t->attributes<A>("high_beyond_word", [](A& a) { a.high = 65536; });
  t->dtype("b_u8", 1, kU8);

  t->base("quantized_pool2d_words", [] {
    QuantizedPool2dAttributes a;
    a.kind = PoolKind::kAverage, a.kernel_h = a.kernel_w = a.stride_h = a.stride_w = 2;
    a.offset = 32768, a.high = 65535;
    return one_instruction(a, {input("x", {1, 4, 4, 3}, kI16)}, {output("y", {1, 2, 2, 3}, kI16)});
  });
  using P = QuantizedPool2dAttributes;
  t->attributes<P>("window_large", [](P& a) { a.kernel_h = a.kernel_w = 129; });
  t->attributes<P>("offset_beyond_word", [](P& a) { a.offset = 65536; });
  t->dtype("y_u8", 1, kU8);

  t->base("quantized_softmax_words", [] {
    QuantizedSoftmaxAttributes a;
    a.y_zero = 0;
    return one_instruction(
        a, {input("x", {2, 4}, kI16), constant("t", {65536 + 513}, Packing::kDense, kI16)},
        {output("y", {2, 4}, kI16)});
  });
  t->attributes<QuantizedSoftmaxAttributes>("y_zero",
                                            [](QuantizedSoftmaxAttributes& a) { a.y_zero = 1; });
  t->dims("table_short", 1, {65536});
  t->dtype("table_f32", 1, DType::kF32);
  t->dtype("y_u8", 2, kU8);

  t->base("quantized_linear_words", [] {
    QuantizedLinearAttributes a;
    a.requant = RequantMode::kDoubleAway, a.y_zero = 32768, a.high = 65535;
    return one_instruction(
        a,
        {input("x", {2, 8}, kI16), constant("w", {16, 8}, Packing::kPanels16x4, DType::kI8),
         constant("c", {4, 16}, Packing::kDense, DType::kI32)},
        {output("y", {2, 16}, kI16)});
  });
  using L = QuantizedLinearAttributes;
  t->attributes<L>("to_float", [](L& a) { a.requant = RequantMode::kToFloat; });
  t->attributes<L>("w_zero", [](L& a) { a.w_zero = 1; });
  t->attributes<L>("y_zero_beyond_word", [](L& a) { a.y_zero = 65536; });
  t->dims("channels_three", 2, {3, 16});
  t->dtype("y_u8", 3, kU8);
}

void add_blocks(RefuseTable* t) {
  t->base("block_linear", [] {  // k = 64
    return one_instruction(
        BlockLinearAttributes{BlockType::kQ4_1},
        {input("x", {2, 80}, DType::kU8), constant("w", {33, 40}, Packing::kBlocks32, DType::kU8),
         input("b", {33}), input("r", {2, 33})},
        {output("y", {2, 33})});
  });
  using L = BlockLinearAttributes;
  t->attributes<L>("type_unknown", [](L& a) { a.type = BlockType(255); });
  t->attributes<L>("type_of_other_bytes", [](L& a) { a.type = BlockType::kQ5_0; });
  t->attributes<L>("type_of_256", [](L& a) { a.type = BlockType::kQ4_K; });
  t->dims("x_columns", 0, {2, 79});
  t->dims("x_scalar", 0, {});
  t->dims("weights_half_a_block", 1, {33, 30});
  t->dims("bias_length", 2, {32});
  t->dims("residual_rows", 3, {3, 33});
  t->dims("y_columns", 4, {2, 64});
  t->dtype("weights_i8", 1, DType::kI8);
  t->spec("weights_dense", [](ProgramSpec& p) { p.values[1].packing = Packing::kDense; });

  t->base("block_quantize", [] {
    return one_instruction(BlockQuantizeAttributes{BlockType::kQ6_K}, {input("x", {3, 256})},
                           {output("y", {3, 324}, DType::kU8)});
  });
  using Q = BlockQuantizeAttributes;
  t->attributes<Q>("type_unknown", [](Q& a) { a.type = BlockType(255); });
  t->attributes<Q>("type_of_other_bytes", [](Q& a) { a.type = BlockType::kQ5_K; });
  t->dims("x_columns", 0, {3, 255});
  t->dtype("y_f32", 1, DType::kF32);

  t->base("block_gather", [] {
    return one_instruction(
        BlockGatherAttributes{BlockType::kQ8_0},
        {constant("w", {40, 34}, Packing::kBlocks32, DType::kU8), input("i", {3}, DType::kI32)},
        {output("y", {3, 32})});
  });
  using G = BlockGatherAttributes;
  t->attributes<G>("type_unknown", [](G& a) { a.type = BlockType(255); });
  t->dims("weights_half_a_block", 0, {40, 17});
  t->dims("y_columns", 2, {3, 64});
  t->dtype("indices_f32", 1, DType::kF32);

  t->base("grouped_linear", [] {
    return one_instruction(GroupedLinearAttributes{},
                           {input("x", {5, 8}), constant("w", {48, 8}, Packing::kPanels16),
                            input("e", {3}, DType::kI32)},
                           {output("y", {5, 9})});
  });
  t->dims("x_columns", 0, {5, 7});
  t->dims("weights_of_two_experts", 1, {32, 8});
  t->dims("ends_of_four", 2, {4});
  t->dims("y_columns_of_two_panels", 3, {5, 17});
  t->dtype("ends_f32", 2, DType::kF32);
  t->base("grouped_blocks", [] {
    return one_instruction(
        GroupedLinearAttributes{BlockType::kQ4_1},
        {input("x", {5, 80}, DType::kU8), constant("w", {96, 40}, Packing::kBlocks32, DType::kU8),
         input("e", {3}, DType::kI64)},
        {output("y", {5, 32})});
  });
  using E = GroupedLinearAttributes;
  t->attributes<E>("type_unknown", [](E& a) { a.type = BlockType(255); });
  t->attributes<E>("type_of_other_bytes", [](E& a) { a.type = BlockType::kQ5_0; });
}

}  // namespace

void add_quantized_cases(RefuseTable* t) {
  add_conversions(t);
  add_binary(t);
  add_rows(t);
  add_products(t);
  add_chains(t);
  add_dynamic(t);
  add_words(t);
  add_blocks(t);
}

}  // namespace ingot::test
