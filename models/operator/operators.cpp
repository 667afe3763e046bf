// An operator's time from the machine's tables.
//
//     t = max(surface(features), dispatch, roofline floor)
//
// A measured kernel time already holds the cost of its call, so dispatch is a floor and not added.
//
// Source    models/numeric/surface.cpp for the surface, roofline.cpp for the floor.
// Assumes   A kernel in training runs as it did in its probe: same library, shape class and load.
// Fails     On an operator that no table speaks for: an Error naming the probe to run.
// Limits    Work to nothing: one dispatch.
// Tests     tests/models/operator/operators_test.cpp.

#include "models/operator/operators.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "core/error.hpp"

namespace plimsoll::models {
namespace {

constexpr double kHalfWidth = 1.96;  // standard errors in half a 95 % interval

std::string curve_key(const Op& op, Direction direction) {
  return kind_of(op) + "." + to_string(direction);
}

std::string suffix(Direction direction) {
  return direction == Direction::forward ? "_forward" : "_backward";
}

// The list of kinds: adding an operator is a line here.
std::optional<KindTable> table_for(const Machine& machine, const Op& op, Direction direction,
                                   DType dtype) {
  if (std::holds_alternative<Linear>(op.attributes)) {
    return linear_table(machine, dtype, direction);
  }
  if (std::holds_alternative<Convolution>(op.attributes)) {
    return convolution_table(machine, dtype, direction);
  }
  if (const auto* pool = std::get_if<Pool>(&op.attributes)) {
    return pool_table(machine, pool->mode, direction);
  }
  if (std::holds_alternative<Relu>(op.attributes)) {
    return elementwise_table(machine, "relu" + suffix(direction));
  }
  if (std::holds_alternative<SoftmaxCrossEntropy>(op.attributes)) {
    return elementwise_table(machine, "softmax_cross_entropy" + suffix(direction));
  }
  return std::nullopt;
}

double median_error(const std::vector<SurfacePoint>& points) {
  std::vector<double> errors;
  errors.reserve(points.size());
  for (const SurfacePoint& p : points) errors.push_back(p.log_error);
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

// Dispatch with the rank's number of threads, or the nearest measured one.
Seconds dispatch_of(const Machine& machine, int threads) {
  const DispatchSample* best = nullptr;
  for (const DispatchSample& s : machine.dispatch) {
    if (best == nullptr || std::abs(s.threads - threads) < std::abs(best->threads - threads)) {
      best = &s;
    }
  }
  return best == nullptr ? Seconds(0) : best->time.value;
}

}  // namespace

Operators::Operators(const Machine& machine, const Graph& graph, DType dtype, Load load)
    : machine_(machine), graph_(graph), dtype_(dtype), load_(load) {
  for (const Op& op : graph.ops) {
    for (const Direction direction :
         {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
      if (!computes(graph, op, direction)) continue;
      const auto table = table_for(machine, op, direction, dtype);
      if (!table) {
        throw Error("the model has no table for operator '" + op.name + "' (" + kind_of(op) + ")",
                    "workload graph", "use operators that a kernel probe measures");
      }
      add(curve_key(op, direction), *table, load);
    }
  }
  add("sgd_momentum", elementwise_table(machine, "sgd_momentum"), load);
  add("gather_u8", elementwise_table(machine, "gather_u8"),
      {.threads = 1, .busy_cores = load.threads + load.busy_cores - 1});
}

std::vector<std::string> Operators::assumptions() const {
  std::vector<std::string> result;
  for (const auto& [what, keys] : substitutes_) {
    std::string names;
    for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
    result.push_back(names + ": " + what);
  }
  return result;
}

void Operators::add(const std::string& key, const KindTable& table, Load load) {
  if (curves_.contains(key)) return;
  const auto selection = select(table.points, load);
  if (!selection) {
    throw Error(
        "the machine has no " + table.metric + " for " + key + " (" + to_string(dtype_) + ")",
        machine_.name.empty() ? "machine" : machine_.name,
        "run `plimsoll probe " + table.probe + "` on it and use the new report");
  }
  if (!selection->assumption.empty()) substitutes_[selection->assumption].push_back(key);
  curves_.emplace(key, Curve{.surface = fit_surface(selection->points, table.prior),
                             .substitute_sd = selection->log_sd,
                             .typical_error = median_error(selection->points)});
}

OperatorTime Operators::at(const std::string& key, const std::vector<double>& features, Cost cost,
                           int threads) const {
  const auto found = curves_.find(key);
  expects(found != curves_.end(), "every operator of the graph has its curve");
  const Curve& curve = found->second;
  const SurfaceValue value = evaluate(curve.surface, features);
  const Seconds dispatch = dispatch_of(machine_, threads);
  OperatorTime result;
  result.time = std::max({Seconds(std::exp(value.log_time)), dispatch,
                          roofline_floor(machine_, dtype_, threads, cost)});
  result.dispatch = dispatch;
  const Load load{.threads = threads, .busy_cores = load_.threads + load_.busy_cores - threads};
  const Ceilings limits = ceilings(machine_, dtype_, load, cost.bytes);
  if (limits.compute) result.compute = cost.flop / *limits.compute;
  if (limits.memory) result.memory = cost.bytes / *limits.memory;
  result.measured_error_ratio = kHalfWidth * curve.typical_error;
  result.model_error_ratio = kHalfWidth * std::hypot(value.log_sd, curve.substitute_sd);
  result.extrapolated = value.extrapolated;
  return result;
}

std::int64_t Operators::side_of(const Op& op) const {
  return graph_.tensors[static_cast<std::size_t>(op.inputs.front())].shape.front();
}

OperatorTime Operators::time(const Op& op, Direction direction, std::int64_t batch) const {
  expects(batch >= 1, "time: the batch has at least one sample");
  if (!computes(graph_, op, direction)) return {};
  const Cost cost = cost_of(graph_, op, direction, batch, dtype_);
  std::vector<double> features;
  if (const auto* linear = std::get_if<Linear>(&op.attributes)) {
    features = linear_features(*linear, batch);
  } else if (const auto* convolution = std::get_if<Convolution>(&op.attributes)) {
    features = convolution_features(*convolution, side_of(op), batch);
  } else if (const auto* pool = std::get_if<Pool>(&op.attributes)) {
    const Shape& shape = graph_.tensors[static_cast<std::size_t>(op.inputs.front())].shape;
    features = pool_features(*pool, side_of(op), shape.back(), batch);
  } else {
    features = elementwise_features(cost.bytes);
  }
  return at(curve_key(op, direction), features, cost, load_.threads);
}

OperatorTime Operators::optimizer(std::int64_t parameters) const {
  const auto count = static_cast<double>(parameters);
  // Reads weight, velocity and gradient, writes weight and velocity: all f32. v = m v + s g is
  // three FLOP, w -= r v two.
  const Cost cost{.flop = Flop(5 * count), .bytes = Bytes(5 * 4 * count)};
  return at("sgd_momentum", elementwise_features(cost.bytes), cost, load_.threads);
}

OperatorTime Operators::gather(std::int64_t batch, std::int64_t sample_elements) const {
  const double count = static_cast<double>(batch) * static_cast<double>(sample_elements);
  const Cost cost{.flop = Flop(count), .bytes = Bytes((1 + 4) * count)};  // u8 in, f32 out
  return at("gather_u8", elementwise_features(cost.bytes), cost, 1);
}

}  // namespace plimsoll::models
