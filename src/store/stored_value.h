// A value as a row keeps it: a text that is read when somebody asks what it says. Most rows have none, and of most that
// have one nobody asks.
//
//   TRY_ASSIGN(const JobOptions options, job.options.read());
//
// Whoever stands above the store asks for the value. Only use cases and backends see its text.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/error.h"
#include "core/jobs/job.h"
#include "store/job_detail.h"

namespace carillon {

template <typename Value>
class Stored {
 public:
  Stored() = default;
  explicit Stored(std::string text) : text_(std::move(text)) {}
  static Stored of(const Value& value);

  // Everything is at its default.
  bool empty() const { return text_.empty(); }
  std::size_t bytes() const { return text_.size(); }
  // Errors: database_error, if it cannot be read.
  Result<Value> read() const;
  const std::string& text() const { return text_; }

  // Whether they are written alike: then they say the same.
  friend bool operator==(const Stored&, const Stored&) = default;

 private:
  std::string text_;
};

using StoredOptions = Stored<JobOptions>;
using StoredDetail = Stored<JobDetail>;

template <>
StoredOptions StoredOptions::of(const JobOptions& options);
template <>
Result<JobOptions> StoredOptions::read() const;
template <>
StoredDetail StoredDetail::of(const JobDetail& detail);
template <>
Result<JobDetail> StoredDetail::read() const;

}  // namespace carillon
