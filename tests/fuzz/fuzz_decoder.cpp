// SPDX-License-Identifier: Apache-2.0
// Any bytes as a language model in GGUF: a graph or a refusal, never anything else.
#include "tests/fuzz/memory_file.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/import.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  importer::ImportOptions options;
  options.context = 64;
  try {
    const host::WorkBudget budget(file.path(), size);
    const importer::OpenedFile opened(file.path());
    if (decoder::is_gguf(opened)) (void)decoder::import_gguf(opened, options);
  } catch (const graph::ConversionError& error) {
    if (error.exit_code == host::Exit::kInternal) abort();
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  }
  return 0;
}
