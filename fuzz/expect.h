// What must hold whatever the input. A violation aborts, which the fuzzer reports with the input.
#pragma once

#include "frame.h"

namespace carillon::fuzz {

// One line for a person, of bounded length, in plain characters, and a column that lies in the text or just behind it.
void expect_readable(const Error& error, std::string_view text);

// Makes the timetable and walks it: each time is later than the one before, one jump finds what the walk finds, and
// counting and looking for the newest agree with the walk. A refusal must be readable.
//
// How long a call takes is left to the fuzzer's -timeout.
void expect_sound_timetable(const Trigger& trigger, const Frame& frame);

}  // namespace carillon::fuzz
