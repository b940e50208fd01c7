# SPDX-License-Identifier: Apache-2.0
# Debian packages, one for each component: `cpack -G DEB` in a tree whose prefix is /usr, or
# ./dev package deb. The same bytes from the same commit: SOURCE_DATE_EPOCH is the time of all.
if(NOT INGOT_INSTALL OR NOT INGOT_SHARED_LIBRARY OR CMAKE_CROSSCOMPILING OR NOT TARGET ingot_cli)
  return()
endif()
set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ingot)
set(CPACK_PACKAGE_VENDOR Ingot)
set(CPACK_PACKAGE_CONTACT "Ingot maintainers <maintainers@ingot.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(components runtime development tools)
if(TARGET ingot_serve)
  list(APPEND components server)
endif()
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE ingot)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})

set(about "Ingot converts a trained network once into one file, maps and validates that file on
the device, and runs it in one preallocated arena, on the CPU or on a GPU.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libingot0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "${about}\nThe shared library that programs load.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libingot-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libingot0 (= ${PROJECT_VERSION}), libc6-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
  "${about}\nHeaders of C and C++, static libraries, the CMake package and the pkg-config file.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ingot-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "${about}\nThe command line: converts ONNX, TFLite,
TorchScript, torch.export and Keras; runs, checks, compares and times.")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME ingot-serve)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS ingot-tools)
set(CPACK_DEBIAN_SERVER_DEBUGINFO_PACKAGE ON)
set(server ${debian}/server)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${server}/conffiles ${server}/postinst
  ${server}/prerm ${server}/postrm)
set(CPACK_DEBIAN_SERVER_DESCRIPTION "${about}\nThe server: models of a folder over HTTP and gRPC by
the KServe v2 protocol, as a service of systemd that is begun by hand.")

# What Debian's policy asks for in each package: its copyright and its changes.
foreach(component ${components})
  string(TOUPPER ${component} upper)
  set(folder share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${debian}/copyright ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${folder}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(CODE "execute_process(COMMAND gzip -9n INPUT_FILE \"${PROJECT_SOURCE_DIR}/CHANGELOG.md\"
    OUTPUT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/changelog.gz\"
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
# Programs and the shared library are stripped into packages of debug symbols, archives of none.
install(CODE "file(GLOB archives
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libingot_*.a\")
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives \${archives}
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT development EXCLUDE_FROM_ALL)
# Of what is linked into the command line.
install(DIRECTORY ${PROJECT_BINARY_DIR}/licenses DESTINATION share/doc/ingot-tools COMPONENT tools
  EXCLUDE_FROM_ALL OPTIONAL)
# The service, of this package alone: a prefix elsewhere has no /etc of its own.
if(TARGET ingot_serve)
  install(FILES ${server}/ingot-serve.service DESTINATION lib/systemd/system COMPONENT server
    EXCLUDE_FROM_ALL)
  install(FILES ${server}/default DESTINATION /etc/default RENAME ingot-serve COMPONENT server
    EXCLUDE_FROM_ALL)
  install(FILES ${server}/bash-completion DESTINATION share/bash-completion/completions
    RENAME ingot-serve COMPONENT server EXCLUDE_FROM_ALL)
  install(FILES ${server}/zsh-completion DESTINATION share/zsh/vendor-completions
    RENAME _ingot-serve COMPONENT server EXCLUDE_FROM_ALL)
  install(DIRECTORY DESTINATION /var/lib/ingot/models COMPONENT server EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/licenses DESTINATION share/doc/ingot-serve
    COMPONENT server
    EXCLUDE_FROM_ALL OPTIONAL)
endif()
include(CPack)
