// SPDX-License-Identifier: Apache-2.0
#include "app/commands/journal.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/commands/commands.h"
#include "app/options.h"
#include "app/text/describe.h"
#include "journal/file/inspect.h"

namespace parley::app {

namespace {

using journal::FileReport;

std::string journal_of(const std::string& data) {
  return (std::filesystem::path(data) / "journal").string();
}

const char* kind_name(FileReport::Kind kind) {
  switch (kind) {
    case FileReport::Kind::log:
      return "log";
    case FileReport::Kind::carried:
      return "carried";
    case FileReport::Kind::snapshot:
      return "snapshot";
  }
  return "unknown";
}

void print(const FileReport& file) {
  std::printf("%-8s  %10llu  %10llu  %10llu  %12llu  %s\n", kind_name(file.kind),
              static_cast<unsigned long long>(file.base.n),
              static_cast<unsigned long long>(file.last.n),
              static_cast<unsigned long long>(file.records),
              static_cast<unsigned long long>(file.bytes_used),
              std::filesystem::path(file.path).filename().c_str());
  if (file.damage) {
    std::printf("          damaged: %s\n", file.damage->detail.c_str());
  }
  if (file.torn_at) {
    std::printf(
        "          torn tail at byte %llu: a write that was not finished and never "
        "acknowledged; the next start cuts it off\n",
        static_cast<unsigned long long>(*file.torn_at));
  }
}

}  // namespace

int verify_journal(const std::string& data) {
  journal::RealDisk disk;
  const auto report = journal::verify(disk, journal_of(data));
  if (!report) {
    return complain(failure_of(report.error()));
  }
  std::printf("%-8s  %10s  %10s  %10s  %12s  %s\n", "kind", "first", "last", "records", "bytes",
              "file");
  for (const FileReport& file : report->files) {
    print(file);
  }
  if (report->damage) {
    std::printf("damaged: %s\n", report->damage->detail.c_str());
  }
  std::printf("%s\n", report->sound() ? "sound" : "DAMAGED");
  return report->sound() ? 0 : 1;
}

int dump_journal(const std::string& data, const DumpFilter& filter) {
  journal::RealDisk disk;
  bool good = true;
  const auto visited = journal::visit_records(
      disk, journal_of(data), [&](const std::string& path, const journal::StoredRecord& record) {
        if (record.record.seq.n < filter.from || record.record.seq.n > filter.to) {
          return;
        }
        const auto entry =
            core::decode_entry(record.record.seq, record.record.time, record.record.payload);
        if (entry) {
          if (filter.agent.empty() || concerns(*entry, filter.agent)) {
            std::printf("%s\n", describe(*entry).c_str());
          }
        } else {
          good = false;
          std::fprintf(stderr, "parley: %s: %s\n", path.c_str(), entry.error().detail.c_str());
        }
      });
  if (!visited) {
    return complain(failure_of(visited.error()));
  }
  return good ? 0 : 1;
}

void add_journal(Command& app, int& exit_code) {
  struct Options {
    std::string data;
    DumpFilter filter;
  };
  const auto options = std::make_shared<Options>();  // CLI11 copies the closures
  Command* group = app.add_subcommand("journal", "Look into the journal of a stopped broker");
  group->require_subcommand(1);
  const auto run = [options, &exit_code](const std::function<int(const std::string&)>& look) {
    const auto data = data_directory(options->data, environment());
    exit_code = data ? look(*data) : complain(failure_of(data.error()));
  };

  Command* verifying = group->add_subcommand("verify", "Check every segment and snapshot");
  verifying->add_option("--data", options->data, "The broker's data directory")->type_name("DIR");
  add_example(*verifying, "parley journal verify --data DIR");
  verifying->callback([run] { run(verify_journal); });

  Command* dumping = group->add_subcommand("dump", "Print the records, one a line");
  dumping->add_option("--data", options->data, "The broker's data directory")->type_name("DIR");
  dumping->add_option("--from", options->filter.from, "The first record to print");
  dumping->add_option("--to", options->filter.to, "The last record to print");
  dumping
      ->add_option("--agent", options->filter.agent,
                   "Only what this principal asked for, or what names it")
      ->type_name("NAME");
  add_example(*dumping, "parley journal dump --data DIR --from 10");
  dumping->callback([run, options] {
    run([&](const std::string& data) { return dump_journal(data, options->filter); });
  });
}

}  // namespace parley::app
