// SPDX-License-Identifier: Apache-2.0
// generator.h - a session of a language model, and the answer that it makes.
#ifndef INGOT_PYTHON_GENERATOR_H_
#define INGOT_PYTHON_GENERATOR_H_

#include <ingot/text.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <string>

#include "python/extension/session.h"
#include "python/extension/tokenizer.h"

namespace nb = nanobind;

namespace ingot::python {

struct OpenGenerator {
  ingot_generator* generator = nullptr;
  ingot_constraint* constraint = nullptr;  // made for the first answer that has a grammar
  std::string grammar;                     // of the answer
  std::shared_ptr<OpenSession> session;
  std::shared_ptr<OpenText> text;
  std::shared_ptr<OpenGenerator> draft;  // used through this one alone
  OpenGenerator() = default;
  OpenGenerator(const OpenGenerator&) = delete;
  OpenGenerator& operator=(const OpenGenerator&) = delete;
  ~OpenGenerator() {
    ingot_generator_destroy(generator);
    ingot_constraint_destroy(constraint);
  }
  /// Null without a grammar. The one before is no answer's any more.
  ingot_constraint* constrain(nb::bytes compiled);
};

/// Of Python's `_ingot.Generator`. One thread at a time, as a Session; cancel() from any.
class Generator {
 public:
  /// @param draft  null, or one that proposes tokens of answers: it is closed for others
  Generator(const Tokenizer& tokenizer, nb::dict options, Generator* draft);
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// @return how many tokens of the prompt the caches have already
  uint64_t begin(nb::handle ids, nb::dict settings, uint64_t seed, nb::dict bias, nb::list stop,
                 uint32_t tokens, uint32_t flags, nb::bytes grammar, int32_t lookup,
                 nb::handle timeout);
  /// (id, end, text, index of the stop text or -1)
  nb::tuple next();
  void cancel();
  void close();
  bool is_closed() const { return !open_; }
  nb::bytes save();
  void restore(nb::handle saved);
  ingot_generator_summary summary();

 private:
  class Use;
  std::shared_ptr<OpenGenerator> open_;
  std::atomic<bool> is_used_ = false;  // by a thread, now
  uint64_t deadline_ns_ = 0;           // of the answer
};

void bind_generator(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_GENERATOR_H_
