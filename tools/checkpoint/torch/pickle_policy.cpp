// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/pickle_policy.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ingot::checkpoint {
namespace {

constexpr std::string_view kKnown[] = {"_codecs.encode",
                                       "argparse.Namespace",
                                       "builtins.bytearray",
                                       "builtins.complex",
                                       "builtins.dict",
                                       "builtins.frozenset",
                                       "builtins.int",
                                       "builtins.float",
                                       "builtins.list",
                                       "builtins.object",
                                       "builtins.range",
                                       "builtins.set",
                                       "builtins.slice",
                                       "builtins.str",
                                       "builtins.tuple",
                                       "builtins.bool",
                                       "builtins.bytes",
                                       "__builtin__.complex",
                                       "__builtin__.dict",
                                       "__builtin__.frozenset",
                                       "__builtin__.list",
                                       "__builtin__.object",
                                       "__builtin__.set",
                                       "__builtin__.slice",
                                       "__builtin__.tuple",
                                       "__builtin__.xrange",
                                       "__builtin__.int",
                                       "__builtin__.long",
                                       "__builtin__.bytearray",
                                       "collections.Counter",
                                       "collections.OrderedDict",
                                       "collections.defaultdict",
                                       "collections.deque",
                                       "copy_reg._reconstructor",
                                       "copyreg._reconstructor",
                                       "copyreg.__newobj__",
                                       "copyreg.__newobj_ex__",
                                       "datetime.date",
                                       "datetime.datetime",
                                       "datetime.time",
                                       "datetime.timedelta",
                                       "datetime.timezone",
                                       "decimal.Decimal",
                                       "fractions.Fraction",
                                       "types.SimpleNamespace",
                                       "uuid.UUID"};

/// Modules whose names are functions that build data. A prefix ends at a dot or at the end.
constexpr std::string_view kDataModules[] = {
    "torch._utils",        "torch._tensor",         "torch.storage",          "torch.nn.parameter",
    "torch.serialization", "numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric",
    "numpy._core.numeric", "numpy.random._pickle",  "torch.jit._pickle"};

/// Whatever these offer reaches the interpreter, the file system, other programs or the network.
constexpr std::string_view kForbidden[] = {"__builtin__",  "builtins",
                                           "os",           "posix",
                                           "nt",           "sys",
                                           "subprocess",   "runpy",
                                           "shutil",       "socket",
                                           "importlib",    "ctypes",
                                           "pty",          "code",
                                           "codeop",       "pickle",
                                           "_pickle",      "marshal",
                                           "types",        "operator",
                                           "functools",    "webbrowser",
                                           "http",         "urllib",
                                           "asyncio",      "multiprocessing",
                                           "threading",    "signal",
                                           "pdb",          "bdb",
                                           "timeit",       "pip",
                                           "platform",     "tempfile",
                                           "io",           "_io",
                                           "pathlib",      "glob",
                                           "ftplib",       "smtplib",
                                           "telnetlib",    "commands",
                                           "inspect",      "gc",
                                           "atexit",       "cProfile",
                                           "profile",      "trace",
                                           "torch.hub",    "torch.utils.cpp_extension",
                                           "torch.jit",    "joblib",
                                           "dill",         "cloudpickle",
                                           "numpy.testing"};

bool within(std::string_view module, std::string_view prefix) {
  return module.substr(0, prefix.size()) == prefix &&
         (module.size() == prefix.size() || module[prefix.size()] == '.');
}

bool is_class_name(std::string_view name) {
  const size_t dot = name.rfind('.');
  std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  while (!last.empty() && last[0] == '_') last.remove_prefix(1);
  return !last.empty() && last[0] >= 'A' && last[0] <= 'Z';
}

bool reaches_the_system(const std::string& module) {
  return std::any_of(std::begin(kForbidden), std::end(kForbidden),
                     [&](std::string_view forbidden) { return within(module, forbidden); });
}

}  // namespace

bool stands_for_data(const std::string& module, const std::string& name) {
  const std::string full = module + "." + name;
  if (std::find(std::begin(kKnown), std::end(kKnown), full) != std::end(kKnown)) return true;
  for (const std::string_view known : kDataModules)
    if (within(module, known)) return true;
  // a path is a name, nothing is opened
  if (module == "pathlib" && is_class_name(name)) return true;
  if (reaches_the_system(module)) return false;
  if (module == "torch" || module == "numpy") {
    constexpr std::string_view kNames[] = {"Size",      "device", "dtype",  "Tensor",
                                           "Generator", "finfo",  "ndarray"};
    for (const std::string_view n : kNames)
      if (name == n) return true;
  }
  return is_class_name(name);
}

bool makes_instance(const std::string& module, const std::string& name) {
  if (stands_for_data(module, name)) return true;
  return !reaches_the_system(module) && module != "torch" && module != "numpy" && !name.empty();
}

}  // namespace ingot::checkpoint
