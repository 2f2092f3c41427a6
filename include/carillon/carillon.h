// Jobs, schedules and the engine that runs them. Besides: observer.h (log, events, objectives), settings.h, metrics.h,
// mail.h and testing.h.
#pragma once

#include <carillon/client.h>
#include <carillon/engine.h>
#include <carillon/engine_options.h>
#include <carillon/error.h>
#include <carillon/events.h>
#include <carillon/explain.h>
#include <carillon/job.h>
#include <carillon/job_context.h>
#include <carillon/job_id.h>
#include <carillon/job_info.h>
#include <carillon/job_request.h>
#include <carillon/json.h>
#include <carillon/outcome.h>
#include <carillon/retry.h>
#include <carillon/schedule.h>
#include <carillon/scheduler.h>
#include <carillon/store.h>
#include <carillon/time.h>
#include <carillon/version.h>
