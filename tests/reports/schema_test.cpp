// The schemas describe what we write, completely, and refuse what is wrong.

#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"
#include "tests/reports/schema_check.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
using nlohmann::json;
namespace t = plimsoll::reports::testing;

namespace {

bool refused(const json& document) {
  const json& named = document.at("kind");
  const std::string kind = named.is_string() ? named.get<std::string>() : "report";
  return !t::schema_errors(document.dump(), kind).empty() &&
         !t::schema_errors(document.dump(), "report").empty();
}

json document_of(const Report& report) { return json::parse(to_json(report)); }

// A document with one place changed; the place is a JSON pointer.
json changed(const Report& report, const char* pointer, const json& value) {
  json document = document_of(report);
  document.at(json::json_pointer(pointer)) = value;
  return document;
}

json without(const Report& report, const std::string& parent, const std::string& key) {
  json document = document_of(report);
  REQUIRE(document.at(json::json_pointer(parent)).erase(key) == 1);
  return document;
}

// Every value of a document is a way to be wrong.
void check_each_value(const json& document, const json& part, const std::string& pointer) {
  if (part.is_object()) {
    for (const auto& [key, value] : part.items()) {
      check_each_value(document, value, pointer + "/" + key);
    }
  } else if (part.is_array() && !part.empty()) {
    check_each_value(document, part[0], pointer + "/0");
  }
  if (!part.is_string() && !part.is_number() && !part.is_boolean()) return;
  // An array stands nowhere in place of a plain value.
  json wrong = document;
  wrong.at(json::json_pointer(pointer)) = json::array({1, 2});
  INFO(pointer);
  CHECK(refused(wrong));
}

}  // namespace

TEST_CASE("every kind of report that we write fits its schema, with nothing undescribed") {
  for (const Report& report : t::all_samples()) {
    const std::string kind = kind_name(report.subject);
    INFO(kind);
    CHECK(t::schema_errors(to_json(report), kind, true) == std::vector<std::string>{});
    CHECK(t::schema_errors(to_json(report), "report") == std::vector<std::string>{});
    for (const std::string& other : schema_kinds()) {
      if (other == kind || other == "report") continue;
      CHECK_FALSE(t::schema_errors(to_json(report), other).empty());
    }
  }
}

TEST_CASE("a report of defaults fits as far as its identity goes") {
  Report report;
  report.id = new_id();
  report.created = now_rfc3339();
  report.subject = MachineSubject{.level = "default"};
  CHECK(t::schema_errors(to_json(report), "machine", true) == std::vector<std::string>{});
}

TEST_CASE("a value of the wrong type is refused wherever it stands") {
  for (const Report& report : t::all_samples()) {
    const json document = document_of(report);
    INFO(kind_name(report.subject));
    check_each_value(document, document, "");
  }
}

TEST_CASE("the wrong documents that users met are refused", "[G11]") {
  const Report machine = t::machine_sample();
  CHECK_FALSE(refused(document_of(machine)));
  CHECK(refused(changed(machine, "/metrics/0/value", "2.04e-9")));
  CHECK(refused(changed(machine, "/metrics/0/value", "N/A")));
  CHECK(refused(changed(machine, "/metrics/0/value", nullptr)));
  CHECK(refused(changed(machine, "/metrics/2/unit", "GB/s")));
  CHECK(refused(changed(machine, "/metrics/0/unit", "ns")));
  CHECK(refused(changed(machine, "/metrics/0/name", "Memory Latency")));
  CHECK(refused(changed(machine, "/metrics/0/status", "invalid")));
  CHECK(refused(changed(machine, "/schema", "plimsoll.report/2.0")));
  CHECK(refused(changed(machine, "/schema", "plimsoll.report/1")));
  CHECK_FALSE(refused(changed(machine, "/schema", "plimsoll.report/1.7")));
  CHECK(refused(changed(machine, "/id", "1")));
  CHECK(refused(changed(machine, "/created", "yesterday")));
  CHECK(refused(changed(machine, "/quality/verdict", "fine")));
  CHECK(refused(without(machine, "/metrics/0", "value")));
  CHECK(refused(without(machine, "/metrics/4", "reason")));  // implausible
  CHECK(refused(without(machine, "/metrics/4", "value")));   // implausible keeps its number
  CHECK(refused(without(machine, "/metrics/5", "reason")));  // skipped
  CHECK(refused(without(machine, "/subject/probes/1", "reason")));
  json skipped_with_value = document_of(machine);
  skipped_with_value["metrics"][5]["value"] = 0;
  CHECK(refused(skipped_with_value));
  json unknown_fact = document_of(machine);
  unknown_fact["environment"]["governor"] = json::object();
  CHECK(refused(unknown_fact));
  const Report validation = t::validation_sample();
  CHECK(refused(changed(validation, "/subject/machine/sha256", "abc")));
  CHECK(refused(without(validation, "/subject/rows/0", "inside")));
  const Report prediction = t::prediction_sample();
  CHECK(refused(changed(prediction, "/subject/tier", "guessed")));
  CHECK(refused(changed(prediction, "/subject/phases/forward_s", -1)));
}

TEST_CASE("fields of a later minor version are allowed") {
  json document = document_of(t::run_sample());
  document["new_section"] = {{"x", 1}};
  document["metrics"][0]["new_field"] = true;
  CHECK_FALSE(refused(document));
  CHECK_FALSE(t::schema_errors(document.dump(), "run", true).empty());
}

TEST_CASE("schemas are handed out whole, and an unknown kind lists the known") {
  CHECK(schema_kinds() == std::vector<std::string>{"machine", "prediction", "run", "validation",
                                                   "comparison", "report"});
  std::set<std::string> ids;
  for (const std::string& kind : schema_kinds()) {
    const json schema = json::parse(schema_text(kind));
    CHECK(schema.at("$schema") == "https://json-schema.org/draft/2020-12/schema");
    ids.insert(schema.at("$id").get<std::string>());
  }
  CHECK(ids.size() == 6);
  try {
    static_cast<void>(schema_text("machines"));
    FAIL("an unknown kind was accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::wrong_usage);
    CHECK(error.fix().find("machine, prediction, run") != std::string::npos);
  }
}
