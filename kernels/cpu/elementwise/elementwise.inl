// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/elementwise/elementwise.inl - chains of elementwise steps on blocks of up to 256
// elements that stay in L1.
//
//   operand 0 - load or use in place -+
//   operand 1 - ...                   |- step 0 - step 1 - ... - last step - store or straight into
//   the output
//
// Contract  runtime/op/elementwise.h. A block is a run of whole short rows, or a piece of a long
//           one, so that a
// broadcast row is repeated once a thread and not once a block. Operands of the computed type that
// lie as the output does are used where they are.
#pragma once
#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cpu/elementwise/grid.inl"
#include "kernels/cpu/elementwise/steps_f32.inl"
#include "kernels/cpu/elementwise/steps_wide.inl"
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// A block: `rows` whole rows from `row`, or `columns` elements of one row.
struct Block {
  int64_t row, rows, column, columns;
  int64_t count() const { return rows * columns; }
};

template <class V, class T>
struct Interpreter {
  const Grid& grid;
  const ElementwiseAttributes& attributes;
  T* registers;  // [inputs + steps][kElementwiseBlock]
  int inputs;
  const T* source[kMaxElementwiseInputs + kMaxElementwiseSteps] = {};

  T* room(int i) const { return registers + int64_t(i) * kElementwiseBlock; }

  static void fill(T* out, T x, int64_t n) {
    if constexpr (dtype_of<T>() == DType::kF32 && V::kLanes > 1) {
      const typename V::F v = V::splat(x);
      int64_t i = 0;
      for (; i + V::kLanes <= n; i += V::kLanes) V::store(out + i, v);
      if (i < n) V::store_partial(out + i, v, n - i);
    } else {
      fill_each(n, out, [x](int64_t) { return x; });
    }
  }

  /// Operands that are the same in every block. @pre blocks of whole rows where `short_rows`.
  void prepare(bool short_rows) {
    const int64_t most = least_of(kElementwiseBlock, grid.rows * grid.length);  // of a block
    for (int k = 0; k < inputs; k++) {
      const GridOperand& o = grid.operands[k];
      T* to = room(k);
      if (o.walk == Walk::kScalar) {
        T x;
        load_block<T>(o.dtype, o.data, 1, &x);
        fill(to, x, most);
        source[k] = to;
      } else if (o.walk == Walk::kPeriodic && short_rows) {
        load_block<T>(o.dtype, o.data, grid.length, to);
        for (int64_t i = grid.length; i < most; i++) to[i] = to[i - grid.length];
        source[k] = to;
      }
    }
  }

  static void load(DType dtype, const void* from, int64_t n, T* to) {
    if constexpr (dtype_of<T>() == DType::kF32)
      if (load_vectors<V>(dtype, from, n, to)) return;
    load_block<T>(dtype, from, n, to);
  }
  static void store(DType dtype, const T* from, int64_t n, void* to) {
    if constexpr (dtype_of<T>() == DType::kF32)
      if (store_vectors<V>(dtype, from, n, to)) return;
    store_block<T>(dtype, from, n, to);
  }

  const T* fetch(int k, const Block& b) {
    const GridOperand& o = grid.operands[k];
    const int64_t inner = o.strides[grid.rank - 1];
    int64_t index[kMaxRank];
    int64_t at = o.walk == Walk::kLinear ? b.row * grid.length : row_offset(grid, o, b.row, index);
    if (o.walk == Walk::kLinear || (b.rows == 1 && inner == 1)) {
      const char* from = o.data + (at + b.column) * o.bytes;
      if (o.dtype == dtype_of<T>()) return reinterpret_cast<const T*>(from);
      load(o.dtype, from, b.count(), room(k));
      return room(k);
    }
    T* to = room(k);
    for (int64_t r = 0; r < b.rows; r++, to += b.columns) {
      const char* from = o.data + (at + inner * b.column) * o.bytes;
      if (inner == 0) {
        T x;
        load_block<T>(o.dtype, from, 1, &x);
        fill(to, x, b.columns);
      } else {
        load(o.dtype, from, b.columns, to);
      }
      next_row(grid, o, index, &at);
    }
    return room(k);
  }

  void put(const T* from, const Block& b) {
    const GridOperand& o = grid.operands[grid.count - 1];
    if (o.walk == Walk::kLinear) {
      store(o.dtype, from, b.count(), o.data + (b.row * grid.length + b.column) * o.bytes);
      return;
    }
    int64_t index[kMaxRank];
    int64_t at = row_offset(grid, o, b.row, index);
    for (int64_t r = 0; r < b.rows; r++, from += b.columns) {
      store(o.dtype, from, b.columns, o.data + (at + b.column) * o.bytes);
      next_row(grid, o, index, &at);
    }
  }

  /// Where the last step may write at once; null when it must be converted or scattered.
  T* target(const Block& b) const {
    const GridOperand& o = grid.operands[grid.count - 1];
    if (o.dtype != dtype_of<T>()) return nullptr;
    if (o.walk == Walk::kLinear)
      return reinterpret_cast<T*>(o.data) + b.row * grid.length + b.column;
    int64_t index[kMaxRank];
    return b.rows == 1 ? reinterpret_cast<T*>(o.data) + row_offset(grid, o, b.row, index) + b.column
                       : nullptr;
  }

  void run(const Block& b, uint32_t ready) {
    for (int k = 0; k < inputs; k++)
      if (!(ready >> k & 1)) source[k] = fetch(k, b);
    const int64_t n = b.count();
    for (uint32_t i = 0; i < attributes.step_count; i++) {
      const ElementwiseStep& s = attributes.steps[i];
      T* own = room(inputs + int(i));
      const bool last = i + 1 == attributes.step_count;
      T* direct = last ? target(b) : nullptr;
      bool filled = false;
      const auto get = [&](uint8_t reg) -> const T* {
        if (reg != kConstantRegister) return source[reg];
        if (!filled) fill(own, constant(s.alpha), n);
        filled = true;
        return own;
      };
      const int arity = elementwise_arity(s.op);
      const T* x = get(s.a);
      const T* y = arity > 1 ? get(s.b) : x;
      const T* z = arity > 2 ? get(s.c) : x;
      run_step<V>(s, x, y, z, direct ? direct : own, n);
      source[inputs + int(i)] = own;
      if (direct) return;
    }
    put(source[inputs + int(attributes.step_count) - 1], b);
  }

  static T constant(float alpha) {
    if constexpr (T(0.5) == T(0))
      return T(to_whole(alpha));
    else
      return T(alpha);
  }
};

template <class V, class T>
void interpret(const OpArguments& a, const Grid& grid, const Team& team) {
  Interpreter<V, T> run{grid, a.as<ElementwiseAttributes>(), static_cast<T*>(team.scratch),
                        a.input_count};
  const bool short_rows = grid.length < kElementwiseBlock && grid.rank > 1;
  run.prepare(short_rows);
  uint32_t ready = 0;
  bool all_in_place = true;
  for (int k = 0; k < run.inputs; k++) {
    const GridOperand& o = grid.operands[k];
    if (run.source[k]) ready |= 1u << k;
    all_in_place = all_in_place && o.walk == Walk::kLinear && o.dtype == dtype_of<T>();
  }
  if (short_rows) {
    const int64_t rows_each = kElementwiseBlock / grid.length;
    // a chain of steps is more work for an element
    const int64_t least = 2048 / most_of(1, least_of(4, run.attributes.step_count));
    const Part mine = part_of(team, grid.rows, rows_each, most_of(1, least / grid.length));
    for (int64_t r = mine.begin; r < mine.end; r += rows_each)
      run.run({r, least_of(rows_each, mine.end - r), 0, grid.length}, ready);
    return;
  }
  // Long rows: this member's stretch of the elements in row-major order.
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const GridOperand& y = grid.operands[grid.count - 1];
  const bool one_pass = t.step_count == 1 && all_in_place && y.dtype == dtype_of<T>() &&
                        t.steps[0].a != kConstantRegister && t.steps[0].b != kConstantRegister &&
                        t.steps[0].c != kConstantRegister;
  const int64_t most = one_pass ? grid.length : kElementwiseBlock;
  const Part mine = part_of(team, grid.rows * grid.length, 64, 2048);
  for (int64_t at = mine.begin; at < mine.end;) {
    const int64_t row = at / grid.length, column = at - row * grid.length;
    const int64_t n = least_of(least_of(most, grid.length - column), mine.end - at);
    run.run({row, 1, column, n}, ready);
    at += n;
  }
}

/// The type that a conversion goes through: exact for every value of the source.
inline ComputeType conversion_type(DType from, DType to) {
  const bool to_half = to == DType::kF16 || to == DType::kBF16;
  if ((to == DType::kF32 || to_half) && dtype_bytes(from) < 4) return ComputeType::kF32;
  switch (from) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return ComputeType::kF32;
    case DType::kF64: return ComputeType::kF64;
    case DType::kU64: return ComputeType::kU64;
    default: return ComputeType::kI64;
  }
}

/// A row of its own, so that a firmware that links it links nothing else of this file.
/// @pre flips_bytes
template <class V>
Status flip_bytes(const OpArguments& a, const Team& team) {
  const TensorView &from = a.inputs[0], &to = a.outputs[0];
  if (to.elements() == 0) return {};
  const float alpha = a.as<ElementwiseAttributes>().steps[0].alpha;
  const typename V::B bits = V::bsplat(uint8_t(to_whole(alpha)));
  for_runs(team, from, to, [&](int64_t x_at, int64_t y_at, int64_t n) {
    const uint8_t* x = from.as<const uint8_t>() + x_at;
    uint8_t* y = to.as<uint8_t>() + y_at;
    int64_t i = 0;
    for (; i + V::kBytes <= n; i += V::kBytes) V::bstore(y + i, V::bxor(V::bload(x + i), bits));
    if (i < n) V::bstore_partial(y + i, V::bxor(V::bload_partial(x + i, n - i), bits), n - i);
  });
  return {};
}

template <class V>
Status elementwise(const OpArguments& a, const Team& team) {
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  for (int i = 0; i < a.outputs[0].rank; i++)
    if (a.outputs[0].dims[i] == 0) return {};
  Grid grid;
  make_grid(a, &grid);
  ComputeType compute = t.compute;
  if (t.step_count == 0) {
    compute = conversion_type(a.inputs[0].dtype, a.outputs[0].dtype);
    if (a.inputs[0].dtype == a.outputs[0].dtype) {  // bits as they are
      const int bytes = grid.operands[0].bytes;
      const DType same = bytes == 8   ? DType::kI64
                         : bytes == 4 ? DType::kU32
                         : bytes == 2 ? DType::kU16
                                      : DType::kU8;
      grid.operands[0].dtype = grid.operands[1].dtype = same;
      compute = ComputeType::kI64;
    }
  }
  switch (compute) {
    case ComputeType::kF32: interpret<V, float>(a, grid, team); break;
    case ComputeType::kF64: interpret<V, double>(a, grid, team); break;
    case ComputeType::kI64: interpret<V, int64_t>(a, grid, team); break;
    case ComputeType::kU64: interpret<V, uint64_t>(a, grid, team); break;
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
