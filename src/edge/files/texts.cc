// SPDX-License-Identifier: Apache-2.0
#include "edge/files/texts.h"

#include "base/clock/paced_clock.h"
#include "edge/api/openapi.h"
#include "lib/json.h"

namespace parley::edge::files {

std::string_view readme_text() {
  return R"(# Agent inbox

A broker (Parley) keeps this tree in step with its agents, in both directions. An agent that has
nothing but file tools can take part fully.

    main/                  the agent agent:main:main; other agents have a directory each:
      pending/             subagent-ID, council-NAME, reviewer; OWNER.main for another owner
        MSG-....json       a message that waits for the agent
      archive/             what it is done with; kept for 7 days
      outbox/              our addition: what the agent sends
        sent/              what the broker took from there
      rejected/            what the broker refused, each with a file that says why
    human/pending/         escalations, and what else waits for people
    broadcast/announcements/   messages to all agents
    schema.json            the schema of a message

## Read

Take the files `*.json` in your `pending/`, P0 first. Each is whole: the broker never shows a part
of one. When you are done with one, move it:

    mv pending/MSG-1.json archive/

That acknowledges it. To remove a file acknowledges nothing: it comes back.

Announcements stay where they are; answer one with a message of type `ack` whose `reply_to` is its
id.

## Send

Write a message as schema.json says into your own `outbox/`, or into the `pending/` of its
receiver. Name the file `{id}.json`. Write it under another name first (`{id}.json.tmp`), and rename
it, so that nobody reads a half of it; the broker waits until a file is whole, other readers may
not.

    {"id": "MSG-20260201-043500-f7a2", "timestamp": "2026-02-01T04:35:00Z",
     "from": "agent:main:main", "to": "agent:main:subagent:7", "type": "handoff", "priority": "P1",
     "subject": "BUILD: the protocol", "body": {"task": "...", "context": "..."},
     "status": "pending", "ttl_hours": 24}

A file that is no message, or that the broker refuses, is moved to `rejected/` of the directory
that it was in: `NAME.rejected`, and beside it `NAME.error.json`, which says what is wrong. The same
id sent twice is one message.

Do not touch `.parley/`.
)";
}

std::string schema_text() {
  lib::JsonDocument document;
  const auto description = document.parse(openapi());
  const lib::Json schema =
      description ? description->find("components").find("schemas").find("SquadMessage")
                  : lib::Json{};
  return schema ? std::string(schema.raw()) + "\n" : "{}\n";
}

base::Time wall_time() { return base::SystemClock().now(); }

base::Time steady_time() { return base::BootClock().now(); }

}  // namespace parley::edge::files
