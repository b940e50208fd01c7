// SPDX-License-Identifier: Apache-2.0
// tokenizer.cpp - text to ids and back, messages to a prompt.
#include "python/extension/tokenizer.h"

#include <string>
#include <utility>

#include "python/extension/chat_values.h"
#include "python/extension/failure.h"
#include "python/extension/interpreter.h"

namespace ingot::python {
namespace {

nb::str str_of(const char* text, size_t bytes) {
  PyObject* const made = PyUnicode_DecodeUTF8(text, Py_ssize_t(bytes), "replace");
  if (!made) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

/// Calls write(out, capacity, &bytes, &error) for the size, then for the text.
template <class Write>
nb::str written(Write write) {
  ingot_error error = {};
  uint64_t bytes = 0;
  std::string text;
  ingot_code code;
  {
    const Unlocked unlocked;
    code = write(nullptr, 0, &bytes, &error);
    if (code == INGOT_OK && bytes) {
      text.resize(size_t(bytes));
      code = write(text.data(), bytes, &bytes, &error);
    }
  }
  if (code == INGOT_MEANING_INVALID) {  // of the caller's values, not of the file
    Failure failure(INGOT_INVALID_ARGUMENT, error.field);
    failure.add("line " + std::to_string(error.operand) + " of the chat template");
    throw failure;
  }
  check(code, error);
  return str_of(text.data(), text.size());
}

}  // namespace

std::vector<int32_t> ids_of(nb::handle given) {
  constexpr const char* kExpected = "token ids: expected a sequence of whole numbers";
  PyObject* const iterator = PyObject_GetIter(given.ptr());
  if (!iterator) {
    PyErr_Clear();
    throw nb::type_error(kExpected);
  }
  std::vector<int32_t> ids;
  for (nb::handle item : nb::steal<nb::iterator>(iterator)) {
    const nb::object number = nb::steal(PyNumber_Index(item.ptr()));
    if (!number.is_valid()) {
      PyErr_Clear();
      throw nb::type_error(kExpected);
    }
    int32_t id = 0;
    if (!nb::try_cast(number, id)) throw nb::value_error("token ids: one beyond 32 bits");
    ids.push_back(id);
  }
  return ids;
}

Tokenizer::Tokenizer(const Model& model) : open_(std::make_shared<OpenText>()) {
  open_->model = model.shared();
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_text_open(model.get(), nullptr, &open_->text, &error);
  }
  check(code, error);
}

nb::list Tokenizer::encode(nb::handle given, bool add_special_tokens, bool parse_special) const {
  const std::string_view text = utf8_of(given, "text");
  ingot_encode_options options = INGOT_INIT(ingot_encode_options);
  options.flags = (add_special_tokens ? 0 : uint32_t{INGOT_ENCODE_BARE}) |
                  (parse_special ? uint32_t{INGOT_ENCODE_CONTROL} : 0);
  uint64_t memory = 0, most = 0, count = 0;
  ingot_error error = {};
  check(ingot_text_encode_requirements(open_->text, text.size(), &memory, &most, &error), error);
  std::vector<int32_t> ids;
  ingot_code code;
  {
    const Unlocked unlocked;
    ids.resize(size_t(most));
    code = ingot_text_encode(open_->text, text.data(), text.size(), &options, ids.data(), most,
                             &count, &error);
  }
  check(code, error);
  nb::list made;
  for (size_t i = 0; i < count; i++) made.append(ids[i]);
  return made;
}

nb::str Tokenizer::decode(nb::handle given, bool skip_special_tokens) const {
  const std::vector<int32_t> ids = ids_of(given);
  return written([&](char* out, uint64_t capacity, uint64_t* bytes, ingot_error* error) {
    return ingot_text_decode(open_->text, ids.data(), ids.size(), !skip_special_tokens, out,
                             capacity, bytes, error);
  });
}

nb::tuple Tokenizer::token(nb::handle given) const {
  int32_t id = 0;
  if (!nb::try_cast(given, id)) throw nb::type_error("token id: expected a whole number");
  const char* bytes = nullptr;
  size_t count = 0;
  int32_t is_control = 0;
  if (ingot_text_token(open_->text, id, &bytes, &count, &is_control) != INGOT_OK)
    throw Failure(INGOT_INVALID_ARGUMENT, "token id: at most", "", {}, summary().token_count - 1,
                  uint64_t(int64_t{id}));
  return nb::make_tuple(nb::bytes(bytes, count), bool(is_control));
}

nb::str Tokenizer::render(nb::dict variables, nb::tuple now) const {
  const ChatValues values(variables);
  ingot_chat_options options = INGOT_INIT(ingot_chat_options);
  options.variables = values.root();
  for (size_t i = 0; i < 6; i++) options.now[i] = nb::cast<int32_t>(now[i]);
  return written([&](char* out, uint64_t capacity, uint64_t* bytes, ingot_error* error) {
    return ingot_text_chat(open_->text, &options, out, capacity, bytes, error);
  });
}

ingot_text_summary Tokenizer::summary() const {
  ingot_text_summary summary = INGOT_INIT(ingot_text_summary);
  check(ingot_text_summarize(open_->text, &summary), "tokenizer");
  return summary;
}

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer")
      .def(nb::init<const Model&>(), nb::arg("model"))
      .def("encode", &Tokenizer::encode, nb::arg("text").none(),
           nb::arg("add_special_tokens") = true, nb::arg("parse_special") = false,
           "Ids of a text. add_special_tokens: those that the model asks for around one, too.\n"
           "parse_special: control tokens in it are taken for what they say.")
      .def("decode", &Tokenizer::decode, nb::arg("ids").none(),
           nb::arg("skip_special_tokens") = true,
           "The text of ids; what never became a whole character is U+FFFD.")
      .def("token", &Tokenizer::token, nb::arg("id").none(),
           "Bytes of one token, which may be a part of a character; whether it ends an answer.")
      .def("_render", &Tokenizer::render, nb::arg("variables"), nb::arg("now"))
      .def_prop_ro("token_count", [](const Tokenizer& t) { return t.summary().token_count; })
      .def_prop_ro("has_chat_template",
                   [](const Tokenizer& t) { return bool(t.summary().has_chat_template); })
      .def_prop_ro("chat_template_refused", [](const Tokenizer& t) {
        const ingot_text_summary summary = t.summary();
        return str_of(summary.chat_refused, summary.chat_refused_bytes);
      });
}

}  // namespace ingot::python
