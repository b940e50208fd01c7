// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/recurrent/recurrent.cuh - LSTM, GRU, RNN, LinearRecurrence. Contract and order:
// runtime/op/recurrent.h; the cells are the CPU's own.
//   recurrent_inputs  products of the inputs of many steps: a tile of 32 rows and 64 gate columns a
//                     block
//   recurrent_step    one step: a block makes 16 units of a few sequences, their gates' products
//                     and then their cell. Steps are separate
//                     launches, because every unit reads all of the state before
//   recurrent_steps   all steps of a chunk by one block for each few sequences and direction: where
//                     the weights are small, a barrier is
//                     cheaper than a launch
//   linear_recurrence  a thread takes a column of a head's matrix through all tokens
#pragma once
#include "kernels/cpu/recurrent/cell.inl"
#include "kernels/cpu/recurrent/linear_recurrence_columns.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/recurrent/recurrent_kernels.h"

namespace ingot::cuda {

GPU_FN int64_t gate_columns(const RecurrentParams& p) { return p.gates * p.padded; }
GPU_FN bool is_backwards(const RecurrentParams& p, int d) { return d == 1 || p.backwards; }
/// First time of the chunk.
GPU_FN int64_t chunk_begin(const RecurrentParams& p, int d) {
  return is_backwards(p, d) ? p.steps - p.done - p.count : p.done;
}

/// The state as it starts, padded with zeros; lengths are checked.
INGOT_GPU_KERNEL(recurrent_start, RecurrentParams, 128) {
  const int64_t rows = p.directions * p.batch;
  GPU_ROLLED for (int64_t i = grid_thread(); i < rows * p.padded; i += grid_threads()) {
    const int64_t row = i / p.padded, u = i - row * p.padded;
    const bool is_unit = u < p.hidden;
    p.h[0][i] = p.h0 && is_unit ? p.h0[row * p.hidden + u] : 0.0f;
    p.c[i] = p.c0 && is_unit ? p.c0[row * p.hidden + u] : 0.0f;
  }
  if (p.lengths)
    GPU_ROLLED for (int64_t b = grid_thread(); b < p.batch;
                    b += grid_threads()) if (p.lengths[b] < 0 || p.lengths[b] > p.steps)* p.fault =
        p.fault_value;
}

INGOT_GPU_KERNEL(recurrent_finish, RecurrentParams, 128) {
  const int64_t rows = p.directions * p.batch;
  GPU_ROLLED for (int64_t i = grid_thread(); i < rows * p.hidden; i += grid_threads()) {
    const int64_t row = i / p.hidden, at = row * p.padded + (i - row * p.hidden);
    if (p.h_out) p.h_out[i] = p.h[p.steps & 1][at];
    if (p.c_out) p.c_out[i] = p.c[at];
  }
}

/// Rows of a chunk are (step, batch); a thread makes 4 rows of one column in each of 4 panels.
INGOT_GPU_KERNEL(recurrent_inputs, RecurrentParams, 128) {
  constexpr int kRows = 32, kDepth = 32, kPanels = 4;
  GPU_SHARED_ARRAY(float, xs, [kRows][kDepth + 1]);
  const int d = int(blockIdx.z), lane = int(threadIdx.x % 16), group = int(threadIdx.x / 16);
  const int64_t columns = gate_columns(p), panels = columns / 16, rows = p.count * p.batch,
                begin = chunk_begin(p, d);
  const int64_t panel_tiles = (panels + kPanels - 1) / kPanels,
                tiles = panel_tiles * ((rows + kRows - 1) / kRows);
  GPU_ROLLED for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t panel = t % panel_tiles * kPanels, row = t / panel_tiles * kRows;
    float acc[4][kPanels];
    INGOT_UNROLL for (int j = 0; j < kPanels; j++) {
      const int64_t column = (panel + j) * 16 + lane;
      const float start =
          p.bias && panel + j < panels ? p.bias[d * p.biases * columns + column] : 0.0f;
      INGOT_UNROLL for (int i = 0; i < 4; i++) acc[i][j] = start;
    }
    GPU_ROLLED for (int64_t k0 = 0; k0 < p.input; k0 += kDepth) {
      const int depth = p.input - k0 < kDepth ? int(p.input - k0) : kDepth;
      __syncthreads();
      GPU_ROLLED for (int i = int(threadIdx.x); i < kRows * kDepth; i += 128) {
        const int64_t r = row + i / kDepth, k = k0 + i % kDepth;
        float x = 0;
        if (r < rows && k < p.input) {
          const int64_t time = begin + r / p.batch, b = r % p.batch;
          x = p.x[(p.batch_first ? b * p.steps + time : time * p.batch + b) * p.input + k];
        }
        xs[i / kDepth][i % kDepth] = x;
      }
      __syncthreads();
      const float* w = p.w + (d * columns + panel * 16) * p.input + k0 * 16 + lane;
      GPU_ROLLED for (int k = 0; k < depth; k++) {
        INGOT_UNROLL for (int j = 0; j < kPanels; j++) {
          if (panel + j >= panels) continue;
          const float weight = w[j * 16 * p.input + k * 16];
          INGOT_UNROLL for (int i = 0; i < 4; i++) acc[i][j] =
              V::fma(xs[group * 4 + i][k], weight, acc[i][j]);
        }
      }
    }
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      INGOT_UNROLL for (int j = 0; j < kPanels; j++) {
        const int64_t r = row + group * 4 + i;
        if (r < rows && panel + j < panels)
          p.products[(d * p.chunk * p.batch + r) * columns + (panel + j) * 16 + lane] = acc[i][j];
      }
    }
    __syncthreads();
  }
}

GPU_FN cpu::tensors::CellPlan cell_plan(const RecurrentParams& p, int d) {
  cpu::tensors::CellPlan plan;
  plan.kind = p.kind;
  plan.f = p.f[d];
  plan.g = p.g[d];
  plan.h = p.act_h[d];
  plan.clip = p.clip;
  plan.linear_before_reset = p.linear_before_reset;
  plan.peepholes = p.peepholes ? p.peepholes + d * 3 * p.padded : nullptr;
  plan.hidden = p.hidden;
  plan.padded = p.padded;
  return plan;
}

/// Sequences of a block at once: as many as give its threads a gate column each.
GPU_FN int rows_of_block(const RecurrentParams& p) { return kRecurrentThreads / (16 * p.gates); }
constexpr int kStateDepth = 128, kMaxStateRows = kRecurrentThreads / 16;

/// Products of the state (or of r * h) with gates [first, last) of 16 units from `unit`, for
/// sequences [row, row + rows).
GPU_FN void multiply_state(const RecurrentParams& p, int d, const float* from, int64_t row,
                           int rows, int64_t unit, int first, int last,
                           float (*state)[kStateDepth]) {
  const int own = int(threadIdx.x) / 16, lane = int(threadIdx.x % 16), r = own % rows,
            gate = first + own / rows;
  const int64_t columns = gate_columns(p), column = gate * p.padded + unit + lane;
  const bool is_live = gate < last && row + r < p.batch;
  float acc = 0;
  if (is_live && p.biases == 2 && p.bias) acc = p.bias[(d * 2 + 1) * columns + column];
  const float* weights = p.r + (d * columns + gate * p.padded + unit) * p.hidden + lane;
  GPU_ROLLED for (int64_t k0 = 0; k0 < p.hidden; k0 += kStateDepth) {
    const int depth = p.hidden - k0 < kStateDepth ? int(p.hidden - k0) : kStateDepth;
    __syncthreads();
    GPU_ROLLED for (int i = int(threadIdx.x); i < rows * kStateDepth; i += kRecurrentThreads) {
      const int of = i / kStateDepth, k = i % kStateDepth;
      if (k < depth && row + of < p.batch)
        state[of][k] = from[(d * p.batch + row + of) * p.padded + k0 + k];
    }
    __syncthreads();
    if (!is_live) continue;
    int k = 0;
    for (; k + 8 <= depth; k += 8) {
      float w[8];
      INGOT_UNROLL for (int j = 0; j < 8; j++) w[j] = weights[(k0 + k + j) * 16];
      INGOT_UNROLL for (int j = 0; j < 8; j++) acc = V::fma(state[r][k + j], w[j], acc);
    }
    GPU_ROLLED for (; k < depth; k++) acc = V::fma(state[r][k], weights[(k0 + k) * 16], acc);
  }
  if (is_live) p.states[(d * p.batch + row + r) * columns + column] = acc;
  __syncthreads();
}

/// Gates [first, last) of 16 units at one step, and what can be made of them: reset gates once
/// theirs are known, cells after the last.
GPU_FN void make_units(const RecurrentParams& p, int d, int64_t step, int64_t row, int64_t unit,
                       int first, int last, float (*state)[kStateDepth]) {
  const int rows = rows_of_block(p);
  const bool by_reset = first > 0;  // the third gate of a gru reads r * h
  const float* current = p.h[step & 1];
  multiply_state(p, d, by_reset ? p.reset : current, row, rows, unit, first, last, state);
  if (int(threadIdx.x) < rows * 16 && row + threadIdx.x / 16 < p.batch) {
    const int64_t b = row + threadIdx.x / 16, u = unit + threadIdx.x % 16,
                  at = (d * p.batch + b) * p.padded;
    const int64_t time = is_backwards(p, d) ? p.steps - 1 - step : step;
    const int64_t input_row = (time - chunk_begin(p, d)) * p.batch + b, columns = gate_columns(p);
    const cpu::tensors::CellPlan plan = cell_plan(p, d);
    cpu::tensors::CellRow cell = {p.products + (d * p.chunk * p.batch + input_row) * columns,
                                  p.states + (d * p.batch + b) * columns,
                                  current + at,
                                  p.h[1 - (step & 1)] + at,
                                  p.c + at,
                                  p.reset + at,
                                  nullptr};
    if (p.y)
      cell.y = p.y + (p.batch_first ? (b * p.steps + time) * p.directions + d
                                    : (time * p.directions + d) * p.batch + b) *
                         p.hidden;
    if (p.kind == RecurrentKind::kGru && !by_reset)
      cpu::tensors::gru_reset<V>(plan, cell, u, u + 1);
    if (last == p.gates) {
      if (p.lengths && time >= p.lengths[b])
        cpu::tensors::idle_cell<V>(plan, cell, u, u + 1);
      else if (p.kind == RecurrentKind::kLstm)
        cpu::tensors::lstm_cell<V>(plan, cell, u, u + 1);
      else if (p.kind == RecurrentKind::kGru)
        cpu::tensors::gru_cell<V>(plan, cell, u, u + 1);
      else
        cpu::tensors::rnn_cell<V>(plan, cell, u, u + 1);
    }
  }
}

INGOT_GPU_KERNEL(recurrent_step, RecurrentParams, 256) {
  GPU_SHARED_ARRAY(float, state, [kMaxStateRows][kStateDepth]);
  const int rows = rows_of_block(p);
  GPU_ROLLED for (int64_t row = int64_t(blockIdx.y) * rows; row < p.batch;
                  row += int64_t(gridDim.y) * rows)
      GPU_ROLLED for (int64_t unit = int64_t(blockIdx.x) * 16; unit < p.padded;
                      unit += int64_t(gridDim.x) * 16)
          make_units(p, int(blockIdx.z), p.step, row, unit, p.first_gate, p.last_gate, state);
}

/// A block sees what it wrote itself after a barrier, and nobody else needs it.
INGOT_GPU_KERNEL_BLOCKS(recurrent_steps, RecurrentParams, 256, 1) {
  GPU_SHARED_ARRAY(float, state, [kMaxStateRows][kStateDepth]);
  const int rows = rows_of_block(p), d = int(blockIdx.z);
  const bool in_two = p.kind == RecurrentKind::kGru && !p.linear_before_reset;
  GPU_ROLLED for (int64_t row = int64_t(blockIdx.y) * rows; row < p.batch;
                  row += int64_t(gridDim.y) * rows)
      GPU_ROLLED for (int64_t step = p.done; step < p.done + p.count; step++)
          GPU_ROLLED for (int part = 0; part <= int(in_two); part++) {
    const int first = part == 0 ? 0 : 2, last = in_two && part == 0 ? 2 : p.gates;
    GPU_ROLLED for (int64_t unit = 0; unit < p.padded; unit += 16)
        make_units(p, d, step, row, unit, first, last, state);
    __syncthreads();
  }
}

INGOT_GPU_KERNEL(linear_recurrence, LinearRecurrenceParams, 128) {
  const linear_recurrence::Shape& shape = p.plan.shape;
  GPU_ROLLED for (int64_t t = grid_thread(); t < shape.tokens;
                  t += grid_threads()) if (!cpu::tensors::has_rows(p.plan, t))* p.fault =
      p.fault_value;
  GPU_ROLLED for (int64_t i = grid_thread(); i < shape.heads * shape.values; i += grid_threads())
      cpu::tensors::recur<V, 1>(p.plan, i / shape.values, i % shape.values, 1);
}

}  // namespace ingot::cuda
