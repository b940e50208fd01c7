# SPDX-License-Identifier: Apache-2.0
# ingot_standard_output(TARGET): TARGET replaces its standard output by a stream that hides control
# characters. Where the C library has a constant in that place, the linker makes a variable of it;
# cli/output/standard_output.cpp.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <cstdio>\nint main() { stdout = nullptr; }"
  INGOT_STDOUT_IS_A_VARIABLE)
function(ingot_standard_output target)
  if(INGOT_STDOUT_IS_A_VARIABLE)
    return()
  endif()
  target_compile_definitions(${target} PRIVATE INGOT_WRAP_STDOUT=1)
  foreach(name stdout printf vprintf puts putchar)
    target_link_options(${target} PUBLIC -Wl,--wrap=${name})
  endforeach()
endfunction()
