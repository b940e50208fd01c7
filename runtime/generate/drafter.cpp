// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate/drafter.h"

namespace ingot {
namespace {

constexpr int64_t kReach = 4096;    // tokens that the search goes back at most
constexpr int64_t kLongest = 3;     // a longer match says no more
constexpr int64_t kFirst = 3;       // tokens of the first proposal
constexpr int64_t kLongPause = 63;  // runs

struct Match {
  int64_t end = 0, length = 0;  // of tokens [end - length, end)
};

/// Where the last tokens of ids[0, count) stood before: the longest, of equal ones the last.
Match find_match(const int32_t* ids, int64_t count) {
  Match best;
  const int64_t from = count > kReach ? count - kReach : 0;
  for (int64_t end = count - 1; end > from && best.length < kLongest; end--) {
    int64_t length = 0;
    while (length < kLongest && end - length > from &&
           ids[end - 1 - length] == ids[count - 1 - length])
      length++;
    if (length > best.length) best = {end, length};
  }
  return best;
}

}  // namespace

void Drafter::begin(int64_t most) {
  *this = {};
  most_ = most;
  size_ = most < kFirst ? most : kFirst;
}

/// A run whose tokens were all accepted asks for more, one with none for a longer match, and then
/// for a pause.
void Drafter::adapt() {
  if (last_ == 0) return;
  if (of_last_ == 0) {
    size_ = 1;
    if (needs_ < kLongest)
      needs_++;
    else
      wait_ = pause_ = 2 * pause_ + 1 < kLongPause ? 2 * pause_ + 1 : kLongPause;
  } else {
    size_ = of_last_ == last_ ? 2 * last_ + 1 : of_last_ + 1;
    if (size_ > most_) size_ = most_;
    if (needs_ > 1) needs_--;
    pause_ = 0;
  }
  last_ = of_last_ = 0;
}

int64_t Drafter::ask(int64_t room) {
  adapt();
  if (room > size_) room = size_;
  if (room <= 0 || wait_ == 0) return room < 0 ? 0 : room;
  wait_--;
  return 0;
}

int64_t Drafter::look_up(int32_t* ids, int64_t count, int64_t room) const {
  if (room == 0) return 0;
  const Match match = find_match(ids, count);
  if (match.length < needs_) return 0;
  // A sequence that repeats itself goes on into what is written here.
  for (int64_t i = 0; i < room; i++) ids[count + i] = ids[match.end + i];
  return room;
}

}  // namespace ingot
