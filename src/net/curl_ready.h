// libcurl, initialised once per process. Call it before anything else of libcurl.
#pragma once

namespace carillon {

void prepare_curl();

}  // namespace carillon
