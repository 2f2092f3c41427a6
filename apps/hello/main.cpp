// The smallest program that uses the library. Reminds of one event and ends; run again, it finds that this was done.
#include <carillon/carillon.h>

#include <csignal>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  std::cout << "carillon " << carillon::version() << std::endl;
  auto store = carillon::open_store("sqlite:hello.db");
  if (!store) {
    std::cerr << "hello: " << store.error().message << std::endl;  // another process has it, say
    return 1;
  }
  carillon::Engine engine{**store, {.max_concurrency = 8}};

  engine.handle("reminder.send", [](carillon::JobContext& ctx) -> carillon::Outcome {
    const std::string event = ctx.payload().at("event").as_string("nothing");
    // Of this job: the next one of the same event reminds again.
    ctx.once("reminder:" + carillon::format_job_id(ctx.job().id),
             [&] { std::cout << "reminder: " << event << std::endl; });
    std::raise(SIGTERM);  // enough for an example; a real one runs on
    return carillon::done();
  });

  carillon::Client& client = engine.client();
  client
      .schedule_recurring({.name = "standup",
                           .type = "reminder.send",
                           .rrule = "FREQ=WEEKLY;BYDAY=MO",
                           .payload = R"({"event": "standup"})"})
      .value();
  const auto job = client.schedule_once({.type = "reminder.send",
                                         .payload = R"({"event": "tea"})",
                                         .run_at = carillon::in(100ms),
                                         .idempotency_key = "event-1"});
  if (job.value().deduplicated) {
    std::cout << "event-1 is " << to_string(job->state) << " already" << std::endl;
    return 0;
  }
  engine.run();  // until SIGTERM or Ctrl-C; run_in_background() and stop() for hosts with their own loop
}
