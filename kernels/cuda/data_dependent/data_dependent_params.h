// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/data_dependent_params.h - what the kernels take whose results are as
// large as the data makes them.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/tensor.h"

namespace ingot::cuda {

/// Two kernels: what each block's share of x holds, then where it goes.
struct NonZeroParams {
  const char* x;
  int64_t* y;  // [rank, n]; null: only n
  int64_t* n;
  int64_t* counts;  // by block
  int64_t elements, share;
  uint64_t mask;  // bits that an element that is zero has not
  FastDivisor dims[kMaxRank];
  int rank, bytes;
};

enum class UniqueKind : int { kUnsigned, kSigned, kFloat };

struct UniqueParams {
  const char* x;
  int64_t m, outer, inner;  // element (o, k) of item i lies at (o * m + i) * inner + k
  const int64_t* order;     // items, sorted in runs; null: as they come
  int64_t* merged;          // of a merge
  int64_t run;              // items of a sorted run, a power of two
  uint8_t* begins;          // by place in order: a kind begins; null: a merge
  // by item: the first of its kind; null: kinds are given as they are sorted
  uint8_t* firsts;
  const int64_t* kinds;     // by sorted kind: its first place in order
  const int64_t* arrivals;  // first items, ascending; null where firsts is
  const int64_t* n;
  char* y;  // the outputs, each null where it is absent
  int64_t *first, *inverse, *count;
  uint64_t infinity;  // of floats: its bits, shifted to the top
  UniqueKind kind;
  int bytes;
};

constexpr int64_t kNmsSharedKeys = 2048;  // of a class, sorted in shared memory

struct NmsParams {
  const float *boxes, *scores;
  const int64_t* most;     // null: none
  const float* threshold;  // null: 0
  const float* lowest;     // null: every score that is a number
  uint64_t* keys;          // `count` for each block
  uint32_t* picked;        // `room` for each class of each batch
  int64_t* counts;         // picked
  int64_t lists, classes, count, room;
  bool is_center;
};

struct NmsWriteParams {
  const uint32_t* picked;
  const int64_t* counts;
  int64_t *y, *n;
  int64_t batches, classes, room;
};

}  // namespace ingot::cuda
