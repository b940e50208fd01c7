// SPDX-License-Identifier: Apache-2.0
// graph_runner.cpp - converts and runs many models in one process, so that a fuzzer pays for no
// process a graph. It reads one request a line, words separated by tabs, and answers each with one
// line on standard output: "ok", or the exit code that the command line would have and its text.
//
//   convert MODEL FILE [NAME=DIM | --max-elements=N ...]   as `ingot convert MODEL -o FILE`
//   run FILE INPUTS OUTPUTS                                as `ingot run FILE ...`
//   plant NAME                                             a bug, in what follows; "": none
//   bugs                                                   "ok", and their names
//   placed                                                 "ok" where the last conversion had it
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tests/frameworks/random_graphs/planted.h"
#include "tools/compile/convert/convert.h"
#include "tools/session/engine.h"
#include "tools/session/feed.h"

using namespace ingot;

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  size_t from = 0;
  while (true) {
    const size_t to = line.find('\t', from);
    words.push_back(line.substr(from, to - from));
    if (to == std::string::npos) return words;
    from = to + 1;
  }
}

void convert_model(const std::vector<std::string>& words) {
  const std::string most = "--max-elements=";
  convert::ConvertOptions options;
  for (size_t i = 3; i < words.size(); i++) {
    if (words[i].rfind(most, 0) == 0)
      options.max_elements = std::stoll(words[i].substr(most.size()));
    else
      options.dims.push_back(words[i]);
  }
  options.observe = planted::observer();
  convert::write_file(convert::convert_source(words[1], options).file, words[2]);
}

void run_file(const std::vector<std::string>& words) {
  cli::OpenSettings settings;
  settings.kernels = planted::kernels();
  cli::Engine engine(words[1], settings);
  const std::vector<host::Array> arrays = host::read_npz(words[2]);
  const auto inputs = cli::match_inputs(engine, arrays, words[2]);
  cli::bind_from_inputs(&engine, inputs, {}, words[2]);
  engine.create_session({});
  for (uint32_t i = 0; i < inputs.size(); i++)
    engine.set_input(i, *inputs[i], cli::input_place(words[2], engine.input(i).name));
  engine.run();
  host::write_npz(words[3], engine.take_outputs());
}

void answer(int code, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  printf("%d %s\n", code, text.c_str());
}

void list_bugs() {
  fputs("ok", stdout);
  for (const std::string& name : planted::names()) printf("\t%s", name.c_str());
  puts("");
}

void serve(const std::string& line) {
  try {
    const std::vector<std::string> words = words_of(line);
    if (words[0] == "convert" && words.size() >= 3)
      convert_model(words);
    else if (words[0] == "run" && words.size() == 4)
      run_file(words);
    else if (words[0] == "plant" && words.size() == 2 && planted::plant(words[1]))
      ;
    else if (words[0] == "placed" && !planted::is_placed())
      return answer(1, "nothing was planted");
    else if (words[0] == "bugs")
      return list_bugs();
    else if (words[0] != "placed")
      return answer(1, "graph_runner: '" + line + "' is no request");
    puts("ok");
  } catch (const host::Failure& failure) {
    answer(int(failure.exit()), failure.message());
  } catch (const graph::ConversionError& error) {
    std::string text = error.message;
    for (const graph::Unsupported& u : error.unsupported)
      text += " | " + u.op + (u.attribute.empty() ? "" : "." + u.attribute) + ": " + u.why +
              (u.hint.empty() ? "" : "; " + u.hint);
    answer(error.exit_code, text);
  } catch (const std::exception& error) {
    answer(8, error.what());
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    serve(line);
    fflush(stdout);
  }
  return 0;
}
