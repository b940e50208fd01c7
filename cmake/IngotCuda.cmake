# SPDX-License-Identifier: Apache-2.0
# Device code without the CMake CUDA language: which compilers are there, which one makes which
# architecture, one cubin for each unit and architecture by a custom command. Result of
# ingot_cuda_images(): INGOT_CUDA_IMAGES, the packed container, or empty.
set(INGOT_CUDA AUTO CACHE STRING "Device code for GPUs: ON, OFF, or AUTO (where an nvcc is found)")
set_property(CACHE INGOT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(INGOT_NVCC "" CACHE STRING
  "CUDA compilers (a list); empty: nvcc of PATH, /usr/local/cuda and build/cuda/*")
set(INGOT_CUDA_ARCHITECTURES "" CACHE STRING
  "Architectures built, as 87 or 75;90; empty: all that the compilers can do")
set(INGOT_CUDA_HOST_COMPILER "" CACHE FILEPATH
  "C++ compiler of this machine that nvcc preprocesses with, also in a cross build; empty: g++")

# Jetsons keep the driver that their JetPack came with: the oldest compiler is right for them (72
# Xavier, 87 Orin). Servers and desktops up to 90 may have a driver of CUDA 12, which takes no code
# of CUDA 13: a compiler of CUDA 12 makes theirs where one is at hand. The newest elsewhere.
set(INGOT_CUDA_OLDEST 72 87)
set(INGOT_CUDA_TWELVE 75 80 86 89 90)
set(INGOT_CUDA_NEWEST 100 110 120)

# Sets ingot_nvccs (paths) and, for each, ingot_nvcc_version_<i> and ingot_nvcc_targets_<i>.
function(ingot_find_nvcc)
  set(candidates ${INGOT_NVCC})
  if(NOT candidates)
    find_program(nvcc_in_path nvcc NO_CACHE NO_CMAKE_FIND_ROOT_PATH)
    file(GLOB assembled ${PROJECT_SOURCE_DIR}/build/cuda/*/bin/nvcc)
    list(APPEND candidates ${nvcc_in_path} /usr/local/cuda/bin/nvcc ${assembled})
  endif()
  set(found) # paths
  set(versions)
  foreach(path ${candidates})
    if(NOT EXISTS ${path})
      if(INGOT_NVCC)
        message(FATAL_ERROR "INGOT_NVCC: ${path}: no such file")
      endif()
      continue()
    endif()
    execute_process(COMMAND ${path} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE
      failed)
    if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
      if(INGOT_NVCC)
        message(FATAL_ERROR "INGOT_NVCC: ${path} does not run, or is no nvcc")
      endif()
      continue()
    endif()
    set(version ${CMAKE_MATCH_1})
    if(version IN_LIST versions)
      continue()
    endif()
    list(LENGTH found i)
    execute_process(COMMAND ${path} --list-gpu-code OUTPUT_VARIABLE text)
    string(REGEX MATCHALL "[0-9]+" targets "${text}")
    set(ingot_nvcc_version_${i} ${version} PARENT_SCOPE)
    set(ingot_nvcc_targets_${i} ${targets} PARENT_SCOPE)
    list(APPEND found ${path})
    list(APPEND versions ${version})
  endforeach()
  set(ingot_nvccs ${found} PARENT_SCOPE)
endfunction()

# What decides inside a graph (unit `conditional`) calls a function that compilers know from here
# on.
set(INGOT_CUDA_CONDITIONAL_FROM 12.3)

# ingot_nvcc_for(ARCHITECTURE OUT [UNIT]): the index of the compiler for an architecture; empty when
# none can.
function(ingot_nvcc_for architecture out)
  set(best)
  list(LENGTH ingot_nvccs count)
  if(count)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      if(NOT architecture IN_LIST ingot_nvcc_targets_${i})
        continue()
      endif()
      if("${ARGN}" STREQUAL conditional)
        if(ingot_nvcc_version_${i} VERSION_LESS INGOT_CUDA_CONDITIONAL_FROM)
          continue()
        endif()
      endif()
      if("${best}" STREQUAL "")
        set(best ${i})
        continue()
      endif()
      set(mine ${ingot_nvcc_version_${i}})
      set(others ${ingot_nvcc_version_${best}})
      if(architecture IN_LIST INGOT_CUDA_OLDEST)
        if(mine VERSION_LESS others)
          set(best ${i})
        endif()
      elseif(architecture IN_LIST INGOT_CUDA_TWELVE AND mine MATCHES "^12" AND NOT others MATCHES
        "^12")
        set(best ${i})
      elseif(architecture IN_LIST INGOT_CUDA_TWELVE AND others MATCHES "^12" AND NOT mine MATCHES
        "^12")
        continue()
      elseif(mine VERSION_GREATER others)
        set(best ${i})
      endif()
    endforeach()
  endif()
  set(${out} ${best} PARENT_SCOPE)
endfunction()

# ingot_cuda_images(UNIT...): the command that packs unit/UNIT.cu for every architecture.
function(ingot_cuda_images)
  set(INGOT_CUDA_IMAGES "" PARENT_SCOPE)
  find_program(INGOT_PYTHON python3 NO_CMAKE_FIND_ROOT_PATH)
  if(NOT INGOT_PYTHON OR CMAKE_SYSTEM_NAME STREQUAL Generic)
    if(INGOT_CUDA STREQUAL ON)
      message(FATAL_ERROR
        "INGOT_CUDA=ON: device code is packed by python3, for a system with a driver")
    endif()
    message(STATUS "device code: none, not even for the emulator (no python3, or a bare machine)")
    return()
  endif()
  set(ingot_nvccs)
  if(NOT INGOT_CUDA STREQUAL OFF)
    ingot_find_nvcc()
  endif()
  if(INGOT_CUDA STREQUAL ON AND NOT ingot_nvccs)
    message(FATAL_ERROR
      "INGOT_CUDA=ON, but there is no nvcc: give -DINGOT_NVCC=PATH, or let ./dev cuda-toolkit 13.0 assemble one")
  endif()
  set(host ${INGOT_CUDA_HOST_COMPILER})
  if(NOT host)
    find_program(ingot_host_gxx g++ NO_CACHE NO_CMAKE_FIND_ROOT_PATH)
    set(host ${ingot_host_gxx})
  endif()
  if(ingot_nvccs AND NOT host)
    message(FATAL_ERROR
      "device code: nvcc preprocesses with g++, which is not here: give -DINGOT_CUDA_HOST_COMPILER=PATH, or -DINGOT_CUDA=OFF")
  endif()

  set(launcher)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
    set(launcher ${CMAKE_CXX_COMPILER_LAUNCHER})  # knows nvcc
  endif()

  set(cubins)
  set(rows)
  set(made)
  set(wanted ${INGOT_CUDA_ARCHITECTURES})
  if(NOT wanted)
    set(wanted ${INGOT_CUDA_OLDEST} ${INGOT_CUDA_TWELVE} ${INGOT_CUDA_NEWEST})
  endif()
  foreach(architecture ${wanted})
    ingot_nvcc_for(${architecture} i)
    if("${i}" STREQUAL "")
      if(INGOT_CUDA_ARCHITECTURES AND ingot_nvccs)
        message(FATAL_ERROR
          "INGOT_CUDA_ARCHITECTURES: no compiler at hand makes ${architecture}; ./dev cuda-toolkit 11.8 makes 72 and 87, 12.4 75 to 90, 13.0 75 to 121")
      endif()
      continue()
    endif()
    list(GET ingot_nvccs ${i} nvcc)
    set(version ${ingot_nvcc_version_${i}})
    list(APPEND made "${architecture} (${version})")
    if(architecture EQUAL 87 AND version VERSION_GREATER_EQUAL 13)
      message(STATUS
        "device code: 87 comes from CUDA ${version}, which drivers of JetPack 5 and 6 are believed to refuse; ./dev cuda-toolkit 11.8 gives one that they take")
    endif()
    set(options -std=c++17 -O3 -fmad=false --expt-relaxed-constexpr -diag-suppress 186)
    if(version VERSION_LESS 12)
      list(APPEND options -allow-unsupported-compiler)  # CUDA 11 knows g++ up to 11
    endif()
    # For ingot_cuda_test_module().
    set_property(GLOBAL APPEND PROPERTY INGOT_CUDA_ARCHITECTURES_MADE ${architecture})
    set_property(GLOBAL PROPERTY INGOT_CUDA_COMMAND_${architecture} ${launcher} ${nvcc} -ccbin
      ${host} ${options} -arch=sm_${architecture})
    foreach(unit ${ARGN})
      ingot_nvcc_for(${architecture} i ${unit})
      if("${i}" STREQUAL "")
        continue()
      endif()
      list(GET ingot_nvccs ${i} nvcc)
      set(version ${ingot_nvcc_version_${i}})
      set(cubin ${CMAKE_CURRENT_BINARY_DIR}/cubin/${unit}.sm${architecture}.cuda${version}.cubin)
      add_custom_command(OUTPUT ${cubin} BYPRODUCTS ${cubin}.ptxas
        COMMAND ${INGOT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/embed/compile_unit.py ${cubin}
          ${launcher} ${nvcc} -ccbin ${host} ${options} -I${PROJECT_SOURCE_DIR}
          -arch=sm_${architecture} -cubin -c -MD -MF ${cubin}.d
            ${CMAKE_CURRENT_SOURCE_DIR}/unit/${unit}.cu -o ${cubin}
        DEPENDS unit/${unit}.cu embed/compile_unit.py ${nvcc} DEPFILE ${cubin}.d COMMENT
          "Device code ${unit}, sm_${architecture}, CUDA ${version}" VERBATIM)
      list(APPEND cubins ${cubin})
      list(APPEND rows ${unit}:${architecture}:${version}:${cubin})
    endforeach()
  endforeach()
  if(made)
    list(JOIN made ", " text)
    message(STATUS "device code: ${text}")
  elseif(INGOT_CUDA STREQUAL OFF)
    message(STATUS "device code: none (INGOT_CUDA=OFF)")
  else()
    message(STATUS
      "device code: none, the library runs no GPU; there is no nvcc (./dev cuda-toolkit 13.0 assembles one)")
  endif()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cubin)
  set(images ${CMAKE_CURRENT_BINARY_DIR}/device_images.bin)
  if(rows)
    list(PREPEND rows --cubin)
  endif()
  add_custom_command(OUTPUT ${images} BYPRODUCTS ${images}.tsv
    COMMAND ${INGOT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/embed/pack.py --out ${images} --table
      ${images}.tsv --units ${ARGN} ${rows}
    DEPENDS ${cubins} embed/pack.py COMMENT "Packing device code" VERBATIM)
  set(INGOT_CUDA_IMAGES ${images} PARENT_SCOPE)
endfunction()

# ingot_cuda_test_module(NAME SOURCE): device code that is no part of the product, as
# FOLDER/NAME.sm87.cubin for every architecture that the product is built for; a target NAME_module
# makes them. FOLDER: cubin beside the programs of the calling directory.
function(ingot_cuda_test_module name source)
  get_property(architectures GLOBAL PROPERTY INGOT_CUDA_ARCHITECTURES_MADE)
  set(cubins)
  foreach(architecture ${architectures})
    get_property(command GLOBAL PROPERTY INGOT_CUDA_COMMAND_${architecture})
    set(cubin ${CMAKE_CURRENT_BINARY_DIR}/cubin/${name}.sm${architecture}.cubin)
    add_custom_command(OUTPUT ${cubin} COMMAND ${command} -I${PROJECT_SOURCE_DIR} -cubin -c -MD -MF
      ${cubin}.d ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${cubin}
      DEPENDS ${source} DEPFILE ${cubin}.d COMMENT "Device code ${name} (tests), sm_${architecture}"
        VERBATIM)
    list(APPEND cubins ${cubin})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cubin)
  add_custom_target(${name}_module DEPENDS ${cubins})
endfunction()
