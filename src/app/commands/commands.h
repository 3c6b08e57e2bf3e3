// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "app/command_line.h"

namespace parley::app {

struct TestAccess;

// The subcommands of the program; `subcommands` below has the order of `parley --help`. add_NAME is
// in commands/NAME.cc, and adds the subcommands that the comment names. A subcommand runs while the
// arguments are parsed, and sets the exit code: 0 done, 1 refused or failed, 3 not found. One that
// calls one route and prints its answer is a row: see app/route_command.h.
void add_serve(Command& app, int& exit_code, const TestAccess* access);  // serve
void add_agent(Command& app, int& exit_code);                            // agent
void add_human(Command& app, int& exit_code);                            // human
void add_workspace(Command& app, int& exit_code);                        // workspace
void add_send(Command& app, int& exit_code);                             // send, request, publish
void add_inbox(Command& app, int& exit_code);                            // inbox, outbox, read
void add_ack(Command& app, int& exit_code);                              // ack, nack, reject
void add_wait(Command& app, int& exit_code);                             // wait
void add_run(Command& app, int& exit_code);                              // run
void add_dead(Command& app, int& exit_code);                             // dead
void add_topics(Command& app, int& exit_code);                           // topics
void add_scatter(Command& app, int& exit_code);                          // scatter
void add_pipeline(Command& app, int& exit_code);                         // pipeline
void add_escalations(Command& app, int& exit_code);                      // escalations
void add_debates(Command& app, int& exit_code);                          // debates, overdue
void add_approvals(Command& app, int& exit_code);                        // approvals
void add_flags(Command& app, int& exit_code);                            // flags
void add_thread(Command& app, int& exit_code);                           // threads, thread
void add_session(Command& app, int& exit_code);                          // session
void add_lock(Command& app, int& exit_code);                             // lock
void add_task(Command& app, int& exit_code);                             // task
void add_trace(Command& app, int& exit_code);                            // trace
void add_mcp(Command& app, int& exit_code);                              // mcp
void add_hook(Command& app, int& exit_code);                             // hook
void add_config(Command& app, int& exit_code);                           // config, route
void add_journal(Command& app, int& exit_code);                          // journal
void add_doctor(Command& app, int& exit_code);                           // doctor
void add_bench(Command& app, int& exit_code);                            // bench

// Those behind `serve`, in the order of the help.
inline constexpr std::array subcommands = {
    add_agent,       add_human,   add_workspace, add_send,   add_inbox,   add_ack,
    add_wait,        add_run,     add_dead,      add_topics, add_scatter, add_pipeline,
    add_escalations, add_debates, add_approvals, add_flags,  add_thread,  add_session,
    add_lock,        add_task,    add_trace,     add_mcp,    add_hook,    add_config,
    add_journal,     add_doctor,  add_bench};

}  // namespace parley::app
