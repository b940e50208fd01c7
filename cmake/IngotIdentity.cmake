# SPDX-License-Identifier: Apache-2.0
# ingot_build_identity(TARGET): build_identity.h for TARGET, with the commit, the compiler and the
# architectures of the device code. Written by each build, and only where it changed: a commit
# without a change of CMake's files is another commit. Nothing in it depends on when or where.
function(ingot_build_identity target)
  get_property(architectures GLOBAL PROPERTY INGOT_CUDA_ARCHITECTURES_MADE)
  list(TRANSFORM architectures PREPEND sm_)
  list(JOIN architectures " " architectures)
  string(CONCAT build "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
    "${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}, ${CMAKE_BUILD_TYPE}")
  set(folder ${PROJECT_BINARY_DIR}/identity)
  add_custom_target(${target}_identity BYPRODUCTS ${folder}/build_identity.h
    COMMAND ${CMAKE_COMMAND} -DOUT=${folder}/build_identity.h -DSOURCE=${PROJECT_SOURCE_DIR}
      "-DBUILD=${build}" "-DDEVICE_CODE=${architectures}"
      -P ${PROJECT_SOURCE_DIR}/cmake/write_identity.cmake VERBATIM)
  add_dependencies(${target} ${target}_identity)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
