// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/lzma.cpp - LZMA: matches against what is already decoded, every decision a
// bit of a binary range coder whose probability adapts. Names are those of the format's
// specification.
#include "runtime/device/cuda/lzma.h"

namespace ingot::cuda {
namespace {

constexpr unsigned kPositionBits = 4, kPositions = 1u << kPositionBits;  // lp = pb = 4; lc = 0
// of the last few decisions
constexpr unsigned kStates = 12, kLiteralStates = 7;
constexpr unsigned kSlotGroups = 4, kSlotBits = 6, kAlignBits = 4, kFirstAlignedSlot = 14,
                   kFirstModelledSlot = 4;
constexpr unsigned kShortestMatch = 2;
constexpr unsigned kProbabilityBits = 11, kAdaption = 5;
constexpr uint32_t kLeastRange = 1u << 24;
constexpr uint32_t kEndMark = 0xffffffffu;

using Probability = uint16_t;

template <size_t N>
void reset(Probability (&all)[N]) {
  for (Probability& one : all) one = 1u << (kProbabilityBits - 1);
}
template <size_t N, size_t M>
void reset(Probability (&all)[N][M]) {
  for (auto& row : all) reset(row);
}

class RangeDecoder {
 public:
  explicit RangeDecoder(Span<const uint8_t> packed)
      : next_(packed.data), end_(packed.data + packed.size) {
    good_ = next_byte() == 0;  // the first byte of every stream
    for (int i = 0; i < 4; i++) code_ = code_ << 8 | next_byte();
    good_ &= code_ != range_;
  }
  /// False once bytes were missing, or a value lay outside its range.
  bool good() const { return good_; }
  bool finished() const { return good_ && code_ == 0 && next_ == end_; }

  unsigned bit(Probability& zero) {
    const uint32_t bound = (range_ >> kProbabilityBits) * zero;
    const unsigned value = code_ >= bound;
    if (value) {
      range_ -= bound;
      code_ -= bound;
      zero = Probability(zero - (zero >> kAdaption));
    } else {
      range_ = bound;
      zero = Probability(zero + (((1u << kProbabilityBits) - zero) >> kAdaption));
    }
    normalize();
    return value;
  }
  /// `count` bits of even odds, highest first.
  uint32_t even_bits(unsigned count) {
    uint32_t value = 0;
    for (; count; count--) {
      range_ >>= 1;
      const uint32_t one = code_ >= range_;
      code_ -= one ? range_ : 0;
      good_ &= code_ != range_;
      normalize();
      value = value << 1 | one;
    }
    return value;
  }
  /// A tree of 2^bits leaves at all[1], highest bit first.
  unsigned tree(Probability* all, unsigned bits) {
    unsigned node = 1;
    for (unsigned i = 0; i < bits; i++) node = node << 1 | bit(all[node]);
    return node - (1u << bits);
  }
  /// The same, lowest bit first.
  uint32_t reverse_tree(Probability* all, unsigned bits) {
    uint32_t value = 0;
    for (unsigned i = 0, node = 1; i < bits; i++) {
      const unsigned one = bit(all[node]);
      node = node << 1 | one;
      value |= one << i;
    }
    return value;
  }

 private:
  uint32_t next_byte() {
    if (next_ != end_) return *next_++;
    good_ = false;
    return 0;
  }
  void normalize() {
    if (range_ >= kLeastRange) return;
    range_ <<= 8;
    code_ = code_ << 8 | next_byte();
  }
  const uint8_t *next_, *end_;
  uint32_t range_ = 0xffffffffu, code_ = 0;
  bool good_ = true;
};

class LengthDecoder {
 public:
  LengthDecoder() {
    reset(choice_);
    reset(low_);
    reset(mid_);
    reset(high_);
  }
  unsigned decode(RangeDecoder& range, unsigned position) {
    if (!range.bit(choice_[0])) return range.tree(low_[position], 3);
    if (!range.bit(choice_[1])) return 8 + range.tree(mid_[position], 3);
    return 16 + range.tree(high_, 8);
  }

 private:
  Probability choice_[2], low_[kPositions][8], mid_[kPositions][8], high_[256];
};

class Decoder {
 public:
  Decoder(Span<const uint8_t> packed, uint8_t* out, size_t size, bool is_prefix)
      : range_(packed), out_(out), size_(size), is_prefix_(is_prefix) {
    reset(literal_);
    reset(is_match_);
    reset(is_rep_);
    reset(is_rep0_);
    reset(is_rep1_);
    reset(is_rep2_);
    reset(is_rep0_long_);
    reset(slot_);
    reset(distance_);
    reset(align_);
  }
  bool run() {
    while (range_.good() && !failed_) {
      if (is_prefix_ && done_ == size_) return true;
      const unsigned position = done_ & (kPositions - 1);
      if (!range_.bit(is_match_[state_][position])) {
        if (done_ == size_) return false;
        literal(position);
        continue;
      }
      size_t length;
      if (!range_.bit(is_rep_[state_])) {
        length = length_.decode(range_, position);
        rep_[3] = rep_[2], rep_[2] = rep_[1], rep_[1] = rep_[0];
        rep_[0] = distance(unsigned(length));
        if (rep_[0] == kEndMark) return done_ == size_ && range_.finished();
        state_ = state_ < kLiteralStates ? 7 : 10;
      } else if (!repeated(position, &length)) {
        continue;
      }
      if (!copy(length + kShortestMatch)) return false;
    }
    return false;
  }

 private:
  void literal(unsigned position) {
    Probability* probabilities = literal_[position];
    unsigned node = 1;
    if (state_ >=
        // after a match: the byte that would have gone on with it is likely wrong, and says much
        kLiteralStates) {
      unsigned expected = out_[done_ - rep_[0] - 1];
      while (node < 0x100) {
        const unsigned likely = expected >> 7 & 1;
        expected <<= 1;
        const unsigned one = range_.bit(probabilities[((1 + likely) << 8) + node]);
        node = node << 1 | one;
        if (one != likely) break;
      }
    }
    while (node < 0x100) node = node << 1 | range_.bit(probabilities[node]);
    out_[done_++] = uint8_t(node);
    state_ = state_ < 4 ? 0 : state_ < 10 ? state_ - 3 : state_ - 6;
  }
  uint32_t distance(unsigned length) {
    const unsigned slot =
        range_.tree(slot_[length < kSlotGroups ? length : kSlotGroups - 1], kSlotBits);
    if (slot < kFirstModelledSlot) return slot;
    const unsigned bits = (slot >> 1) - 1;
    uint32_t value = (2 | (slot & 1)) << bits;
    if (slot < kFirstAlignedSlot)
      return value + range_.reverse_tree(distance_ + (value - slot), bits);
    value += range_.even_bits(bits - kAlignBits) << kAlignBits;
    return value + range_.reverse_tree(align_, kAlignBits);
  }
  /// A match at one of the last four distances; false where it was one byte, which is written.
  bool repeated(unsigned position, size_t* length) {
    if (!range_.bit(is_rep0_[state_])) {
      if (!range_.bit(is_rep0_long_[state_][position])) {
        state_ = state_ < kLiteralStates ? 9 : 11;
        failed_ = !copy(1);
        return false;
      }
    } else {
      uint32_t chosen;
      if (!range_.bit(is_rep1_[state_])) {
        chosen = rep_[1];
      } else {
        if (!range_.bit(is_rep2_[state_])) {
          chosen = rep_[2];
        } else {
          chosen = rep_[3];
          rep_[3] = rep_[2];
        }
        rep_[2] = rep_[1];
      }
      rep_[1] = rep_[0];
      rep_[0] = chosen;
    }
    *length = repeated_length_.decode(range_, position);
    state_ = state_ < kLiteralStates ? 8 : 11;
    return true;
  }
  bool copy(size_t length) {
    if (is_prefix_ && length > size_ - done_) length = size_ - done_;
    if (rep_[0] >= done_ || length > size_ - done_) return false;
    const uint8_t* from = out_ + done_ - rep_[0] - 1;
    for (size_t i = 0; i < length; i++) out_[done_ + i] = from[i];  // may overlap: a run
    done_ += length;
    return true;
  }

  RangeDecoder range_;
  uint8_t* out_;
  size_t size_, done_ = 0;
  bool is_prefix_;
  unsigned state_ = 0;
  bool failed_ = false;
  uint32_t rep_[4] = {0, 0, 0, 0};
  LengthDecoder length_, repeated_length_;
  Probability literal_[kPositions][0x300], is_match_[kStates][kPositions], is_rep_[kStates],
      is_rep0_[kStates], is_rep1_[kStates];
  Probability is_rep2_[kStates], is_rep0_long_[kStates][kPositions],
      slot_[kSlotGroups][1u << kSlotBits], distance_[115];
  Probability align_[1u << kAlignBits];
};

}  // namespace

bool lzma_decode(Span<const uint8_t> packed, uint8_t* out, size_t size, bool is_prefix) {
  return Decoder(packed, out, size, is_prefix).run();
}

}  // namespace ingot::cuda
