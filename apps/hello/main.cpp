// The smallest program that uses the library: it reads a payload as a handler would, and names a job.
#include <carillon/job_id.h>
#include <carillon/json.h>
#include <carillon/version.h>

#include <iostream>

int main() {
  const auto payload = carillon::JsonValue::parse(R"({"event": {"title": "standup", "minutes": 15}})");
  if (!payload) {
    std::cerr << "hello: " << payload.error().message << '\n';
    return 1;
  }
  const carillon::JsonValue event = payload->at("event");
  const carillon::JobId job{1};

  std::cout << "carillon " << carillon::version() << '\n'
            << event.at("title").as_string("nothing") << ", " << event.at("minutes").as_int() << " minutes\n"
            << "job " << carillon::format_job_id(job) << '\n';
  return carillon::parse_job_id(carillon::format_job_id(job)) == job ? 0 : 1;
}
