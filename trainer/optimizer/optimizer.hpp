// How weights follow from the sums of gradients. An optimizer owns its state (momentum, moments),
// laid out as the weights are, and knows nothing of ranks: the strategy tells it which part of the
// flat buffers to update and by what to divide.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/update_rule.hpp"
#include "trainer/execution/flat_layout.hpp"

namespace plimsoll::trainer {

struct OptimizerOptions {
  double momentum = 0;  // of sgd
  UpdateRule rule;
  int threads = 1;
};

// One update. The step number is all the time that an optimizer knows: nothing is lost by a resume.
struct Update {
  std::int64_t step = 0;  // from 0
  double learning_rate = 0;
  double gradient_scale = 1;  // 1 / global batch, and what clipping says
  Range part;                 // floats of the flat buffers
};

struct OptimizerState {
  const char* name;
  std::span<float> values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // False when something that was written is not a finite number.
  [[nodiscard]] virtual bool update(std::span<float> weights, std::span<const float> gradient_sums,
                                    const Update& update) = 0;
  [[nodiscard]] virtual std::vector<OptimizerState> state() = 0;
  [[nodiscard]] std::vector<MemoryItem> memory();
};

struct OptimizerEntry {
  const char* name;
  double default_learning_rate;  // where the workload has none for this optimizer
  std::unique_ptr<Optimizer> (*make)(const Graph&, const FlatLayout&, const OptimizerOptions&);
};
[[nodiscard]] std::span<const OptimizerEntry> optimizers();
// Error (usage) that lists the known names when `name` is unknown.
[[nodiscard]] const OptimizerEntry& optimizer_named(const std::string& name);
// What a plan asks for: its own word, or the workload's.
[[nodiscard]] const OptimizerEntry& optimizer_of(const Plan& plan, const Workload& workload);

[[nodiscard]] std::unique_ptr<Optimizer> make_sgd(const Graph&, const FlatLayout&,
                                                  const OptimizerOptions&);
[[nodiscard]] std::unique_ptr<Optimizer> make_adam(const Graph&, const FlatLayout&,
                                                   const OptimizerOptions&);
[[nodiscard]] std::unique_ptr<Optimizer> make_adamw(const Graph&, const FlatLayout&,
                                                    const OptimizerOptions&);

// The flat buffer cut into pieces that are decayed and pieces that are not: parameters of one
// dimension (biases, norms) are not. One piece when nothing decays.
struct Piece {
  Range range;
  bool decays = false;
};
[[nodiscard]] std::vector<Piece> pieces(const Graph& graph, const FlatLayout& layout,
                                        double weight_decay);
// What of a piece lies in a part of the buffer.
[[nodiscard]] Range common(const Range& a, const Range& b);

// All parameters, without what is reserved in front of them.
[[nodiscard]] Range parameter_range(const FlatLayout& layout);

// By what to multiply gradients of this norm so that it is at most `most` (0: any).
[[nodiscard]] double clip_factor(double norm, double most);

}  // namespace plimsoll::trainer
