// Ids, times and hashes.

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;

TEST_CASE("SHA-256 gives the published digests") {  // FIPS 180-4 examples
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("ids are random UUIDs of version 4") {
  const std::regex shape("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = new_id();
    CHECK(std::regex_match(id, shape));
    ids.insert(id);
  }
  CHECK(ids.size() == 1000);
}

TEST_CASE("the time is RFC 3339 in UTC and does not run backwards as text") {
  const std::string a = now_rfc3339(), b = now_rfc3339();
  CHECK(std::regex_match(
      a,
      std::regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{6}Z")));
  CHECK(a <= b);
}

TEST_CASE("a reference proves which bytes were meant") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("plimsoll-" + new_id() + ".json");
  const Report report = plimsoll::reports::testing::machine_sample();
  write_report(report, path);
  const ReportRef reference = reference_to(path);
  CHECK(reference.id == report.id);
  CHECK(reference.created == report.created);
  CHECK(reference.path == path);
  CHECK(reference.sha256 == sha256_hex(to_json(report)));
  write_text(to_json(report) + "\n", path);
  CHECK(reference_to(path).sha256 != reference.sha256);
  write_text("{}", path);
  CHECK_THROWS(reference_to(path));
  std::filesystem::remove(path);
}
