# What `cmake --install BUILD --prefix PREFIX` leaves behind: the program, the headers of include/carillon, one static
# library, and the package that makes
#
#   find_package(carillon REQUIRED)
#   target_link_libraries(app PRIVATE carillon::carillon)
#
# all that a user has to write. Nothing in it names the place where it was built, so a prefix may be moved.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
find_package(Threads REQUIRED)

# The layers that are part of the library, lowest first. One that does not exist yet is left out.
set(CARILLON_LIBRARY_LAYERS base core store engine)

# carillon_library is libcarillon.a (the name `carillon` belongs to the program). The layers stay apart for ourselves and
# are one archive for users, who then cannot get their order wrong.
add_library(carillon_library STATIC)
set(libraries Threads::Threads)
foreach(layer IN LISTS CARILLON_LIBRARY_LAYERS)
  if(TARGET carillon_${layer})
    target_sources(carillon_library PRIVATE $<TARGET_OBJECTS:carillon_${layer}>)
    get_target_property(needed carillon_${layer} LINK_LIBRARIES)
    list(APPEND libraries ${needed})
  endif()
endforeach()
list(FILTER libraries EXCLUDE REGEX "^carillon_")
list(REMOVE_DUPLICATES libraries)

# Private: a user links third-party libraries, and compiles without their headers. Each needs its find_dependency in
# carillonConfig.cmake.in.
target_link_libraries(carillon_library PRIVATE ${libraries})
target_include_directories(carillon_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(carillon_library INTERFACE cxx_std_23)
set_target_properties(carillon_library PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME carillon EXPORT_NAME carillon)
# Who has built the program can install all of it.
add_dependencies(carillon carillon_library)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/carillon)
install(TARGETS carillon RUNTIME)
install(TARGETS carillon_library EXPORT carillon ARCHIVE)
install(DIRECTORY include/carillon TYPE INCLUDE FILES_MATCHING PATTERN *.h)
install(EXPORT carillon NAMESPACE carillon:: FILE carillonTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/carillonConfig.cmake.in ${PROJECT_BINARY_DIR}/package/carillonConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/carillonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/carillonConfig.cmake ${PROJECT_BINARY_DIR}/package/carillonConfigVersion.cmake
  DESTINATION ${package})
