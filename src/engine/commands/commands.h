// How anything above the engine changes what is kept: it makes a command, a plain value that owns its data, and gives
// it here.
//
//   engine.submit(command::ActOnJob{.tenant = "acme", .id = id, .action = JobAction::cancel, .by = actor},
//                 [](Result<JobState> state) { ... });
//   const Result<JobState> state = engine.ask(command::ActOnJob{...});
//
// Each family of commands is one header of this folder: its values, what each answers, and `carry_out`, which says what
// one does inside of a round. An answer holds once it is there: it was committed. Any thread.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "engine/commands/call.h"

namespace carillon {

class Node;

template <typename Command, typename Done>
class CommandCall final : public Call::Body {
 public:
  using Answer = Command::Answer;

  CommandCall(Node& node, Command command, Done done)
      : node_(node), command_(std::move(command)), done_(std::move(done)) {}

  void run(Round& round) override { answer_ = carry_out(command_, node_, round); }
  void finish(const Result<void>& committed) override {
    Result<Answer> answer = committed ? std::move(answer_) : Result<Answer>(std::unexpected(committed.error()));
    if constexpr (std::is_invocable_v<Done&, Result<Answer>, Command>) {
      done_(std::move(answer), std::move(command_));
    } else {
      done_(std::move(answer));
    }
  }

 private:
  Node& node_;
  Command command_;
  Done done_;
  Result<Answer> answer_ = not_reached();
};

class Commands {
 public:
  explicit Commands(Node& node) : node_(node) {}

  // Does not wait. `done` is called once, on the driver's thread, with the answer or with why there is none, and with
  // the command if it wants that back; it must be quick. From the driver's own thread: for the next round.
  template <typename Command, typename Done>
  void submit(Command command, Done done) {
    send(call_of(std::move(command), std::move(done)));
  }
  // Waits for the commit. From the driver's own thread it is done on the spot.
  template <typename Command>
  Result<typename Command::Answer> ask(Command command) {
    return ask(std::move(command), [](const Result<typename Command::Answer>&) {});
  }
  // The same; before the caller goes on `committed` sees the answer, on the driver's thread: memory that has to follow
  // the commits in their order.
  template <typename Command, typename Committed>
  Result<typename Command::Answer> ask(Command command, Committed committed) {
    using Answer = Command::Answer;
    std::promise<Result<Answer>> promise;
    std::future<Result<Answer>> future = promise.get_future();
    perform(call_of(std::move(command),
                    [promise = std::move(promise), committed = std::move(committed)](Result<Answer> answer) mutable {
                      committed(std::as_const(answer));
                      promise.set_value(std::move(answer));
                    }));
    return future.get();
  }
  // Nothing: no answer in time. The command may then still be carried out.
  template <typename Command>
  std::optional<Result<typename Command::Answer>> ask_within(Command command, std::chrono::milliseconds patience) {
    using Answer = Command::Answer;
    std::promise<Result<Answer>> promise;
    std::future<Result<Answer>> future = promise.get_future();
    submit(std::move(command),
           [promise = std::move(promise)](Result<Answer> answer) mutable { promise.set_value(std::move(answer)); });
    if (future.wait_for(patience) != std::future_status::ready) return std::nullopt;
    return future.get();
  }

 private:
  template <typename Command, typename Done>
  Call call_of(Command command, Done done) {
    return Call(std::make_unique<CommandCall<Command, Done>>(node_, std::move(command), std::move(done)));
  }
  void send(Call call);
  void perform(Call call);

  Node& node_;
};

}  // namespace carillon
