// Multi-head self-attention: products of the library on the places where the operands lie, and a
// softmax of our own between them.
//
// A head of a sample is a task; threads share the tasks and run each product alone. Queries, keys
// and values are read, and their gradients written, in the rows of x and dx with their strides, so
// nothing is packed or transposed. Rows go in blocks of kAttentionRows queries, which keeps scores
// in the nearest caches; a causal block meets only the keys up to its last row.
//
//     forward   S = Q K^T; P = softmax(S / sqrt(d)); O = P V                   a block of rows
//     backward  dP = dO V^T; dS = P (dP - sum(dP P)) / sqrt(d); dQ = dS K      a block of rows
//               dK = dS^T Q; dV = P^T dO                                       a block of keys
//
// The workspace holds P of every head in the run's data type; scores and their sums are f32.

#include <cmath>
#include <cstring>
#include <vector>

#include "trainer/backend/cpu/attention_rows.hpp"
#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/product.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Shapes {
  std::int64_t batch, heads, positions, features;
  bool causal;
  DType dtype;

  [[nodiscard]] std::int64_t width() const { return features / heads; }  // of a head
  [[nodiscard]] std::int64_t tasks() const { return batch * heads; }
  [[nodiscard]] std::int64_t area() const { return positions * positions; }
  [[nodiscard]] std::int64_t size() const { return size_of(dtype); }
};

struct Block {
  std::int64_t begin, rows;  // queries, or keys
  std::int64_t others;       // keys that these queries meet, or queries that meet these keys
};

// A matrix inside a larger one: `row` elements from one row to the next.
Desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, DType dtype) {
  return strided({rows, columns}, dtype, {row, 1});
}
Desc transposed(std::int64_t rows, std::int64_t columns, std::int64_t row, DType dtype) {
  return strided({rows, columns}, dtype, {1, row});
}

struct BlockProducts {
  Block block;
  Product scores, values;  // S and O, or dP and dQ; of keys: dK and dV
};

std::vector<Block> blocks_of(const Shapes& s, bool of_keys) {
  std::vector<Block> all;
  for (std::int64_t begin = 0; begin < s.positions; begin += kAttentionRows) {
    const std::int64_t rows = std::min(kAttentionRows, s.positions - begin);
    const std::int64_t met = of_keys ? s.positions - begin : begin + rows;
    all.push_back({begin, rows, s.causal ? met : s.positions});
  }
  return all;
}

std::vector<BlockProducts> forward_products(const Device& device, const Shapes& s) {
  const std::int64_t d = s.width(), in = 3 * s.features, out = s.features, t = s.positions;
  std::vector<BlockProducts> all;
  for (const Block& b : blocks_of(s, false)) {
    const std::int64_t keys = b.others;
    all.push_back({b,
                   {device, matrix(b.rows, d, in, s.dtype), transposed(d, keys, in, s.dtype),
                    matrix(b.rows, keys, t, DType::f32)},
                   {device, matrix(b.rows, keys, t, s.dtype), matrix(keys, d, in, s.dtype),
                    matrix(b.rows, d, out, s.dtype)}});
  }
  return all;
}

std::vector<BlockProducts> query_products(const Device& device, const Shapes& s) {
  const std::int64_t d = s.width(), in = 3 * s.features, out = s.features, t = s.positions;
  std::vector<BlockProducts> all;
  for (const Block& b : blocks_of(s, false)) {
    const std::int64_t keys = b.others;
    all.push_back({b,
                   {device, matrix(b.rows, d, out, s.dtype), transposed(d, keys, in, s.dtype),
                    matrix(b.rows, keys, t, DType::f32)},
                   {device, matrix(b.rows, keys, t, s.dtype), matrix(keys, d, in, s.dtype),
                    matrix(b.rows, d, in, s.dtype)}});
  }
  return all;
}

std::vector<BlockProducts> key_products(const Device& device, const Shapes& s) {
  const std::int64_t d = s.width(), in = 3 * s.features, out = s.features, t = s.positions;
  std::vector<BlockProducts> all;
  for (const Block& b : blocks_of(s, true)) {
    const std::int64_t queries = b.others;
    all.push_back({b,
                   {device, transposed(b.rows, queries, t, s.dtype),
                    matrix(queries, d, in, s.dtype), matrix(b.rows, d, in, s.dtype)},
                   {device, transposed(b.rows, queries, t, s.dtype),
                    matrix(queries, d, out, s.dtype), matrix(b.rows, d, in, s.dtype)}});
  }
  return all;
}

// Scores of all heads that the blocks compute.
double scores(const Shapes& s, const std::vector<BlockProducts>& products) {
  double count = 0;
  for (const BlockProducts& p : products)
    count += static_cast<double>(p.block.rows * p.block.others);
  return static_cast<double>(s.tasks()) * count;
}

// `products` of 2 width FLOP a score, `each` FLOP a score of softmax; x is 3 elements of y wide.
Cost cost(const Shapes& s, double scores, double products, double each, double tensors) {
  const auto y = static_cast<double>(s.batch * s.positions * s.features);
  return {Flop(scores * (2 * products * static_cast<double>(s.width()) + each)),
          Bytes(static_cast<double>(s.size()) * (tensors * y + scores))};
}

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Device& device, const Shapes& s, const Operands& operands)
      : shapes_(s),
        threads_(device.threads),
        scale_(1.0F / std::sqrt(static_cast<float>(s.width()))),
        scores_(static_cast<std::size_t>(threads_ * kAttentionRows * s.positions)) {
    AttentionKernel::bind(operands);
  }

  void bind(const Operands& o) override {
    probabilities_ = in_place<std::byte>(o.workspace);
    x_ = in_place<std::byte>(o.x);
    y_ = in_place<std::byte>(o.y);
    dx_ = in_place<std::byte>(o.dx);
    dy_ = in_place<std::byte>(o.dy);
  }
  void execute() override {
    omp_set_num_threads(threads_);  // of this thread only
    share(threads_, shapes_.tasks(), 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t task = begin; task < end; ++task) run(task, thread);
    });
  }
  [[nodiscard]] Cost counted() const override { return cost_; }
  [[nodiscard]] std::string implementation() const override { return implementation_; }
  [[nodiscard]] Bytes scratch() const override {
    return scratch_ + Bytes(static_cast<double>(scores_.size() * sizeof(float)));
  }

 protected:
  virtual void run(std::int64_t task, int thread) = 0;

  // Places in rows of `thirds` x features: of this head, from this position.
  [[nodiscard]] std::int64_t offset(std::int64_t task, std::int64_t position, int third,
                                    int thirds) const {
    const Shapes& s = shapes_;
    const std::int64_t sample = task / s.heads, head = task % s.heads;
    const std::int64_t row = sample * s.positions + position;
    return s.size() * (row * thirds * s.features + third * s.features + head * s.width());
  }
  [[nodiscard]] std::byte* probabilities(std::int64_t task, std::int64_t row) const {
    return probabilities_ + shapes_.size() * (task * shapes_.area() + row * shapes_.positions);
  }
  [[nodiscard]] float* scores(int thread) {
    return scores_.data() + thread * kAttentionRows * shapes_.positions;
  }
  // Rows of a block as attention_rows.hpp wants them.
  [[nodiscard]] ScoreRows rows(const Block& block) const {
    return {.first = block.begin,
            .count = block.rows,
            .keys = block.others,
            .stride = shapes_.positions,
            .scale = scale_,
            .causal = shapes_.causal};
  }
  void describe(const std::vector<BlockProducts>& products, Cost cost) {
    cost_ = cost;
    for (const BlockProducts& p : products) {
      scratch_ += p.scores.scratch() + p.values.scratch();
      if (implementation_.empty()) implementation_ = p.scores.implementation() + " + loop";
    }
  }

  Shapes shapes_;
  const std::byte* x_ = nullptr;
  const std::byte* dy_ = nullptr;
  std::byte* y_ = nullptr;
  std::byte* dx_ = nullptr;

 private:
  int threads_;
  float scale_;
  std::byte* probabilities_ = nullptr;
  std::vector<float> scores_;  // a block of rows a thread
  Cost cost_{};
  Bytes scratch_{};
  std::string implementation_;
};

class ForwardKernel final : public AttentionKernel {
 public:
  ForwardKernel(const Device& device, const Shapes& s, const Operands& operands)
      : AttentionKernel(device, s, operands), products_(forward_products(device, s)) {
    describe(products_, cost(s, cpu::scores(s, products_), 2, 6, 4));
  }

 private:
  void run(std::int64_t task, int thread) override {
    for (const BlockProducts& p : products_) {
      const std::int64_t row = p.block.begin;
      std::byte* const kept = probabilities(task, row);
      p.scores.run(thread, x_ + offset(task, row, 0, 3), x_ + offset(task, 0, 1, 3),
                   scores(thread));
      softmax_rows(rows(p.block), shapes_.dtype, kept, scores(thread));
      p.values.run(thread, kept, x_ + offset(task, 0, 2, 3), y_ + offset(task, row, 0, 1));
    }
  }

  std::vector<BlockProducts> products_;
};

class BackwardKernel final : public AttentionKernel {
 public:
  BackwardKernel(const Device& device, const Shapes& s, const Operands& operands)
      : AttentionKernel(device, s, operands),
        queries_(query_products(device, s)),
        keys_(key_products(device, s)),
        gradients_(static_cast<std::size_t>(device.threads * s.area() * s.size())) {
    describe(queries_, cost(s, cpu::scores(s, queries_), 4, 5, 7));
  }
  [[nodiscard]] Bytes scratch() const override {
    return AttentionKernel::scratch() + Bytes(static_cast<double>(gradients_.size()));
  }

 private:
  void run(std::int64_t task, int thread) override {
    const Shapes& s = shapes_;
    std::byte* const gradients = gradients_.data() + thread * s.area() * s.size();
    const auto at = [&](std::byte* base, std::int64_t row, std::int64_t column) {
      return base + s.size() * (row * s.positions + column);
    };
    for (const BlockProducts& p : queries_) {
      const std::int64_t row = p.block.begin;
      p.scores.run(thread, dy_ + offset(task, row, 0, 1), x_ + offset(task, 0, 2, 3),
                   scores(thread));
      softmax_gradient_rows(rows(p.block), s.dtype, at(gradients, row, 0), probabilities(task, row),
                            scores(thread));
      p.values.run(thread, at(gradients, row, 0), x_ + offset(task, 0, 1, 3),
                   dx_ + offset(task, row, 0, 3));
    }
    for (const BlockProducts& p : keys_) {
      const std::int64_t key = p.block.begin, query = s.causal ? key : 0;
      p.scores.run(thread, at(gradients, query, key), x_ + offset(task, query, 0, 3),
                   dx_ + offset(task, key, 1, 3));
      p.values.run(thread, at(probabilities(task, 0), query, key), dy_ + offset(task, query, 0, 1),
                   dx_ + offset(task, key, 2, 3));
    }
  }

  std::vector<BlockProducts> queries_, keys_;
  std::vector<std::byte> gradients_;  // dS of one head a thread
};

}  // namespace

Bytes attention_workspace(const Shape& qkv, const Attention& a, std::int64_t batch, DType dtype) {
  return Bytes(static_cast<double>(size_of(dtype)) * static_cast<double>(batch * a.heads) *
               static_cast<double>(qkv[0] * qkv[0]));
}

KernelPtr make_attention(const Request& r, const Attention& a) {
  if (r.direction == Direction::backward_weights) return nullptr;
  const Operands& o = r.operands;
  const DType dtype = o.x.dtype;
  const Shape& x = r.x_shape();
  const Shapes s{.batch = o.batch,
                 .heads = a.heads,
                 .positions = x[0],
                 .features = x[1] / 3,
                 .causal = a.causal,
                 .dtype = dtype};
  const Bytes kept = attention_workspace(x, a, o.batch, dtype);
  const auto floats = static_cast<std::int64_t>(std::ceil(kept.value() / sizeof(float)));
  static_cast<void>(r.need(o.workspace, floats, "workspace"));
  static_cast<void>(r.need(o.x, r.x_elements(), "x", dtype));
  if (r.direction == Direction::forward) {
    static_cast<void>(r.need(o.y, r.y_elements(), "y", dtype));
    return std::make_unique<ForwardKernel>(r.device, s, o);
  }
  static_cast<void>(r.need(o.dy, r.y_elements(), "dy", dtype));
  static_cast<void>(r.need(o.dx, r.x_elements(), "dx", dtype));
  return std::make_unique<BackwardKernel>(r.device, s, o);
}

}  // namespace plimsoll::trainer::cpu
