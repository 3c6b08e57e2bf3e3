// SPDX-License-Identifier: Apache-2.0
// The supervisor: starts a command when there is mail.
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

#include "app/agent_token.h"
#include "app/cli.h"
#include "app/commands/commands.h"
#include "app/commands/compose.h"
#include "app/mcp/hook.h"
#include "app/run/child.h"
#include "app/run/lease_keeper.h"
#include "app/terminal.h"
#include "base/text.h"
#include "lib/crypto.h"
#include "lib/json_writer.h"

namespace parley::app {

namespace {

using base::Duration;
using lib::Json;

// One long poll; short enough that no proxy between takes the silence for death.
constexpr Duration poll_max = base::seconds(30);
// Between two tries while the broker is away: doubles.
constexpr Duration absence_first = base::milliseconds(200);
constexpr Duration absence_max = base::seconds(5);
// How often one that stands by looks whether it is its turn.
constexpr Duration standby_pause = base::seconds(5);
// For what is to be said at the end.
constexpr Duration farewell = base::seconds(5);
constexpr Duration retry_after_max = base::minutes(10);
constexpr size_t failing_max = 1'000;  // messages whose failures in a row are remembered
constexpr size_t reason_bytes_max = 1'000;
constexpr int exit_rejects = 65;  // EX_DATAERR of sysexits.h

struct Options {
  ClientOptions client;
  std::string agent;
  std::vector<std::string> command;
  std::string timeout;
  std::string grace = "10s";
  std::string retry_after = "1s";
  std::string as = "text";
  bool file = false;
  bool prompt = false;
  bool reply = false;
  bool once = false;
  bool no_wait = false;
};

Duration duration_of(const std::string& text) {
  return base::parse_duration(text).value_or(Duration{});
}

void say(const std::string& text) {
  std::fprintf(stderr, "parley run: %s\n", printable(text).c_str());
}

// SIGTERM, SIGINT and SIGHUP, as something that can be waited for beside a socket or a process.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&wanted, signal);
    }
    pthread_sigmask(SIG_BLOCK, &wanted, nullptr);  // before any thread: all inherit it
    ::signal(SIGPIPE, SIG_IGN);
    fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() { ::close(fd_); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }
  // Takes note of one that came; from then on true.
  bool came() {
    signalfd_siginfo info{};
    came_ = ::read(fd_, &info, sizeof info) == sizeof info || came_;
    return came_;
  }
  // False when one came meanwhile.
  bool pause(Duration duration) {
    pollfd wanted{fd_, POLLIN, 0};
    ::poll(&wanted, 1, static_cast<int>(duration.us / 1'000));
    return !came();
  }

 private:
  int fd_ = -1;
  bool came_ = false;
};

// A message in a file that only this user can read; gone with its end.
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

// What the inbox says of a message.
struct Note {
  std::string id;
  std::string from;
  std::string type;
  std::string priority;
  std::string thread;
};

std::optional<Note> first_note(const std::string& inbox) {
  lib::JsonDocument document;
  const auto json = document.parse(inbox);
  const Json notes = json && json->is_object() ? json->find("notifications") : Json();
  for (const Json note : notes ? notes.elements() : Json::Elements()) {
    return Note{text_of(note, "id"), text_of(note, "from"), text_of(note, "type"),
                text_of(note, "priority"), text_of(note, "thread")};
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

// One at a time: mail, the command, what comes of it.
class Supervisor {
 public:
  explicit Supervisor(const Options& options)
      : options_(options), line_(options.client, signals_.fd()) {}

  int run();

 private:
  enum class Next : uint8_t { look, go_on, done, failed };

  bool take_duty();
  std::optional<Failure> on_duty_refused(const Line::Answer& answer);
  std::optional<Note> await_mail();
  std::optional<std::string> take(const Note& note);
  std::nullopt_t let_go(const Note& note);
  Next handle(const Note& note);
  Next start(const Note& note, const std::string& message);
  Next conclude(const Note& note, Ending ending);
  Next give_back(const Note& note, const std::string& why);
  void hand_back(const Note& note, const std::string& why);
  bool is_ours();
  std::optional<std::string> send_answer(const Note& note, const std::string& output);
  bool settle(const std::string& id, const std::string& act, const std::string& body);
  Line::Answer persist(const Call& call);
  void wait_for_broker(const Failure& failure);
  void leave();

  const Options& options_;
  Signals signals_;  // before any thread
  Line line_;
  std::optional<Duty> duty_;
  Duration absence_ = absence_first;
  bool said_ = false;                        // that the broker is away, or that another works
  Failure fatal_;                            // why it cannot go on
  std::map<std::string, unsigned> failing_;  // messages, and how often they failed
};

int Supervisor::run() {
  if (!can_run(options_.command.front())) {
    return complain({"", "there is no program \"" + options_.command.front() + "\" to run",
                     "Name one that is on PATH, or a path; there is no shell in between."});
  }
  Next next = Next::look;
  while (next <= Next::go_on && !signals_.came()) {
    if ((!duty_ || duty_->is_lost()) && !take_duty()) {
      break;
    }
    if (const auto note = await_mail()) {
      next = handle(*note);
      next = options_.once && next == Next::go_on ? Next::done : next;
    } else if (!fatal_.detail.empty()) {
      break;
    }
  }
  leave();
  if (!fatal_.detail.empty()) {
    return complain(fatal_);
  }
  // One that is stopped did what it should; but with --once, 0 says that one was acknowledged.
  return next == Next::failed || (options_.once && next != Next::done) ? 1 : 0;
}

// Says once that the broker is away, and waits a little longer each time.
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

// What the lock's refusal means for us: a failure when there is no use in waiting.
std::optional<Failure> Supervisor::on_duty_refused(const Line::Answer& answer) {
  if (answer.is_passing()) {
    wait_for_broker(answer.failure);
    return std::nullopt;
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

bool Supervisor::take_duty() {
  duty_.reset();
  const std::string path = "/v1/locks/" + encoded(Duty::lock_of(options_.agent));
  while (!signals_.came()) {
    const Line::Answer answer = line_.call({"PUT", path, lock_request(0), {}});
    if (!answer.is_good()) {
      if (const auto failure = on_duty_refused(answer)) {
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
      (void)line_.call({"DELETE", path + "?fence=" + std::to_string(fence)});
      fatal_ = {"UNAUTHORIZED",
                "the token is that of \"" + owner + "\", not of \"" + options_.agent + "\"",
                "Give the agent's own with PARLEY_TOKEN or --token @FILE, or keep it with `parley "
                "agent keep`."};
      return false;
    }
    absence_ = absence_first;
    said_ = false;
    duty_.emplace(options_.client, options_.agent, fence);
    say("waiting for mail for " + options_.agent);
    return true;
  }
  return false;
}

std::optional<Note> Supervisor::await_mail() {
  Call call{"GET", "/v1/inbox?limit=1&wait=" + base::format_duration(poll_max)};
  call.patience.us += poll_max.us;
  const Line::Answer answer = line_.call(call);
  if (answer.is_good()) {
    if (said_) {
      say("the broker is back");
      said_ = false;
    }
    absence_ = absence_first;
    return first_note(answer.body);
  }
  if (answer.is_passing()) {
    wait_for_broker(answer.failure);
  } else {
    fatal_ = answer.failure;
  }
  return std::nullopt;
}

// Asks until there is an answer; when it is to stop, not for long.
Line::Answer Supervisor::persist(const Call& call) {
  base::SystemClock clock;
  std::optional<base::Time> end;
  while (true) {
    Call bounded = call;
    if (signals_.came()) {
      end = end.value_or(clock.now() + farewell);
      bounded.patience = farewell;
    }
    Line::Answer answer = line_.call(bounded);
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

// The message, held by us from here on; none when it is not to be had any more.
std::optional<std::string> Supervisor::take(const Note& note) {
  // Another may have the lock by now, if this process slept: that must be known before the start.
  const std::string lock = "/v1/locks/" + encoded(Duty::lock_of(options_.agent));
  const Line::Answer alone = line_.call({"PUT", lock, lock_request(duty_->fence()), {}});
  if (!alone.is_good()) {
    if (!alone.is_passing()) {
      duty_.reset();
    }
    return std::nullopt;
  }
  const std::string path = "/v1/messages/" + encoded(note.id);
  Line::Answer message = line_.call({"GET", path});
  if (message.is_passing()) {
    return let_go(note);
  }
  if (!message.is_good()) {
    return std::nullopt;
  }
  // One that was settled meanwhile can be read, but not held.
  for (Duration lease = Duty::message_lease; lease > base::milliseconds(10); lease.us /= 2) {
    const Line::Answer held = line_.call({"POST", path + "/extend", lease_request(lease), {}});
    if (held.is_good()) {
      duty_->hold(note.id, lease);
      return std::move(message.body);
    }
    if (held.is_passing()) {
      return let_go(note);
    }
    if (held.failure.code != "BAD_REQUEST") {  // else the rules allow less
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Asked for, but it was not heard whether it was got: nobody would have it until its lease ends.
std::nullopt_t Supervisor::let_go(const Note& note) {
  hand_back(note, "not begun");
  return std::nullopt;
}

// Gives back what nobody failed at: that is none of its attempts, however often it happens.
void Supervisor::hand_back(const Note& note, const std::string& why) {
  if (duty_) {
    duty_->drop();
  }
  const bool done = settle(note.id, "nack", reason_body(why, {}, false));
  say(note.id + " from " + note.from + ": " + (done ? "gave back: " : "could not give back: ") +
      why.substr(0, why.find('\n')));
}

// Another works for the agent, if this process slept or the broker was away for so long that the
// lock ended: then what becomes of the message is for that one to say.
bool Supervisor::is_ours() {
  base::SystemClock clock;
  std::optional<base::Time> end;
  while (duty_->is_doubtful() && (!end || clock.now() < *end)) {
    if (!signals_.pause(absence_first)) {
      end = end.value_or(clock.now() + farewell);
    }
  }
  return !duty_->is_lost();
}

Supervisor::Next Supervisor::handle(const Note& note) {
  const auto message = take(note);
  if (!message) {
    (void)signals_.pause(absence_first);
    return Next::look;
  }
  return start(note, *message);
}

Supervisor::Next Supervisor::start(const Note& note, const std::string& message) {
  const std::string input =
      options_.prompt ? mail_prompt(message, note.from, options_.agent, options_.reply) : message;
  // One that is kept stays out of the environment.
  const bool is_kept = options_.client.token.starts_with(agent_token_prefix);
  Job job{.command = options_.command,
          .variables = {{"PARLEY_URL", line_.target().url},
                        {"PARLEY_TOKEN", is_kept ? options_.client.token : line_.target().token},
                        {"PARLEY_AGENT", options_.agent},
                        {"PARLEY_MESSAGE_ID", note.id},
                        {"PARLEY_MESSAGE_FROM", note.from},
                        {"PARLEY_MESSAGE_THREAD", note.thread},
                        {"PARLEY_MESSAGE_TYPE", note.type},
                        {"PARLEY_MESSAGE_PRIORITY", note.priority}},
          .input = options_.file ? std::string() : input,
          .keep_output = options_.reply,
          .timeout = duration_of(options_.timeout),
          .grace = duration_of(options_.grace)};
  if (!line_.target().ca.empty()) {
    job.variables.emplace_back("PARLEY_CA", line_.target().ca);
  }
  MessageFile file;
  if (options_.file) {
    auto written = MessageFile::write(input);
    if (!written) {
      fatal_ = {"", written.error(), "Make room in the directory for temporary files (TMPDIR)."};
      hand_back(note, written.error());
      return Next::failed;
    }
    file = std::move(*written);
    job.file = file.path();
    job.variables.emplace_back("PARLEY_MESSAGE_FILE", file.path());
  }
  const std::array<int, 2> stops = {signals_.fd(), duty_->lost()};
  auto ending = run_job(job, stops);
  if (!ending) {
    fatal_ = {"", ending.error(), "Name a program that can be run; there is no shell in between."};
    hand_back(note, ending.error());
    return Next::failed;
  }
  if (!is_ours()) {
    duty_->drop();
    say(note.id + " from " + note.from + ": left to the `parley run` that took over (" +
        std::string(base::cut(ending->text(), reason_bytes_max)) + ")");
    return options_.once ? Next::failed : Next::go_on;
  }
  return conclude(note, std::move(*ending));
}

Supervisor::Next Supervisor::conclude(const Note& note, Ending ending) {
  const bool exited = ending.why == Ending::Why::exited;
  // A service manager tells the command as well as us, and the command may be the first to end.
  const bool failed = !exited || (ending.status != 0 && ending.status != exit_rejects);
  if (ending.why == Ending::Why::stopped || (failed && signals_.came())) {
    hand_back(note, ending.text());
    return options_.once ? Next::failed : Next::go_on;
  }
  if (exited && ending.status == exit_rejects) {
    duty_->drop();
    failing_.erase(note.id);
    const bool done = settle(note.id, "reject", reason_body(ending.text(), {}));
    say(note.id + " from " + note.from + ": " + (done ? "rejected" : "was settled before"));
    return options_.once ? Next::failed : Next::go_on;
  }
  if (!exited || ending.status != 0) {
    return give_back(note, ending.text());
  }
  if (options_.reply) {
    if (ending.too_much) {
      return give_back(note,
                       "the answer has more than " + std::to_string(output_bytes_max) + " bytes");
    }
    if (const auto refused = send_answer(note, ending.output)) {
      return give_back(note, "the answer was refused: " + *refused);
    }
  }
  duty_->drop();
  failing_.erase(note.id);
  const bool done = settle(note.id, "ack", "{}");
  say(note.id + " from " + note.from + ": " + (done ? "acked" : "was settled before"));
  return Next::go_on;
}

// Each failure of one message doubles the pause; when to give up is for the broker's rules to say.
Supervisor::Next Supervisor::give_back(const Note& note, const std::string& why) {
  duty_->drop();
  if (failing_.size() >= failing_max && !failing_.contains(note.id)) {
    failing_.clear();  // they begin anew with the first pause
  }
  const unsigned failures = ++failing_[note.id];
  const int64_t doubled = duration_of(options_.retry_after).us << std::min(failures - 1, 20u);
  const Duration pause{std::min(doubled, retry_after_max.us)};
  const bool done = settle(note.id, "nack", reason_body(why, pause));
  say(note.id + " from " + note.from + ": " + (done ? "gave back" : "could not give back") + ": " +
      why.substr(0, why.find('\n')));
  return options_.once ? Next::failed : Next::go_on;
}

// Only questions are answered. What is wrong, if it was refused.
std::optional<std::string> Supervisor::send_answer(const Note& note, const std::string& output) {
  const Line::Answer read = persist({"GET", "/v1/messages/" + encoded(note.id) + "?dialect=flow"});
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
  Draft draft{.type = "response", .in_reply_to = note.id, .status = "success", .as = options_.as};
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
  Call call{"POST",
            "/v1/messages?lenient=true",
            compose(draft, draft.body, lib::random_uuid(), clock.now()),
            // Said twice, when an answer was lost on its way, it counts once.
            {{"Parley-Dialect", "flow"}, {"Idempotency-Key", "run:" + note.id}}};
  const Line::Answer sent = persist(call);
  return sent.is_good() ? std::nullopt : std::optional(sent.failure.detail);
}

// False when the broker has it as settled already, or as given back.
bool Supervisor::settle(const std::string& id, const std::string& act, const std::string& body) {
  return persist({"POST", "/v1/messages/" + encoded(id) + "/" + act, body, {}}).is_good();
}

void Supervisor::leave() {
  if (!duty_) {
    return;
  }
  const uint64_t fence = duty_->fence();
  const bool lost = duty_->is_lost();
  duty_.reset();
  if (!lost) {
    Call call{"DELETE", "/v1/locks/" + encoded(Duty::lock_of(options_.agent)) +
                            "?fence=" + std::to_string(fence)};
    call.patience = farewell;
    (void)line_.call(call);
  }
}

}  // namespace

void add_run(Command& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "run",
      "Start a command for each message: exit 0 acknowledges it, 65 rejects it, any other "
      "gives it back");
  command
      ->add_option("--agent", options->agent, "Whose mail; its kept token is used if none is given")
      ->required()
      ->type_name("NAME");
  takes_duration(*command->add_option("--timeout", options->timeout,
                                      "End the command then, and give the message back"));
  takes_duration(
      *command->add_option("--grace", options->grace, "From SIGTERM to SIGKILL; 10s if not given"));
  takes_duration(*command->add_option(
      "--retry-after", options->retry_after,
      "Pause after a failure, doubled with each of one message; 1s if not given"));
  command->add_flag("--file", options->file,
                    "Hand the message over in the file PARLEY_MESSAGE_FILE, not on standard input");
  command->add_flag("--prompt", options->prompt,
                    "Hand it over as a prompt for a model: between marks, and said to be data");
  command->add_flag("--reply", options->reply,
                    "Send what the command prints as the answer, if it was asked");
  command->add_option("--as", options->as, "What the answer is: text, or json for an object")
      ->one_of({"text", "json"});
  command->add_flag("--once", options->once, "Exit after one message: 0 if it was acknowledged");
  command->add_flag("--no-wait", options->no_wait,
                    "Exit if another works for the agent, rather than stand by");
  command
      ->add_option("COMMAND", options->command,
                   "What to run, without a shell; after --. The message is on its standard input, "
                   "as JSON of the agent's dialect; PARLEY_MESSAGE_ID, _FROM, _TYPE, _THREAD and "
                   "_PRIORITY are in its environment")
      ->required();
  command->positionals_at_end();
  add_broker_options(*command, options->client, Speaker::agent);
  add_example(*command, "PARLEY_TOKEN=$BO parley run --agent bo --timeout 10m -- ./answer.sh");
  command->callback([=, &exit_code] {
    for (std::string& word : options->command) {
      word.erase(0, word.starts_with(verbatim_mark) ? 1 : 0);
    }
    // Never the admin's, as find_broker_as has it; what is wrong with a kept one is told.
    if (options->client.token.empty() && variable("PARLEY_TOKEN").empty()) {
      options->client.token = std::string(agent_token_prefix) + options->agent;
    }
    exit_code = Supervisor(*options).run();
  });
}

}  // namespace parley::app
