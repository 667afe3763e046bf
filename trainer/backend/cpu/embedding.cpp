// Rows of a table by token, plus a learned row by position.
//
// Backward adds every row of dy to the rows of its token and of its position. Threads share the
// features, not the tokens: each adds all rows of its columns in the order of the batch, so nothing
// collides and the result is the same to the bit for any number of threads.

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Rows {
  std::int64_t count, positions, features, vocabulary;
  const std::int32_t* tokens = nullptr;

  [[nodiscard]] Rows of(const Operands& operands) const {
    Rows rows = *this;
    rows.tokens = operands.tokens;
    return rows;
  }

  // Before the team starts: no exception may leave a thread of it.
  void check() const {
    for (std::int64_t row = 0; row < count; ++row) {
      expects(tokens[row] >= 0 && tokens[row] < vocabulary, "a token is within the vocabulary");
    }
  }
};

template <class T>
[[gnu::always_inline]] inline void looked_up(const Rows& rows, T* y, const T* table, const T* place,
                                             std::int64_t begin, std::int64_t end) {
  const std::int64_t n = rows.features;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const from = table + rows.tokens[row] * n;
    T* const out = y + row * n;
    if (place == nullptr) {
      std::memcpy(out, from, static_cast<std::size_t>(n) * sizeof(T));
      continue;
    }
    const T* const at = place + row % rows.positions * n;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) put(out[i], wide(from[i]) + wide(at[i]));
  }
}

struct Gradients {
  float* table;
  float* place;  // null: no positions
};

template <class T>
[[gnu::always_inline]] inline void added(const Rows& rows, Gradients to, const T* dy,
                                         std::int64_t begin, std::int64_t end) {
  const std::int64_t n = rows.features, width = end - begin;
  const auto bytes = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t v = 0; v < rows.vocabulary; ++v)
    std::memset(to.table + v * n + begin, 0, bytes);
  if (to.place != nullptr) {
    for (std::int64_t p = 0; p < rows.positions; ++p) {
      std::memset(to.place + p * n + begin, 0, bytes);
    }
  }
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const T* const from = dy + row * n + begin;
    float* const table = to.table + rows.tokens[row] * n + begin;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) table[i] += wide(from[i]);
    if (to.place == nullptr) continue;
    float* const place = to.place + row % rows.positions * n + begin;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) place[i] += wide(from[i]);
  }
}

PLIMSOLL_WIDEST void forward(const Rows& rows, float* y, const float* table, const float* place,
                             std::int64_t begin, std::int64_t end) {
  looked_up(rows, y, table, place, begin, end);
}
PLIMSOLL_WIDEST void forward(const Rows& rows, Bf16* y, const Bf16* table, const Bf16* place,
                             std::int64_t begin, std::int64_t end) {
  looked_up(rows, y, table, place, begin, end);
}
PLIMSOLL_WIDEST void backward(const Rows& rows, Gradients to, const float* dy, std::int64_t begin,
                              std::int64_t end) {
  added(rows, to, dy, begin, end);
}
PLIMSOLL_WIDEST void backward(const Rows& rows, Gradients to, const Bf16* dy, std::int64_t begin,
                              std::int64_t end) {
  added(rows, to, dy, begin, end);
}

// Tokens are 4 bytes. Forward reads a row of the table for every token.
Cost forward_cost(const Rows& rows, bool positions, DType dtype) {
  const double y = static_cast<double>(rows.count * rows.features);
  const auto place = static_cast<double>(positions ? rows.positions * rows.features : 0);
  return {Flop(positions ? y : 0), Bytes(static_cast<double>(size_of(dtype)) * (2 * y + place) +
                                         4.0 * static_cast<double>(rows.count))};
}
Cost backward_cost(const Rows& rows, bool positions, DType dtype) {
  const double y = static_cast<double>(rows.count * rows.features);
  const std::int64_t tables = rows.vocabulary + (positions ? rows.positions : 0);
  return {Flop(positions ? 2 * y : y),
          Bytes(static_cast<double>(size_of(dtype)) * y +
                4.0 * static_cast<double>(tables * rows.features + rows.count))};
}

template <class T>
KernelPtr forward_kernel(const Request& r, const Embedding& a, const Rows& rows) {
  const Operands& o = r.operands;
  const DType dtype = o.y.dtype;
  const bool positions = a.positions;
  static_cast<void>(r.need(o.y, r.y_elements(), "y", dtype));
  static_cast<void>(r.need_weight(0, dtype));
  if (positions) static_cast<void>(r.need_weight(1, dtype));
  const int threads = r.device.threads;
  return std::make_unique<Loop>(o, forward_cost(rows, positions, dtype), [=](const Operands& at) {
    const Rows these = rows.of(at);
    these.check();
    auto* const y = in_place<T>(at.y);
    const auto* const table = in_place<const T>(at.w[0]);
    const auto* const place = positions ? in_place<const T>(at.w[1]) : nullptr;
    share(threads, these.count, 1, [&](std::int64_t begin, std::int64_t end, int) {
      forward(these, y, table, place, begin, end);
    });
  });
}

template <class T>
KernelPtr backward_kernel(const Request& r, const Embedding& a, const Rows& rows) {
  const Operands& o = r.operands;
  const DType dtype = o.dy.dtype;
  const bool positions = a.positions;
  static_cast<void>(r.need(o.dy, r.y_elements(), "dy", dtype));
  static_cast<void>(r.need_gradient(0));
  if (positions) static_cast<void>(r.need_gradient(1));
  const int threads = r.device.threads;
  return std::make_unique<Loop>(o, backward_cost(rows, positions, dtype), [=](const Operands& at) {
    const Rows these = rows.of(at);
    these.check();
    const auto* const dy = in_place<const T>(at.dy);
    const Gradients to{in_place<float>(at.dw[0]), positions ? in_place<float>(at.dw[1]) : nullptr};
    share(threads, these.features, kLineOfAny,
          [&](std::int64_t begin, std::int64_t end, int) { backward(these, to, dy, begin, end); });
  });
}

}  // namespace

KernelPtr make_embedding(const Request& r, const Embedding& a) {
  if (r.direction == Direction::backward_data) return nullptr;  // tokens have no gradient
  const Operands& o = r.operands;
  if (o.tokens == nullptr) {
    throw Error("operator '" + r.op.name + "' got no tokens", "cpu backend",
                "set Operands::tokens to one token per position");
  }
  const std::int64_t positions = r.x_shape()[0];
  const Rows rows{.count = o.batch * positions,
                  .positions = positions,
                  .features = a.features,
                  .vocabulary = a.vocabulary};
  const bool forward = r.direction == Direction::forward;
  return with_type(forward ? o.y.dtype : o.dy.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return forward ? forward_kernel<T>(r, a, rows) : backward_kernel<T>(r, a, rows);
  });
}

}  // namespace plimsoll::trainer::cpu
