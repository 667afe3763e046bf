// JSON text to records: strict about what it knows, silent about fields it does not know.

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/error.hpp"
#include "reports/json_fields.hpp"
#include "reports/json_value.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {
namespace {

// A place in the document as a chain up to its root; becomes text only when something is wrong.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  std::size_t index = 0;

  [[nodiscard]] std::string pointer() const {
    if (parent == nullptr) return "";
    if (key.data() == nullptr) return parent->pointer() + "/" + std::to_string(index);
    std::string escaped;  // RFC 6901
    for (const char c : key) {
      if (c == '~') escaped += "~0";
      if (c == '/') escaped += "~1";
      if (c != '~' && c != '/') escaped += c;
    }
    return parent->pointer() + "/" + escaped;
  }
};

class Reader {
 public:
  template <class T>
  using Ref = T;

  Reader(const Document& document, const Value& object, const Path& path)
      : document_(document), object_(object), path_(path) {
    if (object.type != Value::Type::object) unexpected(object, path, "an object");
  }

  template <class T>
  void required(std::string_view key, T& field) {
    const Value* value = object_.find(key);
    if (value == nullptr) {
      fail(fmt::format("required field \"{}\" is missing", key), object_,
           Path{.parent = &path_, .key = key}, "check which program wrote this file");
    }
    read(*value, Path{.parent = &path_, .key = key}, field);
  }
  template <class T>
  void optional(std::string_view key, T& field) {
    const Value* value = object_.find(key);
    if (value != nullptr) read(*value, Path{.parent = &path_, .key = key}, field);
  }
  template <class T>
  void unless_default(std::string_view key, T& field, const T& fallback) {
    field = fallback;
    optional(key, field);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const Value& at, const Path& path,
                         const std::string& fix) const {
    const std::string pointer = path.pointer();
    throw Error(what, document_.place(at.offset) + (pointer.empty() ? "" : " (" + pointer + ")"),
                fix);
  }
  [[noreturn]] void unexpected(const Value& value, const Path& path,
                               std::string_view expected) const {
    std::string found(type_name(value.type));
    if (value.type == Value::Type::string && value.text.size() <= 40) {
      found += " \"" + value.text + "\"";
    }
    if (value.type == Value::Type::real || value.type == Value::Type::integer) {
      found += fmt::format(" {}", value.real);
    }
    fail(fmt::format("expected {}, found {}", expected, found), value, path,
         "check which program wrote this file");
  }

  template <class T>
  void read(const Value& value, const Path& path, T& out) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (value.type != Value::Type::boolean) unexpected(value, path, "true or false");
      out = value.boolean;
    } else if constexpr (std::is_integral_v<T>) {
      out = read_integer<T>(value, path);
    } else if constexpr (std::is_same_v<T, double>) {
      if (value.type != Value::Type::real && value.type != Value::Type::integer) {
        unexpected(value, path, "a number");
      }
      out = value.real;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (value.type != Value::Type::string) unexpected(value, path, "a string");
      out = value.text;
    } else if constexpr (std::is_enum_v<T>) {
      read_word(value, path, out);
    } else {
      read_record(value, path, out);
    }
  }

  // 5.0 is an integer too, as in JSON Schema.
  template <class T>
  [[nodiscard]] T read_integer(const Value& value, const Path& path) const {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    std::int64_t integer = value.integer;
    if (value.type == Value::Type::real && std::nearbyint(value.real) == value.real &&
        std::abs(value.real) <= kExact) {
      integer = static_cast<std::int64_t>(value.real);
    } else if (value.type != Value::Type::integer) {
      unexpected(value, path, "an integer");
    }
    if (!std::in_range<T>(integer)) {
      unexpected(value, path,
                 fmt::format("an integer of at most {}", std::numeric_limits<T>::max()));
    }
    return static_cast<T>(integer);
  }

  template <class Enum>
  void read_word(const Value& value, const Path& path, Enum& out) const {
    std::string known;
    std::size_t index = 0;
    for (const std::string_view candidate : words(Enum{})) {
      if (value.type == Value::Type::string && value.text == candidate) {
        out = static_cast<Enum>(index);
        return;
      }
      known += (index++ == 0 ? "" : ", ") + std::string(candidate);
    }
    unexpected(value, path, "one of " + known);
  }

  template <class T>
  void read_record(const Value& value, const Path& path, T& out) const {
    Reader reader(document_, value, path);
    fields(reader, out);
    if (const std::string problem = problem_of(out); !problem.empty()) {
      fail(problem, value, path, "check which program wrote this file");
    }
  }
  template <int S, int B, int F>
  void read_record(const Value& value, const Path& path, Quantity<S, B, F>& out) const {
    double number = 0;
    read(value, path, number);
    out = Quantity<S, B, F>(number);
  }
  template <class T>
  void read_record(const Value& value, const Path& path, std::optional<T>& out) const {
    read(value, path, out.emplace());
  }
  template <class T>
  void read_record(const Value& value, const Path& path, std::vector<T>& out) const {
    if (value.type != Value::Type::array) unexpected(value, path, "an array");
    out.clear();
    out.reserve(value.items.size());
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      read(value.items[i], Path{.parent = &path, .key = {}, .index = i}, out.emplace_back());
    }
  }
  template <class T>
  void read_record(const Value& value, const Path& path, std::map<std::string, T>& out) const {
    if (value.type != Value::Type::object) unexpected(value, path, "an object");
    for (const auto& [key, index] : value.members) {
      read(value.items[index], Path{.parent = &path, .key = key}, out[key]);
    }
  }
  void read_record(const Value& value, const Path& path, ParamValue& out) const {
    switch (value.type) {
      case Value::Type::boolean:
        out = value.boolean;
        return;
      case Value::Type::integer:
        out = value.integer;
        return;
      case Value::Type::real:
        out = value.real;
        return;
      case Value::Type::string:
        out = value.text;
        return;
      default:
        unexpected(value, path, "a string, a number, true or false");
    }
  }

  const Document& document_;
  const Value& object_;
  const Path& path_;
};

// "plimsoll.report/1.0" -> refuses anything but the family and major of `ours`.
void check_schema(const Document& document, std::string_view ours, std::string_view what) {
  const std::string_view known = ours.substr(0, ours.rfind('.'));  // plimsoll.report/1
  const std::string_view family = known.substr(0, known.find('/') + 1);
  const std::string reads = fmt::format("this program reads {}", known);
  if (document.root.type != Value::Type::object) {
    throw Error(fmt::format("not a plimsoll {}: it holds {}, not an object", what,
                            type_name(document.root.type)),
                document.place(document.root.offset), reads);
  }
  const Value* schema = document.root.find("schema");
  if (schema == nullptr) {
    throw Error(
        fmt::format("not a plimsoll {}: it has no \"schema\" field that names its version", what),
        document.where, reads);
  }
  const std::string place = document.place(schema->offset) + " (/schema)";
  if (schema->type != Value::Type::string || !schema->text.starts_with(family)) {
    throw Error(fmt::format("not a plimsoll {}: its schema is {}{}", what, type_name(schema->type),
                            schema->type == Value::Type::string ? " \"" + schema->text + "\"" : ""),
                place, reads);
  }
  const std::string_view version = std::string_view(schema->text).substr(family.size());
  const std::string_view major = version.substr(0, version.find('.'));
  const std::string_view minor =
      major.size() < version.size() ? version.substr(major.size() + 1) : "";
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(major) || !is_number(minor)) {
    throw Error(fmt::format("schema \"{}\" names no version MAJOR.MINOR", schema->text), place,
                reads);
  }
  if (fmt::format("{}{}", family, major) != known) {
    throw Error(fmt::format("this file is {}, this program reads {}", schema->text, known), place,
                "use the version of plimsoll that wrote it, or make the file again with this one");
  }
}

template <class T>
void read_subject(Reader& reader, Subject& out) {
  T subject;
  reader.required("subject", subject);
  out = std::move(subject);
}

struct KindEntry {
  const char* name;
  void (*read)(Reader&, Subject&);
};
constexpr std::array<KindEntry, 5> kKinds = {{{"machine", read_subject<MachineSubject>},
                                              {"prediction", read_subject<Prediction>},
                                              {"run", read_subject<Run>},
                                              {"validation", read_subject<Validation>},
                                              {"comparison", read_subject<Comparison>}}};

}  // namespace

Report from_json(std::string_view text, const std::string& where) {
  const Document document = parse_json(text, where);
  check_schema(document, kSchemaName, "report");
  const Path root;
  Reader reader(document, document.root, root);
  std::string kind;
  reader.required("kind", kind);
  Report report;
  reader.required("id", report.id);
  reader.required("created", report.created);
  reader.required("tool", report.tool);
  reader.required("command", report.command);
  reader.required("environment", report.environment);
  reader.required("quality", report.quality);
  bool known = false;
  for (const KindEntry& entry : kKinds) {
    if (kind != entry.name) continue;
    entry.read(reader, report.subject);
    known = true;
  }
  if (!known) {
    throw Error(fmt::format("unknown kind of report \"{}\"", kind),
                document.place(document.root.find("kind")->offset) + " (/kind)",
                "known kinds: machine, prediction, run, validation, comparison");
  }
  reader.required("metrics", report.metrics);
  reader.required("findings", report.findings);
  return report;
}

Job job_from_json(std::string_view text, const std::string& where) {
  const Document document = parse_json(text, where);
  check_schema(document, kJobSchemaName, "job");
  const Path root;
  Reader reader(document, document.root, root);
  Job job;
  fields(reader, job);
  return job;
}

}  // namespace plimsoll::reports
