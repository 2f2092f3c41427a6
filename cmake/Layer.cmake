# One target a layer, and an include path that shows only the layers below.
#
# The include root is src/, so that every include names its layer ("core/policies/retry.h"). To keep an upward include from
# compiling, no target gets src/ itself: each gets a folder of the build tree that holds a link to its own layer, and
# through its dependencies those of the lower ones.
#
#   carillon_layer(core SOURCES retry.cpp ... ALONE limit.cpp LAYERS base LIBRARIES fmt::fmt)
function(carillon_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;LAYERS;LIBRARIES" ${ARGN})
  set(window ${PROJECT_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${window})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${window}/${name} SYMBOLIC)

  add_library(carillon_${name} STATIC ${ARG_SOURCES})
  target_include_directories(carillon_${name} PUBLIC ${window} ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ARG_LAYERS PREPEND carillon_)
  target_link_libraries(carillon_${name} PUBLIC ${ARG_LAYERS} PRIVATE ${ARG_LIBRARIES})
  carillon_warnings(carillon_${name})
  carillon_unity(carillon_${name} ALONE ${ARG_ALONE})
endfunction()
