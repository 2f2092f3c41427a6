# Several files compiled as one, so that the headers of the standard library are read once for all of them: a build takes
# a fraction of the time, under sanitizers most of all. Nothing may depend on it: the preset `lint` compiles each file alone.
#
#   carillon_unity(carillon_core ALONE limit.cpp plan.cpp)
#
# ALONE: files whose private names, or what they bring in with `using`, collide with those of others.
#
# CMake's own UNITY_BUILD names the files by their whole paths, so that no clone could use what the compiler cache has from
# another. These name them from the top of the project.
option(CARILLON_UNITY "Compile several files as one" ON)
set(CARILLON_UNITY_BATCH 12)

function(carillon_unity target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(NOT CARILLON_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(kept "")
  set(joined "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" is_generated)
    if(source IN_LIST ARG_ALONE OR is_generated OR NOT path MATCHES "\\.cpp$")
      list(APPEND kept "${source}")
    else()
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE relative)
      list(APPEND joined "${relative}")
    endif()
  endforeach()
  set(number 0)
  while(joined)
    list(SUBLIST joined 0 ${CARILLON_UNITY_BATCH} batch)
    list(REMOVE_ITEM joined ${batch})
    list(TRANSFORM batch REPLACE "^(.+)$" "#include \"\\1\"\n")
    list(JOIN batch "" content)
    set(file "${CMAKE_BINARY_DIR}/unity/${target}_${number}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
    list(APPEND kept "${file}")
    math(EXPR number "${number} + 1")
  endwhile()
  set_property(TARGET ${target} PROPERTY SOURCES ${kept})
  target_compile_options(
    ${target}
    PRIVATE -iquote${CMAKE_SOURCE_DIR}
            # Both speak of what lies in different files.
            -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
