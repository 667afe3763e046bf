// Builds made-up /sys and /proc trees from their manifests.

#include "tests/system/tree.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace plimsoll::sys::testing {
namespace {

std::string with_line_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; ++at)
    text.replace(at, 2, "\n");
  return text;
}

}  // namespace

std::string data_text(const std::string& file) {
  std::ifstream in(std::string(PLIMSOLL_TEST_DATA) + "/data/" + file);
  if (!in) throw std::runtime_error("no test data: " + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Tree::Tree() {
  std::string pattern = std::filesystem::temp_directory_path() / "plimsoll-tree-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a directory");
  root_ = pattern;
}

Tree::Tree(const std::string& manifest) : Tree() {
  std::istringstream lines(data_text(manifest + ".tree"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto tab = line.find('\t');
    add("/" + line.substr(0, tab),
        tab == std::string::npos ? "" : with_line_ends(line.substr(tab + 1)));
  }
}

Tree::~Tree() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

Tree& Tree::add(const std::string& path, const std::string& content) {
  const std::filesystem::path full = root_ + path;
  std::filesystem::create_directories(full.parent_path());
  std::ofstream(full) << content;
  return *this;
}

}  // namespace plimsoll::sys::testing
