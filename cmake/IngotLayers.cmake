# SPDX-License-Identifier: Apache-2.0
# Layers in their order; a layer may include those to its left only. tools/lint/layers.py checks the
# same for every #include.
set(INGOT_LAYER_ORDER base op format plan memory device session text generate api
  micro)
# The back ends that a program links or does not: runtime/device/NAME for each row.
set(backends ${PROJECT_SOURCE_DIR}/runtime/device/backends.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${backends})
file(STRINGS ${backends} INGOT_BACKENDS REGEX "^INGOT_BACKEND")
list(TRANSFORM INGOT_BACKENDS REPLACE "^INGOT_BACKEND.([a-z0-9_]+),.*" "\\1")
list(TRANSFORM INGOT_BACKENDS PREPEND ingot_ OUTPUT_VARIABLE INGOT_BACKEND_LIBRARIES)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

# The C compiler's driver links programs in C: the kernels need libm, and nothing of the C++ library
# (tests/package checks it). Written as flags: a name alone would be a target of that name in the
# project of whoever uses the libraries.
set(INGOT_C_LIBRARIES $<$<NOT:$<PLATFORM_ID:Generic>>:-lm>)
set(INGOT_DL_LIBRARIES $<$<BOOL:${CMAKE_DL_LIBS}>:-l${CMAKE_DL_LIBS}>)

# Flags of everything: no contraction (the order of rounding is a promise), warnings.
add_library(ingot_flags INTERFACE)
target_include_directories(ingot_flags INTERFACE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/runtime/include)
target_compile_options(ingot_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wshadow=local
  $<$<BOOL:${INGOT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  # Warnings that follow the flow of values differ with each version, and some report code of the
  # C++ library: but for GCC 12, with which they are none, they are printed and stop no build.
  target_compile_options(ingot_flags INTERFACE -Wno-error=array-bounds
    -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=stringop-overread
    -Wno-error=restrict -Wno-error=free-nonheap-object
    -Wno-error=nonnull -Wno-error=uninitialized)
  if(NOT CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(ingot_flags INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=dangling-reference>)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(ingot_flags INTERFACE -Wno-unknown-warning-option -Wno-pass-failed)
endif()
# Of sanitizers, for either side: an option behind them takes a check back.
set(INGOT_CHECKS)
set(INGOT_HOST_CHECKS)
set(INGOT_KERNEL_CHECKS)
if(INGOT_SANITIZE)
  # Lines are what a finding shows; whole debug information costs a tenth of the build and half of
  # its bytes.
  set(INGOT_CHECKS -fsanitize=${INGOT_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(ingot_flags INTERFACE -fsanitize=${INGOT_SANITIZE})
  if(INGOT_SANITIZE MATCHES address)
    # The command line has 3.6 million addresses in its data, most of them lines of checks, and each
    # start moved them all.
    target_link_options(ingot_flags INTERFACE
      $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
  if(INGOT_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # Two in three checks are of these kinds. One that fails is a SIGILL with a stack, and needs no
    # data: the leak check reads all of it at each exit.
    list(APPEND INGOT_CHECKS -fsanitize-trap=null,alignment)
    # They take clang a fifth of its time for the host side and, with overflows of pointers, half
    # for kernels. AddressSanitizer ends at null as well, and processors of hosts read what lies
    # anywhere; what runs for hours has all.
    if(INGOT_SANITIZE_LEVEL EQUAL 0)
      # The type of a function that is called by its address: half of what objects hold.
      set(INGOT_HOST_CHECKS -fno-sanitize=null,alignment,function)
      set(INGOT_KERNEL_CHECKS -fno-sanitize=null,pointer-overflow)
    endif()
  endif()
endif()
if(INGOT_FUZZ)
  list(APPEND INGOT_CHECKS -fno-sanitize-recover=undefined)
  # Coverage leads a fuzzer through what has the property INGOT_SEARCHED; it would take a third of
  # the time to compile the rest. What runs for hours sees the numbers that are compared too.
  set(coverage -fsanitize=fuzzer-no-link)
  if(INGOT_SANITIZE_LEVEL EQUAL 0)
    set(coverage -fsanitize-coverage=inline-8bit-counters)
  endif()
  target_compile_options(ingot_flags INTERFACE
    $<$<BOOL:$<TARGET_PROPERTY:INGOT_SEARCHED>>:${coverage}>)
endif()
# It links in a fifth of the usual linker's time: sanitized programs, and tests.
find_program(INGOT_LLD ld.lld)
if(INGOT_SANITIZE AND INGOT_LLD)
  target_link_options(ingot_flags INTERFACE -fuse-ld=lld)
endif()

# What ships in a device: C++17 without exceptions, RTTI or guarded statics.
add_library(ingot_device_flags INTERFACE)
target_link_libraries(ingot_device_flags INTERFACE ingot_flags)
target_compile_features(ingot_device_flags INTERFACE cxx_std_17)
if(INGOT_SANITIZE)
  # What MemorySanitizer adds to kernels takes clang a minute with -O1.
  set(level 1)
  if(INGOT_SANITIZE STREQUAL memory)
    set(level ${INGOT_SANITIZE_LEVEL})
  endif()
  target_compile_options(ingot_device_flags INTERFACE -O${level} ${INGOT_CHECKS})
endif()
target_compile_options(ingot_device_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics> -ffunction-sections
    -fdata-sections)

# What stays on the host: C++20, exceptions allowed.
add_library(ingot_host_flags INTERFACE)
target_link_libraries(ingot_host_flags INTERFACE ingot_flags)
target_compile_features(ingot_host_flags INTERFACE cxx_std_20)
if(INGOT_SANITIZE)
  # clang takes 14 s for a group of sources with -O1, 6 s with -O0; an emulated GPU's tensor cores
  # 72 s and 4 s.
  target_compile_options(ingot_host_flags INTERFACE -O${INGOT_SANITIZE_LEVEL} ${INGOT_CHECKS}
    ${INGOT_HOST_CHECKS})
endif()
# An index that a file made wrong ends the program; it never reads or writes beside a container.
target_compile_definitions(ingot_host_flags INTERFACE _GLIBCXX_ASSERTIONS)
# INGOT_UNITY compiles sources in groups, so a program gets what another one of a group needs: the
# linker drops it again.
if(NOT INGOT_SANITIZE AND NOT INGOT_FUZZ)
  target_compile_options(ingot_host_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)
  target_link_options(ingot_host_flags INTERFACE -Wl,--gc-sections)
endif()

# Sources of this folder and those below are compiled SIZE at a time. GCC takes a source in a group
# for a header; collecting its garbage is a tenth of what a group takes, and not collecting it 250
# MB.
macro(ingot_compile_in_groups size)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE ${size})
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;\
--param=ggc-min-expand=1000;--param=ggc-min-heapsize=2000000>")
endmacro()

# ingot_layer(plan DEPS base op format): every .cpp below runtime/plan as an object library
# ingot_layer_plan.
function(ingot_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPS" ${ARGN})
  list(FIND INGOT_LAYER_ORDER ${name} own)
  foreach(dep ${LAYER_DEPS})
    list(FIND INGOT_LAYER_ORDER ${dep} theirs)
    if(theirs LESS 0 OR NOT theirs LESS own)
      message(FATAL_ERROR
        "layer '${name}' may not depend on '${dep}': order is ${INGOT_LAYER_ORDER}")
    endif()
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(JOIN INGOT_BACKENDS | backends)  # libraries of their own, linked by whoever wants them
  list(FILTER sources EXCLUDE REGEX "/device/(${backends})/|/session/backend/")
  if(NOT sources)
    return()
  endif()
  add_library(ingot_layer_${name} OBJECT ${sources})
  target_link_libraries(ingot_layer_${name} PRIVATE ingot_device_flags)
  set_target_properties(ingot_layer_${name} PROPERTIES INGOT_SEARCHED ON)
  # Where no size of theirs is looked at; micro's sources are few, and each has helpers of one name.
  if(INGOT_UNITY AND INGOT_SANITIZE AND NOT name STREQUAL micro)
    set_target_properties(ingot_layer_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # A program with a list of its own takes nothing else of that source's group.
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/device/backends.cpp PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(name STREQUAL format)
    target_link_libraries(ingot_layer_${name} PRIVATE ingot_schema)
    # What the library's assertions would say is validated by the structure check, and a device has
    # nothing to abort into.
    target_compile_options(ingot_layer_${name} PRIVATE
      "-DFLATBUFFERS_ASSERT(condition)=static_cast<void>(0)")
  endif()
endfunction()
