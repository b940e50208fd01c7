// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_arrange.cpp - blocks of images as channels or as batch, and back.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

int64_t block_size(Call& call) {
  const int64_t block = call.integer("block_size");
  if (block < 1 || block > (1 << 16)) call.corrupt("its block_size is " + std::to_string(block));
  return block;
}
void expect_multiple(Call& call, const Dim& extent, int64_t block) {
  if (extent.is_static() && *extent.value() % block != 0)
    call.corrupt("an extent of " + extent.text() + " has no blocks of " + std::to_string(block));
}

void space_to_depth(Call& call) {
  call.expect_rank(0, 4);
  const int64_t s = block_size(call);
  const Dims d = call.b.dims(call.input(0));
  expect_multiple(call, d[1], s), expect_multiple(call, d[2], s);
  ValueId x =
      call.b.reshape(call.input(0), {d[0], d[1] / Dim(s), Dim(s), d[2] / Dim(s), Dim(s), d[3]});
  x = call.b.transpose(x, {0, 1, 3, 2, 4, 5});
  call.give(call.b.reshape(x, {d[0], d[1] / Dim(s), d[2] / Dim(s), d[3] * Dim(s * s)}));
}
void depth_to_space(Call& call) {
  call.expect_rank(0, 4);
  const int64_t s = block_size(call);
  const Dims d = call.b.dims(call.input(0));
  expect_multiple(call, d[3], s * s);
  const Dim channels = d[3] / Dim(s * s);
  ValueId x = call.b.reshape(call.input(0), {d[0], d[1], d[2], Dim(s), Dim(s), channels});
  x = call.b.transpose(x, {0, 1, 3, 2, 4, 5});
  call.give(call.b.reshape(x, {d[0], d[1] * Dim(s), d[2] * Dim(s), channels}));
}

struct Blocks {
  std::vector<int64_t> size, before, after;
};
Blocks read_blocks(Call& call, const char* borders) {
  Blocks out;
  out.size = call.known_integers(1, "block_shape");
  const std::vector<int64_t> flat = call.known_integers(2, borders);
  if (flat.size() != 2 * out.size.size() || int64_t(out.size.size()) + 1 > call.rank(0))
    call.corrupt(std::string(borders) + " and block_shape have different lengths");
  for (size_t i = 0; i < out.size.size(); i++) {
    if (out.size[i] < 1 || out.size[i] > (1 << 16) || flat[2 * i] < 0 || flat[2 * i + 1] < 0 ||
        flat[2 * i] > (int64_t{1} << 31) || flat[2 * i + 1] > (int64_t{1} << 31))
      call.corrupt("a block or border is out of range");
    out.before.push_back(flat[2 * i]);
    out.after.push_back(flat[2 * i + 1]);
  }
  return out;
}

/// [B, s * block, ..., C] to [block... * B, s, ..., C].
void space_to_batch(Call& call) {
  const Blocks blocks = read_blocks(call, "paddings");
  const size_t n = blocks.size.size(), rank = size_t(call.rank(0));
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < n; i++) {
    pads[i + 1] = blocks.before[i];
    pads[i + 1 + rank] = blocks.after[i];
  }
  const ValueId border = call.b.scalar(call.b.dtype(call.input(0)), call.zero_of(0));
  ValueId x = call.b.emit(op::Pad, {call.input(0), call.b.integers(pads), border},
                          {{attr::mode, std::string("constant")}});
  const Dims d = call.b.dims(x);
  Dims split = {d[0]}, out = {d[0]};
  std::vector<int64_t> perm;
  for (size_t i = 0; i < n; i++) {
    expect_multiple(call, d[i + 1], blocks.size[i]);
    split.push_back(d[i + 1] / Dim(blocks.size[i]));
    split.push_back(Dim(blocks.size[i]));
    perm.push_back(int64_t(2 * i) + 2);
    out[0] = out[0] * Dim(blocks.size[i]);
    out.push_back(d[i + 1] / Dim(blocks.size[i]));
  }
  perm.push_back(0);
  for (size_t i = 0; i < n; i++) perm.push_back(int64_t(2 * i) + 1);
  for (size_t k = n + 1; k < rank; k++) {
    perm.push_back(int64_t(split.size()));
    split.push_back(d[k]);
    out.push_back(d[k]);
  }
  if (split.size() > size_t(kMaxRank)) call.refuse("", "has too many blocked dimensions");
  call.give(call.b.reshape(call.b.transpose(call.b.reshape(x, split), perm), out));
}
void batch_to_space(Call& call) {
  const Blocks blocks = read_blocks(call, "crops");
  const size_t n = blocks.size.size(), rank = size_t(call.rank(0));
  const Dims d = call.b.dims(call.input(0));
  Dim batch = d[0];
  Dims split, out;
  for (const int64_t s : blocks.size) {
    expect_multiple(call, batch, s);
    batch = batch / Dim(s);
    split.push_back(Dim(s));
  }
  split.push_back(batch);
  out.push_back(batch);
  for (size_t k = 1; k < rank; k++) split.push_back(d[k]);
  std::vector<int64_t> perm = {int64_t(n)};
  for (size_t i = 0; i < n; i++) {
    perm.push_back(int64_t(n + 1 + i));
    perm.push_back(int64_t(i));
    out.push_back(d[i + 1] * Dim(blocks.size[i]));
  }
  for (size_t k = n + 1; k < rank; k++) {
    perm.push_back(int64_t(n + k));
    out.push_back(d[k]);
  }
  if (split.size() > size_t(kMaxRank)) call.refuse("", "has too many blocked dimensions");
  ValueId x = call.b.reshape(call.b.transpose(call.b.reshape(call.input(0), split), perm), out);
  for (size_t i = 0; i < n; i++) {
    if (blocks.before[i] == 0 && blocks.after[i] == 0) continue;
    const Dim end = out[i + 1] - Dim(blocks.after[i]);
    if (end.is_static() && *end.value() < blocks.before[i]) call.corrupt("crops everything");
    x = call.b.slice(x, int64_t(i) + 1, Dim(blocks.before[i]), end);
  }
  call.give(x);
}

}  // namespace

void add_arrange(TranslateTable& table) {
  table["SPACE_TO_DEPTH"] = {1, 1, space_to_depth};
  table["DEPTH_TO_SPACE"] = {1, 1, depth_to_space};
  table["SPACE_TO_BATCH_ND"] = {3, 3, space_to_batch};
  table["BATCH_TO_SPACE_ND"] = {3, 3, batch_to_space};
}

}  // namespace ingot::tflite
