// A connection of the reader with its statements, and how a question is put to one. For the reader's own files.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/sqlite/sqlite_reader.h"

namespace carillon {

// How often a list looks at the time.
inline constexpr int kRowsBetweenLooks = 256;
// A list gives up a little earlier, to answer with what it has.
inline constexpr BootTime kListMax = kReadMax * 8 / 10;

inline std::size_t page_size(std::size_t limit) { return std::min(limit, kPageMax); }

struct SqliteReader::Session {
  explicit Session(std::unique_ptr<Connection> opened);

  std::unique_ptr<Connection> connection;
  BootTime cut_at{};

  Query live{*connection, "view_live"};
  Query archived{*connection, "view_archived"};
  Query live_below{*connection, "live_below"};
  Query archived_below{*connection, "archived_below"};
  Query long_payload{*connection, "view_long_payload"};
  Query lease{*connection, "view_lease"};
  Query attempts{*connection, "view_attempts"};
  Query parents{*connection, "view_parents"};
  Query lane{*connection, "view_lane"};
  Query type{*connection, "view_type"};
  Query type_id{*connection, "view_type_id"};
  Query schedule_name{*connection, "view_schedule_name"};
  Query counts{*connection, "view_counts"};
  Query count_of{*connection, "view_count_of"};
  Query lanes_of{*connection, "view_lanes_of"};
  Query schedule{*connection, "view_schedule"};
  Query schedules{*connection, "view_schedules"};
  Query subject{*connection, "view_subject"};
  Query cursor{*connection, "view_cursor"};
  Query subjects{*connection, "view_subjects"};
  Query subjects_due{*connection, "view_subjects_due"};
  Query outcomes{*connection, "view_outcomes"};
  Query outcomes_of{*connection, "view_outcomes_of"};
  Query outcomes_after{*connection, "view_outcomes_after"};
  Query outcomes_back{*connection, "view_outcomes_back"};
  Query gaps_back{*connection, "view_gaps_back"};
  Query outcome_counts{*connection, "view_outcome_counts"};
  Query document{*connection, "view_document"};
  Query documents{*connection, "view_documents"};
  Query audit{*connection, "view_audit"};
};

template <typename Question>
auto SqliteReader::read(Question question) -> std::invoke_result_t<Question, Session&> {
  TRY_ASSIGN(std::unique_ptr<Session> session, take_session());
  Connection& connection = *session->connection;
  connection.clear_failure();
  session->cut_at = boot_now() + kReadMax;
  connection.execute("BEGIN");
  auto answer = question(*session);
  std::optional<Error> failure = connection.failure();
  connection.clear_failure();
  session->cut_at = BootTime::max();
  if (connection.in_transaction()) connection.execute("ROLLBACK");
  give_back(std::move(session));
  if (failure) return std::unexpected(*std::move(failure));
  return answer;
}

template <typename Read>
auto rows_of(Query& query, Read read) {
  std::vector<std::invoke_result_t<Read, const Query&>> rows;
  while (query.next()) rows.push_back(read(query));
  return rows;
}

}  // namespace carillon
