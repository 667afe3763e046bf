// Reading: the checksum first, then what the header says, then whether it fits.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/checkpoint/format.hpp"

namespace plimsoll::trainer {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(what, path, "use another checkpoint");
}

std::int64_t number(std::string_view text, const std::string& path) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    refuse(path, "not a number in the header: " + std::string(text));
  }
  return value;
}

std::pair<std::string_view, std::string_view> halves(std::string_view text, char at) {
  const std::size_t middle = text.find(at);
  if (middle == std::string_view::npos) return {text, {}};
  return {text.substr(0, middle), text.substr(middle + 1)};
}

Parameter parameter_from(std::string_view text, const std::string& path) {
  auto [shape, name] = halves(text, ' ');
  Parameter parameter{.name = std::string(name), .shape = {}};
  while (!shape.empty()) {
    const auto [side, rest] = halves(shape, 'x');
    parameter.shape.push_back(number(side, path));
    shape = rest;
  }
  return parameter;
}

CheckpointHeader header_from(std::string_view text, const std::string& path) {
  CheckpointHeader header;
  while (!text.empty()) {
    const auto [line, rest] = halves(text, '\n');
    const auto [key, value] = halves(line, ' ');
    if (key == "workload") header.workload = value;
    if (key == "graph") header.graph = value;
    if (key == "optimizer") header.optimizer = value;
    if (key == "dtype") header.dtype = value;
    if (key == "seed") header.seed = number(value, path);
    if (key == "batch") header.batch = number(value, path);
    if (key == "samples") header.samples = number(value, path);
    if (key == "rule") header.rule = value;
    if (key == "workers") header.workers = static_cast<int>(number(value, path));
    if (key == "step") header.step = number(value, path);
    if (key == "operator_state") header.operator_state = number(value, path);
    if (key == "optimizer_state") header.optimizer_state.emplace_back(value);
    if (key == "parameter") header.parameters.push_back(parameter_from(value, path));
    text = rest;
  }
  if (header.workers < 1 || header.operator_state < 0) refuse(path, "no sense in the header");
  return header;
}

// Maps the file; SIGBUS is not to be feared while nobody cuts it: writers only rename.
std::pair<const std::byte*, std::size_t> map_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) refuse(path, std::string("cannot read the checkpoint: ") + std::strerror(errno));
  struct stat status {};
  void* memory = MAP_FAILED;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    memory =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ::close(fd);
  if (memory == MAP_FAILED) refuse(path, "the checkpoint is empty or cannot be read");
  return {static_cast<const std::byte*>(memory), static_cast<std::size_t>(status.st_size)};
}

std::int64_t values_of(const CheckpointHeader& header) {
  std::int64_t values = header.workers * header.operator_state;
  for (const Parameter& parameter : header.parameters) {
    values += elements(parameter.shape) * (1 + std::ssize(header.optimizer_state));
  }
  return values;
}

}  // namespace

Checkpoint::Checkpoint(const std::string& path) : path_(path) {
  std::tie(data_, size_) = map_file(path);
  try {
    CheckpointPreamble preamble;
    if (size_ < sizeof(preamble) + sizeof(Digest)) refuse(path, "the checkpoint is cut off");
    std::memcpy(&preamble, data_, sizeof(preamble));
    if (preamble.magic != kCheckpointMagic) refuse(path, "this is no checkpoint");
    if (preamble.byte_order != kByteOrder) {
      refuse(path, "the checkpoint is of a machine of the other byte order");
    }
    if (preamble.version != kCheckpointVersion) {
      refuse(path, "the checkpoint has version " + std::to_string(preamble.version) +
                       ", this program reads version " + std::to_string(kCheckpointVersion));
    }
    Sha256 digest;
    digest.add(bytes().first(size_ - sizeof(Digest)));
    const Digest found = digest.take();
    if (std::memcmp(found.data(), data_ + size_ - sizeof(Digest), sizeof(Digest)) != 0) {
      refuse(path, "the checkpoint is cut off or was changed: its checksum is wrong");
    }
    const std::size_t begin =
        (sizeof(preamble) + preamble.header_bytes + kCheckpointAlignment - 1) /
        kCheckpointAlignment * kCheckpointAlignment;
    if (preamble.header_bytes > size_ || begin > size_) refuse(path, "the header is too long");
    header_ = header_from({reinterpret_cast<const char*>(data_) + sizeof(preamble),
                           static_cast<std::size_t>(preamble.header_bytes)},
                          path);
    const auto values = static_cast<std::size_t>(values_of(header_));
    if (begin + values * sizeof(float) + sizeof(Digest) != size_) {
      refuse(path, "the checkpoint holds other numbers than its header says");
    }
    values_ = reinterpret_cast<const float*>(data_ + begin);
  } catch (...) {
    ::munmap(const_cast<std::byte*>(data_), size_);
    throw;
  }
}

Checkpoint::~Checkpoint() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Checkpoint::Checkpoint(Checkpoint&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      header_(std::move(other.header_)),
      values_(other.values_) {}

void Checkpoint::restore(const FlatLayout& layout, std::span<float> weights,
                         const std::vector<std::span<float>>& optimizer_state,
                         std::span<float> operator_state, int rank) const {
  expects(layout.parameters.size() == header_.parameters.size() &&
              optimizer_state.size() == header_.optimizer_state.size() &&
              std::ssize(operator_state) == header_.operator_state,
          "a checkpoint is restored into the network that it was checked against");
  const float* from = values_;
  for (const Range& parameter : layout.parameters) {
    const auto take = [&](std::span<float> flat) {
      std::copy_n(from, parameter.size(), flat.data() + parameter.begin);
      from += parameter.size();
    };
    take(weights);
    for (const std::span<float> state : optimizer_state) take(state);
  }
  from += rank % header_.workers * header_.operator_state;
  std::copy_n(from, operator_state.size(), operator_state.data());
}

std::string check_fits(const CheckpointHeader& found, const CheckpointHeader& wanted,
                       const std::string& path) {
  const auto must_agree = [&](const char* what, const std::string& has, const std::string& runs) {
    if (has == runs) return;
    throw usage_error(
        "the checkpoint is of " + std::string(what) + " " + has + ", this run is of " + runs, path,
        "go on with the settings of the checkpoint, or start without --resume");
  };
  const auto described = [](const CheckpointHeader& header) {
    std::int64_t parameters = 0;
    for (const Parameter& parameter : header.parameters) parameters += elements(parameter.shape);
    return header.workload + " (" + std::to_string(parameters) + " parameters, graph " +
           header.graph.substr(0, 8) + ")";
  };
  if (found.graph != wanted.graph) must_agree("workload", described(found), described(wanted));
  must_agree("optimizer", found.optimizer, wanted.optimizer);
  must_agree("data type", found.dtype, wanted.dtype);
  must_agree("seed", std::to_string(found.seed), std::to_string(wanted.seed));
  must_agree("global batch", std::to_string(found.batch), std::to_string(wanted.batch));
  must_agree("number of samples", std::to_string(found.samples), std::to_string(wanted.samples));
  std::string differs;
  if (found.rule != wanted.rule) differs = "was " + found.rule + ", is now " + wanted.rule;
  if (found.workers != wanted.workers) {
    differs += (differs.empty() ? "" : "; ") + std::string("was of ") +
               std::to_string(found.workers) + " workers, is now of " +
               std::to_string(wanted.workers);
  }
  return differs;
}

}  // namespace plimsoll::trainer
