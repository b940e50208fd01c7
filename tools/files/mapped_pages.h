// SPDX-License-Identifier: Apache-2.0
// tools/files/mapped_pages.h - source files that are mapped whole, and their pages that were read
// and are not needed for now. A network of several gigabytes would else be resident twice while it
// is converted: once as pages of its file, once as weights. note_touched() of spill_file.h calls
// it now and then.
#pragma once
#include <cstddef>

namespace ingot::host {

/// A mapping of a file, read only, that lives until it is left out again.
/// Threads  any.
void add_mapped_file(const void* data, size_t bytes);
void remove_mapped_file(const void* data);

/// Lets go of the pages of every such mapping; they are read again when they are looked at.
void forget_mapped_pages();

}  // namespace ingot::host
