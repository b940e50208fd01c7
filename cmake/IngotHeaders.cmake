# SPDX-License-Identifier: Apache-2.0
# ingot_host_headers(TARGET FOLDER FILE): FOLDER of a library that is headers alone, found by FILE,
# for TARGET. Such headers serve every processor, but a cross compiler does not search the host's
# /usr/include, which would bring in the host's C library too: it gets a folder with this one link
# in it.
function(ingot_host_headers target folder file)
  string(MAKE_C_IDENTIFIER "INGOT_${folder}_HEADERS" variable)
  string(TOUPPER ${variable} variable)
  find_path(${variable} ${folder}/${file} PATHS /usr/include /usr/local/include
    NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${variable})
    message(FATAL_ERROR
      "${folder}/${file} not found: install it, or set ${variable} to the folder above ${folder}")
  endif()
  set(path ${${variable}})
  if(CMAKE_CROSSCOMPILING)
    set(path ${PROJECT_BINARY_DIR}/headers)
    file(MAKE_DIRECTORY ${path})
    file(CREATE_LINK ${${variable}}/${folder} ${path}/${folder} SYMBOLIC)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    target_include_directories(${target} SYSTEM INTERFACE ${path})
  else()
    target_include_directories(${target} SYSTEM PUBLIC ${path})
  endif()
endfunction()
