# Called by carillon_embed_text: writes HEADER and SOURCE from FILES.
list(LENGTH FILES count)
file(WRITE ${HEADER} "#pragma once
#include <array>
#include <string_view>
namespace carillon::embedded {
struct ${NAME}_file {
  std::string_view name;
  std::string_view text;
};
extern const std::array<${NAME}_file, ${count}> ${NAME};
}  // namespace carillon::embedded
")
file(WRITE ${SOURCE} "#include \"embedded/${NAME}.h\"
namespace carillon::embedded {
const std::array<${NAME}_file, ${count}> ${NAME}{{
")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  file(APPEND ${SOURCE} "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(APPEND ${SOURCE} "}};
}  // namespace carillon::embedded
")
