// A checkpoint: everything that a run needs to go on after a step. README.md describes the file.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/workload.hpp"
#include "trainer/execution/flat_layout.hpp"

namespace plimsoll::trainer {

struct CheckpointHeader {
  // These decide who may go on from it.
  std::string workload;  // its name
  std::string graph;     // SHA-256 of graph_text()
  std::string optimizer, dtype;
  std::int64_t seed = 0, batch = 0, samples = 0;
  // These may differ in a run that goes on, which says so.
  std::string rule;  // rates and schedule, as text
  int workers = 1;   // whose operator state is stored

  std::int64_t step = 0;  // steps done: the next one has this number
  std::vector<Parameter> parameters;
  std::vector<std::string> optimizer_state;  // names
  std::int64_t operator_state = 0;           // floats a rank
};

// What a network is, to the last attribute; the same text only for the same computation.
[[nodiscard]] std::string graph_text(const Graph& graph);

[[nodiscard]] std::vector<Parameter> parameters_of(const Graph& graph);

// What is written; flat buffers as the layout says.
struct CheckpointContent {
  const FlatLayout& layout;
  std::span<const float> weights;
  std::vector<std::span<const float>> optimizer_state;
  std::span<const float> operator_state;  // of all ranks, one after the other
};

// Error naming the file and the reason when it cannot be written: then nothing has changed.
void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const CheckpointContent& content);

// A checkpoint that was read and whose checksum is right.
class Checkpoint {
 public:
  // Error naming the file and what is wrong with it.
  explicit Checkpoint(const std::string& path);
  ~Checkpoint();
  Checkpoint(Checkpoint&& other) noexcept;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  Checkpoint& operator=(Checkpoint&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const CheckpointHeader& header() const { return header_; }
  // Into flat buffers as `layout` says, which may have other buckets than the writer's.
  void restore(const FlatLayout& layout, std::span<float> weights,
               const std::vector<std::span<float>>& optimizer_state,
               std::span<float> operator_state, int rank) const;

 private:
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  CheckpointHeader header_;
  const float* values_ = nullptr;
};

// Error (usage) naming both sides when `found` cannot go on as `wanted`. What differs harmlessly is
// returned as text, empty when nothing does.
[[nodiscard]] std::string check_fits(const CheckpointHeader& found, const CheckpointHeader& wanted,
                                     const std::string& path);

// --- A directory of checkpoints ---
struct Found {
  Checkpoint checkpoint;
  std::vector<Finding> corrupt;  // newer ones that are not good, each named
};
// The newest good one of a directory, or the file itself. Error when there is none.
[[nodiscard]] Found find_checkpoint(const std::string& path);

// Where one run writes. Error when the directory cannot be made, another run writes to it, or it
// holds checkpoints of steps after `first_step`, which are not this run's; those that are not good
// are set aside instead.
class CheckpointDirectory {
 public:
  CheckpointDirectory(std::string path, std::int64_t keep, std::int64_t first_step);
  ~CheckpointDirectory();
  CheckpointDirectory(const CheckpointDirectory&) = delete;
  CheckpointDirectory& operator=(const CheckpointDirectory&) = delete;
  // Writes the checkpoint of header.step, then removes all but the last ones.
  void write(const CheckpointHeader& header, const CheckpointContent& content);

 private:
  std::string path_;
  std::int64_t keep_;
  int lock_ = -1;
};

}  // namespace plimsoll::trainer
