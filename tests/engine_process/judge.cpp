#include "engine_process/judge.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace carillon::test {

namespace {

class Judge {
 public:
  Judge(const ListedJobs& found, std::chrono::milliseconds again_within) : found_(found), again_within_(again_within) {
    for (const auto& [number, job] : found) numbers_[job.id] = number;
  }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  ~Judge() = default;

  Judgement of(const std::vector<Line>& lines) {
    for (const Line& line : lines) read(line);
    for (const auto& [number, job] : found_) {
      if (job.state == "done" && !ended_.contains(number)) say("WRONG", number, "is done, and never ran to its end");
    }
    return result_;
  }

 private:
  void say(const std::string& kind, long number, const std::string& what) {
    result_.violations.push_back(kind + ": job " + std::to_string(number) + " " + what);
  }

  void read(const Line& line) {
    if (line.what == "up") up_[line.process] = line.at_ms;
    if (line.what == "acked") acknowledged(line.number);
    if (line.what == "start") started(line);
    if (line.what == "end") ended_.insert(line.number);
    if (line.what == "settled") {
      if (const auto number = numbers_.find(line.number); number != numbers_.end()) settled_.insert(number->second);
    }
  }

  void acknowledged(long number) {
    ++result_.acknowledged;
    const auto job = found_.find(number);
    if (job == found_.end()) return say("LOST", number, "was acknowledged and is not there");
    if (job->second.state != "done") say("LOST", number, "was acknowledged and is " + job->second.state);
  }

  void started(const Line& line) {
    ++result_.runs;
    if (settled_.contains(line.number)) say("WRONG", line.number, "ran after it was done");
    const auto [last, first_time] = last_process_.try_emplace(line.number, line.process);
    if (first_time) return;
    ++result_.repeated;
    if (last->second == line.process) say("WRONG", line.number, "ran twice in one process");
    last->second = line.process;
    // The engine may start a job before its program has said that it is up.
    const auto up = up_.find(line.process);
    const std::chrono::milliseconds after(up == up_.end() ? 0 : line.at_ms - up->second);
    result_.slowest = std::max(result_.slowest, after);
    if (after > again_within_) say("LATE", line.number, "ran again after " + std::to_string(after.count()) + " ms");
  }

  const ListedJobs& found_;
  const std::chrono::milliseconds again_within_;
  std::map<long, long> numbers_;       // by id
  std::map<long, long> up_;            // by process: when
  std::map<long, long> last_process_;  // by number
  std::set<long> ended_;
  std::set<long> settled_;
  Judgement result_;
};

}  // namespace

ListedJobs read_listed(const std::string& text) {
  ListedJobs jobs;
  std::istringstream in(text);
  long number = 0;
  ListedJob job;
  while (in >> number >> job.state >> job.attempts >> job.id) jobs[number] = job;
  return jobs;
}

Judgement judge(const std::vector<Line>& lines, const ListedJobs& found, std::chrono::milliseconds again_within) {
  return Judge(found, again_within).of(lines);
}

}  // namespace carillon::test
