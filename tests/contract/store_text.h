// Answers of a store, and all that can be read from it, as text: so that two stores can be compared whatever numbers
// they chose inside, and a difference can be read.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace carillon::test {

std::string text_of(Store& store, const ReadyJob& job);
std::string text_of(Store& store, const Enqueued& answer);
std::string text_of(Store& store, const LeasedJob& job);
std::string text_of(Store& store, const Claimed& claimed);
std::string text_of(Store& store, const Extended& answer);
std::string text_of(Store& store, const Settled& answer);
std::string text_of(Store& store, const Reaped& answer);
std::string text_of(Store& store, const Changed& answer);
std::string text_of(Store& store, const Advanced& answer);
std::string text_of(Store& store, const SubjectRow& row);
std::string text_of(Store& store, const PutSubject& put);

// One line each, in an order that says nothing.
template <typename T>
std::string text_of(Store& store, const std::vector<T>& answers) {
  std::vector<std::string> lines;
  for (const T& answer : answers) lines.push_back(text_of(store, answer));
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

template <typename T>
std::string text_of(Store& store, const Result<T>& answer) {
  return answer ? text_of(store, *answer) : "error " + std::string(to_string(answer.error().code));
}

// Everything of these tenants and schedules, page by page.
std::string everything(Store& store, const std::vector<std::string>& tenants);

}  // namespace carillon::test
