# Warnings are errors in our own code; third-party headers are included as system headers and stay silent.
function(carillon_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Werror
    -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual
    -Wcast-align -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference -Wundef
    # Designated initializers leave out what keeps its default: that is what they are for.
    -Wno-missing-field-initializers
    # At -O2 GCC 12 looks through std::expected that was inlined and takes the half that is not there for one that was
    # never set. Debug builds, the sanitizers and clang-tidy go on looking.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-maybe-uninitialized>)
  # Under the thread sanitizer g++ 12 takes a temporary string of <string> for a null pointer.
  if(CARILLON_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PRIVATE -Wno-null-dereference)
  endif()
endfunction()
