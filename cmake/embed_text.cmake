# Called by carillon_embed_text: writes HEADER and SOURCE from FILES.
list(LENGTH FILES count)
file(WRITE ${HEADER} "#pragma once
#include <array>

#include \"base/embedded_text.h\"

namespace carillon {
extern const std::array<EmbeddedText, ${count}> ${CONSTANT};
}  // namespace carillon
")
file(WRITE ${SOURCE} "#include \"embedded/${NAME}.h\"

// A file may be longer than what every compiler must take.
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace carillon {
const std::array<EmbeddedText, ${count}> ${CONSTANT}{{
")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  file(APPEND ${SOURCE} "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(APPEND ${SOURCE} "}};
}  // namespace carillon
")
