// SPDX-License-Identifier: Apache-2.0
#include "app/journal_command.h"

#include <cstdio>
#include <filesystem>

#include "app/describe.h"
#include "journal/inspect.h"

namespace parley::app {

namespace {

using journal::FileReport;

int complain(const base::Error& error) {
  std::fprintf(stderr, "parley: %s\n", error.detail.c_str());
  return 1;
}

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
    std::printf("          torn tail at byte %llu: a write that was not finished and never "
                "acknowledged; the next start cuts it off\n",
                static_cast<unsigned long long>(*file.torn_at));
  }
}

}  // namespace

int verify_journal(const std::string& data) {
  journal::RealDisk disk;
  const auto report = journal::verify(disk, journal_of(data));
  if (!report) {
    return complain(report.error());
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

int dump_journal(const std::string& data, uint64_t from, uint64_t to) {
  journal::RealDisk disk;
  bool good = true;
  const auto visited = journal::visit_records(
      disk, journal_of(data), [&](const std::string& path, const journal::StoredRecord& record) {
        if (record.record.seq.n < from || record.record.seq.n > to) {
          return;
        }
        const journal::Record& stored = record.record;
        const auto entry = core::decode_entry(stored.seq, stored.time, stored.payload);
        if (entry) {
          std::printf("%s\n", describe(*entry).c_str());
        } else {
          good = false;
          std::fprintf(stderr, "parley: %s: %s\n", path.c_str(), entry.error().detail.c_str());
        }
      });
  if (!visited) {
    return complain(visited.error());
  }
  return good ? 0 : 1;
}

}  // namespace parley::app
