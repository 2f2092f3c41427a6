// Handlers that run a program of the operator's.
//
// The payload, as JSON, is the program's standard input. Its environment is only PATH, LANG=C.UTF-8, what the operator
// lists, and
//
//   CARILLON_JOB_ID, CARILLON_TENANT, CARILLON_QUEUE, CARILLON_TYPE, CARILLON_ATTEMPT, CARILLON_TOKEN, CARILLON_RUN_AT,
//   CARILLON_SCHEDULE, CARILLON_SUBJECT, CARILLON_SLOT, CARILLON_DEADLINE (the last four: if there is one)
//
// How it ends:  0     done. JSON on its standard output is the job's output, other text is a JSON string of it (of more
//                     than 64 KiB the last part); the last 16 KiB of its standard error are kept beside it
//               75    EX_TEMPFAIL: failed, to be tried again; class tempfail
//               65    EX_DATAERR: permanent; class dataerr
//               else  failed; class exit, signal, timeout or cancelled. The error ends with the last of what it wrote
//               to
//                     its standard error, else to its standard output
#pragma once

#include <carillon/job_context.h>

#include "base/error.h"
#include "server/handlers/webhook_config.h"

namespace carillon::server {

// Errors: invalid_configuration.
Result<Handler> make_exec_handler(ExecConfig config);

}  // namespace carillon::server
