# Several files compiled as one, so that the headers of the standard library are read once for all of them: a build takes
# a fraction of the time, under sanitizers most of all. Nothing may depend on it: the preset `lint` compiles each file alone.
#
#   carillon_unity(carillon_core ALONE limit.cpp plan.cpp)
#
# ALONE: files whose private names, or what they bring in with `using`, collide with those of others.
option(CARILLON_UNITY "Compile several files as one" ON)

function(carillon_unity target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(NOT CARILLON_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # Both speak of what lies in different files.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
