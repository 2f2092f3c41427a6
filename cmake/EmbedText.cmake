# Text files as constants of the program.
#
#   carillon_embed_text(target NAME sqlite_queries CONSTANT kSqliteQueries FILES queries/jobs.sql ...)
#
# makes an array of EmbeddedText called CONSTANT, declared in "embedded/NAME.h". The target `generated` writes them all.
function(carillon_embed_text target)
  cmake_parse_arguments(ARG "" "NAME;CONSTANT" "FILES" ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded_${ARG_NAME})
  set(header ${folder}/embedded/${ARG_NAME}.h)
  set(source ${folder}/${ARG_NAME}.cpp)
  list(TRANSFORM ARG_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  add_custom_command(
    OUTPUT ${header} ${source}
    COMMAND ${CMAKE_COMMAND} -D NAME=${ARG_NAME} -D CONSTANT=${ARG_CONSTANT} -D HEADER=${header} -D SOURCE=${source} "-DFILES=${paths}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${source} ${header})
  add_custom_target(embedded_${ARG_NAME} DEPENDS ${source} ${header})
  add_dependencies(generated embedded_${ARG_NAME})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
