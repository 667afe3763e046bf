// Writing: under a temporary name, synced, renamed, the directory synced.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/checkpoint/format.hpp"

namespace plimsoll::trainer {
namespace {

[[noreturn]] void cannot_write(const std::string& path, int problem) {
  throw Error(std::string("cannot write a checkpoint: ") + std::strerror(problem), path,
              problem == ENOSPC || problem == EDQUOT
                  ? "free some space, or use another --checkpoint"
                  : "use another --checkpoint");
}

// The temporary file: gone unless it was renamed. What is written is hashed on the way.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path),
        temporary_(path + ".tmp"),
        fd_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) cannot_write(path_, errno);
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::span<const std::byte> bytes) {
    digest_.add(bytes);
    write_plain(bytes);
  }

  void finish() {
    const Digest digest = digest_.take();
    write_plain(digest);
    if (::fsync(fd_) != 0) cannot_write(path_, errno);
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) cannot_write(path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
    temporary_.clear();
    sync_directory();
  }

 private:
  void write_plain(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) cannot_write(path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  // File systems that cannot sync a directory say EINVAL.
  void sync_directory() const {
    const std::string directory = std::filesystem::path(path_).parent_path().string();
    const int fd =
        ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    const int problem = ::fsync(fd) == 0 ? 0 : errno;
    ::close(fd);
    if (problem == EIO || problem == ENOSPC || problem == EDQUOT) cannot_write(path_, problem);
  }

  std::string path_, temporary_;
  int fd_;
  Sha256 digest_;
};

std::string header_text(const CheckpointHeader& header) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "workload " << header.workload << "\ngraph " << header.graph << "\noptimizer "
      << header.optimizer << "\ndtype " << header.dtype << "\nseed " << header.seed << "\nbatch "
      << header.batch << "\nsamples " << header.samples << "\nrule " << header.rule << "\nworkers "
      << header.workers << "\nstep " << header.step << "\noperator_state " << header.operator_state
      << '\n';
  for (const std::string& name : header.optimizer_state) out << "optimizer_state " << name << '\n';
  for (const Parameter& parameter : header.parameters) {
    out << "parameter ";
    for (std::size_t i = 0; i < parameter.shape.size(); ++i) {
      out << (i == 0 ? "" : "x") << parameter.shape[i];
    }
    out << ' ' << parameter.name << '\n';
  }
  return out.str();
}

std::span<const float> part(std::span<const float> flat, const Range& range) {
  return flat.subspan(static_cast<std::size_t>(range.begin),
                      static_cast<std::size_t>(range.size()));
}

}  // namespace

void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const CheckpointContent& content) {
  File file(path);
  std::string text = header_text(header);
  const CheckpointPreamble preamble{.header_bytes = text.size()};
  text.resize((sizeof(preamble) + text.size() + kCheckpointAlignment - 1) / kCheckpointAlignment *
                      kCheckpointAlignment -
                  sizeof(preamble),
              '\0');
  file.write(std::as_bytes(std::span(&preamble, 1)));
  file.write(std::as_bytes(std::span(text)));
  for (const Range& parameter : content.layout.parameters) {
    file.write(std::as_bytes(part(content.weights, parameter)));
    for (const auto& state : content.optimizer_state) {
      file.write(std::as_bytes(part(state, parameter)));
    }
  }
  file.write(std::as_bytes(content.operator_state));
  file.finish();
}

}  // namespace plimsoll::trainer
