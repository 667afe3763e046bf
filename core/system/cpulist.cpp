// CPU sets and their list notation.

#include "core/system/cpulist.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace plimsoll::sys {
namespace {

// Far above any kernel's limit, low enough that "0-99999999999" is a mistake and not a request for
// memory.
constexpr std::int64_t kLargestId = (1 << 20) - 1;

Error bad_list(std::string_view part, std::string_view reason, std::string_view text,
               const std::string& where) {
  return usage_error("bad CPU list: \"" + std::string(part) + "\" " + std::string(reason) +
                         " in \"" + std::string(text) + "\"",
                     where, "write ids and ascending ranges, as in 0-3,64-67");
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> ids) : CpuSet(std::vector<int>(ids)) {}

CpuSet::CpuSet(std::vector<int> ids) : ids_(std::move(ids)) {
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  expects(ids_.empty() || ids_.front() >= 0, "CpuSet: ids cannot be negative");
}

bool CpuSet::contains(int id) const { return std::binary_search(ids_.begin(), ids_.end(), id); }

int CpuSet::first() const {
  expects(!ids_.empty(), "CpuSet::first: the set is empty");
  return ids_.front();
}

int CpuSet::last() const {
  expects(!ids_.empty(), "CpuSet::last: the set is empty");
  return ids_.back();
}

void CpuSet::insert(int id) {
  expects(id >= 0, "CpuSet::insert: ids cannot be negative");
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (at == ids_.end() || *at != id) ids_.insert(at, id);
}

CpuSet both(const CpuSet& a, const CpuSet& b) {
  std::vector<int> ids;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ids));
  return CpuSet(std::move(ids));
}

CpuSet either(const CpuSet& a, const CpuSet& b) {
  std::vector<int> ids;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ids));
  return CpuSet(std::move(ids));
}

CpuSet without(const CpuSet& a, const CpuSet& b) {
  std::vector<int> ids;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ids));
  return CpuSet(std::move(ids));
}

CpuSet parse_cpulist(std::string_view text, const std::string& where) {
  const std::string_view list = trim(text);
  if (list.empty()) return {};
  std::vector<int> ids;
  for (std::string_view part : split(list, ',')) {
    if (part.empty()) throw bad_list(part, "is an empty part", list, where);
    if (part.find(':') != std::string_view::npos)
      throw bad_list(part, "uses a stride, which is not supported", list, where);
    const auto dash = part.find('-');
    const std::string_view low_text = part.substr(0, dash);
    const std::string_view high_text =
        dash == std::string_view::npos ? low_text : part.substr(dash + 1);
    for (std::string_view number : {low_text, high_text}) {
      if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
        throw bad_list(part, "is not a number or a range", list, where);
      const auto value = parse_integer(number);
      if (!value || *value > kLargestId) throw bad_list(part, "is out of range", list, where);
    }
    const auto low = static_cast<int>(*parse_integer(low_text));
    const auto high = static_cast<int>(*parse_integer(high_text));
    if (high < low) throw bad_list(part, "counts down", list, where);
    for (int id = low; id <= high; ++id) ids.push_back(id);
  }
  return CpuSet(std::move(ids));
}

std::string format_cpulist(const CpuSet& cpus) {
  std::string text;
  const std::vector<int>& ids = cpus.ids();
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(ids[i]);
    if (end - i > 1) text += '-' + std::to_string(ids[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace plimsoll::sys
