// SPDX-License-Identifier: Apache-2.0
// Any text as a Keras configuration, with weights for none of its layers, and any bytes as a Keras
// model in HDF5 or a Chain of Flux: a graph or a refusal.
#include "tests/fuzz/memory_file.h"
#include "tools/files/failure.h"
#include "tools/import/flux/import.h"
#include "tools/import/keras/import.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const checkpoint::Checkpoint none;
  try {
    (void)keras::import_keras_config(std::string(reinterpret_cast<const char*>(data), size), none,
                                     "memory");
  } catch (const graph::ConversionError&) {
  } catch (const host::Failure&) {
  }
  const fuzz::MemoryFile file(data, size);
  try {
    if (keras::is_keras_model(file.path())) (void)keras::import_keras(file.path(), {});
    if (flux::is_flux_model(file.path())) (void)flux::import_flux(file.path());
  } catch (const graph::ConversionError& error) {
    if (error.exit_code == 8) abort();
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  }
  return 0;
}
