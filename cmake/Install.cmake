# What `cmake --install BUILD --prefix PREFIX` leaves behind: the program, the headers of include/carillon, static
# libraries, and the package that makes
#
#   find_package(carillon REQUIRED)                             # or: REQUIRED COMPONENTS metrics mail
#   target_link_libraries(app PRIVATE carillon::carillon)       # and carillon::metrics, carillon::mail
#
# all that a user has to write. Nothing in it names the place where it was built, so a prefix may be moved.
#
# What needs libraries that not every user has is a library of its own: docs/adr/0014-parts-of-the-library.md.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
find_package(Threads REQUIRED)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/carillon)

#   carillon_installed(TARGET carillon_mail_library OUTPUT carillon_mail EXPORT mail LAYERS net mail NEEDS carillon_library)
#
# One archive of these layers, which stay apart for ourselves; users then cannot get their order wrong. It is lib<OUTPUT>.a
# and carillon::<EXPORT>. Each third-party library needs its find_dependency in carillonConfig.cmake.in.
function(carillon_installed)
  cmake_parse_arguments(ARG "" "TARGET;OUTPUT;EXPORT" "LAYERS;NEEDS" ${ARGN})
  add_library(${ARG_TARGET} STATIC)
  set(libraries Threads::Threads)
  foreach(layer IN LISTS ARG_LAYERS)
    target_sources(${ARG_TARGET} PRIVATE $<TARGET_OBJECTS:carillon_${layer}>)
    get_target_property(needed carillon_${layer} LINK_LIBRARIES)
    list(APPEND libraries ${needed})
  endforeach()
  list(FILTER libraries EXCLUDE REGEX "^carillon_")
  list(REMOVE_DUPLICATES libraries)
  # Private: a user links third-party libraries, and compiles without their headers.
  target_link_libraries(${ARG_TARGET} PUBLIC ${ARG_NEEDS} PRIVATE ${libraries})
  target_include_directories(${ARG_TARGET} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${ARG_TARGET} INTERFACE cxx_std_23)
  set_target_properties(${ARG_TARGET} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${ARG_OUTPUT} EXPORT_NAME ${ARG_EXPORT})
  install(TARGETS ${ARG_TARGET} EXPORT ${ARG_OUTPUT} ARCHIVE)
  install(EXPORT ${ARG_OUTPUT} NAMESPACE carillon:: FILE ${ARG_OUTPUT}Targets.cmake DESTINATION ${package})
  # Who has built the program can install all of it.
  add_dependencies(carillon ${ARG_TARGET})
endfunction()

# The name `carillon` belongs to the program.
carillon_installed(TARGET carillon_library OUTPUT carillon EXPORT carillon
  LAYERS base core store engine observe config)
carillon_installed(TARGET carillon_metrics_library OUTPUT carillon_metrics EXPORT metrics
  LAYERS metrics NEEDS carillon_library)
carillon_installed(TARGET carillon_mail_library OUTPUT carillon_mail EXPORT mail
  LAYERS net mail NEEDS carillon_library)

install(TARGETS carillon RUNTIME)
install(DIRECTORY include/carillon TYPE INCLUDE FILES_MATCHING PATTERN *.h)
configure_package_config_file(cmake/carillonConfig.cmake.in ${PROJECT_BINARY_DIR}/package/carillonConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/carillonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/carillonConfig.cmake ${PROJECT_BINARY_DIR}/package/carillonConfigVersion.cmake
  DESTINATION ${package})
