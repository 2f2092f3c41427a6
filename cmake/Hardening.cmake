# What every target is compiled and linked with, sanitizers aside.
add_compile_options(-fstack-protector-strong -fstack-clash-protection -fcf-protection -fno-omit-frame-pointer)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)

if(CARILLON_SANITIZE)
  add_compile_options(-fsanitize=${CARILLON_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CARILLON_SANITIZE})
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
  # glibc's checked functions need the optimiser, and get in a sanitizer's way.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
