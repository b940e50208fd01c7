// SPDX-License-Identifier: Apache-2.0
// tokenizer.h - the tokenizer and the chat template of a language model's file.
#ifndef INGOT_PYTHON_TOKENIZER_H_
#define INGOT_PYTHON_TOKENIZER_H_

#include <ingot/text.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "python/extension/model.h"

namespace nb = nanobind;

namespace ingot::python {

struct OpenText {
  ingot_text* text = nullptr;
  std::shared_ptr<OpenModel> model;
  OpenText() = default;
  OpenText(const OpenText&) = delete;
  OpenText& operator=(const OpenText&) = delete;
  ~OpenText() { ingot_text_close(text); }
};

/// Of Python's `_ingot.Tokenizer`: immutable, for any thread.
class Tokenizer {
 public:
  explicit Tokenizer(const Model& model);
  nb::list encode(nb::handle text, bool add_special_tokens, bool parse_special) const;
  nb::str decode(nb::handle ids, bool skip_special_tokens) const;
  nb::tuple token(nb::handle id) const;
  /// variables: a dict, "messages" among them. now: year, month, day, hour, minute, second.
  nb::str render(nb::dict variables, nb::tuple now) const;
  ingot_text_summary summary() const;

  const std::shared_ptr<OpenText>& shared() const { return open_; }

 private:
  std::shared_ptr<OpenText> open_;
};

/// Of a sequence of whole numbers. Refuses others (TypeError), and what 32 bits do not have.
std::vector<int32_t> ids_of(nb::handle given);

void bind_tokenizer(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_TOKENIZER_H_
