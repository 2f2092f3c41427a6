// Questions to a SQLite file, each on a read-only connection of its own: a reader never holds up the writer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace carillon {

// Nothing is read for longer: a reader that stays keeps the log from being emptied.
inline constexpr BootTime kReadMax = std::chrono::seconds(1);

class SqliteReader final : public StoreReader {
 public:
  SqliteReader(Connection::Options options, const StoreClock& clock);
  ~SqliteReader() override;

  // No read begins until `resume`; returns when those that run have ended, or `at_most` has passed.
  void pause(std::chrono::milliseconds at_most);
  void resume();

  Result<JobView> job(std::string_view tenant, JobId id) override;
  Result<JobPage> jobs(const JobQuery& query, JobId before, std::size_t limit) override;
  Result<std::vector<StateCount>> counts(std::string_view tenant) override;
  Result<std::int64_t> count_of(JobState state) override;
  Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override;
  Result<ScheduleRow> kept_schedule(std::string_view tenant, std::string_view name) override;
  Result<std::vector<ScheduleRow>> schedules(std::string_view tenant, std::string_view after,
                                             std::size_t limit) override;
  Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) override;
  Result<SubjectPage> subjects(const SubjectFilter& filter, const std::optional<SubjectMark>& after,
                               std::size_t limit) override;
  Result<std::vector<OutcomeRow>> outcomes(const OutcomeQuery& query) override;
  Result<OutcomePage> outcome_page(const OutcomeQuery& query, const std::optional<OutcomeMark>& after) override;
  Result<std::vector<OutcomeRow>> last_outcomes(ScheduleId schedule, std::string_view subject,
                                                std::size_t limit) override;
  Result<std::vector<OutcomeRow>> gaps(ScheduleId schedule, std::string_view subject, std::size_t limit) override;
  Result<std::vector<OutcomeCount>> outcome_counts(ScheduleId schedule, std::int64_t day) override;
  Result<Document> document(const DocumentKey& key) override;
  Result<std::vector<Document>> documents(std::string_view tenant, std::string_view kind, std::string_view after,
                                          std::size_t limit) override;
  Result<std::vector<AuditRow>> audit(std::string_view tenant, std::int64_t before, std::size_t limit) override;

 private:
  struct Session;

  // Runs `question` on a session of its own, inside of one read transaction, so that all it sees is of one moment.
  template <typename Question>
  auto read(Question question) -> std::invoke_result_t<Question, Session&>;
  Result<std::unique_ptr<Session>> take_session();
  void give_back(std::unique_ptr<Session> session);

  const Connection::Options options_;
  const StoreClock& clock_;

  std::mutex mutex_;
  std::condition_variable changed_;  // any of the following
  std::vector<std::unique_ptr<Session>> idle_;
  std::size_t open_ = 0;
  bool paused_ = false;
};

}  // namespace carillon
