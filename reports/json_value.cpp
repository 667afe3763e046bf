// The strict parser: nlohmann's lexer and grammar, our positions, duplicate check and messages.

#include "reports/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"

namespace plimsoll::reports {
namespace {

// Walks the text for nlohmann's lexer and counts what was consumed: when an event arrives, the
// value it reports ends there.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* consumed_;
};

bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool in_word(char c) {
  return in_number(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The word or number around `offset`, for messages: "-nan", "1e999".
std::pair<std::size_t, std::string> word_around(std::string_view text, std::size_t offset) {
  if (text.empty()) return {0, ""};
  std::size_t begin = std::min(offset, text.size() - 1);
  if (!in_word(text[begin]) && begin > 0 && in_word(text[begin - 1])) --begin;
  if (!in_word(text[begin])) return {begin, ""};
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < text.size() && in_word(text[end])) ++end;
  return {begin, std::string(text.substr(begin, std::min<std::size_t>(end - begin, 40)))};
}

bool names_no_number(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.erase(0, 1);
  constexpr std::array<std::string_view, 3> kWords = {"nan", "inf", "infinity"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(Document& document, const std::size_t& consumed)
      : document_(document), consumed_(consumed) {}

  bool null() override { return add(Value::Type::null, consumed_ - 4) != nullptr; }
  bool boolean(bool value) override {
    add(Value::Type::boolean, consumed_ - (value ? 4 : 5))->boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (std::in_range<std::int64_t>(value)) return integer(static_cast<std::int64_t>(value));
    Value* added = add(Value::Type::real, number_begin());
    added->real = static_cast<double>(value);
    return true;
  }
  bool number_float(number_float_t, const string_t&) override {
    const std::size_t begin = number_begin();
    const std::string_view token = token_at(begin);
    double value = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + token.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) out_of_range(begin, token);
    add(Value::Type::real, begin)->real = value;
    return true;
  }
  bool string(string_t& value) override {
    add(Value::Type::string, string_begin())->text = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Value::Type::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Value::Type::array); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    Value& object = *open_.back();
    const std::size_t begin = string_begin();
    const auto [first, inserted] = object.members.emplace(value, object.items.size());
    if (!inserted) {
      throw Error(fmt::format("key \"{}\" appears twice in one object", printable(value)),
                  document_.place(begin),
                  fmt::format("remove one of them; the first stands at {}",
                              document_.place(object.items[first->second].offset)));
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    const std::size_t offset = position > 0 ? position - 1 : 0;
    const std::string_view text = document_.text;
    const std::string said = problem.what();
    if (position > text.size()) {
      throw Error("the JSON ends too early: the file is cut off", document_.place(text.size()),
                  "write or copy the file again");
    }
    const auto [begin, word] = word_around(text, offset);
    if (problem.id == 406) out_of_range(begin, word);
    if (names_no_number(word)) {
      throw Error(fmt::format("\"{}\" is not a number in JSON", word), document_.place(begin),
                  "write the file with a program that leaves out missing values");
    }
    if (said.find("ill-formed UTF-8") != std::string::npos) not_utf8(offset);
    throw Error("not JSON: " + reason_in(said), document_.place(offset),
                "check that this is the whole, unedited file");
  }

 private:
  bool integer(std::int64_t value) {
    Value* added = add(Value::Type::integer, number_begin());
    added->integer = value;
    added->real = static_cast<double>(value);
    return true;
  }

  Value* add(Value::Type type, std::size_t offset) {
    Value* value = &document_.root;
    if (!open_.empty()) value = &open_.back()->items.emplace_back();
    value->type = type;
    value->offset = offset;
    return value;
  }
  // Containers still open never move: only the innermost one grows.
  bool open(Value::Type type) {
    if (open_.size() == kMaximumDepth) {
      throw Error(fmt::format("nested deeper than {} levels", kMaximumDepth),
                  document_.place(consumed_ - 1), "check that this is a report");
    }
    open_.push_back(add(type, consumed_ - 1));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  // The lexer looks one character beyond a number, but not beyond the end of the text.
  [[nodiscard]] std::size_t number_begin() const {
    std::size_t begin = consumed_;
    if (begin > 0 && !in_number(document_.text[begin - 1])) --begin;
    while (begin > 0 && in_number(document_.text[begin - 1])) --begin;
    return begin;
  }
  [[nodiscard]] std::string_view token_at(std::size_t begin) const {
    std::size_t end = begin;
    while (end < document_.text.size() && in_number(document_.text[end])) ++end;
    return document_.text.substr(begin, end - begin);
  }
  // Inside a string every quote is escaped: walk back to the first that is not.
  [[nodiscard]] std::size_t string_begin() const {
    for (std::size_t at = consumed_ - 1; at > 0;) {
      --at;
      if (document_.text[at] != '"') continue;
      std::size_t slashes = 0;
      while (slashes < at && document_.text[at - 1 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) return at;
    }
    return 0;
  }

  [[noreturn]] void out_of_range(std::size_t begin, std::string_view token) const {
    throw Error(fmt::format("number {} is out of the range of a double", token),
                document_.place(begin), "check the program that wrote it");
  }
  // The lexer stops at the byte that should have continued a character: show the one before it.
  [[noreturn]] void not_utf8(std::size_t offset) const {
    const std::string_view text = document_.text;
    const auto is_ascii = [&](std::size_t at) {
      return static_cast<unsigned char>(text[at]) < 0x80U;
    };
    offset = std::min(offset, text.size() - 1);
    if (is_ascii(offset) && offset > 0 && !is_ascii(offset - 1)) --offset;
    throw Error(
        fmt::format("byte 0x{:02x} is not valid UTF-8", static_cast<unsigned char>(text[offset])),
        document_.place(offset), "convert the file to UTF-8 (iconv)");
  }
  static std::string printable(const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 60) + "...";
  }
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
  static std::string reason_in(const std::string& said) {
    const std::size_t colon = said.find(": ");
    std::string reason = colon == std::string::npos ? said : said.substr(colon + 2);
    constexpr std::string_view kNoise = "syntax error ";
    if (reason.starts_with(kNoise)) reason.erase(0, kNoise.size());
    return nlohmann::json(reason).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  Document& document_;
  const std::size_t& consumed_;
  std::vector<Value*> open_;
};

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto at = members.find(key);
  return at == members.end() ? nullptr : &items[at->second];
}

std::string_view type_name(Value::Type type) {
  constexpr std::array<std::string_view, 7> kNames = {
      "null", "true or false", "an integer", "a number", "a string", "an array", "an object"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string Document::place(std::size_t offset) const {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::string_view in_line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto column = 1 + std::count_if(in_line.begin(), in_line.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                      });
  return fmt::format("{}, line {}, column {}", where, line, column);
}

Document parse_json(std::string_view text, const std::string& where) {
  if (text.empty()) {
    throw Error("the file is empty (0 bytes)", where,
                "write or copy it again; the program that wrote it was probably stopped");
  }
  Document document{.text = text, .where = where, .root = {}};
  std::size_t consumed = 0;
  Builder builder(document, consumed);
  const char* begin = text.data();
  nlohmann::json::sax_parse(Cursor(begin, &consumed), Cursor(begin + text.size(), &consumed),
                            &builder);
  return document;
}

}  // namespace plimsoll::reports
