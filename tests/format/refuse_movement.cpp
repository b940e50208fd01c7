// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

void add_gathers(RefuseTable* t) {
  t->base("gather", [] {
    return one_instruction(GatherAttributes{1},
                           {input("x", {2, 5, 3}), input("i", {4}, DType::kI64)},
                           {output("y", {2, 4, 3})});
  });
  t->attributes<GatherAttributes>("axis_beyond_rank", [](GatherAttributes& a) { a.axis = 3; });
  t->attributes<GatherAttributes>("other_axis", [](GatherAttributes& a) { a.axis = 0; });
  t->dtype("indices_f32", 1, DType::kF32);
  t->dtype("output_dtype", 2, DType::kI32);
  t->dims("output_rank", 2, {2, 4, 3, 1});
  t->dims("output_dims", 2, {2, 5, 3});

  t->base("gather_elements", [] {
    return one_instruction(GatherElementsAttributes{1},
                           {input("x", {2, 5}), input("i", {2, 3}, DType::kI32)},
                           {output("y", {2, 3})});
  });
  t->attributes<GatherElementsAttributes>("axis_beyond_rank",
                                          [](GatherElementsAttributes& a) { a.axis = 2; });
  t->dims("indices_rank", 1, {6});
  t->spec("indices_outside", [](ProgramSpec& p) { p.values[1].dims = p.values[2].dims = {3, 3}; });
  t->dims("output_dims", 2, {2, 4});
  t->dtype("indices_u8", 1, DType::kU8);

  t->base("gather_nd", [] {
    return one_instruction(GatherNdAttributes{0},
                           {input("x", {2, 5, 3}), input("i", {4, 2}, DType::kI64)},
                           {output("y", {4, 3})});
  });
  t->attributes<GatherNdAttributes>("batch_dims", [](GatherNdAttributes& a) { a.batch_dims = 3; });
  t->attributes<GatherNdAttributes>("batch_dims_disagree",
                                    [](GatherNdAttributes& a) { a.batch_dims = 1; });
  t->dims("index_too_deep", 1, {4, 4});
  t->dims("index_empty", 1, {4, 0});
  t->dims("indices_scalar", 1, {});
  t->dims("output_rank", 2, {4, 3, 1});
  t->dims("output_dims", 2, {4, 5});
  t->dtype("indices_i16", 1, DType::kI16);

  t->base("scatter_nd", [] {
    return one_instruction(
        ScatterNdAttributes(),
        {input("x", {5, 3}), input("i", {4, 1}, DType::kI64), input("u", {4, 3})},
        {output("y", {5, 3})});
  });
  t->attributes<ScatterNdAttributes>(
      "reduction_unknown", [](ScatterNdAttributes& a) { a.reduction = ScatterReduction(5); });
  t->dims("updates_dims", 2, {4, 2});
  t->dims("output_dims", 3, {3, 5});
  t->dtype("updates_dtype", 2, DType::kI32);
  t->dims("index_too_deep", 1, {4, 3});
  t->spec("bool_adds", [](ProgramSpec& p) {
    std::get<ScatterNdAttributes>(p.subprograms[0].instructions[0].attributes).reduction =
        ScatterReduction::kAdd;
    p.values[0].dtype = p.values[2].dtype = p.values[3].dtype = DType::kBool;
  });

  t->base("scatter_elements", [] {
    ScatterElementsAttributes a;
    a.axis = 1;
    return one_instruction(
        a, {input("x", {2, 5}), input("i", {2, 3}, DType::kI64), input("u", {2, 3})},
        {output("y", {2, 5})});
  });
  t->attributes<ScatterElementsAttributes>("axis_beyond_rank",
                                           [](ScatterElementsAttributes& a) { a.axis = 2; });
  t->attributes<ScatterElementsAttributes>(
      "reduction_unknown", [](ScatterElementsAttributes& a) { a.reduction = ScatterReduction(9); });
  t->dims("updates_dims", 2, {2, 4});
  t->dims("indices_rank", 1, {6});
  t->spec("indices_outside", [](ProgramSpec& p) { p.values[1].dims = p.values[2].dims = {3, 3}; });
}

void add_joins(RefuseTable* t) {
  t->base("concat", [] {
    return one_instruction(ConcatAttributes{1}, {input("a", {2, 3}), input("b", {2, 4})},
                           {output("y", {2, 7})});
  });
  t->attributes<ConcatAttributes>("axis_beyond_rank", [](ConcatAttributes& a) { a.axis = 2; });
  t->dims("input_rank", 1, {2, 4, 1});
  t->dims("input_disagrees", 1, {3, 4});
  t->dims("sum", 2, {2, 8});
  t->dims("sum_overflows", 0, {int64_t{1} << 62, 3});
  t->dtype("dtype", 1, DType::kI32);
  t->spec("no_inputs", [](ProgramSpec& p) { p.subprograms[0].instructions[0].inputs.clear(); });
  t->spec("an_input_is_absent", [](ProgramSpec& p) {
    p.subprograms[0].instructions[0].inputs = {0, -1};
  });

  t->base("copy", [] {
    return one_instruction(CopyAttributes(), {input("x", {2, 6})}, {output("y", {3, 4})});
  });
  t->dims("elements", 1, {3, 5});
  t->dtype("dtype", 1, DType::kI64);

  t->base("tile", [] {
    return one_instruction(TileAttributes(), {input("x", {2, 3})}, {output("y", {2, 6})});
  });
  t->dims("no_multiple", 1, {2, 7});
  t->dims("rank", 1, {1, 2, 6});
  t->dtype("dtype", 1, DType::kF16);

  t->base("transpose", [] {
    TransposeAttributes a;
    a.rank = 3;
    a.perm[0] = 2, a.perm[1] = 0, a.perm[2] = 1;
    return one_instruction(a, {input("x", {2, 3, 4})}, {output("y", {4, 2, 3})});
  });
  using T = TransposeAttributes;
  t->attributes<T>("perm_short", [](T& a) { a.rank = 2; });
  t->attributes<T>("perm_beyond_rank", [](T& a) { a.perm[0] = 3; });
  t->spec("perm_twice", [](ProgramSpec& p) {
    std::get<T>(p.subprograms[0].instructions[0].attributes).perm[0] = 0;
    p.values[1].dims = {2, 2, 3};
  });
  t->attributes<T>("perm_255", [](T& a) { a.perm[1] = 255; });
  t->dims("output_dims", 1, {2, 3, 4});
  t->dims("output_rank", 1, {4, 6});
  t->dtype("dtype", 1, DType::kU32);
}

void add_windows(RefuseTable* t) {
  t->base("slice", [] {
    SliceAttributes a;
    a.rank = 2;
    a.starts[1] = 1;
    a.steps[1] = 2;
    return one_instruction(a, {input("x", {2, 6})}, {output("y", {2, 3})});
  });
  using S = SliceAttributes;
  t->attributes<S>("rank", [](S& a) { a.rank = 1; });
  t->attributes<S>("step_zero", [](S& a) { a.steps[0] = 0; });
  t->attributes<S>("start_outside", [](S& a) { a.starts[0] = 2; });
  t->attributes<S>("start_huge", [](S& a) { a.starts[0] = INT64_MAX; });
  t->attributes<S>("start_no_such_expression", [](S& a) { a.starts[0] = -1; });
  t->attributes<S>("end_outside", [](S& a) { a.starts[1] = 2; });
  t->attributes<S>("step_overflows", [](S& a) { a.steps[1] = INT64_MAX; });
  t->attributes<S>("step_minimum", [](S& a) { a.steps[1] = INT64_MIN; });
  t->attributes<S>("negative_step_leaves", [](S& a) { a.steps[1] = -1; });
  t->dims("output_longer", 1, {2, 4});
  t->dims("output_rank", 1, {6});
  t->dtype("dtype", 1, DType::kBF16);

  t->base("slice_symbolic", [] {
    SliceAttributes a;
    a.rank = 1;
    convert::FileSpec f = one_instruction(a, {input("x", {2})}, {output("y", {2})});
    const Dim n = f.program.add_symbol("N", 2, 8);
    f.program.values[0].dims[0] = n;
    std::get<S>(f.program.subprograms[0].instructions[0].attributes).starts[0] =
        f.program.add_dim_expr(DimOp::kSub, n, 2);
    return f;
  });
  t->spec(
      "start_negative", [](ProgramSpec& p) { p.dim_exprs[1].b = 3; }, Code::kDimensionOutOfBounds);
  t->spec(
      "start_outside",
      [](ProgramSpec& p) {
        p.dim_exprs[1] = {DimOp::kAdd, -1, 1};
      },
      Code::kShapeMismatch);

  t->base("pad", [] {
    PadAttributes a;
    a.rank = 2;
    a.before[1] = 1;
    return one_instruction(a, {input("x", {2, 4}), constant("v", {})}, {output("y", {2, 6})});
  });
  using P = PadAttributes;
  t->attributes<P>("mode_unknown", [](P& a) { a.mode = PadMode(4); });
  t->attributes<P>("rank", [](P& a) { a.rank = 1; });
  t->attributes<P>("before_huge", [](P& a) { a.before[0] = INT64_MAX; });
  t->attributes<P>("before_no_such_expression", [](P& a) { a.before[0] = INT64_MIN; });
  t->attributes<P>("reflect_beyond_period",
                   [](P& a) { a.mode = PadMode::kReflect, a.before[1] = 4; });
  t->attributes<P>("wrap_beyond_period", [](P& a) { a.mode = PadMode::kWrap, a.before[1] = 5; });
  t->spec("reflect_after_beyond_period", [](ProgramSpec& p) {
    std::get<P>(p.subprograms[0].instructions[0].attributes).mode = PadMode::kReflect;
    p.values[2].dims = {2, 9};
  });
  t->spec("edge_of_nothing", [](ProgramSpec& p) {
    std::get<P>(p.subprograms[0].instructions[0].attributes).mode = PadMode::kEdge;
    p.values[0].dims = {2, 0};
  });
  t->dims("value_of_two", 1, {2});
  t->dtype("value_dtype", 1, DType::kI32);
  t->dims("output_rank", 2, {2, 6, 1});

  t->base("resize", [] {
    ResizeAttributes a;
    a.mode = ResizeMode::kLinear;
    a.rank = 4;
    return one_instruction(a, {input("x", {1, 4, 4, 3})}, {output("y", {1, 8, 8, 3})});
  });
  using R = ResizeAttributes;
  t->attributes<R>("mode_unknown", [](R& a) { a.mode = ResizeMode(3); });
  t->attributes<R>("coordinate_unknown", [](R& a) { a.coordinate = CoordinateMode(10); });
  t->attributes<R>("nearest_unknown", [](R& a) { a.nearest = NearestMode(4); });
  t->attributes<R>("cubic_nan", [](R& a) { a.cubic_a = std::nanf(""); });
  t->attributes<R>("cubic_huge", [](R& a) { a.cubic_a = 1e20f; });
  t->attributes<R>("scales_rank", [](R& a) { a.rank = 2; });
  t->attributes<R>("scale_negative", [](R& a) { a.scales[1] = -2; });
  t->attributes<R>("scale_nan", [](R& a) { a.scales[1] = std::nanf(""); });
  t->attributes<R>("scale_tiny", [](R& a) { a.scales[2] = 1e-30f; });
  t->dims("output_rank", 1, {8, 8, 3});
  t->dims("from_nothing", 0, {1, 0, 4, 3});
  t->dims("extent_beyond_24_bits", 1, {1, 1 << 25, 8, 3});
  t->dims("four_dimensions_change", 1, {2, 8, 8, 6});
  t->spec("linear_of_integers",
          [](ProgramSpec& p) { p.values[0].dtype = p.values[1].dtype = DType::kU8; });

  t->base("grid_sample", [] {
    return one_instruction(GridSampleAttributes(),
                           {input("x", {2, 5, 7, 3}), input("grid", {2, 4, 6, 2})},
                           {output("y", {2, 4, 6, 3})});
  });
  using G = GridSampleAttributes;
  t->attributes<G>("mode_unknown", [](G& a) { a.mode = GridMode(3); });
  t->attributes<G>("padding_unknown", [](G& a) { a.padding = GridPadding(255); });
  t->dtype("grid_f64", 1, DType::kF64);
  t->dims("grid_of_three_places", 1, {2, 4, 6, 3});
  t->dims("grid_batch", 1, {1, 4, 6, 2});
  t->dims("grid_rank", 1, {2, 24, 2});
  t->dims("output_places", 2, {2, 6, 4, 3});
  t->dims("output_channels", 2, {2, 4, 6, 4});
  t->dims("from_nothing", 0, {2, 5, 0, 3});
  t->dims("extent_beyond_24_bits", 0, {2, 1 << 24, 7, 3});
  t->spec("linear_of_integers",
          [](ProgramSpec& p) { p.values[0].dtype = p.values[2].dtype = DType::kU8; });

  t->base("roi_align", [] {
    return one_instruction(
        RoiAlignAttributes(),
        {input("x", {2, 5, 7, 3}), input("boxes", {4, 4}), input("images", {4}, DType::kI64)},
        {output("y", {4, 2, 2, 3})});
  });
  using I = RoiAlignAttributes;
  t->attributes<I>("mode_unknown", [](I& a) { a.mode = RoiMode(2); });
  t->attributes<I>("samples_many", [](I& a) { a.samples = 0xffffffffu; });
  t->attributes<I>("scale_nan", [](I& a) { a.scale = std::nanf(""); });
  t->dtype("boxes_f64", 1, DType::kF64);
  t->dtype("images_i32", 2, DType::kI32);
  t->dims("boxes_of_five_numbers", 1, {4, 5});
  t->dims("images_rank", 2, {4, 1});
  t->dims("images_fewer_than_boxes", 2, {3});
  t->dims("output_boxes", 3, {3, 2, 2, 3});
  t->dims("output_channels", 3, {4, 2, 2, 4});
  t->dims("from_nothing", 0, {2, 5, 0, 3});
  t->dims("extent_beyond_24_bits", 0, {2, 1 << 24, 7, 3});
}

void add_trees(RefuseTable* t) {
  t->base("tree_ensemble", [] {
    return one_instruction(
        TreeEnsembleAttributes{3, 5, 2, TreeAggregate::kSum, false},
        {input("x", {4, 5}), input("nodes", {7, 3}, DType::kI32), input("weights", {6, 2})},
        {output("y", {4, 2})});
  });
  using T = TreeEnsembleAttributes;
  t->attributes<T>("aggregate_unknown", [](T& a) { a.aggregate = TreeAggregate(3); });
  t->attributes<T>("trees_none", [](T& a) { a.trees = 0; });
  t->attributes<T>("trees_beyond_nodes", [](T& a) { a.trees = 7; });
  t->attributes<T>("features_none", [](T& a) { a.features = 0; });
  t->attributes<T>("features_beyond_x", [](T& a) { a.features = 6; });
  t->attributes<T>("features_huge", [](T& a) { a.features = 0xffffffffu; });
  t->attributes<T>("depth_huge", [](T& a) { a.depth = 0xffffffffu; });
  t->dtype("x_f16", 0, DType::kF16);
  t->dtype("nodes_i64", 1, DType::kI64);
  t->dtype("weights_f64", 2, DType::kF64);
  t->dims("nodes_of_four_words", 1, {7, 4});
  t->dims("weights_none", 2, {0, 2});
  t->dims("x_rank", 0, {4});
  t->dims("output_rows", 3, {5, 2});
  t->dims("output_targets", 3, {4, 3});
}

void add_transforms(RefuseTable* t) {
  t->base("fft", [] {
    const FftAttributes attributes = {FftKind::kFromReal, 8, 0};
    return one_instruction(
        attributes,
        {input("x", {4, 8}), input("table", {fft_table_elements(attributes)}), input("w", {8})},
        {output("y", {4, 10})});
  });
  using T = FftAttributes;
  t->attributes<T>("kind_unknown", [](T& a) { a.kind = FftKind(4); });
  t->attributes<T>("length_none", [](T& a) { a.length = 0; });
  t->attributes<T>("length_huge", [](T& a) { a.length = 0xffffffffu; });
  t->attributes<T>("length_of_another_table", [](T& a) { a.length = 9; });
  t->attributes<T>("frames_without_their_dimension", [](T& a) { a.step = 1; });
  t->attributes<T>("frames_of_complex_numbers",
                   [](T& a) { a.kind = FftKind::kForward, a.step = 1; });
  t->attributes<T>("window_of_complex_numbers", [](T& a) { a.kind = FftKind::kInverse; });
  t->dtype("x_f16", 0, DType::kF16);
  t->dtype("table_f64", 1, DType::kF64);
  t->dtype("window_f64", 2, DType::kF64);
  t->dims("x_too_long", 0, {4, 9});
  t->dims("table_short", 1, {9});
  t->dims("window_short", 2, {7});
  t->dims("output_rows", 3, {5, 10});
  t->dims("output_bins", 3, {4, 12});
}

void add_random(RefuseTable* t) {
  t->base("random", [] {
    return one_instruction(RandomAttributes{RandomKind::kNormal, 3, 0, 1},
                           {input("state", {2}, DType::kI64), input("iteration", {}, DType::kI64)},
                           {output("y", {4, 10})});
  });
  using T = RandomAttributes;
  t->attributes<T>("kind_unknown", [](T& a) { a.kind = RandomKind(2); });
  t->attributes<T>("mean_nan", [](T& a) { a.first = std::nanf(""); });
  t->dtype("state_i32", 0, DType::kI32);
  t->dims("state_of_three", 0, {3});
  t->dims("iterations", 1, {2});
  t->dtype("output_f64", 2, DType::kF64);
}

}  // namespace

void add_movement_cases(RefuseTable* table) {
  add_gathers(table);
  add_joins(table);
  add_windows(table);
  add_trees(table);
  add_transforms(table);
  add_random(table);
}

}  // namespace ingot::test
