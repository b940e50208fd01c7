# SPDX-License-Identifier: Apache-2.0
# The shared library (runtime and CPU kernels in one), install rules, find_package(Ingot) and
# pkg-config.
if(NOT INGOT_INSTALL OR CMAKE_SYSTEM_NAME STREQUAL Generic)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)

get_property(backends GLOBAL PROPERTY INGOT_BACKEND_ARCHIVES)
set(libraries ingot_runtime ingot_cpu ${backends})
if(INGOT_SHARED_LIBRARY)
  list(APPEND libraries ingot_shared)
endif()
set_target_properties(ingot_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(ingot_cpu PROPERTIES EXPORT_NAME cpu)
if(INGOT_SHARED_LIBRARY)
  set_target_properties(ingot_shared PROPERTIES EXPORT_NAME shared)
endif()

# Components are the packages of a distribution: what runs programs, what compiles them, the command
# line (IngotPackages.cmake).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS ${libraries} EXPORT IngotTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ingot DESTINATION
  ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT IngotTargets NAMESPACE Ingot:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
if(TARGET ingot_cli)
  install(TARGETS ingot_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(TARGET ingot_serve)  # beside it, where `ingot serve` looks
    install(TARGETS ingot_serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  endif()
  if(EXISTS ${PROJECT_BINARY_DIR}/completions)
    set(completions ${PROJECT_BINARY_DIR}/completions)
    install(FILES ${completions}/ingot DESTINATION
      ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
    install(FILES ${completions}/_ingot DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
      COMPONENT tools)
    install(FILES ${completions}/ingot.fish DESTINATION
      ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
  endif()
  if(TARGET ingot_manual)
    set(of_server)
    if(TARGET ingot_serve)
      set(of_server PATTERN ingot-serve.1 EXCLUDE)
      install(FILES ${PROJECT_BINARY_DIR}/man/ingot-serve.1 DESTINATION
        ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
    endif()
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
      COMPONENT tools ${of_server})
  endif()
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/IngotConfig.cmake.in
  ${PROJECT_BINARY_DIR}/IngotConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/IngotConfigVersion.cmake COMPATIBILITY
  SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/IngotConfig.cmake ${PROJECT_BINARY_DIR}/IngotConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Ingot)

# pkg-config. The prefix is found from where the file lies, so that `cmake --install --prefix` and a
# moved tree are right. libingot.a names the static libraries to the linker: -lingot is the shared
# library, and with -static these. ingot-cpu names those without the back end of GPUs, which calls
# dlopen().
file(RELATIVE_PATH INGOT_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" INGOT_PC_TO_PREFIX "${INGOT_PC_TO_PREFIX}")
set(INGOT_PC_PRIVATE "-pthread -ldl -lm")
set(INGOT_PC_PUBLIC "")
if(NOT INGOT_SHARED_LIBRARY)
  set(INGOT_PC_PUBLIC " ${INGOT_PC_PRIVATE}")
endif()
foreach(name ingot ingot-cpu)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc
    @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
list(TRANSFORM INGOT_BACKENDS REPLACE "(.+)" "ingot_\\1_backend" OUTPUT_VARIABLE INGOT_LD_SYMBOLS)
list(TRANSFORM backends PREPEND "-l" OUTPUT_VARIABLE INGOT_LD_LIBRARIES)
list(JOIN INGOT_LD_SYMBOLS " " INGOT_LD_SYMBOLS)
list(JOIN INGOT_LD_LIBRARIES " " INGOT_LD_LIBRARIES)
configure_file(${PROJECT_SOURCE_DIR}/packaging/libingot.ld.in ${PROJECT_BINARY_DIR}/libingot.ld
  @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/libingot.ld DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME
  libingot.a)
