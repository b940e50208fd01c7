// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TFLite model that is converted: a graph or a refusal, never anything else.
#include "tests/fuzz/memory_file.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"
#include "tools/import/tflite/import.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  try {
    const host::WorkBudget budget(file.path(), size);
    (void)tflite::describe_tflite(file.path());
    (void)tflite::import_tflite(file.path());
  } catch (const graph::ConversionError& error) {
    if (error.exit_code == 8) abort();
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  }
  return 0;
}
