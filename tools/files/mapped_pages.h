// tools/files/mapped_pages.h - source files that are mapped whole, and pages of them that were read and are not needed for now.
// A network of several gigabytes would else be resident twice while it is converted: once as pages of its file, once as weights.
#pragma once
#include <cstddef>

namespace ingot::host {

/// A mapping of a file, read only, that lives until it is left out again. Threads  any.
void add_mapped_file(const void* data, size_t bytes);
void remove_mapped_file(const void* data);

/// Lets go of the whole pages of [data, data + bytes) where that lies in such a mapping; they are read again when they are
/// looked at. Nothing happens for less than a megabyte, or for memory that is no mapping of a file.
void forget_mapped_pages(const void* data, size_t bytes);

}  // namespace ingot::host
