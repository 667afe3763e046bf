// Records to JSON text: canonical order, round-trip floats, never NaN or Infinity.
//
// A number is printed by nlohmann/json, which asks no locale. Arrays of plain values stand on one
// line, so that a report with thousands of samples stays readable and its differences small.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/error.hpp"
#include "reports/json_fields.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
bool is_empty(const T& v) {
  return v.empty();
}
template <class T>
bool is_empty(const std::optional<T>& v) {
  return !v.has_value();
}
template <class T>
bool is_empty(const Known<T>& v) {
  return !v.value && v.reason.empty();
}

class Writer {
 public:
  template <class T>
  using Ref = const T;

  Writer(Json& object, std::string path) : object_(object), path_(std::move(path)) {
    object_ = Json::object();
  }

  template <class T>
  void required(std::string_view key, const T& field) {
    object_[std::string(key)] = json_of(field, path_ + "/" + std::string(key));
  }
  template <class T>
  void optional(std::string_view key, const T& field) {
    if (!is_empty(field)) required(key, field);
  }
  template <class T>
  void unless_default(std::string_view key, const T& field, const T& fallback) {
    if (field != fallback) required(key, field);
  }

  template <class T>
  static Json json_of(const T& v, const std::string& path) {
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T> ||
                  std::is_same_v<T, std::string>) {
      return v;
    } else if constexpr (std::is_same_v<T, double>) {
      if (!std::isfinite(v)) not_finite(v, path);
      return v;
    } else if constexpr (std::is_enum_v<T>) {
      return word(v);
    } else {
      return json_of_record(v, path);
    }
  }

 private:
  [[noreturn]] static void not_finite(double v, const std::string& path) {
    throw Error(fmt::format("cannot write {}: JSON has no such number", v), "report" + path,
                "this is a fault of the program that made the number; please report it");
  }

  template <class T>
  static Json json_of_record(const T& v, const std::string& path) {
    if (const std::string problem = problem_of(v); !problem.empty()) {
      throw Error("cannot write: " + problem, "report" + path,
                  "this is a fault of the program that made the record; please report it");
    }
    Json object;
    Writer writer(object, path);
    fields(writer, v);
    return object;
  }
  template <int S, int B, int F>
  static Json json_of_record(Quantity<S, B, F> v, const std::string& path) {
    return json_of(v.value(), path);
  }
  template <class T>
  static Json json_of_record(const std::optional<T>& v, const std::string& path) {
    return json_of(*v, path);
  }
  template <class T>
  static Json json_of_record(const std::vector<T>& v, const std::string& path) {
    Json array = Json::array();
    for (std::size_t i = 0; i < v.size(); ++i) {
      array.push_back(json_of<T>(v[i], fmt::format("{}/{}", path, i)));
    }
    return array;
  }
  template <class T>
  static Json json_of_record(const std::map<std::string, T>& v, const std::string& path) {
    Json object = Json::object();
    for (const auto& [key, value] : v) object[key] = json_of(value, path + "/" + key);
    return object;
  }
  static Json json_of_record(const ParamValue& v, const std::string& path) {
    return std::visit([&](const auto& value) { return json_of(value, path); }, v);
  }
  // A metric's own name says more than its place in a list.
  static Json json_of_record(const Metric& v, const std::string& path) {
    try {
      return json_of_record<Metric>(v, "");
    } catch (const Error& error) {
      const std::string within = error.where().substr(std::string_view("report").size());
      throw Error("metric " + v.name + ": " + error.problem(), "report" + path + within,
                  error.fix());
    }
  }

  Json& object_;
  std::string path_;
};

std::string escaped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print(const Json& value, std::size_t indent, std::string& out) {
  const bool inner = value.is_structured() && !value.empty();
  const bool plain =
      value.is_array() &&
      std::none_of(value.begin(), value.end(), [](const Json& i) { return i.is_structured(); });
  if (!inner) {
    out += escaped(value);
    return;
  }
  const bool object = value.is_object();
  const std::string line = plain ? "" : "\n" + std::string(indent + 2, ' ');
  out += object ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) out += plain ? ", " : ",";
    first = false;
    out += line;
    if (object) out += escaped(Json(item.key())) + ": ";
    print(*item, indent + 2, out);
  }
  if (!plain) out += "\n" + std::string(indent, ' ');
  out += object ? '}' : ']';
}

std::string printed(const Json& document) {
  std::string text;
  print(document, 0, text);
  text += '\n';
  return text;
}

}  // namespace

std::string to_json(const Report& report) {
  Json document;
  Writer writer(document, "");
  writer.required("schema", std::string(kSchemaName));
  writer.required("kind", kind_name(report.subject));
  writer.required("id", report.id);
  writer.required("created", report.created);
  writer.required("tool", report.tool);
  writer.required("command", report.command);
  writer.required("environment", report.environment);
  writer.required("quality", report.quality);
  std::visit([&](const auto& subject) { writer.required("subject", subject); }, report.subject);
  writer.required("metrics", report.metrics);
  writer.required("findings", report.findings);
  return printed(document);
}

std::string job_to_json(const Job& job) {
  Json document;
  Writer writer(document, "");
  writer.required("schema", std::string(kJobSchemaName));
  fields(writer, job);
  return printed(document);
}

}  // namespace plimsoll::reports
