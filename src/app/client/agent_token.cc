// SPDX-License-Identifier: Apache-2.0
#include "app/client/agent_token.h"

#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "app/posix.h"
#include "app/text/terminal.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

constexpr unsigned secret_mode = 0600;
constexpr size_t token_bytes_max = 4'096;
constexpr size_t settings_bytes_max = size_t{32} << 20;

std::unexpected<Failure> refuse(std::string detail, std::string advice) {
  return std::unexpected(Failure{"BAD_REQUEST", std::move(detail), std::move(advice)});
}

std::unexpected<Failure> cannot(const std::string& verb, const std::string& path, int error) {
  return refuse("cannot " + verb + " " + path + ": " + std::strerror(error),
                "See that the directory can be written and the disk has room.");
}

// The exit code of git, run in `directory` and silent; none when it cannot be run.
std::optional<int> ask_git(const std::string& directory, const std::string& first,
                           const std::string& second, const std::string& file) {
  std::array<std::string, 7> words = {"git", "-C", directory, first, second, "--", file};
  std::array<char*, 8> arguments{};
  for (size_t i = 0; i < words.size(); ++i) {
    arguments[i] = words[i].data();
  }
  // Variables such as GIT_DIR, which git sets for its hooks, would lead it to another repository.
  std::vector<char*> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("GIT_")) {
      variables.push_back(*each);
    }
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  ::posix_spawn_file_actions_init(&silence);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&silence, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, "git", &silence, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&silence);
  int status = 0;
  if (failed != 0) {
    return std::nullopt;
  }
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return std::nullopt;
    }
  }
  return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

bool in_work_tree(const fs::path& directory) {
  std::error_code ignored;
  for (fs::path at = directory;; at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored)) {
      return true;
    }
    if (at == at.parent_path()) {
      return false;
    }
  }
}

// What `path` leads to through links, also when the file is not there yet.
fs::path resolved(const std::string& path) {
  constexpr int links_max = 40;
  std::error_code failed;
  fs::path at = path;
  // weakly_canonical() takes a link to a missing file for the file itself.
  for (int i = 0; i < links_max && fs::is_symlink(fs::symlink_status(at, failed)); ++i) {
    const fs::path next = fs::read_symlink(at, failed);
    at = failed ? at : at.parent_path() / next;
  }
  const fs::path real = fs::weakly_canonical(at, failed);
  return failed ? fs::absolute(at) : real;
}

// Makes the directory fit for secrets: nobody else's to list or write, and ignored by git.
std::expected<void, Failure> protect_directory(const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) {
    return cannot("make", directory.string(), failed.value());
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

std::expected<std::string, Failure> home_directory(std::string_view what) {
  if (std::string home = variable("HOME"); !home.empty()) {
    return home;
  }
  const passwd* user = ::getpwuid(::getuid());
  if (user == nullptr) {
    return refuse("there is no home directory for " + std::string(what), "Set HOME.");
  }
  return std::string(user->pw_dir);
}

std::expected<std::string, Failure> agent_token_path(std::string_view agent) {
  auto directory = agents_directory();
  if (!directory) {
    return directory;
  }
  return *directory + "/" + encoded(agent) + ".token";
}

std::expected<std::string, Failure> read_settings(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status) && status.type() != fs::file_type::none) {
    return std::string();
  }
  if (!fs::is_regular_file(status)) {
    return refuse(path + (status.type() == fs::file_type::none ? " cannot be read" : " is no file"),
                  "Leave out --write and add the entry by hand.");
  }
  std::ifstream file(path, std::ios::binary);
  const auto size = fs::file_size(path, failed);
  if (!file || failed || size > settings_bytes_max) {
    return refuse(path + " cannot be read, or is too large",
                  "Leave out --write and add the entry by hand.");
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::expected<void, Failure> replace_file(const std::string& path, std::string_view text,
                                          unsigned mode, std::optional<std::string_view> before) {
  const fs::path real = resolved(path);
  std::error_code failed;
  fs::create_directories(real.parent_path(), failed);
  if (failed) {
    return cannot("make", real.parent_path().string(), failed.value());
  }
  std::string temporary = real.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) {
    return cannot("write", path, errno);
  }
  int error = ::fchmod(fd, mode) == 0 ? 0 : errno;
  error = error != 0 ? error : write_all(fd, text);
  error = error != 0 || ::fsync(fd) == 0 ? error : errno;
  ::close(fd);
  if (error == 0 && before) {
    if (const auto now = read_settings(real.string()); !now || *now != *before) {
      ::unlink(temporary.c_str());
      return refuse("another program changed " + path + " meanwhile",
                    "Close the client whose file it is and run this again.");
    }
  }
  if (error == 0 && ::rename(temporary.c_str(), real.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
    return cannot("write", path, error);
  }
  (void)sync_directory(real.parent_path());  // some file systems cannot do it
  return {};
}

std::expected<bool, Failure> git_would_commit(const std::string& path) {
  const fs::path real = resolved(path);
  fs::path directory = real.parent_path();
  std::error_code ignored;
  while (!fs::is_directory(directory, ignored) && directory != directory.parent_path()) {
    directory = directory.parent_path();
  }
  if (!in_work_tree(directory)) {
    return false;
  }
  const auto tracked = ask_git(directory.string(), "ls-files", "--error-unmatch", real.string());
  const auto is_ignored = ask_git(directory.string(), "check-ignore", "-q", real.string());
  if (!tracked || !is_ignored || *is_ignored > 1) {
    return refuse(path + " lies in a git repository, and git cannot be asked whether it is ignored",
                  "Install git, or keep the token in PARLEY_TOKEN.");
  }
  return *tracked == 0 || *is_ignored != 0;
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
    return cannot("write", *path, errno);
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
