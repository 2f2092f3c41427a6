// How long: a span of absolute time, written `90s`, `10m`, `4h`, `7d`, `1h30m`, `250ms`. All of it is public.
#pragma once

#include "base/error.h"
#include "carillon/time.h"
