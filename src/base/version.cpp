#include "carillon/version.h"

namespace carillon {

std::string_view version() { return CARILLON_VERSION; }

}  // namespace carillon
