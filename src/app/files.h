// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "app/failure.h"

namespace parley::app {

// Files of the user's: settings, tokens.

// That a file cannot be written, made, …: `cannot VERB PATH: ` and what the errno means.
Failure file_failure(std::string_view verb, const std::string& path, int error);

// Replaces the file at `path` by one with these contents, or leaves the old one: written beside it,
// synced, renamed. Follows a link to the file itself, also to one that is not there yet, and makes
// the directories above it. With `before`, fails if the file holds anything else by now.
std::expected<void, Failure> replace_file(const std::string& path, std::string_view text,
                                          unsigned mode,
                                          std::optional<std::string_view> before = {});

// The contents of a file of settings; empty when there is none. Fails for what is no plain file.
std::expected<std::string, Failure> read_settings(const std::string& path);

// The user's home; a failure that names `what` needs it when there is none.
std::expected<std::string, Failure> home_directory(std::string_view what);

// Whether git tracks the file, or would with the next `git add`: it lies in a work tree and is not
// ignored. Fails when it lies in one and git cannot be asked.
std::expected<bool, Failure> git_would_commit(const std::string& path);

}  // namespace parley::app
