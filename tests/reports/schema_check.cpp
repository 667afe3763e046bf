// valijson knows draft 7; our schemas keep to keywords that mean the same there and in 2020-12, so
// only the dialect's name is taken away before it is asked.

#include "tests/reports/schema_check.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "reports/report.hpp"

namespace plimsoll::reports::testing {
namespace {

using nlohmann::json;

// Every keyword that a schema of ours may use: the same in draft 7 and 2020-12.
constexpr std::array<std::string_view, 27> kKeywords = {"$id",
                                                        "$ref",
                                                        "$defs",
                                                        "title",
                                                        "type",
                                                        "required",
                                                        "enum",
                                                        "const",
                                                        "pattern",
                                                        "minimum",
                                                        "minLength",
                                                        "maximum",
                                                        "items",
                                                        "if",
                                                        "exclusiveMinimum",
                                                        "exclusiveMaximum",
                                                        "then",
                                                        "else",
                                                        "not",
                                                        "properties",
                                                        "minItems",
                                                        "maxItems",
                                                        "default",
                                                        "description",
                                                        "allOf",
                                                        "oneOf",
                                                        "additionalProperties"};

void adapt(json& schema, bool closed) {
  if (!schema.is_object()) throw std::runtime_error("a schema must be an object: " + schema.dump());
  schema.erase("$schema");
  for (const auto& [key, value] : schema.items()) {
    if (key != "anyOf" && std::find(kKeywords.begin(), kKeywords.end(), key) == kKeywords.end()) {
      throw std::runtime_error("keyword " + key + " may not mean the same in every draft");
    }
    if (key == "$ref" && schema.size() != 1) {
      throw std::runtime_error("draft 7 ignores what stands beside $ref " + value.dump());
    }
  }
  if (closed && schema.contains("properties") && schema.contains("type") &&
      !schema.contains("additionalProperties")) {
    schema["additionalProperties"] = false;
  }
  for (const char* map : {"properties", "$defs"}) {
    if (schema.contains(map)) {
      for (auto& [key, value] : schema[map].items()) adapt(value, closed);
    }
  }
  for (const char* list : {"allOf", "anyOf", "oneOf"}) {
    if (schema.contains(list)) {
      for (json& value : schema[list]) adapt(value, closed);
    }
  }
  for (const char* one : {"items", "if", "then", "else", "not", "additionalProperties"}) {
    if (schema.contains(one) && schema[one].is_object()) adapt(schema[one], closed);
  }
}

}  // namespace

std::vector<std::string> schema_errors(std::string_view text, std::string kind, bool closed) {
  const json document = json::parse(text);
  if (kind.empty()) kind = document.value("kind", "report");
  json schema_document = json::parse(schema_text(kind));
  adapt(schema_document, closed);

  valijson::Schema schema;
  valijson::SchemaParser parser;
  const valijson::adapters::NlohmannJsonAdapter schema_adapter(schema_document);
  parser.populateSchema(schema_adapter, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter document_adapter(document);
  std::vector<std::string> errors;
  if (validator.validate(schema, document_adapter, &results)) return errors;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    std::string place;
    for (const std::string& step : error.context) place += step;
    errors.push_back(place + ": " + error.description);
  }
  if (errors.empty()) errors.emplace_back("does not fit the schema");
  return errors;
}

}  // namespace plimsoll::reports::testing
