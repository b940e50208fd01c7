// Any text as a Keras configuration, with weights for none of its layers, and any bytes as a Chain of Flux: a graph or a refusal.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tools/files/failure.h"
#include "tools/flux/import.h"
#include "tools/keras/import.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const checkpoint::Checkpoint none;
  try {
    (void)keras::import_keras_config(std::string(reinterpret_cast<const char*>(data), size), none, "memory");
  } catch (const graph::CastError&) {
  } catch (const host::Failure&) {
  }
  const int file = memfd_create("chain", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != ssize_t(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    if (flux::is_flux_model(path)) (void)flux::import_flux(path);
  } catch (const graph::CastError&) {
  } catch (const host::Failure&) {
  }
  close(file);
  return 0;
}
