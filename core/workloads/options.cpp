// Reading the options of a workload.

#include "core/workloads/options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "core/error.hpp"

namespace plimsoll {
namespace {

template <class T>
bool read(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [last, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && last == end;
}

std::string plain(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

WorkloadOptions::WorkloadOptions(std::string workload, const std::string& text)
    : workload_(std::move(workload)) {
  std::size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos && begin == 0 && !item.empty()) {
      size_ = item;
    } else if (equals == std::string::npos || equals == 0 || equals + 1 == item.size()) {
      refuse("'" + item + "' is no option", "write KEY=VALUE, with commas between");
    } else if (!values_.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
      refuse("'" + item.substr(0, equals) + "' is given twice", "give it once");
    }
    begin = end + 1;
  }
}

void WorkloadOptions::refuse(const std::string& what, const std::string& possible) const {
  throw usage_error("workload '" + workload_ + "': " + what, "--workload", possible);
}

const std::string* WorkloadOptions::take(const std::string& key, const std::string& usual) {
  possible_ += (possible_.empty() ? "" : ", ") + key + "=" + usual;
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::string WorkloadOptions::size(const std::vector<std::string>& known, const std::string& usual) {
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  possible_ += "one of " + names + " (" + usual + ")";
  const std::string asked = std::exchange(size_, "");
  if (asked.empty()) return usual;
  if (std::ranges::find(known, asked) == known.end()) {
    refuse("no size is called '" + asked + "'", "use one of: " + names);
  }
  return asked;
}

std::int64_t WorkloadOptions::count(const std::string& key, std::int64_t usual, std::int64_t least,
                                    std::int64_t most) {
  const std::string* const text = take(key, std::to_string(usual));
  if (text == nullptr) return usual;
  std::int64_t value = 0;
  if (!read(*text, value) || value < least || value > most) {
    refuse("'" + key + "=" + *text + "' is not possible",
           "use a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  values_.erase(key);
  return value;
}

bool WorkloadOptions::yes(const std::string& key, bool usual) {
  const std::string* const text = take(key, usual ? "yes" : "no");
  if (text == nullptr) return usual;
  if (*text != "yes" && *text != "no") {
    refuse("'" + key + "=" + *text + "' is not possible", "use yes or no");
  }
  const bool value = *text == "yes";
  values_.erase(key);
  return value;
}

double WorkloadOptions::rate(const std::string& key, double usual) {
  const std::string* const text = take(key, plain(usual));
  if (text == nullptr) return usual;
  double value = 0;
  if (!read(*text, value) || !(value >= 0 && value < 1)) {
    refuse("'" + key + "=" + *text + "' is not possible", "use a number from 0 to below 1");
  }
  values_.erase(key);
  return value;
}

void WorkloadOptions::finish() const {
  if (values_.empty() && size_.empty()) return;
  const std::string unknown = size_.empty() ? values_.begin()->first : size_;
  refuse("there is no option '" + unknown + "'",
         possible_.empty() ? "it has no options: leave the colon and what follows out"
                           : "possible, with what they are without being given: " + possible_);
}

}  // namespace plimsoll
