// How a sum over ranks is computed: one file per algorithm, all of them listed in all_reduce.cpp.
//
// An algorithm is a function that moves one posted sum as far as it gets without waiting, on top of
// what the transport offers: messages between two ranks, or the memory of all ranks.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::trainer {

enum class Combine { replace, sum };

// What a communicator lends to an algorithm. Nothing here blocks.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Offers data to a rank; false while an earlier message to it has not been taken. The data must
  // stay unchanged until delivered().
  virtual bool try_send(int to, std::span<const float> data) = 0;
  [[nodiscard]] virtual bool delivered(int to) const = 0;
  // Takes the next message of a rank; false when none is there yet.
  virtual bool try_receive(int from, std::span<float> into, Combine how) = 0;

  // Where ranks share memory: the buffer that a rank posted as its sum number `sequence` (every
  // rank has posted it when an algorithm runs), and a barrier that only that sum uses.
  [[nodiscard]] virtual float* shared(std::int64_t sequence, int rank) const = 0;
  virtual void arrive(std::int64_t sequence) = 0;
  [[nodiscard]] virtual bool all_arrived(std::int64_t sequence) const = 0;
};

// One sum on its way.
struct AllReduceState {
  std::span<float> data;
  std::int64_t sequence = 0;
  int step = 0;       // how far the algorithm got; 0 at the start
  bool sent = false;  // this step's message is out
  std::int64_t bytes_sent = 0;
};

struct AllReduceAlgorithm {
  std::string_view name;
  bool (*advance)(Transport& transport, AllReduceState& state);  // true when finished
};

[[nodiscard]] std::span<const AllReduceAlgorithm> all_reduce_algorithms();
// Error (usage) that lists the known names when `name` is unknown.
[[nodiscard]] const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name);

// The algorithms, each in a file of its name.
bool native_all_reduce(Transport& transport, AllReduceState& state);
bool ring_all_reduce(Transport& transport, AllReduceState& state);

// The part of a buffer that belongs to `index` of `parts`: whole cache lines, as even as possible,
// together exactly the buffer; empty parts at the end of a short one.
[[nodiscard]] std::span<float> part_of(std::span<float> data, int index, int parts);

void add(std::span<float> into, std::span<const float> from);
void copy(std::span<float> into, std::span<const float> from);

}  // namespace plimsoll::trainer
