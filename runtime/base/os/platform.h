// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/platform.h - what this platform has, each under its own name. Code behind a
// constant that is false is compiled and left out: firmware keeps nothing of it.
#pragma once

namespace ingot::os {

#if defined(__unix__) || defined(__APPLE__)
inline constexpr bool kIsHosted = true;
#else
inline constexpr bool kIsHosted = false;
#endif

/// Address space can be reserved, files mapped into it, and free memory asked for.
inline constexpr bool kHasPages = kIsHosted;
/// Devices beside the CPU can exist: GPUs, fake devices, splits over several.
inline constexpr bool kHasOtherDevices = kIsHosted;
/// Kernels can exist that read bf16 weights as the file has them.
inline constexpr bool kHasBf16Weights = kIsHosted;
/// Memory can be planned here; else the plan in the file is run as it is.
inline constexpr bool kHasPlanner = kIsHosted;
/// An error has a sentence; else the name of its code.
inline constexpr bool kHasErrorTexts = kIsHosted;

}  // namespace ingot::os
