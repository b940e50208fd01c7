// SPDX-License-Identifier: Apache-2.0
#include "tools/plugins/plugins.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/op/custom.h"
#include "tools/files/failure.h"

namespace ingot::plugins {
namespace {

using host::Exit;
using host::fail;

struct Loaded {
  std::vector<std::string> paths;
  std::vector<const ingot_custom_operator*> operators;
  std::vector<std::string> origins;  // by operator
};

Loaded& loaded() {
  static Loaded all;
  return all;
}

std::string name_of(const ingot_custom_operator& op) {
  const std::string domain = op.domain ? op.domain : "";
  return domain.empty() ? op.name : domain + "::" + op.name;
}

/// Without a slash dlopen() would search the system's folders.
std::string real_path(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  if (!found) fail(Exit::kUnavailable, "--plugin " + path + ": there is no such file");
  const std::string real(found);
  free(found);
  return real;
}

}  // namespace

void load(const std::string& path) {
  Loaded& all = loaded();
  const std::string real = real_path(path);
  for (const std::string& known : all.paths)
    if (known == real) return;
  const std::string where = "--plugin " + path + ": ";
  void* const library = dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = dlerror();
    fail(Exit::kUnavailable, where + "cannot be loaded: " + (why ? why : "no reason was given"));
  }
  const auto function = reinterpret_cast<ingot_plugin_function>(dlsym(library, "ingot_plugin"));
  if (!function)
    fail(Exit::kUnavailable,
         where + "is no plugin: it exports no ingot_plugin(); see <ingot/custom.h>");
  const ingot_plugin_info* const info = function();
  if (!info || info->size < sizeof(ingot_plugin_info))
    fail(Exit::kUnavailable, where +
                                 "ingot_plugin() gave nothing, or a struct of another size; build "
                                 "it with this library's <ingot/custom.h>");
  if (const char* why =
          kHandedInOperators.why_not({&kHandedInOperators, info->operators, info->operator_count}))
    fail(Exit::kUsage, where + why);
  for (size_t i = 0; i < info->operator_count; i++) {
    const ingot_custom_operator& op = *info->operators[i];
    if (find(op.domain ? op.domain : "", op.name))
      fail(Exit::kUsage,
           where + name_of(op) + " is there already, of another plugin or twice in this one");
    all.operators.push_back(&op);
    all.origins.push_back(name_of(op) + " of " + (info->name ? info->name : real));
  }
  all.paths.push_back(real);
}

const std::vector<const ingot_custom_operator*>& operators() { return loaded().operators; }

CustomOperators handed_in() {
  const auto& all = operators();
  if (all.empty()) return {};
  return {&kHandedInOperators, all.data(), all.size()};
}

const ingot_custom_operator* find(std::string_view domain, std::string_view name) {
  const CustomOperators all = handed_in();
  if (!all.rules) return nullptr;
  return static_cast<const ingot_custom_operator*>(
      all.rules->find(all, std::string(domain).c_str(), std::string(name).c_str()));
}

std::string list_text() {
  std::string text;
  for (const std::string& origin : loaded().origins) text += (text.empty() ? "" : ", ") + origin;
  return text;
}

}  // namespace ingot::plugins
