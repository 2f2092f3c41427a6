// Schedules and subjects as the API shows them.
#pragma once

#include <carillon/client.h>

#include <string>
#include <vector>

namespace carillon::server {

// The definition, and beside its fields how it stands.
std::string to_json(const ScheduleInfo& info);

std::string to_json(const SubjectInfo& info);

// {"items": [{"at": …, "local": …, "note": …}]}; of a delivery also its day and cutoff, of windows the window.
std::string to_json(const Preview& preview);

}  // namespace carillon::server
