// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace parley::app {

// `parley serve`: runs the broker until SIGTERM or SIGINT.
void add_serve(CLI::App& app, int& exit_code);

}  // namespace parley::app
