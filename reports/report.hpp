// Everything that crosses a file: Report <-> JSON text <-> file. JSON itself stays behind this
// header.
//
// Writing is strict and canonical: fixed key order, shortest round-trip floats, no NaN or Infinity
// (an Error), invalid UTF-8 replaced; a file is written to a temporary name beside its target,
// synced and renamed, so that an old report is never damaged. Reading refuses, with line and
// column: broken JSON, duplicate keys, NaN and Infinity tokens, numbers out of range, invalid
// UTF-8, truncation; and names an unknown major version. Unknown fields of a known major are
// ignored.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"

namespace plimsoll::reports {

inline constexpr std::string_view kSchemaName = "plimsoll.report/1.0";
inline constexpr std::string_view kJobSchemaName = "plimsoll.job/1.0";

// Whoever read our stdout has gone (`| head`): not worth a message. Exit code 1.
class ClosedPipe : public Error {
 public:
  ClosedPipe();
};

[[nodiscard]] std::string to_json(const Report& report);
[[nodiscard]] Report from_json(std::string_view text, const std::string& where);

// Errors: cannot create, no space, directory missing: each names the path and the fix.
void write_report(const Report& report, const std::string& path);
[[nodiscard]] Report read_report(const std::string& path);

// Writes any text with the same care (temporary name, fsync, rename). "-" is stdout (ClosedPipe
// when nobody reads it). Reading: "-" is stdin.
void write_text(std::string_view text, const std::string& path);
[[nodiscard]] std::string read_text(const std::string& path);

// To be called before long work whose result goes to `path`: throws what write_text would.
void expect_writable(const std::string& path);

// To be called before a program ends: an Error when what it printed on stdout did not arrive.
void finish_stdout();

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

// A report and the reference that proves which bytes it was read from: one reading for both.
struct StoredReport {
  Report report;
  ReportRef reference;
};
[[nodiscard]] StoredReport read_stored(const std::string& path);
[[nodiscard]] ReportRef reference_to(const std::string& path);

// A new random id (uuid v4) and the time now (RFC 3339 UTC, microseconds).
[[nodiscard]] std::string new_id();
[[nodiscard]] std::string now_rfc3339();

// JSON Schema 2020-12 of one kind ("machine", "prediction", "run", "validation", "comparison",
// "report" for any) or of a user's "workload", as text. Error (usage) listing the kinds when
// unknown.
[[nodiscard]] std::string schema_text(const std::string& kind);
[[nodiscard]] std::vector<std::string> schema_kinds();

// What the trainer is asked to do: the plan plus the training options, as the file that
// `plimsoll train` hands to the trainer binary.
struct Job {
  Plan plan;
  std::string workload_text;  // of the file that plan.workload names; empty: it is built in
  std::int64_t steps = 0;     // 0: use epochs
  std::int64_t epochs = 0;
  std::int64_t warmup_steps = 5;
  std::int64_t seed = 1;
  double learning_rate = 0;  // 0: the workload's default
  double momentum = 0.9;
  UpdateRule update;
  bool evaluate = false;                 // accuracy on the test set at the end
  bool augment = false;                  // images are moved and mirrored
  std::int64_t evaluate_every = 0;       // and after every so many steps; 0: not
  std::string checkpoint;                // directory of checkpoints, or empty
  std::int64_t checkpoint_every = 1000;  // steps
  std::int64_t keep = 3;                 // the last so many checkpoints
  std::string resume;             // a checkpoint or a directory of them to go on from, or empty
  std::string trace;              // path of a timeline, or empty
  bool operators = false;         // time each operator after training
  std::string machine;            // path of a machine report, whose peak utilisation is held to
  std::string data_dir;           // empty: what the workload asks for
  std::string prediction;         // path of a prediction written before this run, or empty
  std::string out;                // path of the run report
  std::vector<std::string> argv;  // the user's command, for the report
};
[[nodiscard]] std::string job_to_json(const Job& job);
[[nodiscard]] Job job_from_json(std::string_view text, const std::string& where);

}  // namespace plimsoll::reports
