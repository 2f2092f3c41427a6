// A mail a day for each user, with everything around it that a service has: settings by name, a log, metrics,
// objectives.
//
//   daily SMTP_URL [SETTINGS.toml]
//
// For an example it triggers the delivery of one user at once, prints what came of it, and ends.
#include <carillon/carillon.h>
#include <carillon/mail.h>
#include <carillon/metrics.h>
#include <carillon/observer.h>
#include <carillon/settings.h>

#include <future>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "daily SMTP_URL [SETTINGS.toml]\n";
    return 2;
  }
  const auto settings = carillon::load_settings({.file = argc > 2 ? argv[2] : ""});
  const auto mails = carillon::MailSender::open({.smtp = argv[1], .from = "Daily <daily@example.com>"});
  if (!settings || !mails) {
    std::cerr << (settings ? mails.error() : settings.error()).message << '\n';
    return 1;
  }

  const auto store = carillon::open_store("sqlite:daily.db").value();
  carillon::Engine engine{*store, settings->engine};
  carillon::Log log(settings->log);
  carillon::Metrics metrics;
  std::promise<std::string> ended;
  engine.on_event([&](const carillon::Event& event) {
    metrics.hear(event);
    if (const auto* const stop = std::get_if<carillon::JobStopped>(&event.body)) {
      ended.set_value(std::string(to_string(stop->result)) +
                      (stop->error_class.empty() ? "" : " " + stop->error_class));
    }
  });
  carillon::Observer observer(
      engine,
      {.slo = settings->slo, .log = &log, .on_turn = [&](const carillon::SloTurn& turn) { metrics.hear(turn); }});

  engine.handle("advice", [&](carillon::JobContext& ctx) {
    const std::string to = ctx.payload().at("to").as_string();
    return mails->send(ctx, {.to = {to}, .subject = "Your day", .html = "<p>Drink water.</p>"});
  });
  carillon::Client& client = engine.client();
  client
      .put_schedule("default",
                    R"({"name":"daily","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"advice"}})")
      .value();
  client.put_subject("default", "daily", "ada", R"({"payload":{"to":"ada@example.com"}})").value();

  engine.run_in_background();
  client.trigger("default", "daily", {.subject = "ada"}).value();
  auto result = ended.get_future();
  const bool in_time = result.wait_for(30s) == std::future_status::ready;
  engine.stop();
  std::cout << "advice: " << (in_time ? result.get() : "no word") << std::endl;
  observer.look_now();
  std::cout << (metrics.text().contains("carillon_jobs_picked_total 1") ? "picked 1" : "metrics disagree") << std::endl;
}
