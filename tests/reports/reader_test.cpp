// The reader says what is wrong and where: line, column, the field's path; and forgives nothing but
// fields of later minor versions.

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "reports/json_value.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;

namespace {

struct Refusal {
  std::string what, where, fix;
};

// The error that reading `text` gives; fails the test when there is none.
Refusal refusal(const std::string& text) {
  try {
    static_cast<void>(from_json(text, "r.json"));
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::could_not_run);
    CHECK_FALSE(error.fix().empty());
    return {error.problem(), error.where(), error.fix()};
  }
  FAIL("accepted");
  return {};
}

Refusal refusal_of_file(const std::string& name) {
  return refusal(read_text(std::string(PLIMSOLL_TEST_DATA) + "/data/" + name));
}

std::string with(const std::string& text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return std::string(text).replace(at, old.size(), fresh);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("numbers that JSON does not know are named with their place", "[G01]") {
  for (const auto& [file, token] : std::vector<std::pair<std::string, std::string>>{
           {"G01_nan.json", "\"NaN\""},
           {"G01_minus_nan.json", "\"-nan\""},
           {"G01_inf.json", "\"inf\""},
           {"G01_minus_infinity.json", "\"-Infinity\""},
           {"G01_out_of_range.json", "1e999"}}) {
    INFO(file);
    const Refusal r = refusal_of_file(file);
    CHECK(has(r.what, token));
    CHECK(r.where == "r.json, line 125, column 16");
  }
  const std::string good = to_json(t::machine_sample());
  CHECK(has(refusal(with(good, "2.04e-09", "-1e999")).what, "-1e999"));
  CHECK(has(refusal(with(good, "2.04e-09", "1e-999")).what, "1e-999"));
  CHECK(has(refusal(with(good, "2.04e-09", "nan")).what, "nan"));
}

TEST_CASE("other versions are refused by name, later minor ones are read", "[G11]") {
  CHECK(refusal_of_file("G11_future_v99.json").what ==
        "this file is plimsoll.report/99.0, this program reads plimsoll.report/1");
  CHECK(refusal_of_file("G11_old_v0.json").what ==
        "this file is plimsoll.report/0.9, this program reads plimsoll.report/1");
  CHECK(has(refusal_of_file("G11_no_version.json").what, "no \"schema\" field"));
  CHECK(has(refusal_of_file("G11_version_as_number.json").what, "its schema is an integer"));
  CHECK(has(refusal_of_file("G11_foreign.json").what, "\"neutral-report\""));
  for (const char* version : {"1", "1.", ".0", "x.0", "1.x", "1.0.0", "-1.0", "", "10.0"}) {
    INFO(version);
    refusal(with(to_json(t::machine_sample()), "plimsoll.report/1.0",
                 std::string("plimsoll.report/") + version));
  }
  const std::string later = std::string(PLIMSOLL_TEST_DATA) + "/data/G11_later_minor.json";
  CHECK(to_json(read_report(later)) == to_json(t::machine_sample()));
}

TEST_CASE("bytes that are not UTF-8 are refused with their place", "[G13]") {
  const Refusal r = refusal_of_file("G13_latin1.json");
  CHECK(r.what == "byte 0xfc is not valid UTF-8");
  CHECK(r.where == "r.json, line 23, column 26");
  const std::string good = to_json(t::machine_sample());
  CHECK(has(refusal(with(good, "node-a", "caf\xe9 a")).what, "0xe9"));
  CHECK(has(refusal(with(good, "node-a", "\xed\xa0\x80")).what, "UTF-8"));  // a lone surrogate
  CHECK(has(refusal(with(good, "node-a", "\xc0\xaf")).what, "UTF-8"));      // overlong
  refusal(with(good, "node-a", "\\ud800"));
}

TEST_CASE("a key that stands twice is named, with both places") {
  const Refusal r = refusal_of_file("duplicate_key.json");
  CHECK(r.what == "key \"hostname\" appears twice in one object");
  CHECK(r.where == "r.json, line 24, column 5");
  CHECK(has(r.fix, "line 23"));
  // The same key written with an escape is the same key.
  const std::string good = to_json(t::machine_sample());
  CHECK(has(refusal(with(good, "\"vendor\"", "\"host\\u006eame\"")).what, "hostname"));
  CHECK(has(refusal(with(good, "\"vendor\"", "\"a\\\\\": 1, \"a\\\\\"")).where, "column"));
}

TEST_CASE("files that end too early are called cut off, empty ones empty") {
  CHECK(has(refusal_of_file("cut_off.json").what, "cut off"));
  CHECK(refusal_of_file("cut_off.json").where == "r.json, line 148, column 8");
  CHECK(has(refusal_of_file("empty.json").what, "empty (0 bytes)"));
  for (const char* text : {"{", "{\"a\"", "{\"a\": \"b", "[1, ", "tru", "{\"a\": 1", " \n"}) {
    INFO(text);
    CHECK(has(refusal(text).what, "cut off"));
  }
}

TEST_CASE("broken syntax is refused with its place") {
  const std::string good = to_json(t::machine_sample());
  CHECK(refusal("{\n  \"a\": 1,\n  'b': 2}").where == "r.json, line 3, column 3");
  CHECK(refusal("{\"\xc3\xa9\": tru}").where == "r.json, line 1, column 10");
  refusal(good + "x");
  refusal(good + good);
  refusal(with(good, "\"virtualised\": true,", "\"virtualised\": true,,"));
  refusal(with(good, "2.04e-09", "02.04"));
  refusal(with(good, "2.04e-09", "2.04e-09 // a comment\n"));
  refusal(with(good, "node-a", "node\na"));
  CHECK_NOTHROW(from_json("\xEF\xBB\xBF" + good, "r.json"));  // a byte order mark may lead
}

TEST_CASE("a value of the wrong type is named with its path") {
  const std::string good = to_json(t::machine_sample());
  Refusal r = refusal(with(good, "2.04e-09", "\"2.04e-09\""));
  CHECK(r.what == "expected a number, found a string \"2.04e-09\"");
  CHECK(r.where == "r.json, line 125, column 16 (/metrics/0/value)");
  CHECK(has(refusal(with(good, "2.04e-09", "null")).what, "found null"));
  CHECK(has(refusal(with(good, "\"sockets\": 1", "\"sockets\": 1.5")).what, "an integer"));
  CHECK(has(refusal(with(good, "\"sockets\": 1", "\"sockets\": 3000000000")).what, "2147483647"));
  CHECK(has(refusal(with(good, "\"sockets\": 1", "\"sockets\": 1e19")).what, "an integer"));
  CHECK_NOTHROW(from_json(with(good, "\"sockets\": 1", "\"sockets\": 1.0"), "r.json"));
  r = refusal(with(good, "\"better\": \"lower\"", "\"better\": \"smaller\""));
  CHECK(r.what == "expected one of lower, higher, none, found a string \"smaller\"");
  CHECK(has(refusal(with(good, "\"page\": \"4k\"", "\"page\": [4]")).where,
            "(/metrics/0/params/page)"));
  CHECK(has(refusal(with(good, "\"machine\"", "\"training\"")).what, "unknown kind"));
  CHECK(has(refusal("[]").what, "an array, not an object"));
  CHECK(has(refusal("17").what, "not an object"));
}

TEST_CASE("a missing field is named with its path") {
  const std::string good = to_json(t::machine_sample());
  Refusal r = refusal(with(good, "\"architecture\"", "\"architektur\""));
  CHECK(r.what == "required field \"architecture\" is missing");
  CHECK(has(r.where, "(/environment/architecture)"));
  r = refusal(with(good, "\"unit\": \"s\",\n", ""));
  CHECK(has(r.where, "(/metrics/0/unit)"));
  CHECK(has(refusal(with(good, "\"value\": 2.04e-09,\n", "")).what, "no value with status ok"));
  CHECK(has(refusal(with(good, "\"reason\": \"above the peak of this CPU\",\n", "")).what,
            "no reason with status implausible"));
}

TEST_CASE("nesting is bounded, however deep the file") {
  for (const std::size_t depth : {kMaximumDepth + 1, std::size_t{1000000}}) {
    CHECK(has(refusal(std::string(depth, '[')).what, "nested deeper"));
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
    CHECK(has(refusal(objects).what, "nested deeper"));
  }
  const std::string allowed = std::string(kMaximumDepth, '[') + std::string(kMaximumDepth, ']');
  CHECK(has(refusal(allowed).what, "not an object"));
}

TEST_CASE("many keys in one object are no trouble") {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text += "\"k0\":1}";
  CHECK(has(refusal(text).what, "\"k0\" appears twice"));
}

// Damage: no prefix and no changed byte may crash the reader (run it under the sanitizers too), and
// whatever it still accepts must be writable again.
TEST_CASE("every prefix of a report is refused") {
  for (const Report& report : t::all_samples()) {
    const std::string text = to_json(report);
    std::size_t accepted = 0;
    for (std::size_t length = 0; length + 1 < text.size(); ++length) {
      try {
        static_cast<void>(from_json(std::string_view(text).substr(0, length), "r.json"));
        ++accepted;
      } catch (const Error&) {
      }
    }
    CHECK(accepted == 0);
  }
}

TEST_CASE("every changed byte is refused or read as another valid report") {
  const std::string text = to_json(t::machine_sample());
  std::size_t refused = 0, accepted = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x02U, 0x20U, 0x80U, 0xffU}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      try {
        const std::string again = to_json(from_json(damaged, "r.json"));
        CHECK(to_json(from_json(again, "r.json")) == again);
        ++accepted;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  CHECK(refused > text.size());
  CHECK(accepted > 0);  // a changed letter in a free text stays valid
}
