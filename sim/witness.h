// What was written, transaction by transaction: a backend around another one that reports every row as it changes.
//
// The judge sees a transaction only when its fate is known; what was taken back to a savepoint is not in it. Faults of
// commits are decided here too, so that the truth of a commit whose answer is lost is known to one side.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "store/backend.h"

namespace carillon::sim {

struct JobInserted {
  JobRow row;
  std::string payload;
  Lane lane;
  std::string type;
};
struct JobUpdated {
  JobRow after;
};
struct JobArchived {
  ArchiveRow row;
};
struct ArchivedErased {
  JobId job;
};
struct AttemptInserted {
  AttemptRow row;
};
struct LeaseInserted {
  LeaseRow row;
};
struct LeaseUpdated {
  LeaseRow row;
};
struct LeaseErased {
  JobId job;
};
struct OutcomePut {
  OutcomeRow row;
};
struct OutcomeErased {
  OutcomeKey key;
};
struct SubjectPut {
  SubjectRow row;
};
struct SubjectErased {
  SubjectKey key;
};
struct SchedulePut {
  ScheduleRow row;
};
struct ScheduleErased {
  ScheduleId id;
};
struct KeyPut {
  KeyRow row;
};
struct KeyErased {
  KeyRow row;
};
struct DependencyInserted {
  JobId parent;
  JobId child;
};
struct DependencyErased {
  JobId parent;
  JobId child;
};
struct DocumentPut {
  Document document;
};
struct DocumentErased {
  DocumentKey key;
};

using Op =
    std::variant<JobInserted, JobUpdated, JobArchived, ArchivedErased, AttemptInserted, LeaseInserted, LeaseUpdated,
                 LeaseErased, OutcomePut, OutcomeErased, SubjectPut, SubjectErased, SchedulePut, ScheduleErased, KeyPut,
                 KeyErased, DependencyInserted, DependencyErased, DocumentPut, DocumentErased>;

enum class CommitFate : std::uint8_t {
  good,         // stored and answered
  refused,      // nothing stored
  full,         // nothing stored, for want of space
  answer_lost,  // stored, answered as failed
};

class Witness {
 public:
  Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  virtual ~Witness() = default;

  // Asked before each commit.
  virtual CommitFate fate(const std::vector<Op>& ops) = 0;
  virtual void committed(const std::vector<Op>& ops, bool answered) = 0;
  virtual void undone(const std::vector<Op>& ops) = 0;
  // The backend itself failed: only reading again tells what is stored.
  virtual void unknown(const std::vector<Op>& ops, const Error& error) = 0;
  virtual JobId highest_id() = 0;
};

// Both must outlive it: the inner one outlives crashes.
std::unique_ptr<Backend> make_witnessed(Backend& inner, Witness& witness);
std::unique_ptr<Backend> make_witnessed(std::unique_ptr<Backend> inner, Witness& witness);

}  // namespace carillon::sim
