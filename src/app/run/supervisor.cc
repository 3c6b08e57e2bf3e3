// SPDX-License-Identifier: Apache-2.0
#include "app/run/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "app/client/agent_token.h"
#include "app/mcp/hook.h"
#include "app/run/child.h"
#include "app/run/lease_keeper.h"
#include "app/text/compose.h"
#include "app/text/terminal.h"
#include "base/text.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using base::Duration;
using lib::Json;

// How long one request waits for mail: short enough that no proxy in between closes the connection.
constexpr Duration poll_max = base::seconds(30);
// The pause between two tries while the broker is away. It doubles up to the maximum.
constexpr Duration absence_first = base::milliseconds(200);
constexpr Duration absence_max = base::seconds(5);
// How often a supervisor that stands by asks for the lock.
constexpr Duration standby_pause = base::seconds(5);
// How long the last requests may take when the supervisor was told to stop.
constexpr Duration shutdown_timeout = base::seconds(5);
constexpr Duration retry_after_max = base::minutes(10);
constexpr size_t failing_max = 1'000;  // messages whose failures in a row are remembered
constexpr size_t reason_bytes_max = 1'000;
constexpr int exit_rejects = 65;  // EX_DATAERR of sysexits.h

Duration duration_of(const std::string& text) {
  return base::parse_duration(text).value_or(Duration{});
}

void say(const std::string& text) {
  std::fprintf(stderr, "parley run: %s\n", printable(text).c_str());
}

Failure wrong_token(const std::string& detail) {
  return {"UNAUTHORIZED", detail,
          "Give the agent's own with PARLEY_TOKEN or --token @FILE, or keep it with `parley agent "
          "keep`."};
}

// SIGTERM, SIGINT and SIGHUP as a descriptor, which can be waited for beside a socket or a process.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&wanted, signal);
    }
    pthread_sigmask(SIG_BLOCK, &wanted, nullptr);  // before any thread starts: all inherit it
    ::signal(SIGPIPE, SIG_IGN);
    fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() { ::close(fd_); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }
  // Notes a signal that came. True from then on.
  bool came() {
    signalfd_siginfo info{};
    came_ = ::read(fd_, &info, sizeof info) == sizeof info || came_;
    return came_;
  }
  // Waits. False, and at once, when a signal came meanwhile.
  bool pause(Duration duration) {
    pollfd wanted{fd_, POLLIN, 0};
    ::poll(&wanted, 1, static_cast<int>(duration.us / 1'000));
    return !came();
  }

 private:
  int fd_ = -1;
  bool came_ = false;
};

// A message in a file that only this user can read. The file is removed with this object.
class MessageFile {
 public:
  static std::expected<MessageFile, std::string> write(const std::string& text) {
    MessageFile file;
    std::error_code error;
    file.path_ = (std::filesystem::temp_directory_path(error) / "parley-XXXXXX").string();
    const int fd = ::mkstemp(file.path_.data());  // mode 0600
    if (fd < 0) {
      file.path_.clear();
      return std::unexpected(std::string("cannot make a file for the message: ") +
                             std::strerror(errno));
    }
    ::close(fd);
    std::ofstream out(file.path_, std::ios::binary);
    out << text;
    if (!out.flush()) {
      return std::unexpected("cannot write the message to " + file.path_);
    }
    return file;
  }
  MessageFile() = default;
  MessageFile(MessageFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MessageFile& operator=(MessageFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~MessageFile() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What the inbox says about a message.
struct Notification {
  std::string id;
  std::string from;
  std::string type;
  std::string priority;
  std::string thread;
};

std::optional<Notification> first_notification(const std::string& inbox) {
  lib::JsonDocument document;
  const auto json = document.parse(inbox);
  const Json notes = json ? json->find("notifications") : Json();
  for (const Json notification : notes.elements()) {
    return Notification{text_of(notification, "id"), text_of(notification, "from"),
                        text_of(notification, "type"), text_of(notification, "priority"),
                        text_of(notification, "thread")};
  }
  return std::nullopt;
}

std::string reason_body(const std::string& reason, Duration retry_after, bool failed = true) {
  std::string body;
  lib::JsonWriter out(body);
  out.object().key("reason").text(base::cut(reason, reason_bytes_max));
  if (retry_after.us > 0) {
    out.key("retry_after").text(base::format_duration(retry_after));
  }
  if (!failed) {
    out.key("failed").boolean(false);
  }
  out.end_object();
  return body;
}

// Someone settled the message before, or gave it back: the command itself, most of the time.
bool was_settled_before(const BrokerConnection::Answer& answer) {
  const std::string& code = answer.failure.code;
  return code == "ALREADY_SETTLED" || code == "NOT_DELIVERED" || code == "NOT_FOUND";
}

// What became of a message that the broker was to mark as `done`.
std::string outcome_text(const BrokerConnection::Answer& answer, const std::string& done) {
  return answer.is_good()             ? done
         : was_settled_before(answer) ? "was settled before"
                                      : "could not be " + done + ": " + answer.failure.detail;
}

// Waits for mail, runs the command for it, and settles the message: one message at a time.
class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options)
      : options_(options), connection_(options.client, signals_.fd()) {}

  int run();

 private:
  enum class Next : uint8_t { look, go_on, done, failed };
  static bool goes_on(Next next);

  bool take_lock();
  std::optional<Failure> on_lock_refused(const BrokerConnection::Answer& answer);
  std::optional<Notification> await_mail();
  std::optional<ReadMail> take(const Notification& notification);
  Next handle(const Notification& notification);
  Next start(const Notification& notification, const ReadMail& mail);
  Next conclude(const Notification& notification, ChildResult result);
  // Both nack the message. `return_failed` counts an attempt, and the message comes again after a
  // pause; `return_unfailed` is for what the command did not fail at, and counts none.
  Next return_failed(const Notification& notification, const std::string& why);
  void return_unfailed(const Notification& notification, const std::string& why);
  bool is_ours();
  std::optional<std::string> send_answer(const Notification& notification,
                                         const std::string& output);
  BrokerConnection::Answer settle(const std::string& id, const std::string& act,
                                  const std::string& body);
  BrokerConnection::Answer persist(const HttpCall& call);
  void wait_for_broker(const Failure& failure);
  void leave();

  const SupervisorOptions& options_;
  Signals signals_;  // made before any thread starts
  BrokerConnection connection_;
  std::optional<LeaseKeeper> lease_keeper_;
  Duration absence_ = absence_first;
  bool said_ = false;  // the user knows that the broker is away, or that another supervisor works
  Failure fatal_;      // why the supervisor cannot go on
  std::map<std::string, unsigned> failing_;  // messages, and how often they failed in a row
};

int Supervisor::run() {
  if (!can_run(options_.command.front())) {
    return complain({"", "there is no program \"" + options_.command.front() + "\" to run",
                     "Name one that is on PATH, or a path; there is no shell in between."});
  }
  Next next = Next::look;
  while (goes_on(next) && !signals_.came()) {
    if ((!lease_keeper_ || lease_keeper_->is_lost()) && !take_lock()) {
      break;
    }
    if (const auto notification = await_mail()) {
      next = handle(*notification);
      next = options_.once && next == Next::go_on ? Next::done : next;
    } else if (!fatal_.detail.empty()) {
      break;
    }
  }
  leave();
  if (!fatal_.detail.empty()) {
    return complain(fatal_);
  }
  // To be stopped is no failure; but with --once, 0 says that a message was acknowledged.
  return next == Next::failed || (options_.once && next != Next::done) ? 1 : 0;
}

bool Supervisor::goes_on(Next next) {
  switch (next) {
    case Next::look:
    case Next::go_on:
      return true;
    case Next::done:
    case Next::failed:
      break;
  }
  return false;
}

// Tells the user once that the broker is away, and waits a little longer each time.
void Supervisor::wait_for_broker(const Failure& failure) {
  if (signals_.came()) {
    return;
  }
  if (!said_) {
    say(failure.detail + "; trying again");
    said_ = true;
  }
  (void)signals_.pause(absence_);
  absence_ = std::min(Duration{absence_.us * 2}, absence_max);
}

// Waits if the lock may be had later. Returns a failure when there is no use in waiting.
std::optional<Failure> Supervisor::on_lock_refused(const BrokerConnection::Answer& answer) {
  if (answer.is_passing()) {
    wait_for_broker(answer.failure);
    return std::nullopt;
  }
  if (answer.failure.code == "FORBIDDEN") {  // only the agent itself takes the lock
    return wrong_token("the token is not that of \"" + options_.agent +
                       "\": " + answer.failure.detail);
  }
  const bool held = answer.failure.code == "LOCK_HELD";
  if (!held && answer.failure.code != "LOCK_ORDER") {
    return answer.failure;
  }
  const std::string what = held
                               ? "another `parley run` works for " + options_.agent
                               : options_.agent + " holds a lock that comes after the supervisor's";
  if (options_.no_wait) {
    return Failure{answer.failure.code, what + ": " + answer.failure.detail,
                   "Stop the other, or leave --no-wait out to take over when it ends."};
  }
  if (!said_) {
    say(what + "; standing by (" + answer.failure.detail + ")");
    said_ = true;
  }
  (void)signals_.pause(standby_pause);
  return std::nullopt;
}

bool Supervisor::take_lock() {
  lease_keeper_.reset();
  const std::string path = "/v1/locks/" + encoded(LeaseKeeper::lock_of(options_.agent));
  while (!signals_.came()) {
    const BrokerConnection::Answer answer = connection_.call({"PUT", path, lock_request(0), {}});
    if (!answer.is_good()) {
      if (const auto failure = on_lock_refused(answer)) {
        fatal_ = *failure;
        return false;
      }
      continue;
    }
    lib::JsonDocument document;
    const auto json = document.parse(answer.body);
    const std::string owner = json ? text_of(*json, "owner") : "";
    const uint64_t fence = number_in(answer.body, "fence");
    if (owner != options_.agent) {
      (void)connection_.call({"DELETE", path + "?fence=" + std::to_string(fence)});
      fatal_ = wrong_token("the token is that of \"" + owner + "\", not of \"" +
                           options_.agent + "\"");
      return false;
    }
    absence_ = absence_first;
    said_ = false;
    lease_keeper_.emplace(options_.client, options_.agent, fence);
    say("waiting for mail for " + options_.agent);
    return true;
  }
  return false;
}

std::optional<Notification> Supervisor::await_mail() {
  HttpCall call{"GET", "/v1/inbox?limit=1&wait=" + base::format_duration(poll_max)};
  call.patience.us += poll_max.us;
  const BrokerConnection::Answer answer = connection_.call(call);
  if (answer.is_good()) {
    if (said_) {
      say("the broker is back");
      said_ = false;
    }
    absence_ = absence_first;
    return first_notification(answer.body);
  }
  if (answer.is_passing()) {
    wait_for_broker(answer.failure);
  } else {
    fatal_ = answer.failure;
  }
  return std::nullopt;
}

// Repeats the call until there is an answer; after a signal, for `shutdown_timeout` only.
BrokerConnection::Answer Supervisor::persist(const HttpCall& call) {
  base::SystemClock clock;
  std::optional<base::Time> end;
  while (true) {
    HttpCall bounded = call;
    if (signals_.came()) {
      end = end.value_or(clock.now() + shutdown_timeout);
      bounded.patience = shutdown_timeout;
    }
    BrokerConnection::Answer answer = connection_.call(bounded);
    if (!answer.is_passing() || (end && clock.now() >= *end)) {
      absence_ = absence_first;
      return answer;
    }
    if (end) {
      (void)signals_.pause(absence_first);
    } else {
      wait_for_broker(answer.failure);
    }
  }
}

// Returns the message, on which we have a lease from here on; none when it cannot be had any more.
std::optional<ReadMail> Supervisor::take(const Notification& notification) {
  // If this process slept, another may have the lock by now: ask before the command starts.
  const std::string lock = "/v1/locks/" + encoded(LeaseKeeper::lock_of(options_.agent));
  const BrokerConnection::Answer alone =
      connection_.call({"PUT", lock, lock_request(lease_keeper_->fence()), {}});
  if (!alone.is_good()) {
    if (!alone.is_passing()) {
      lease_keeper_.reset();
    }
    return std::nullopt;
  }
  const std::string path = "/v1/messages/" + encoded(notification.id);
  BrokerConnection::Answer message = connection_.call({"GET", path});
  if (message.is_passing()) {
    // The message may be ours although the answer was lost: without this, nobody would get it until
    // its lease ends.
    return_unfailed(notification, "not begun");
    return std::nullopt;
  }
  if (!message.is_good()) {
    return std::nullopt;
  }
  // A message that was settled meanwhile can still be read, but there is no lease on it.
  for (Duration lease = LeaseKeeper::message_lease; lease > base::milliseconds(10); lease.us /= 2) {
    const BrokerConnection::Answer held =
        connection_.call({"POST", path + "/extend", lease_request(lease), {}});
    if (held.is_good()) {
      lease_keeper_->hold(notification.id, lease);
      return ReadMail{std::move(message.body), std::move(message.provenance)};
    }
    if (held.is_passing()) {
      return_unfailed(notification, "not begun");
      return std::nullopt;
    }
    if (held.failure.code != "BAD_REQUEST") {  // which says that the rules allow less
      return std::nullopt;
    }
  }
  return std::nullopt;
}

void Supervisor::return_unfailed(const Notification& notification, const std::string& why) {
  if (lease_keeper_) {
    lease_keeper_->drop();
  }
  const bool done = settle(notification.id, "nack", reason_body(why, {}, false)).is_good();
  say(notification.id + " from " + notification.from + ": " +
      (done ? "gave back: " : "could not give back: ") + why.substr(0, why.find('\n')));
}

// False when another supervisor took over, because this process slept, or the broker was away, for
// longer than the lock's lease: then the other one settles the message.
bool Supervisor::is_ours() {
  base::SystemClock clock;
  std::optional<base::Time> end;
  while (lease_keeper_->is_doubtful() && (!end || clock.now() < *end)) {
    if (!signals_.pause(absence_first)) {
      end = end.value_or(clock.now() + shutdown_timeout);
    }
  }
  return !lease_keeper_->is_lost();
}

Supervisor::Next Supervisor::handle(const Notification& notification) {
  const auto mail = take(notification);
  if (!mail) {
    (void)signals_.pause(absence_first);
    return Next::look;
  }
  return start(notification, *mail);
}

Supervisor::Next Supervisor::start(const Notification& notification, const ReadMail& mail) {
  const std::string input =
      options_.prompt ? mail_prompt(mail, notification.from, options_.agent, options_.reply)
                      : mail.message;
  // A token that is kept in a file stays out of the environment.
  const bool is_kept = options_.client.token.starts_with(agent_token_prefix);
  ChildCommand command{
      .arguments = options_.command,
      .variables = {{"PARLEY_URL", connection_.address().url},
                    {"PARLEY_TOKEN", is_kept ? options_.client.token : connection_.address().token},
                    {"PARLEY_AGENT", options_.agent},
                    {"PARLEY_MESSAGE_ID", notification.id},
                    {"PARLEY_MESSAGE_FROM", notification.from},
                    {"PARLEY_MESSAGE_THREAD", notification.thread},
                    {"PARLEY_MESSAGE_TYPE", notification.type},
                    {"PARLEY_MESSAGE_PRIORITY", notification.priority}},
      .input = options_.file ? std::string() : input,
      .keep_output = options_.reply,
      .timeout = duration_of(options_.timeout),
      .grace = duration_of(options_.grace)};
  if (!connection_.address().ca.empty()) {
    command.variables.emplace_back("PARLEY_CA", connection_.address().ca);
  }
  MessageFile file;
  if (options_.file) {
    auto written = MessageFile::write(input);
    if (!written) {
      fatal_ = {"", written.error(), "Make room in the directory for temporary files (TMPDIR)."};
      return_unfailed(notification, written.error());
      return Next::failed;
    }
    file = std::move(*written);
    command.file = file.path();
    command.variables.emplace_back("PARLEY_MESSAGE_FILE", file.path());
  }
  const std::array<int, 2> stops = {signals_.fd(), lease_keeper_->lost()};
  auto result = run_child(command, stops);
  if (!result) {
    fatal_ = {"", result.error(), "Name a program that can be run; there is no shell in between."};
    return_unfailed(notification, result.error());
    return Next::failed;
  }
  if (!is_ours()) {
    lease_keeper_->drop();
    say(notification.id + " from " + notification.from +
        ": left to the `parley run` that took over (" +
        std::string(base::cut(result->text(), reason_bytes_max)) + ")");
    return options_.once ? Next::failed : Next::go_on;
  }
  return conclude(notification, std::move(*result));
}

Supervisor::Next Supervisor::conclude(const Notification& notification, ChildResult result) {
  const bool exited = result.why == ChildResult::Why::exited;
  // A service manager signals the command as well as us, and the command may be the first to end.
  const bool failed = !exited || (result.status != 0 && result.status != exit_rejects);
  if (result.why == ChildResult::Why::stopped || (failed && signals_.came())) {
    return_unfailed(notification, result.text());
    return options_.once ? Next::failed : Next::go_on;
  }
  if (exited && result.status == exit_rejects) {
    lease_keeper_->drop();
    failing_.erase(notification.id);
    const auto answer = settle(notification.id, "reject", reason_body(result.text(), {}));
    say(notification.id + " from " + notification.from + ": " + outcome_text(answer, "rejected"));
    return options_.once ? Next::failed : Next::go_on;
  }
  if (!exited || result.status != 0) {
    return return_failed(notification, result.text());
  }
  if (options_.reply) {
    if (result.too_much) {
      return return_failed(notification,
                       "the answer has more than " + std::to_string(output_bytes_max) + " bytes");
    }
    if (const auto refused = send_answer(notification, result.output)) {
      return return_failed(notification, "the answer was refused: " + *refused);
    }
  }
  lease_keeper_->drop();
  failing_.erase(notification.id);
  const auto answer = settle(notification.id, "ack", "{}");
  say(notification.id + " from " + notification.from + ": " + outcome_text(answer, "acked"));
  const bool is_settled = answer.is_good() || was_settled_before(answer);
  return options_.once && !is_settled ? Next::failed : Next::go_on;
}

// Each failure of one message doubles the pause; when to give up is for the broker's rules to say.
Supervisor::Next Supervisor::return_failed(const Notification& notification,
                                           const std::string& why) {
  lease_keeper_->drop();
  if (failing_.size() >= failing_max && !failing_.contains(notification.id)) {
    failing_.clear();  // all messages begin again with the first pause
  }
  const unsigned failures = ++failing_[notification.id];
  const int64_t doubled = duration_of(options_.retry_after).us << std::min(failures - 1, 20u);
  const Duration pause{std::min(doubled, retry_after_max.us)};
  const bool done = settle(notification.id, "nack", reason_body(why, pause)).is_good();
  say(notification.id + " from " + notification.from + ": " +
      (done ? "gave back" : "could not give back") + ": " + why.substr(0, why.find('\n')));
  return options_.once ? Next::failed : Next::go_on;
}

// Sends the output as the answer to a request or a query; the output for any other message is
// printed. Returns what is wrong if the answer was refused.
std::optional<std::string> Supervisor::send_answer(const Notification& notification,
                                                   const std::string& output) {
  const BrokerConnection::Answer read =
      persist({"GET", "/v1/messages/" + encoded(notification.id) + "?dialect=flow"});
  lib::JsonDocument document;
  const auto original = document.parse(read.body);
  if (!read.is_good() || !original) {
    return read.is_good() ? "the message cannot be read" : read.failure.detail;
  }
  const std::string type = text_of(*original, "type");
  if (type != "request" && type != "query") {
    std::fwrite(output.data(), 1, output.size(), stdout);
    std::fflush(stdout);
    return std::nullopt;
  }
  Draft draft{
      .type = "response", .in_reply_to = notification.id, .status = "success", .as = options_.as};
  follow(*original, draft);
  draft.body = output;
  draft.body.erase(draft.body.find_last_not_of('\n') + 1);
  if (options_.as == "json") {
    lib::JsonDocument answer;
    const auto json = answer.parse(draft.body);
    if (!json || !json->is_object()) {
      return "the output is no JSON object";
    }
  }
  base::SystemClock clock;
  HttpCall call{"POST",
                "/v1/messages?lenient=true",
                compose(draft, draft.body, lib::random_uuid(), clock.now()),
                // If the broker's reply is lost, the answer is sent twice and counts once.
                {{"Parley-Dialect", "flow"}, {"Idempotency-Key", "run:" + notification.id}}};
  const BrokerConnection::Answer sent = persist(call);
  return sent.is_good() ? std::nullopt : std::optional(sent.failure.detail);
}

BrokerConnection::Answer Supervisor::settle(const std::string& id, const std::string& act,
                                            const std::string& body) {
  return persist({"POST", "/v1/messages/" + encoded(id) + "/" + act, body, {}});
}

// Releases the lock, so that another supervisor need not wait for the end of its lease.
void Supervisor::leave() {
  if (!lease_keeper_) {
    return;
  }
  const uint64_t fence = lease_keeper_->fence();
  const bool lost = lease_keeper_->is_lost();
  lease_keeper_.reset();
  if (!lost) {
    HttpCall call{"DELETE", "/v1/locks/" + encoded(LeaseKeeper::lock_of(options_.agent)) +
                                "?fence=" + std::to_string(fence)};
    call.patience = shutdown_timeout;
    (void)connection_.call(call);
  }
}

}  // namespace

int run_supervisor(const SupervisorOptions& options) { return Supervisor(options).run(); }

}  // namespace parley::app
