// Predict first, then train, over a suite of configurations.
//
// Every prediction is written (with the SHA-256 of the machine report it used) before the first run
// starts. Then the cells are trained in shuffled, interleaved blocks, each block a process of its
// own between reference loops; a block during which these moved more than kDriftLimit is repeated.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"
#include "core/units.hpp"
#include "tools/plimsoll/cells.hpp"

namespace plimsoll::tools {

struct ValidationRequest {
  std::string machine_path;
  std::vector<Plan> plans;
  std::string directory;  // predictions/, runs/ and validation.json are made below it
  int blocks = 3;
  int max_attempts = 3;             // of a block that the machine disturbed
  Seconds block_time = Seconds(3);  // training time aimed at, from the prediction
  std::optional<Seconds> timeout;   // of one training; else from its prediction
  std::int64_t seed = 1;
  std::string data_dir;
  std::vector<std::string> argv;
};

// Writes all files and returns the validation report; a cell whose training failed becomes a
// finding and the others go on; an interrupt leaves what is done, marked partial.
using Progress = std::function<void(const std::string& what, double share_done)>;
[[nodiscard]] Report validate_suite(const ValidationRequest& request, const Progress& progress);

// What a validation report deserves: interrupted when it is partial, timed_out when a training had
// to be stopped, partial when a cell is missing for another reason.
[[nodiscard]] ExitCode exit_code_of_validation(const Report& report);

// Judges predictions and runs that exist as files, matched by plan.
[[nodiscard]] Report validate_files(const std::vector<std::string>& paths,
                                    const std::vector<std::string>& argv);

}  // namespace plimsoll::tools
