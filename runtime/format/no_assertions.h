// runtime/format/no_assertions.h - included before any generated header: what its assertions would say was proved by the
// structure check, and a device has nothing to abort into.
#pragma once
#ifndef FLATBUFFERS_ASSERT
#define FLATBUFFERS_ASSERT(condition) static_cast<void>(0)
#endif
