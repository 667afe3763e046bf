// A parsed JSON text in which every value remembers where it stands, so that whoever reads it can
// say "line 3, column 14" about anything, not only about broken syntax. Internal to reports/.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::reports {

struct Value {
  enum class Type { null, boolean, integer, real, string, array, object };
  Type type = Type::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;  // of an integer too
  std::string text;
  std::vector<Value> items;                                 // of an array or an object
  std::map<std::string, std::size_t, std::less<>> members;  // key -> index into items
  std::size_t offset = 0;                                   // byte where the value begins

  [[nodiscard]] const Value* find(std::string_view key) const;
};

[[nodiscard]] std::string_view type_name(Value::Type type);  // "an integer", "a string", ...

struct Document {
  std::string_view text;  // must outlive the document
  std::string where;      // the file's name
  Value root;

  // "report.json, line 3, column 14"; columns count characters, both from 1.
  [[nodiscard]] std::string place(std::size_t offset) const;
};

// Deeper nesting than this is refused: no report needs it, and recursion stays bounded.
inline constexpr std::size_t kMaximumDepth = 64;

// Error with line and column: broken syntax, duplicate keys, NaN and Infinity, numbers outside the
// range of a double, invalid UTF-8, truncation, too deep nesting.
[[nodiscard]] Document parse_json(std::string_view text, const std::string& where);

}  // namespace plimsoll::reports
