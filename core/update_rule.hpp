// How weights follow from gradients, beyond the learning rate and the momentum: what a run is told
// and what its report repeats.

#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

struct UpdateRule {
  // Of adam and adamw.
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  // Of parameters with two dimensions or more: biases and norms, which have one, are not decayed.
  // sgd and adam add decay x weight to the gradient, adamw shrinks the weight by rate x decay.
  double weight_decay = 0;
  double clip_norm = 0;  // most that the norm of all gradients together may be; 0: any
  // The learning rate of a step: a straight line from 0 during `warmup_steps`, then as `schedule`
  // says: "constant"; "cosine", down to 0 at the last step; "step", times `step_factor` after every
  // `step_every` steps.
  std::string schedule = "constant";
  std::int64_t warmup_steps = 0;
  std::int64_t step_every = 0;
  double step_factor = 0.1;

  bool operator==(const UpdateRule&) const = default;
};

}  // namespace plimsoll
