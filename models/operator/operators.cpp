// An operator's time from the machine's tables.
//
//     t = max(sum over pieces of count * surface(features), dispatch, roofline floor)
//
// A measured kernel time already holds the cost of its call, so dispatch is a floor and not added.
//
// Source    pieces.cpp for the pieces, models/numeric/surface.cpp for the surface, roofline.cpp for
//           the floor.
// Assumes   A kernel in training runs as it did in its probe: same library, shape class and load.
// Fails     On a machine without a table that the operators need: an Error naming the probe to run.
// Limits    Work to nothing: one dispatch.
// Tests     tests/models/operator/operators_test.cpp.

#include "models/operator/operators.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace plimsoll::models {
namespace {

constexpr double kHalfWidth = 1.96;  // standard errors in half a 95 % interval

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
      for (const Piece& piece : pieces_of(graph, op, direction, 1, dtype)) {
        add(piece.curve, piece.table(machine, dtype), load);
      }
    }
  }
  for (int tensor = 0; tensor < static_cast<int>(graph.tensors.size()); ++tensor) {
    if (gradient_contributions(graph, tensor) < 2) continue;
    const Piece piece = accumulation_piece(Bytes(1));
    add(piece.curve, piece.table(machine, dtype), load);
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

OperatorTime Operators::of(const std::vector<Piece>& pieces, Cost cost, int threads) const {
  OperatorTime result;
  double measured = 0, modelled = 0;  // errors, weighted by time
  for (const Piece& piece : pieces) {
    const auto found = curves_.find(piece.curve);
    expects(found != curves_.end(), "every operator of the graph has its curve");
    const Curve& curve = found->second;
    const SurfaceValue value = evaluate(curve.surface, piece.features);
    const double time = piece.count * std::exp(value.log_time);
    result.time += Seconds(time);
    measured += time * kHalfWidth * curve.typical_error;
    modelled += time * kHalfWidth * std::hypot(value.log_sd, curve.substitute_sd);
    result.extrapolated = result.extrapolated || value.extrapolated;
  }
  const double sum = result.time.value();
  result.measured_error_ratio = sum > 0 ? measured / sum : 0;
  result.model_error_ratio = sum > 0 ? modelled / sum : 0;
  result.dispatch = dispatch_of(machine_, threads);
  result.time =
      std::max({result.time, result.dispatch, roofline_floor(machine_, dtype_, threads, cost)});
  const Load load{.threads = threads, .busy_cores = load_.threads + load_.busy_cores - threads};
  const Ceilings limits = ceilings(machine_, dtype_, load, cost.bytes);
  if (limits.compute) result.compute = cost.flop / *limits.compute;
  if (limits.memory) result.memory = cost.bytes / *limits.memory;
  return result;
}

OperatorTime Operators::time(const Op& op, Direction direction, std::int64_t batch) const {
  expects(batch >= 1, "time: the batch has at least one sample");
  if (!computes(graph_, op, direction)) return {};
  return of(pieces_of(graph_, op, direction, batch, dtype_),
            cost_of(graph_, op, direction, batch, dtype_), load_.threads);
}

OperatorTime Operators::accumulation(int tensor, std::int64_t batch) const {
  const int additions = gradient_contributions(graph_, tensor) - 1;
  if (additions < 1) return {};
  Cost cost = accumulation_cost(graph_, tensor, batch, dtype_);
  cost.flop = cost.flop / static_cast<double>(additions);
  cost.bytes = cost.bytes / static_cast<double>(additions);
  return of({accumulation_piece(cost.bytes)}, cost, load_.threads);
}

OperatorTime Operators::optimizer(std::int64_t parameters) const {
  const auto count = static_cast<double>(parameters);
  // Reads weight, velocity and gradient, writes weight and velocity: all f32. v = m v + s g is
  // three FLOP, w -= r v two.
  const Cost cost{.flop = Flop(5 * count), .bytes = Bytes(5 * 4 * count)};
  return of({{.curve = "sgd_momentum", .table = {}, .features = elementwise_features(cost.bytes)}},
            cost, load_.threads);
}

OperatorTime Operators::gather(std::int64_t batch, std::int64_t sample_elements) const {
  const double count = static_cast<double>(batch) * static_cast<double>(sample_elements);
  const Cost cost{.flop = Flop(count), .bytes = Bytes((1 + 4) * count)};  // u8 in, f32 out
  return of({{.curve = "gather_u8", .table = {}, .features = elementwise_features(cost.bytes)}},
            cost, 1);
}

}  // namespace plimsoll::models
