// What follows the colon of a workload's name: "gpt:nano,sequence=128", "resnet18:image=224".
//
// A workload asks for each option that it has and then calls finish(), which refuses what was not
// asked for and lists what is possible.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll {

class WorkloadOptions {
 public:
  // `text` is what stands behind the colon; Error (usage) when it is not KEY=VALUE,KEY=VALUE, where
  // the first may be a bare word: the name of a size.
  WorkloadOptions(std::string workload, const std::string& text);

  // The bare word, or `usual`; Error (usage) when it is not one of `known`.
  [[nodiscard]] std::string size(const std::vector<std::string>& known, const std::string& usual);
  // Error (usage) when the value is not a whole number from `least` to `most`.
  [[nodiscard]] std::int64_t count(const std::string& key, std::int64_t usual, std::int64_t least,
                                   std::int64_t most);
  [[nodiscard]] bool yes(const std::string& key, bool usual);       // yes or no
  [[nodiscard]] double rate(const std::string& key, double usual);  // from 0 to below 1
  // Error (usage) for whatever has not been asked for.
  void finish() const;

 private:
  [[nodiscard]] const std::string* take(const std::string& key, const std::string& usual);
  [[noreturn]] void refuse(const std::string& what, const std::string& possible) const;

  std::string workload_, size_;
  std::map<std::string, std::string> values_;  // not yet asked for
  std::string possible_;                       // what was asked for: "layers=4, width=256"
};

}  // namespace plimsoll
