// SPDX-License-Identifier: Apache-2.0
#include "app/diagnosis.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/size.h"
#include "journal/file/inspect.h"

namespace parley::app {

namespace {

using base::Duration;
using base::Time;
using Status = Finding::Status;

constexpr uint64_t megabyte = uint64_t{1} << 20;
constexpr uint64_t disk_fail_bytes = 128 * megabyte;  // two segments of the journal
constexpr uint64_t disk_warn_bytes = 1'024 * megabyte;
constexpr Duration clock_warn = base::seconds(5);
constexpr Duration clock_fail = base::minutes(5);
constexpr Time earliest{1'735'689'600'000'000};  // 2025: older than any version of this program

std::string why(int error) { return std::generic_category().message(error); }

// Rounded to seconds, for people.
std::string about(Duration d) {
  return base::format_duration(Duration{d.us / 1'000'000 * 1'000'000});
}

std::string in_megabytes(uint64_t bytes) { return base::format_size(bytes / megabyte * megabyte); }

// Who holds the lock of the journal; the pid is 0 when the file does not say.
struct JournalLock {
  bool held = false;
  pid_t pid = 0;
};

// Tries a shared lock for an instant: the broker's own is exclusive.
JournalLock look_at_lock(const std::string& data) {
  const int file = ::open((data + "/journal/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  JournalLock lock{.held = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK};
  std::array<char, 32> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  if (size > 0) {
    std::from_chars(text.data(), text.data() + size, lock.pid);
  }
  ::close(file);
  return lock;
}

// The local findings, in the order in which they explain each other.
class Examination {
 public:
  Examination(const Config& config, Time now, std::vector<Finding>& findings)
      : config_(config), now_(now), findings_(findings) {}

  // False when there is nothing to look at yet.
  bool data() {
    struct stat info{};
    if (::stat(config_.data.c_str(), &info) != 0) {
      if (errno == ENOENT) {
        add("data", Status::warn, "there is no data directory " + config_.data + " yet",
            "`parley serve` makes it.");
      } else {
        add("data", Status::fail, config_.data + " cannot be looked at: " + why(errno),
            "Run as the user that owns it, or name another with --data.");
      }
      return false;
    }
    if (!S_ISDIR(info.st_mode)) {
      add("data", Status::fail, config_.data + " is no directory", "Name another with --data.");
      return false;
    }
    if (::access(config_.data.c_str(), R_OK | W_OK | X_OK) != 0) {
      add("data", Status::fail, config_.data + " cannot be read and written by this user",
          "Run as the user that owns it, or name another with --data.");
      return false;
    }
    add("data", Status::ok, config_.data);
    return true;
  }

  void lock(const JournalLock& lock, const std::optional<LocalBroker>& local) {
    const std::string pid = std::to_string(lock.pid);
    if (!lock.held && local && !local->alive) {
      add("in use", Status::warn,
          "broker.json is left over from process " + std::to_string(local->pid) +
              ", which is gone: the broker did not stop cleanly",
          "Nothing is lost; `parley serve` goes on from the journal.");
    } else if (!lock.held) {
      add("in use", Status::ok, "no process uses the data directory");
    } else if (local && local->pid == lock.pid) {
      add("in use", Status::ok, "by the running broker, process " + pid);
    } else {
      add("in use", Status::warn,
          "by process " + pid + ", which has not said where it listens (no broker.json)",
          "It may be starting. If not, look with `ps -fp " + pid + "`.");
    }
  }

  void token() {
    const std::string path = config_.data + "/admin.token";
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
      add("token", errno == ENOENT ? Status::warn : Status::fail,
          errno == ENOENT ? "there is no admin.token in " + config_.data
                          : path + " cannot be looked at: " + why(errno),
          "The first `parley serve` writes it. If it was moved away on purpose, give --token.");
      return;
    }
    if ((info.st_mode & 077) != 0) {
      add("token", Status::fail, path + " can be read by others",
          "chmod 600 " + path + ", and replace the token if others use this machine.");
    } else if (::access(path.c_str(), R_OK) != 0) {
      add("token", Status::fail, path + " cannot be read by this user",
          "Run as the user that owns it, or give --token.");
    } else if (info.st_size == 0) {
      add("token", Status::fail, path + " is empty", "Restore it from a backup.");
    } else {
      add("token", Status::ok, "admin.token is there and private");
    }
  }

  // Reads the whole journal twice; not while a broker writes to it.
  void journal(bool in_use) {
    const std::string directory = config_.data + "/journal";
    std::error_code error;
    if (!std::filesystem::exists(directory, error)) {
      add("journal", Status::ok, "there is none yet");
      return;
    }
    if (in_use) {
      add("journal", Status::ok, "in use, so not read; the broker checked it when it started");
      return;
    }
    journal::RealDisk disk;
    const auto report = journal::verify(disk, directory);
    if (!report) {
      add("journal", Status::fail, report.error().detail, "Look at the disk and the permissions.");
      return;
    }
    for (const journal::FileReport& file : report->files) {
      if (file.damage) {
        add("journal", Status::fail, file.damage->detail,
            "Stop, copy " + directory + " away, restore " + file.path + " from a backup.");
      }
      if (file.torn_at) {
        add("journal", Status::warn,
            "a torn tail at byte " + std::to_string(*file.torn_at) + " of " + file.path +
                ": a write that was not finished and never acknowledged",
            "Nothing; the next start cuts it off.");
      }
    }
    if (report->damage) {
      add("journal", Status::fail, report->damage->detail,
          "Copy " + directory + " away and restore the missing segment from a backup.");
    }
    if (report->sound()) {
      add("journal", Status::ok, "sound, " + std::to_string(report->files.size()) + " files");
    }
    newest_record(disk, directory);
  }

  void disk() {
    // The directory may not be there yet; then what it will be made in.
    std::filesystem::path path = config_.data;
    struct statvfs info{};
    while (::statvfs(path.c_str(), &info) != 0) {
      if (!path.has_relative_path()) {
        return;
      }
      path = path.parent_path();
    }
    const uint64_t left = uint64_t{info.f_bavail} * info.f_frsize;
    const std::string advice = "Free space there; a full disk stops the broker from accepting.";
    if (left < disk_fail_bytes) {
      add("disk", Status::fail, "only " + in_megabytes(left) + " left on " + path.string(), advice);
    } else if (left < disk_warn_bytes) {
      add("disk", Status::warn, "only " + in_megabytes(left) + " left on " + path.string(), advice);
    } else {
      add("disk", Status::ok, in_megabytes(left) + " left");
    }
  }

  void clock() {
    if (now_ < earliest) {
      add("clock", Status::fail, "this machine thinks it is " + base::format_time(now_),
          "Set the clock, or let NTP do it.");
    }
  }

  // Whether the address could be listened on; only asked when no broker of ours does.
  void port() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const std::string address = format_address(config_.listen);
    if (::getaddrinfo(config_.listen.host.c_str(), std::to_string(config_.listen.port).c_str(),
                      &hints, &found) != 0) {
      add("port", Status::fail, config_.listen.host + " is no address of this machine",
          "Correct `listen`.");
      return;
    }
    const int error = try_to_bind(*found);
    ::freeaddrinfo(found);
    const std::string number = std::to_string(config_.listen.port);
    if (error == 0) {
      add("port", Status::ok, address + " is free");
    } else if (error == EADDRINUSE) {
      add("port", Status::fail, address + " is taken by another program",
          "Find it with `ss -ltnp 'sport = :" + number + "'`, or listen elsewhere with --listen.");
    } else if (error == EACCES) {
      add("port", Status::fail, "this user may not listen on " + address,
          "Take a port above 1023 with --listen.");
    } else {
      add("port", Status::fail, address + " cannot be listened on: " + why(error),
          "Correct `listen`.");
    }
  }

 private:
  void add(std::string check, Status status, std::string detail, std::string advice = {}) {
    findings_.push_back({std::move(check), status, std::move(detail), std::move(advice)});
  }

  static int try_to_bind(const addrinfo& address) {
    const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      return errno;
    }
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int error = ::bind(socket, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (error == 0 && ::listen(socket, 1) != 0) {
      error = errno;
    }
    ::close(socket);
    return error;
  }

  void newest_record(journal::Disk& disk, const std::string& directory) {
    Time newest;
    const auto visited = journal::visit_records(
        disk, directory, [&](const std::string&, const journal::StoredRecord& record) {
          newest = std::max(newest, record.record.time);
        });
    const Duration ahead = newest - now_;
    if (visited && ahead > clock_warn) {
      add("clock", ahead > clock_fail ? Status::fail : Status::warn,
          "the newest record of the journal is " + about(ahead) +
              " ahead of this machine's clock: the clock was set back, or was wrong before",
          "Set the clock. Until it has caught up, the journal's time goes on a tenth slower.");
    } else if (visited && newest.us > 0) {
      add("clock", Status::ok,
          "not behind the journal, whose newest record is of " + base::format_time(newest));
    }
  }

  const Config& config_;
  Time now_;
  std::vector<Finding>& findings_;
};

void compare_clocks(const HttpReply& reply, Time now, std::vector<Finding>& findings) {
  const auto theirs = parse_http_date(reply.date);
  if (!theirs) {
    return;
  }
  Duration apart = *theirs - now;
  apart.us = std::abs(apart.us);
  if (apart <= clock_warn) {
    findings.push_back({"clock", Status::ok, "the broker's clock agrees with ours", {}});
    return;
  }
  findings.push_back({"clock", apart > clock_fail ? Status::fail : Status::warn,
                      "the broker's clock is " + about(apart) + " from ours",
                      "Let NTP set both; times to live are counted by the broker's."});
}

// Asks the broker how it is.
void ask_broker(const ClientOptions& client, Time now, std::vector<Finding>& findings) {
  const auto add = [&](Status status, std::string detail, std::string advice) {
    findings.push_back({"broker", status, std::move(detail), std::move(advice)});
  };
  const auto address = find_broker(client);
  if (!address) {
    add(Status::fail, address.error().detail, address.error().advice);
    return;
  }
  const auto reply = exchange(*address, {"GET", "/v1/health"});
  if (!reply) {
    add(Status::fail, reply.error().detail, reply.error().advice);
    return;
  }
  compare_clocks(*reply, now, findings);
  if (reply->status == 401 || reply->status == 403) {
    add(Status::fail, address->url + " does not take the token",
        "Give a token of this broker; its admin.token is in its data directory.");
    return;
  }
  lib::JsonDocument document;
  const auto health = document.parse(reply->body);
  if (reply->status != 200 || !health || !health->is_object()) {
    add(Status::fail, address->url + " answers with HTTP " + std::to_string(reply->status),
        "Check that it is a Parley broker.");
    return;
  }
  const std::string version = text_of(*health, "version");
  if (!version.empty() && version != PARLEY_VERSION) {
    add(Status::warn, address->url + " runs version " + version + ", this is " PARLEY_VERSION,
        "Restart the broker with this version, or use its own parley.");
  }
  if (const std::string trouble = text_of(*health, "trouble"); !trouble.empty()) {
    add(Status::fail, address->url + " is in trouble: " + trouble,
        "Look at the disk and the system log, then restart the broker.");
    return;
  }
  add(Status::ok, address->url + " answers", {});
}

}  // namespace

std::vector<Finding> examine(const ConfigSources& sources, const ClientOptions& client, Time now) {
  std::vector<Finding> findings;
  const auto loaded = load_config(sources);
  Config config;
  if (loaded) {
    config = *loaded;
    findings.push_back(
        {"config", Status::ok, "keys set: " + std::to_string(config.origins.size()), {}});
  } else {
    // The rest can still be looked at, with what is known without the configuration.
    findings.push_back({"config", Status::fail, loaded.error().detail,
                        std::string(base::info(loaded.error().code).advice)});
    config.data = data_directory(client.data, sources.environment).value_or("");
  }
  Examination examination(config, now, findings);
  const auto local = local_broker(config.data);
  JournalLock lock;
  if (examination.data()) {
    lock = look_at_lock(config.data);
    examination.lock(lock, local);
    examination.token();
    examination.journal(lock.held);
  }
  examination.disk();
  examination.clock();
  ClientOptions asking = client;
  asking.data = config.data;
  const bool named = !client.url.empty() || !variable("PARLEY_URL").empty();
  if (named || (lock.held && local)) {
    ask_broker(asking, now, findings);
  } else if (!lock.held) {
    examination.port();
    findings.push_back({"broker", Status::warn, "no broker is running on " + config.data,
                        "Start it with `parley serve`."});
  }
  return findings;
}

std::optional<Time> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) {
    return std::nullopt;
  }
  const auto number = [&](size_t at, size_t size) {
    int value = -1;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  const auto month = std::ranges::find(months, text.substr(8, 3)) - months.begin();
  const std::chrono::year_month_day date{std::chrono::year(number(12, 4)),
                                         std::chrono::month(static_cast<unsigned>(month) + 1),
                                         std::chrono::day(static_cast<unsigned>(number(5, 2)))};
  const int hour = number(17, 2);
  const int minute = number(20, 2);
  const int second = number(23, 2);
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return Time{(((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000};
}

}  // namespace parley::app
