# SPDX-License-Identifier: Apache-2.0
# The shared library: runtime, CPU kernels and the back end of GPUs in one. Linked as C: it needs
# nothing of the C++ library.
if(NOT INGOT_SHARED_LIBRARY OR CMAKE_SYSTEM_NAME STREQUAL Generic)
  return()
endif()
find_package(Threads REQUIRED)
file(WRITE ${PROJECT_BINARY_DIR}/ingot_shared.c
  "/* everything comes from the static libraries */\n")
add_library(ingot_shared SHARED ${PROJECT_BINARY_DIR}/ingot_shared.c)
add_library(Ingot::shared ALIAS ingot_shared)
set_target_properties(ingot_shared PROPERTIES OUTPUT_NAME ingot VERSION ${PROJECT_VERSION} SOVERSION
  0 LINKER_LANGUAGE C)
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(ingot_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
# The interface is what begins with ingot_, but for what a back end is found by.
foreach(name ${INGOT_BACKENDS})
  string(APPEND INGOT_BACKEND_SYMBOLS "ingot_${name}_backend; ingot_${name}_kernel_set; ")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/packaging/exports.map.in ${PROJECT_BINARY_DIR}/exports.map
  @ONLY)
get_property(archives GLOBAL PROPERTY INGOT_BACKEND_ARCHIVES)
list(PREPEND archives ingot_runtime ingot_cpu)
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
target_link_options(ingot_shared PRIVATE -Wl,--whole-archive ${files} -Wl,--no-whole-archive
  -Wl,--gc-sections -Wl,--version-script=${PROJECT_BINARY_DIR}/exports.map)
add_dependencies(ingot_shared ${archives})
# An archive among options is no input: without these a changed kernel is not linked again.
set_target_properties(ingot_shared PROPERTIES LINK_DEPENDS "${files}")
target_include_directories(ingot_shared PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(ingot_shared PUBLIC Threads::Threads ${INGOT_DL_LIBRARIES} PRIVATE
  ${INGOT_C_LIBRARIES})
