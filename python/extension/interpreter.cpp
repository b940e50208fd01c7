// interpreter.cpp - the interpreter's lock, where the process may end meanwhile.
#include "python/extension/interpreter.h"

#include <unistd.h>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace ingot::python {

Unlocked::~Unlocked() {
#ifdef __GLIBCXX__
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {  // pthread_exit(), which may not be caught and left
    for (;;) pause();
  }
#else
  PyEval_RestoreThread(state_);
#endif
}

}  // namespace ingot::python
