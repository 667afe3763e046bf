// Does the loss fall, what limits the throughput, and what would more of a resource give?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/chart.hpp"
#include "reports/page/spec.hpp"
#include "reports/page/steps.hpp"

namespace plimsoll::reports {
namespace {

constexpr std::size_t kMostDots = 240;  // of a curve; more cannot be told apart
constexpr std::size_t kTableRowsOfCurve = 12;

const Metric* metric_named(const Report& report, const std::string& name) {
  for (const Metric& metric : report.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

// Indices first, ..., last of at most `most` evenly spaced entries.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t shown = std::min(count, most);
  for (std::size_t i = 0; i < shown; ++i) {
    out.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  }
  return out;
}

struct Named {
  const Report* report;
  std::string label;
};
template <class T>
std::vector<Named> labelled(const Reports& reports) {
  std::vector<Named> out;
  std::vector<std::string> labels, workloads;
  for (const Report& report : reports) {
    const auto* subject = std::get_if<T>(&report.subject);
    if (subject == nullptr) continue;
    out.push_back({&report, ""});
    add_once(workloads, subject->plan.workload);
  }
  const auto plan = [](const Named& named) { return std::get<T>(named.report->subject).plan; };
  std::stable_sort(out.begin(), out.end(), [&](const Named& a, const Named& b) {
    return before(plan(a), plan(b), workloads);
  });
  for (const Named& named : out) labels.push_back(plan_label(plan(named)));
  labels = unique_labels(std::move(labels));
  for (std::size_t i = 0; i < out.size(); ++i) out[i].label = labels[i];
  return out;
}

// Of each configuration the run with the most steps of loss.
std::vector<const Report*> longest_runs(const Reports& reports) {
  std::vector<const Report*> out;
  std::map<std::string, std::size_t> place;
  for (const auto& [report, label] : labelled<Run>(reports)) {
    const Metric* loss = metric_named(*report, "train.loss");
    if (loss == nullptr || loss->samples.empty()) continue;
    const Plan& plan = std::get<Run>(report->subject).plan;
    const auto [found, fresh] = place.try_emplace(plan_label(plan), out.size());
    if (fresh) {
      out.push_back(report);
    } else if (metric_named(*out[found->second], "train.loss")->samples.size() <
               loss->samples.size()) {
      out[found->second] = report;
    }
  }
  return out;
}

// One dot a (configuration, resource): the same form answers limits and sensitivities.
std::string dot_strip(Json data, const std::vector<std::string>& cells,
                      const std::vector<std::string>& resources, const Json& x, const Json& tip,
                      bool ringed) {
  const Json y = {
      {"field", "cell"},
      {"type", "nominal"},
      {"sort", cells},
      {"title", nullptr},
      {"axis", {{"ticks", false}, {"domain", false}, {"grid", true}, {"labelPadding", 8}}}};
  Json ring = {{"y", y}, {"x", x}};
  Json dots = ring;
  dots["color"] = nominal("resource", "", resources);
  dots["shape"] = nominal("resource", "", resources);
  dots["tooltip"] = tip;
  Json layers = Json::array();
  if (!ringed) layers.push_back(zero_rule());
  if (ringed)
    layers.push_back({{"transform", {{{"filter", "datum.binds"}}}},
                      {"mark",
                       {{"type", "point"},
                        {"filled", false},
                        {"size", 240},
                        {"strokeWidth", 2},
                        {"color", "var(--text)"}}},
                      {"encoding", ring}});
  layers.push_back({{"mark", {{"type", "point"}, {"size", 80}}}, {"encoding", dots}});
  return dumped(view(std::move(data), std::move(layers), 28 * static_cast<int>(cells.size())));
}

Json loss_layers(const std::set<std::int64_t>& batches, const std::set<int>& workers) {
  std::vector<std::string> batch_names, worker_names;
  for (const std::int64_t batch : batches) batch_names.push_back(fmt::format("batch {}", batch));
  for (const int count : workers) {
    worker_names.push_back(counted(static_cast<std::size_t>(count), "worker"));
  }
  const Json x = {{"field", "step"},
                  {"type", "quantitative"},
                  {"title", "step"},
                  {"axis", {{"format", "~r"}, {"tickMinStep", 1}}}};
  const Json y = {{"field", "loss"}, {"type", "quantitative"}, {"title", "loss"}};
  Json layers = Json::array();
  layers.push_back({{"mark", {{"type", "line"}, {"strokeWidth", 1.8}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", nominal("batch", "", batch_names)},
                      {"strokeDash", nominal("workers", "", worker_names)},
                      {"detail", {{"field", "run"}}},
                      {"tooltip", tooltip({"run"})}}}});
  return layers;
}

}  // namespace

void add_loss(const Reports& reports, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "loss";
  chart.title = "Does the loss fall, and the same way with more workers?";
  chart.description =
      "Loss of every step as it was trained, over the global batch. Runs of one workload and batch "
      "should lie on one another whatever the number of workers. Of several runs of one "
      "configuration the longest is shown, thinned to 240 points; the saved JSON has every step.";
  chart.table = {"loss",
                 "loss at some steps",
                 {{"Run"}, {"Step", true}, {"Loss", true}, {"Test accuracy", true}},
                 {}};
  Json data = Json::array();
  std::vector<std::string> workloads;
  std::set<std::int64_t> batches;
  std::set<int> workers;
  for (const Report* report : longest_runs(reports)) {
    const Metric* loss = metric_named(*report, "train.loss");
    const Run& run = std::get<Run>(report->subject);
    add_once(workloads, run.plan.workload);
    batches.insert(run.plan.batch);
    workers.insert(run.plan.workers);
    const std::string label = plan_label(run.plan);
    const std::string count = counted(static_cast<std::size_t>(run.plan.workers), "worker");
    for (const std::size_t step : spread(loss->samples.size(), kMostDots)) {
      if (!std::isfinite(loss->samples[step])) continue;
      data.push_back({{"step", step + 1},
                      {"loss", loss->samples[step]},
                      {"workload", run.plan.workload},
                      {"batch", fmt::format("batch {}", run.plan.batch)},
                      {"workers", count},
                      {"run", label}});
    }
    const Metric* accuracy = metric_named(*report, "train.accuracy");
    for (const std::size_t step : spread(loss->samples.size(), kTableRowsOfCurve)) {
      const bool last = step + 1 == loss->samples.size();
      chart.table.rows.push_back(
          {label, std::to_string(step + 1), fmt::format("{:.4f}", loss->samples[step]),
           last && accuracy != nullptr && accuracy->value ? human_percent(*accuracy->value) : ""});
    }
  }
  if (data.empty()) return;
  Json spec = facets(std::move(data),
                     {.field = "workload",
                      .order = workloads,
                      .columns = workloads.size() > 1 ? 2 : 1,
                      .height = 260,
                      .room = 52,
                      .shared = false},
                     loss_layers(batches, workers));
  chart.spec = dumped(spec);
  out.push_back(std::move(chart));
}

void add_limits(const Reports& reports, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "limits";
  chart.title = "What limits the throughput?";
  chart.description =
      "Predicted throughput were each resource the only limit. The ringed one binds; the distance "
      "to "
      "the next is what removing it would give.";
  chart.table = {"limits",
                 "one limit of one configuration",
                 {{"Configuration"}, {"Resource"}, {"Samples per second", true}, {"Binds"}},
                 {}};
  Json data = Json::array();
  Range rates;
  std::vector<std::string> cells, resources;
  for (const auto& [report, label] : labelled<Prediction>(reports)) {
    const Prediction& prediction = std::get<Prediction>(report->subject);
    for (const Limit& limit : prediction.limits) {
      const double rate = limit.samples_per_second.value();
      if (!(rate > 0) || !std::isfinite(rate)) continue;
      const bool binds = limit.resource == prediction.binds;
      add_once(cells, label);
      add_once(resources, limit.resource);
      rates.include(rate);
      data.push_back({{"cell", label},
                      {"resource", limit.resource},
                      {"rate", rate},
                      {"samples per second", human(rate, "1")},
                      {"binds", binds}});
      chart.table.rows.push_back({label, limit.resource, human(rate, "1/s"), binds ? "binds" : ""});
    }
  }
  if (data.empty()) return;
  Json x = log_axis(rates, "rate", "samples per second");
  x["axis"]["format"] = "~s";
  chart.spec = dot_strip(std::move(data), cells, resources, x,
                         tooltip({"cell", "resource", "samples per second"}), true);
  out.push_back(std::move(chart));
}

void add_sensitivity(const Reports& reports, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "sensitivity";
  chart.title = "What would a faster part give?";
  chart.description =
      "How much shorter the predicted step gets when one input alone becomes 10 % better (a rate "
      "higher, a time shorter). Near zero: no reason to buy or tune it for this workload.";
  chart.table = {"sensitivity",
                 "one input of one configuration; elasticity: % of step time for 1 % more of it",
                 {{"Configuration"}, {"Input"}, {"Elasticity", true}, {"10 % better gives", true}},
                 {}};
  Json data = Json::array();
  std::vector<std::string> cells, inputs;
  for (const auto& [report, label] : labelled<Prediction>(reports)) {
    for (const Sensitivity& item : std::get<Prediction>(report->subject).sensitivity) {
      if (!std::isfinite(item.elasticity)) continue;
      add_once(cells, label);
      add_once(inputs, item.input);
      const double change = std::pow(1.1, -std::fabs(item.elasticity)) - 1;
      const std::string gain = human_percent(change, true) + " step time";
      data.push_back({{"cell", label},
                      {"resource", item.input},
                      {"change", 100 * change},
                      {"10 percent better gives", gain},
                      {"binds", false}});
      chart.table.rows.push_back(
          {label, item.input, fmt::format("{:+.3f}", item.elasticity), gain});
    }
  }
  if (data.empty()) return;
  const Json x = signed_axis("change", "step time with 10 % better (%)");
  chart.spec = dot_strip(std::move(data), cells, inputs, x,
                         tooltip({"cell", "resource", "10 percent better gives"}), false);
  out.push_back(std::move(chart));
}

}  // namespace plimsoll::reports
