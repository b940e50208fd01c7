// SPDX-License-Identifier: Apache-2.0
// runtime/generate/drafter.h - how many drafted tokens a run checks behind the next one, and prompt
// look-up: those that followed the last ones where these stood before. Instead of look-up another
// model may draft them (RunGenerator::set_draft()).
//
//   Drafter drafter;   drafter.begin(most);
//   n = drafter.ask(room);                   // once for each run
//   n = drafter.look_up(ids, count, n);      // or others
//   drafter.propose(n);                      // a run of what is left and these n
//   drafter.accept();                        // for each of them that was chosen, in their order
//
// Which are proposed changes no answer, only how many runs it takes. It depends on the sequence and
// on what was accepted, never on a clock. Where nothing is accepted, ever less is proposed.
#pragma once
#include <cstdint>

namespace ingot {

class Drafter {
 public:
  /// Of an answer. `most` tokens for one run; 0: none.
  void begin(int64_t most);
  /// How many tokens the next run is to check, at most `room`.
  int64_t ask(int64_t room);
  /// Writes at most `room` tokens behind ids[0, count). @return how many
  int64_t look_up(int32_t* ids, int64_t count, int64_t room) const;
  /// The next run checks so many.
  void propose(int64_t count) { last_ = count, proposed_ += uint64_t(count); }
  void accept() { of_last_++, accepted_++; }

  uint64_t proposed() const { return proposed_; }
  uint64_t accepted() const { return accepted_; }

 private:
  void adapt();

  int64_t most_ = 0, size_ = 0;           // for a run: ever, and of the next one
  int64_t last_ = 0, of_last_ = 0;        // proposed for the last run, and accepted of these
  int64_t needs_ = 1;                     // tokens that have to stand there before, of look-up
  int64_t pause_ = 0, wait_ = 0;          // runs without a proposal: the last pause, and of it left
  uint64_t proposed_ = 0, accepted_ = 0;  // of the answer
};

}  // namespace ingot
