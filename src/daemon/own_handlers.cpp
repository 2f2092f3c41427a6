#include "daemon/own_handlers.h"

#include <carillon/mail.h>
#include <fmt/format.h>

#include <utility>

#include "server/handlers/exec_handler.h"

namespace carillon::daemon {

namespace {

using server::ExecConfig;

ExecConfig exec_config(const ExecDefinition& exec) {
  ExecConfig config{.argv = exec.argv,
                    .timeout = exec.timeout,
                    .user = exec.user.value_or(""),
                    .allow_root = exec.allow_root,
                    .cpu_seconds_max = exec.cpu_seconds_max};
  if (exec.cwd) config.cwd = *exec.cwd;
  if (exec.memory_mb_max) config.memory_bytes_max = *exec.memory_mb_max << 20U;
  if (exec.file_mb_max) config.file_bytes_max = *exec.file_mb_max << 20U;
  if (exec.open_files_max) config.open_files_max = *exec.open_files_max;
  if (exec.processes_max) config.processes_max = *exec.processes_max;
  return config;
}

Result<Handler> email_handler(const EmailDefinition& email) {
  MailServer server{.smtp = email.smtp,
                    .starttls = email.starttls,
                    .user = email.username.value_or(""),
                    .password_file = email.password_file.value_or(""),
                    .ca_file = {},
                    .from = email.from};
  if (email.timeout) server.timeout = *email.timeout;
  TRY_ASSIGN(const MailSender sender, MailSender::open(server));
  return sender.handler({.to = email.to,
                         .cc = email.cc.value_or(""),
                         .subject = email.subject,
                         .text = email.text,
                         .html = email.html.value_or(""),
                         .attachments = email.attachments.value_or(""),
                         .to_list = email.to_list,
                         .cc_list = email.cc_list});
}

}  // namespace

Result<Handler> handler_of(const HandlerDefinition& definition) {
  const auto* const exec = std::get_if<ExecDefinition>(&definition.work);
  Result<Handler> made = exec != nullptr ? server::make_exec_handler(exec_config(*exec))
                                         : email_handler(std::get<EmailDefinition>(definition.work));
  if (made) return made;
  return std::unexpected(
      with_context(fmt::format("handlers.{}", carillon::quoted(definition.type)), std::move(made).error()));
}

std::vector<std::string> wrong_handlers(const ServerConfig& config) {
  std::vector<std::string> wrong;
  for (const HandlerDefinition& definition : config.handlers) {
    if (const auto made = handler_of(definition); !made) wrong.push_back(made.error().message);
  }
  return wrong;
}

const std::vector<std::string>& limits_of(const HandlerDefinition& definition) {
  return std::visit([](const auto& work) -> const std::vector<std::string>& { return work.limits; }, definition.work);
}

}  // namespace carillon::daemon
