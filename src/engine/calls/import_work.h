// An import of more lines than one round should take: all of them or none, and no round takes long.
//
// Its lines are stored as documents, a part a round. When all of them are there its head says so: from then on the
// import happens, whatever else does. Then part after part becomes subjects, and the documents go. After a restart one
// whose head says so goes on, and any other is dropped. While there is a head, its schedule is neither edited nor
// deleted, so that what was checked stays true.
//
// Who asked for it drives it, a call a part. One that nobody has driven for a while is carried on, or dropped, here.
//
// Every method that takes a Round is called inside of its transaction.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/calls/import_lines.h"
#include "engine/planning/planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class ImportWork {
 public:
  struct Name {
    std::string tenant;
    std::string schedule;
    friend auto operator<=>(const Name&, const Name&) = default;
  };

  ImportWork(Store& store, Planner& planner) : store_(store), planner_(planner) {}
  ImportWork(const ImportWork&) = delete;
  ImportWork& operator=(const ImportWork&) = delete;
  ~ImportWork() = default;

  // `conflict` if one of this schedule is under way.
  Result<void> begin(Round& round, const Name& name);
  // Checks and stores a part: an error says in `line` which one it is about.
  Result<void> add_part(Round& round, const Name& name, std::span<const ImportLine> lines);
  Result<void> accept(Round& round, const Name& name);
  struct Stepped {
    ImportedSubjects counts;
    bool end = false;
  };
  // The next part of one that was accepted.
  Result<Stepped> step(Round& round, const Name& name);
  // It is not to be, unless it was accepted.
  void give_up(Round& round, const Name& name);

  // One that was under way when the engine ended.
  void resume(const Document& head, BootTime now);
  // When one that nobody drives is to be looked after; nothing if there is none.
  std::optional<BootTime> next_at() const;
  Result<void> look_after(Round& round);

 private:
  struct Head {
    bool accepted = false;
    std::size_t parts = 0;
    std::size_t next = 0;  // those before it are subjects by now
  };
  Result<Head> head_of(const Name& name) const;
  Result<void> put(const Name& name, const Head& head);
  Result<void> end(Round& round, const Name& name);
  Result<void> drop_parts(Round& round, const Name& name, Head head);
  void look_again(Round& round, const Name& name, BootTime at);

  Store& store_;
  Planner& planner_;
  std::map<Name, BootTime> works_;  // and when to look after each
};

}  // namespace carillon
