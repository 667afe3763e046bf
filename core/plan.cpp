// What a plan may say, and the two rules that model and trainer share: shares and buckets.

#include "core/plan.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace plimsoll {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void one_of(const char* flag, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw usage_error("'" + value + "' is not possible here", flag, "use one of: " + joined(known));
}

void at_least(const char* flag, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw usage_error("'" + std::to_string(value) + "' is too small", flag,
                    "use " + std::to_string(least) + " or more");
}

}  // namespace

std::vector<std::int64_t> shares(std::int64_t batch, int workers) {
  expects(batch >= 0 && workers >= 1, "shares: batch >= 0 and workers >= 1");
  std::vector<std::int64_t> result(static_cast<std::size_t>(workers), batch / workers);
  for (std::int64_t extra = 0; extra < batch % workers; ++extra) {
    ++result[static_cast<std::size_t>(extra)];
  }
  return result;
}

void check(const Plan& plan, int usable_cpus) {
  at_least("--batch", plan.batch, 1);
  at_least("--workers", plan.workers, 1);
  at_least("--threads", plan.threads, 1);
  at_least("--loader-workers", plan.loader_workers, 0);
  at_least("--prefetch", plan.prefetch, plan.loader_workers > 0 ? 1 : 0);
  at_least("--accumulate", plan.accumulate, 1);
  if (!plan.optimizer.empty()) one_of("--optimizer", plan.optimizer, {"sgd", "adam", "adamw"});
  one_of("--device", plan.device, {"cpu"});
  one_of("--comm", plan.comm, {"threads"});
  one_of("--sync", plan.sync, {"all_reduce"});
  one_of("--algorithm", plan.algorithm, {"native", "ring"});
  one_of("--execution", plan.execution, {"eager", "async", "graph"});
  one_of("--dtype", to_string(plan.dtype), {"f32", "bf16"});
  if (plan.bucket < Bytes(1)) {
    throw usage_error("a bucket holds at least one byte", "--bucket", "use 1M to 100M");
  }
  if (static_cast<std::int64_t>(plan.workers) * plan.threads > usable_cpus) {
    throw usage_error(std::to_string(plan.workers) + " workers x " + std::to_string(plan.threads) +
                          " threads need more than the " + std::to_string(usable_cpus) +
                          " usable CPUs",
                      "--workers, --threads", "lower one of them");
  }
}

std::vector<Bucket> buckets(const Graph& graph, Bytes cap) {
  std::vector<Bucket> result;
  int parameter = 0;
  for (const Op& op : graph.ops) parameter += static_cast<int>(op.parameters.size());
  const Bytes first_cap = std::min(cap, Bytes(1024.0 * 1024.0));
  for (int i = static_cast<int>(graph.ops.size()) - 1; i >= 0; --i) {
    const Op& op = graph.ops[static_cast<std::size_t>(i)];
    for (auto p = op.parameters.rbegin(); p != op.parameters.rend(); ++p) {
      --parameter;
      const Bytes bytes(4.0 * static_cast<double>(elements(p->shape)));  // gradients are f32
      const Bytes limit = result.size() <= 1 ? first_cap : cap;
      if (result.empty() || result.back().bytes >= limit) {
        result.push_back({.parameters = {}, .bytes = Bytes(0), .ready_after_op = i});
      }
      result.back().parameters.push_back(parameter);
      result.back().bytes += bytes;
      result.back().ready_after_op = i;
    }
  }
  return result;
}

}  // namespace plimsoll
