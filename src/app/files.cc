// SPDX-License-Identifier: Apache-2.0
#include "app/files.h"

#include <fcntl.h>
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
#include "lib/file.h"

namespace parley::app {

namespace {

namespace fs = std::filesystem;

constexpr size_t settings_bytes_max = size_t{32} << 20;

std::unexpected<Failure> refuse(std::string detail, std::string advice) {
  return std::unexpected(Failure{"BAD_REQUEST", std::move(detail), std::move(advice)});
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

}  // namespace

Failure file_failure(std::string_view verb, const std::string& path, int error) {
  return {"BAD_REQUEST", "cannot " + std::string(verb) + " " + path + ": " + std::strerror(error),
          "See that the directory can be written and the disk has room."};
}

std::expected<std::string, Failure> home_directory(std::string_view what) {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return home;
  }
  const auto home = home_of_user();
  if (!home) {
    return refuse("there is no home directory for " + std::string(what), "Set HOME.");
  }
  return *home;
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
    return std::unexpected(
        file_failure("make", real.parent_path().string(), failed.value()));
  }
  std::string temporary = real.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) {
    return std::unexpected(file_failure("write", path, errno));
  }
  const bool is_written = ::fchmod(fd, mode) == 0 && lib::write_all(fd, text) && ::fsync(fd) == 0;
  int error = is_written ? 0 : errno;
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
    return std::unexpected(file_failure("write", path, error));
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

}  // namespace parley::app
