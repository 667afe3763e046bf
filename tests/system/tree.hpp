// Made-up roots: directories that stand for "/", built from manifests in data/*.tree (a line is a
// path, a tab and the content, with \n for line ends) and from single files.

#pragma once

#include <string>

namespace plimsoll::sys::testing {

class Tree {
 public:
  Tree();                                      // an empty root
  explicit Tree(const std::string& manifest);  // name in data/, without .tree
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Tree& add(const std::string& path, const std::string& content);
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

// The text of a file in data/.
[[nodiscard]] std::string data_text(const std::string& file);

}  // namespace plimsoll::sys::testing
