// validate_report FILE...: is each file a report that our reader accepts and that fits our schema?
// Exit code 0 when all are, 1 with a message for each that is not. Other folders' tests run it on
// every report that they produce. --closed also refuses fields that the schema does not describe.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tests/reports/schema_check.hpp"

namespace {

bool is_valid(const std::string& path, bool closed) {
  using namespace plimsoll;
  const std::string text = reports::read_text(path);
  const Report report = reports::from_json(text, path);
  const std::vector<std::string> errors =
      reports::testing::schema_errors(text, kind_name(report.subject), closed);
  for (const std::string& error : errors) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.c_str());
  }
  return errors.empty();
}

}  // namespace

int main(int argc, char** argv) {
  bool closed = false, good = true;
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (path == "--closed") {
      closed = true;
      continue;
    }
    ++files;
    try {
      good = is_valid(path, closed) && good;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
      good = false;
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "usage: validate_report [--closed] FILE...\n");
    return 2;
  }
  return good ? 0 : 1;
}
