// SPDX-License-Identifier: Apache-2.0
#include "tools/session/feed.h"

#include <algorithm>

#include "tools/files/suggest.h"

namespace ingot::cli {

using host::Array;
using host::Exit;
using host::fail;

std::string input_place(const std::string& where, const std::string& name) {
  return where + ": input '" + name + "'";
}

std::vector<const Array*> match_inputs(const Engine& engine, const std::vector<Array>& arrays,
                                       const std::string& where) {
  const std::vector<std::string> names = engine.input_names();
  if (arrays.size() == 1 && arrays[0].name.empty()) {  // a lone .npy
    if (names.size() == 1) return {&arrays[0]};
    fail(Exit::kMismatch, where + ": is one array, " + engine.path() + " has " +
                              std::to_string(names.size()) +
                              " inputs; write them by name with numpy.savez");
  }
  std::vector<std::string> strangers;
  for (const Array& array : arrays) {
    const std::string& name = array.name;
    if (name == "meta" || name.rfind("out:", 0) == 0 || name.rfind("mid:", 0) == 0) continue;
    const std::string bare = name.rfind("in:", 0) == 0 ? name.substr(3) : name;
    const bool known = std::count(names.begin(), names.end(), name) ||
                       std::count(names.begin(), names.end(), bare);
    if (!known) strangers.push_back(bare);
  }
  std::vector<const Array*> found;
  for (const std::string& name : names) {
    const Array* array = find_array(arrays, "in:" + name);
    if (!array) array = find_array(arrays, name);
    if (!array) {
      const std::string near = host::nearest(name, strangers);
      fail(Exit::kMismatch,
           where + ": input '" + name + "' of " + engine.path() + " is missing" +
               (!near.empty()       ? "; is '" + near + "' meant?"
                : strangers.empty() ? "; add it under that name or as 'in:" + name + "'"
                                    : host::did_you_mean(name, strangers)));
    }
    if (array->is_text)
      fail(Exit::kMismatch, input_place(where, name) + ": is text, expected numbers");
    found.push_back(array);
  }
  if (!strangers.empty()) {
    fail(Exit::kMismatch, where + ": " + engine.path() + " has no input '" + strangers.front() +
                              "'" + host::did_you_mean(strangers.front(), names));
  }
  return found;
}

void bind_from_inputs(Engine* engine, const std::vector<const Array*>& inputs,
                      const std::map<std::string, int64_t>& dims, const std::string& where) {
  engine->bind_dims(dims);
  for (uint32_t i = 0; i < inputs.size(); i++) {
    engine->bind_from_shape(i, inputs[i]->dims, input_place(where, engine->input(i).name));
  }
}

}  // namespace ingot::cli
