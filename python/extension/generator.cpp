// SPDX-License-Identifier: Apache-2.0
// generator.cpp - answers of a language model, token by token.
#include "python/extension/generator.h"

#include <string>
#include <utility>
#include <vector>

#include "python/extension/failure.h"
#include "python/extension/interpreter.h"

namespace ingot::python {

/// Holds the generator for a call; close() on another thread waits for the call's end.
class Generator::Use {
 public:
  explicit Use(Generator* generator) : generator_(generator), open_(generator->open_) {
    if (!open_)
      throw Failure(INGOT_WRONG_STATE, "language model: it is closed",
                    "make another; models share weights");
    if (generator->is_used_.exchange(true))
      throw Failure(INGOT_WRONG_STATE, "language model: another thread is using it",
                    "make one for each thread; they share the model's weights");
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { generator_->is_used_ = false; }
  ingot_generator* get() const { return open_->generator; }
  OpenGenerator& open() const { return *open_; }

 private:
  Generator* generator_;
  std::shared_ptr<OpenGenerator> open_;
};

ingot_constraint* OpenGenerator::constrain(nb::bytes compiled) {
  if (compiled.size() == 0) return nullptr;
  ingot_error error = {};
  if (!constraint) check(ingot_constraint_create(text->text, nullptr, &constraint, &error), error);
  grammar.assign(compiled.c_str(), compiled.size());
  check(ingot_constraint_set(constraint, grammar.data(), grammar.size(), &error), error);
  return constraint;
}

Generator::Generator(const Tokenizer& tokenizer, nb::dict options, Generator* draft) {
  auto open = std::make_shared<OpenGenerator>();
  open->text = tokenizer.shared();
  open->session = open_session(open->text->model, options);
  ingot_error error = {};
  check(ingot_generator_create(open->session->session, open->text->text, nullptr, &open->generator,
                               &error),
        error);
  if (draft) {
    const Use use(draft);
    check(ingot_generator_set_draft(open->generator, use.get(), &error), error);
    open->draft = std::move(draft->open_);
  }
  open_ = std::move(open);
}

uint64_t Generator::begin(nb::handle given, nb::dict settings, uint64_t seed, nb::dict bias,
                          nb::list stop, uint32_t tokens, uint32_t flags, nb::bytes grammar,
                          int32_t lookup, nb::handle timeout) {
  const Use use(this);
  const std::vector<int32_t> ids = ids_of(given);
  std::vector<std::string> names, stops;
  std::vector<ingot_setting> rows;
  std::vector<ingot_logit_bias> biases;
  std::vector<const char*> stop_texts;
  for (auto [name, value] : settings) {
    names.push_back(text_of(name, "option"));
    rows.push_back({nullptr, nb::cast<double>(value)});
  }
  for (size_t i = 0; i < rows.size(); i++) rows[i].name = names[i].c_str();
  for (auto [id, add] : bias) biases.push_back({nb::cast<int32_t>(id), nb::cast<double>(add)});
  for (nb::handle text : stop) stops.push_back(text_of(text, "stop"));
  for (const std::string& text : stops) stop_texts.push_back(text.c_str());
  ingot_answer_options options = INGOT_INIT(ingot_answer_options);
  options.settings = rows.data();
  options.setting_count = rows.size();
  options.seed = seed;
  options.biases = biases.data();
  options.bias_count = biases.size();
  options.stop_texts = stop_texts.data();
  options.stop_text_count = stop_texts.size();
  options.tokens = tokens;
  options.flags = flags;
  options.lookup = lookup;
  options.constraint = use.open().constrain(grammar);
  const uint64_t deadline = deadline_of(timeout);
  uint64_t reused = 0;
  ingot_error error = {};
  check(ingot_generator_begin(use.get(), ids.data(), ids.size(), &options, &reused, &error), error);
  deadline_ns_ = deadline;
  return reused;
}

nb::tuple Generator::next() {
  const Use use(this);
  ingot_error error = {};
  ingot_code code = INGOT_OK;
  // A part of the prompt at a time: Ctrl-C is heard between them.
  for (uint64_t left = 1; left;) {
    {
      const Unlocked unlocked;
      code = ingot_generator_prefill(use.get(), deadline_ns_, &left, &error);
    }
    check(code, error);
    if (left && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  ingot_token token = INGOT_INIT(ingot_token);
  {
    const Unlocked unlocked;
    code = ingot_generator_next(use.get(), deadline_ns_, &token, &error);
  }
  check(code, error);
  return nb::make_tuple(token.id, token.end, nb::str(token.text, token.text_bytes),
                        token.stop_text);
}

void Generator::cancel() {
  if (const std::shared_ptr<OpenGenerator> open = open_) ingot_generator_cancel(open->generator);
}

void Generator::close() {
  if (!open_) return;
  const Use use(this);
  open_.reset();
}

nb::bytes Generator::save() {
  const Use use(this);
  ingot_error error = {};
  uint64_t bytes = 0;
  std::string saved;
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_generator_save(use.get(), nullptr, 0, &bytes, &error);
    if (code == INGOT_OK) {
      saved.resize(size_t(bytes));
      code = ingot_generator_save(use.get(), saved.data(), bytes, &bytes, &error);
    }
  }
  check(code, error);
  return nb::bytes(saved.data(), saved.size());
}

void Generator::restore(nb::handle given) {
  const Use use(this);
  if (!PyObject_CheckBuffer(given.ptr()))
    throw nb::type_error("saved: expected the bytes that save() gave");
  const HeldArray saved(given, "saved", Access::kRead);
  if (saved.on_device() || ingot_dtype_bytes(saved.tensor().dtype) != 1)
    throw nb::type_error("saved: expected the bytes that save() gave");
  ingot_error error = {};
  check(ingot_generator_restore(use.get(), saved.tensor().data, saved.tensor().bytes, &error),
        error);
}

ingot_generator_summary Generator::summary() {
  const Use use(this);
  ingot_generator_summary summary = INGOT_INIT(ingot_generator_summary);
  check(ingot_generator_summarize(use.get(), &summary), "language model");
  return summary;
}

namespace {

/// (name, help, standard, low, high, is_whole)
nb::list settings() {
  nb::list rows;
  ingot_setting_range range = INGOT_INIT(ingot_setting_range);
  for (uint32_t i = 0; ingot_setting_at(i, &range) == INGOT_OK; i++)
    rows.append(nb::make_tuple(range.name, range.help, range.standard, range.low, range.high,
                               bool(range.is_whole)));
  return rows;
}

}  // namespace

void bind_generator(nb::module_& m) {
  nb::class_<Generator>(m, "Generator")
      .def(nb::init<const Tokenizer&, nb::dict, Generator*>(), nb::arg("tokenizer"),
           nb::arg("options"), nb::arg("draft").none())
      .def("begin", &Generator::begin, nb::arg("ids").none(), nb::arg("settings"), nb::arg("seed"),
           nb::arg("bias"), nb::arg("stop"), nb::arg("tokens"), nb::arg("flags"),
           nb::arg("grammar"), nb::arg("lookup"), nb::arg("timeout").none())
      .def("next", &Generator::next)
      .def("cancel", &Generator::cancel)
      .def("close", &Generator::close)
      .def_prop_ro("closed", &Generator::is_closed)
      .def("save", &Generator::save)
      .def("restore", &Generator::restore, nb::arg("saved").none())
      .def_prop_ro("context", [](Generator& g) { return g.summary().context; })
      .def_prop_ro("drafted",
                   [](Generator& g) {
                     const ingot_generator_summary s = g.summary();
                     return nb::make_tuple(s.proposed, s.accepted);
                   })
      .def_prop_ro("vocabulary", [](Generator& g) { return g.summary().vocabulary; });
  m.def("settings", settings);
  m.attr("IGNORE_END") = int(INGOT_ANSWER_IGNORE_END);
  m.attr("SHOW_CONTROL") = int(INGOT_ANSWER_SHOW_CONTROL);
}

}  // namespace ingot::python
