// SPDX-License-Identifier: Apache-2.0
#include "app/client/agent_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "app/client/client.h"
#include "app/files.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

constexpr unsigned secret_mode = 0600;
constexpr size_t token_bytes_max = 4'096;

std::unexpected<Failure> refuse(std::string detail, std::string advice) {
  return std::unexpected(Failure{"BAD_REQUEST", std::move(detail), std::move(advice)});
}

// Makes the directory fit for secrets: nobody else's to list or write, and ignored by git.
std::expected<void, Failure> protect_directory(const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) {
    return std::unexpected(file_failure("make", directory.string(), failed.value()));
  }
  struct stat info{};
  if (::chmod(directory.c_str(), 0700) != 0 &&
      (::stat(directory.c_str(), &info) != 0 || (info.st_mode & 0022) != 0)) {
    return refuse("others may write in " + directory.string(), "Run `chmod 700` on it.");
  }
  const std::string path = (directory / ".gitignore").string();
  const auto ignored = read_settings(path);
  if (!ignored) {
    return refuse(ignored.error().detail, "Remove it; it is made anew.");
  }
  if (("\n" + *ignored + "\n").find("\n*\n") != std::string::npos) {
    return {};
  }
  const bool ends = ignored->empty() || ignored->ends_with('\n');
  return replace_file(path, *ignored + (ends ? "*\n" : "\n*\n"), 0644);
}

std::expected<std::string, Failure> agents_directory() {
  if (const std::string config = variable("XDG_CONFIG_HOME"); config.starts_with('/')) {
    return config + "/parley/agents";
  }
  auto home = home_directory("the token of an agent");
  if (!home) {
    return home;
  }
  return *home + "/.config/parley/agents";
}

}  // namespace

std::expected<std::string, Failure> agent_token_path(std::string_view agent) {
  auto directory = agents_directory();
  if (!directory) {
    return directory;
  }
  return *directory + "/" + encoded(agent) + ".token";
}

std::expected<std::string, Failure> ready_token_place(std::string_view agent) {
  auto path = agent_token_path(agent);
  if (!path) {
    return path;
  }
  if (auto is_protected = protect_directory(fs::path(*path).parent_path()); !is_protected) {
    return std::unexpected(is_protected.error());
  }
  const auto committed = git_would_commit(*path);
  if (!committed) {
    return std::unexpected(committed.error());
  }
  if (*committed) {
    return refuse("git tracks " + *path + ", and a token must not be committed",
                  "Take it out with `git rm --cached`, or set XDG_CONFIG_HOME to another place.");
  }
  std::string probe = *path + ".XXXXXX";
  const int fd = ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) {
    return std::unexpected(file_failure("write", *path, errno));
  }
  ::close(fd);
  ::unlink(probe.c_str());
  return path;
}

std::expected<std::string, Failure> store_agent_token(std::string_view agent,
                                                      std::string_view token) {
  auto path = ready_token_place(agent);
  if (!path) {
    return path;
  }
  if (auto written = replace_file(*path, std::string(token) + "\n", secret_mode); !written) {
    return std::unexpected(written.error());
  }
  return path;
}

std::expected<std::string, Failure> kept_agent_token(std::string_view agent) {
  const std::string name(agent);
  const auto path = agent_token_path(agent);
  if (!path) {
    return std::unexpected(path.error());
  }
  const int fd = ::open(path->c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    if (fd >= 0) {
      ::close(fd);
    }
    return std::unexpected(Failure{"UNAUTHORIZED", "there is no token of " + name + " in " + *path,
                                   "Put it there with `parley agent keep " + shell_word(name) +
                                       "`, or let `parley mcp config --agent " + shell_word(name) +
                                       " --register --write --client CLIENT` do it."});
  }
  std::string token(token_bytes_max, '\0');
  const ssize_t got = ::read(fd, token.data(), token.size());
  ::close(fd);
  if ((info.st_mode & 0077) != 0) {
    return std::unexpected(Failure{"UNAUTHORIZED", "others may read the token file " + *path,
                                   "Run `chmod 600` on it."});
  }
  token.resize(got < 0 ? 0 : static_cast<size_t>(got));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.empty()) {
    return std::unexpected(
        Failure{"UNAUTHORIZED", "the token file " + *path + " holds none",
                "Put it there with `parley agent keep " + shell_word(name) + "`."});
  }
  return token;
}

Failure stale_token(std::string_view agent, const std::string& url) {
  const std::string file = agent_token_path(agent).value_or("its file");
  return {"UNAUTHORIZED",
          "the token kept for " + std::string(agent) + " in " + file + " is not one of " + url,
          "If it is of another broker, or of a data directory that is gone: remove the file and "
          "register the agent again. XDG_CONFIG_HOME keeps the tokens of two brokers apart."};
}

std::expected<BrokerAddress, Failure> find_broker_as(std::string_view agent,
                                                     ClientOptions options) {
  if (options.token.empty() && !agent.empty()) {
    options.token = std::string(agent_token_prefix) + std::string(agent);
  } else if (options.token.empty()) {
    const auto token = token_variable();
    if (!token) {
      return std::unexpected(token.error());
    }
    if (token->empty()) {
      return std::unexpected(Failure{"UNAUTHORIZED", "nobody said which agent this is",
                                     "Give --agent NAME, or its token in PARLEY_TOKEN."});
    }
  }
  return find_broker(options);
}

}  // namespace parley::app
