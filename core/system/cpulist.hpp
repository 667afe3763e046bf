// Sets of CPU ids of any size, and the kernel's list notation "0-3,64-67,1024".

#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sys {

class CpuSet {
 public:
  CpuSet() = default;
  CpuSet(std::initializer_list<int> ids);
  explicit CpuSet(std::vector<int> ids);  // any order, duplicates allowed

  [[nodiscard]] bool empty() const { return ids_.empty(); }
  [[nodiscard]] int count() const { return static_cast<int>(ids_.size()); }
  [[nodiscard]] bool contains(int id) const;
  [[nodiscard]] int first() const;  // expects: not empty
  [[nodiscard]] int last() const;   // expects: not empty
  [[nodiscard]] const std::vector<int>& ids() const { return ids_; }
  [[nodiscard]] auto begin() const { return ids_.begin(); }
  [[nodiscard]] auto end() const { return ids_.end(); }
  void insert(int id);
  bool operator==(const CpuSet&) const = default;

 private:
  std::vector<int> ids_;  // ascending, unique
};

[[nodiscard]] CpuSet both(const CpuSet& a, const CpuSet& b);
[[nodiscard]] CpuSet either(const CpuSet& a, const CpuSet& b);
[[nodiscard]] CpuSet without(const CpuSet& a, const CpuSet& b);

// Spaces around the whole list are trimmed, an empty list is an empty set, duplicates count once;
// the stride form "0-3:2/4" is refused. Error (usage) quoting the bad part and naming `where`.
[[nodiscard]] CpuSet parse_cpulist(std::string_view text, const std::string& where);
[[nodiscard]] std::string format_cpulist(const CpuSet& cpus);

}  // namespace plimsoll::sys
