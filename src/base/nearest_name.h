// Which of the names that there are somebody may have meant who wrote another one.
//
//   fmt::format("unknown kind {}{}", quoted(kind), did_you_mean(kind, kKinds));   // … "dayly" (did you mean daily?)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon {

// Looks at one after the other, and keeps the one that takes the fewest changes of a letter; capitals are no change.
// What takes too many is none: a third of the letters, or two of a short name, but never all of them.
class NearestName {
 public:
  explicit NearestName(std::string_view written);
  void look_at(std::string_view known);
  const std::string& found() const { return found_; }  // "": none is near

 private:
  std::string_view written_;
  std::size_t distance_max_ = 0;  // what a better one stays below
  std::string found_;
};

template <typename Names>
std::string nearest_name(std::string_view written, const Names& known) {
  NearestName nearest(written);
  for (const auto& name : known) nearest.look_at(name);
  return nearest.found();
}

// " (did you mean NAME?)", or nothing.
std::string did_you_mean(const std::string& name);

template <typename Names>
std::string did_you_mean(std::string_view written, const Names& known) {
  return did_you_mean(nearest_name(written, known));
}

}  // namespace carillon
