// Making the folder of a result, and clearing an earlier result out of it.

#include "tools/plimsoll/folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "reports/report.hpp"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParts[] = {"predictions", "runs"};

// Only what we write ourselves; other files in the folder stay.
void remove_result(const std::string& directory, const std::string& last) {
  std::vector<fs::path> old = {directory + "/" + last, directory + "/validation.json",
                               directory + "/report.html"};
  for (const char* part : kParts) {
    for (const auto& entry : fs::directory_iterator(directory + "/" + part)) {
      if (entry.path().extension() == ".json") old.push_back(entry.path());
    }
  }
  for (const fs::path& path : old) {
    std::error_code error;
    fs::remove(path, error);
    if (error) {
      throw Error("an earlier report cannot be removed: " + error.message(), path.string(),
                  "remove it yourself, or choose another folder with --out");
    }
  }
}

}  // namespace

void prepare_folder(const std::string& directory, const std::string& last, bool force) {
  std::error_code error;
  for (const char* part : kParts) {
    if (!error) fs::create_directories(directory + "/" + part, error);
  }
  if (error || ::access(directory.c_str(), W_OK) != 0) {
    throw Error("the output folder cannot be written: " +
                    (error ? error.message() : std::string(std::strerror(errno))),
                directory, "choose another folder with --out");
  }
  if (fs::exists(directory + "/" + last) && !force) {
    throw usage_error("the output folder holds a result already: " + last, directory,
                      "choose another folder with --out, or add --force to replace it");
  }
  // A full disk shows now, not after the measurements.
  const std::string trial = directory + "/.write-test";
  reports::write_text(std::string(1 << 20, ' '), trial);
  fs::remove(trial, error);
  if (force) remove_result(directory, last);
}

}  // namespace plimsoll::tools
