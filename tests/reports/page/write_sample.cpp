// write_sample FOLDER: the sample reports as JSON files and their page, for looking at.

#include <cstdio>

#include "core/error.hpp"
#include "reports/format/html.hpp"
#include "reports/report.hpp"
#include "tests/reports/page/sample_reports.hpp"

int main(int argc, char** argv) {
  using namespace plimsoll;
  if (argc != 2) {
    std::fputs("usage: write_sample FOLDER\n", stderr);
    return 2;
  }
  try {
    const std::string folder = argv[1];
    const std::vector<Report> all = reports::testing::sample_reports();
    for (std::size_t i = 0; i < all.size(); ++i) {
      reports::write_report(
          all[i], folder + "/" + kind_name(all[i].subject) + "-" + std::to_string(i + 1) + ".json");
    }
    reports::write_text(reports::html_page(all), folder + "/report.html");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
