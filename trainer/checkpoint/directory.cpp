// A directory of checkpoints: step-000000001000.ckpt and so on, and a lock.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "trainer/checkpoint/checkpoint.hpp"

namespace plimsoll::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-", kSuffix = ".ckpt";

std::string name_of(std::int64_t step) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%012lld", static_cast<long long>(step));
  return std::string(kPrefix) + digits + std::string(kSuffix);
}

struct Entry {
  std::int64_t step;
  std::string path;
};

// By step, oldest first.
std::vector<Entry> entries(const std::string& directory) {
  std::vector<Entry> found;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(directory, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const auto step = sys::parse_integer(std::string_view(name).substr(
        kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    if (step && *step >= 0) found.push_back({*step, entry.path().string()});
  }
  std::ranges::sort(found, {}, &Entry::step);
  return found;
}

bool is_good(const std::string& path) {
  try {
    const Checkpoint checkpoint(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Found find_checkpoint(const std::string& path) {
  if (!fs::is_directory(path)) return {.checkpoint = Checkpoint(path), .corrupt = {}};
  std::vector<Entry> candidates = entries(path);
  std::vector<Finding> corrupt;
  for (auto entry = candidates.rbegin(); entry != candidates.rend(); ++entry) {
    try {
      return {.checkpoint = Checkpoint(entry->path), .corrupt = std::move(corrupt)};
    } catch (const Error& error) {
      corrupt.push_back({.id = "train.checkpoint_corrupt",
                         .severity = Severity::warning,
                         .message = entry->path + ": " + error.problem(),
                         .effect = "an older checkpoint was used",
                         .fix = "look at the disk; steps after the older one are trained again"});
    }
  }
  if (corrupt.empty()) {
    throw Error("there is no checkpoint", path, "start without --resume");
  }
  throw Error("no checkpoint is good; the newest: " + corrupt.front().message, path,
              "start without --resume");
}

CheckpointDirectory::CheckpointDirectory(std::string path, std::int64_t keep,
                                         std::int64_t first_step)
    : path_(std::move(path)), keep_(keep) {
  std::error_code problem;
  fs::create_directories(path_, problem);
  const std::string lock = path_ + "/lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) {
    throw Error(std::string("cannot write checkpoints here: ") + std::strerror(errno), path_,
                "use another --checkpoint");
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw Error("another run writes its checkpoints here", path_, "use another --checkpoint");
  }
  for (const Entry& entry : entries(path_)) {
    if (entry.step <= first_step) continue;
    if (is_good(entry.path)) {
      ::close(lock_);
      throw usage_error("there is a checkpoint of step " + std::to_string(entry.step) +
                            " already, and this run starts at step " + std::to_string(first_step),
                        path_,
                        "go on from it with --resume " + path_ + ", or use another --checkpoint");
    }
    fs::rename(entry.path, entry.path + ".corrupt", problem);
  }
}

CheckpointDirectory::~CheckpointDirectory() { ::close(lock_); }

void CheckpointDirectory::write(const CheckpointHeader& header, const CheckpointContent& content) {
  write_checkpoint(path_ + "/" + name_of(header.step), header, content);
  const std::vector<Entry> all = entries(path_);
  std::error_code ignored;
  for (std::size_t i = 0; static_cast<std::int64_t>(i) + keep_ < std::ssize(all); ++i) {
    fs::remove(all[i].path, ignored);
  }
  // What killed runs have left under a temporary name; nobody else writes here.
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    if (entry.path().extension() == ".tmp") fs::remove(entry.path(), ignored);
  }
}

}  // namespace plimsoll::trainer
