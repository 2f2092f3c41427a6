// Which jobs are meant, as a list is asked for and as bulk work is: the same fields, in a query or in JSON.
#pragma once

#include <carillon/job_query.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "server/api/query_fields.h"

namespace carillon::server {

// "state=dlq,queued&type=mail.send". The caller finishes the query.
Result<JobQuery> read_job_query(QueryFields& fields, std::string tenant);

// {"state": ["dlq"], "type": "mail.send"}, under the name `filter`. It is kept: its texts are bounded.
Result<JobQuery> read_job_query(std::string_view text, const Json& filter, std::string tenant);

}  // namespace carillon::server
