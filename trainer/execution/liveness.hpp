// Where buffers that live at different times lie in one arena. Pure: intervals in, offsets out.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::trainer {

// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  // by buffer, each on a cache line
  std::int64_t bytes = 0;             // of the arena
};

// Largest first, each at the lowest place where nobody lives meanwhile.
[[nodiscard]] Placement place(std::span<const Lifetime> buffers);

// What no placement can be below: the most bytes alive at once.
[[nodiscard]] std::int64_t most_alive(std::span<const Lifetime> buffers);

// Indices of two buffers that share memory while both live, {-1, -1} when there are none.
struct Collision {
  int one = -1, other = -1;
};
[[nodiscard]] Collision collision(std::span<const Lifetime> buffers,
                                  std::span<const std::int64_t> offsets);

}  // namespace plimsoll::trainer
