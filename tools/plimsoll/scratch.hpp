// A temporary directory that disappears with the object.

#pragma once

#include <string>

namespace plimsoll::tools {

class ScratchDirectory {
 public:
  ScratchDirectory();  // below $TMPDIR or /tmp; Error when neither can be written
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace plimsoll::tools
