// The keys of a training job, a file of its own: as json_fields.hpp has those of reports.

#pragma once

#include "reports/json_fields.hpp"

namespace plimsoll::reports {

template <class A>
void fields(A& a, Of<A, Job>& v) {
  a.required("plan", v.plan);
  a.optional("workload_text", v.workload_text);
  a.required("steps", v.steps);
  a.required("epochs", v.epochs);
  a.required("warmup_steps", v.warmup_steps);
  a.required("seed", v.seed);
  a.required("learning_rate", v.learning_rate);
  a.required("momentum", v.momentum);
  a.required("update", v.update);
  a.required("evaluate", v.evaluate);
  a.required("augment", v.augment);
  a.required("evaluate_every", v.evaluate_every);
  a.optional("checkpoint", v.checkpoint);
  a.required("checkpoint_every", v.checkpoint_every);
  a.required("keep", v.keep);
  a.optional("resume", v.resume);
  a.optional("trace", v.trace);
  a.required("operators", v.operators);
  a.optional("machine", v.machine);
  a.optional("data_dir", v.data_dir);
  a.optional("prediction", v.prediction);
  a.optional("out", v.out);
  a.optional("argv", v.argv);
}

}  // namespace plimsoll::reports
