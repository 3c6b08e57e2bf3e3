// SPDX-License-Identifier: Apache-2.0
// `parley ack`, `nack` and `reject`: the commands that settle a message.
#include "app/commands/commands.h"
#include "app/route_command.h"

namespace parley::app {

void add_ack(Command& app, int& exit_code) {
  add_route_command(app, exit_code,
                    {.name = "ack",
                     .help = "Settle a message: it is done",
                     .example = "parley ack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11",
                     .arguments = {required("ID", "The message")},
                     .call = "POST /v1/messages/{ID}/ack",
                     .body = Body{},
                     .show = says("acked {ID}")});
  add_route_command(
      app, exit_code,
      {.name = "nack",
       .help = "Give a message back, to be delivered again",
       .example = "parley nack 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --retry-after 5s",
       .arguments = {required("ID", "The message"),
                     {.name = "--reason", .help = "Why"},
                     {.name = "--retry-after",
                      .help = "Not before then",
                      .kind = Argument::Kind::duration},
                     {.name = "--unfailed",
                      .help = "Nobody failed, it was not tried: not one of attempts_max",
                      .kind = Argument::Kind::flag,
                      .value = "false"}},
       .call = "POST /v1/messages/{ID}/nack",
       .body = Body{{"reason", "{--reason}"},
                    {"retry_after", "{--retry-after}"},
                    {"failed", "{--unfailed}"}},
       .show = says("gave back {ID}")});
  add_route_command(
      app, exit_code,
      {.name = "reject",
       .help = "Refuse a message for good",
       .example = "parley reject 9f0c1f5e-0d1a-4c7e-8a55-0c5a3c9e7b11 --reason 'not my task'",
       .arguments = {required("ID", "The message"),
                     required("--reason", "Why; the sender reads it")},
       .call = "POST /v1/messages/{ID}/reject",
       .body = Body{{"reason", "{--reason}"}},
       .show = says("rejected {ID}")});
}

}  // namespace parley::app
