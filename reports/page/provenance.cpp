// Where the numbers come from, and how they were measured.

#include <fmt/format.h>

#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/sections.hpp"

namespace plimsoll::reports {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

template <class T, class Show>
std::string known(const Known<T>& fact, Show show) {
  if (fact.value) return show(*fact.value);
  return fact.reason.empty() ? "unknown" : fact.reason;
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : " ") + item;
  return out;
}

std::string caches_text(const Environment& env) {
  std::string out;
  for (const CacheFact& cache : env.caches) {
    out += fmt::format(
        "{}L{} {} {} × {}", out.empty() ? "" : ", ", cache.level, cache.type,
        cache.size_bytes ? human(static_cast<double>(*cache.size_bytes), "B") : "of unknown size",
        cache.instances);
  }
  return out;
}

std::string numa_text(const Environment& env) {
  std::string out;
  for (const NumaFact& node : env.numa) {
    out += fmt::format("{}node {}: {}, CPUs {}", out.empty() ? "" : "; ", node.id,
                       human(static_cast<double>(node.memory_bytes), "B"), node.cpus);
  }
  return out;
}

Facts facts_of(const Report& report) {
  const Environment& env = report.environment;
  const auto text = [](const std::string& value) { return value; };
  const auto size = [](std::int64_t bytes) { return human(static_cast<double>(bytes), "B"); };
  std::string libraries;
  for (const auto& [name, version] : env.libraries) {
    libraries += (libraries.empty() ? "" : ", ") + name + " " + version;
  }
  return {
      {"host", env.hostname},
      {"vendor", env.vendor},
      {"virtualised",
       env.virtualised ? "yes" + (env.hypervisor.empty() ? "" : ", " + env.hypervisor) : "no"},
      {"CPU", env.cpu_model + " (" + env.architecture + ")"},
      {"sockets, cores, threads",
       fmt::format("{}, {}, {}", env.sockets, env.cores, env.hardware_threads)},
      {"CPUs usable / online / present",
       env.usable_cpus + " / " + env.online_cpus + " / " + env.present_cpus},
      {"CPU quota", known(env.cpu_quota, [](double v) { return fmt::format("{:g} CPUs", v); })},
      {"governor", known(env.governor, text)},
      {"frequency", known(env.frequency_hz, [](double v) { return human(v, "Hz"); })},
      {"instruction sets", list_of(env.isa)},
      {"caches", caches_text(env)},
      {"NUMA", numa_text(env)},
      {"memory, available", size(env.memory_bytes) + ", " + size(env.available_bytes)},
      {"memory limit", known(env.memory_limit_bytes, size)},
      {"transparent huge pages", env.transparent_huge_pages},
      {"locked memory", known(env.memlock_bytes, size)},
      {"kernel", env.kernel},
      {"distribution", env.distribution},
      {"clock", fmt::format("{}, resolution {}, {} a reading", env.clock_source,
                            human(env.clock_resolution_s, "s"), human(env.clock_cost_s, "s"))},
      {"libraries", libraries},
      {"tool", fmt::format("{} {}, commit {}{}, {}, {}", report.tool.name, report.tool.version,
                           report.tool.git_commit.empty() ? "unknown" : report.tool.git_commit,
                           report.tool.git_dirty ? " (modified)" : "", report.tool.compiler,
                           report.tool.build_type)},
      {"compiler flags", report.tool.flags},
  };
}

std::string facts_html(const Facts& facts) {
  std::string out = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  }
  return out + "</dl>\n";
}

// What is different from the first report; most sets come from one machine and one tool.
Facts differing(const Facts& facts, const Facts& first) {
  Facts out;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const bool wanders = facts[i].first == "memory, available" || facts[i].first == "frequency" ||
                         facts[i].first == "clock";
    if (!wanders && facts[i].second != first[i].second) out.push_back(facts[i]);
  }
  return out;
}

std::string file_name(const Report& report) {
  return "plimsoll-" + kind_name(report.subject) + "-" + report.id.substr(0, 8) + ".json";
}

std::string subject_text(const Report& report) {
  if (const auto* p = std::get_if<Prediction>(&report.subject)) {
    return plan_label(p->plan) + " (" + p->tier + ")";
  }
  if (const auto* run = std::get_if<Run>(&report.subject)) {
    return plan_label(run->plan) + (run->partial ? " (partial)" : "");
  }
  if (const auto* machine = std::get_if<MachineSubject>(&report.subject)) {
    return machine->level + (machine->partial ? " (partial)" : "");
  }
  if (const auto* v = std::get_if<Validation>(&report.subject)) {
    return counted(v->rows.size(), "configuration") + (v->partial ? " (partial)" : "");
  }
  return "";
}

std::string command_text(const Command& command) {
  std::string out = list_of(command.argv);
  for (const auto& [name, value] : command.variables) out = name + "=" + value + " " + out;
  return out;
}

std::string probes_html(const Reports& reports) {
  Table table = {"probes",
                 "one probe",
                 {{"Report", true}, {"Probe"}, {"Status"}, {"Reason"}, {"Took", true}},
                 {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto* machine = std::get_if<MachineSubject>(&reports[i].subject);
    if (machine == nullptr) continue;
    for (const ProbeOutcome& probe : machine->probes) {
      const char* status = probe.status == Status::ok        ? "ok"
                           : probe.status == Status::skipped ? "skipped"
                           : probe.status == Status::failed  ? "failed"
                                                             : "implausible";
      table.rows.push_back({std::to_string(i + 1), probe.id, status, probe.reason,
                            human(probe.duration.value(), "s")});
    }
    for (const std::string& missing : machine->missing) {
      table.rows.push_back({std::to_string(i + 1), missing, "missing",
                            "the model needs it and it was not measured", ""});
    }
  }
  if (table.rows.empty()) return "";
  return "<details><summary>Probes: what ran and for how long</summary>\n" + table_html(table) +
         "</details>\n";
}

std::string assumptions_html(const Reports& reports) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    for (const std::string& have : lines) {
      if (have == line) return;
    }
    lines.push_back(line);
  };
  for (const Report& report : reports) {
    const auto* prediction = std::get_if<Prediction>(&report.subject);
    if (prediction == nullptr) continue;
    for (const std::string& line : prediction->assumptions) add(line);
    for (const std::string& line : prediction->extrapolated) add("extrapolated: " + line);
  }
  if (lines.empty()) return "";
  std::string out = "<h3>What the predictions assume</h3><ul>\n";
  for (const std::string& line : lines) out += "<li>" + escaped(line) + "</li>\n";
  return out + "</ul>\n";
}

std::string quality_html(const Reports& reports) {
  Table table = {"quality",
                 "one indicator of one report",
                 {{"Report", true}, {"Verdict"}, {"Indicator"}, {"Value", true}, {"Within limits"}},
                 {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Indicator& indicator : reports[i].quality.indicators) {
      table.rows.push_back({std::to_string(i + 1), reports[i].quality.verdict, indicator.id,
                            human(indicator.value, "1"), indicator.ok ? "yes" : "no"});
    }
  }
  if (table.rows.empty()) return "";
  return "<details><summary>Quality indicators</summary>\n" + table_html(table) + "</details>\n";
}

}  // namespace

std::string provenance_section(const Reports& reports) {
  const Facts first = facts_of(reports.front());
  std::string out = "<section id=\"provenance\"><h2>Provenance</h2>\n" + facts_html(first);
  std::string differences;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    const Facts different = differing(facts_of(reports[i]), first);
    if (different.empty()) continue;
    differences += fmt::format("<h4>Report {}</h4>\n", i + 1) + facts_html(different);
  }
  if (!differences.empty()) {
    out += "<details open><summary>Where other reports differ from the first</summary>\n" +
           differences + "</details>\n";
  }
  out +=
      "<div class=\"scroll\" tabindex=\"0\"><table><caption>The reports inside this "
      "page</caption><thead><tr><th scope=\"col\" class=\"num\">#</th><th "
      "scope=\"col\">Kind</th><th "
      "scope=\"col\">Of</th><th scope=\"col\">Created</th><th scope=\"col\">Quality</th><th "
      "scope=\"col\">Command</th><th scope=\"col\">Id</th><th scope=\"col\">File</th></tr></thead>"
      "\n<tbody>\n";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& report = reports[i];
    out += fmt::format(
        "<tr><td class=\"num\">{}</td><td>{}</td><td>{}</td><td class=\"once\">{}</td><td "
        "class=\"{}\">{}</td>"
        "<td><code>{}</code></td><td><code>{}</code></td><td><button type=\"button\" "
        "class=\"small\" data-save=\"{}\" aria-label=\"Save {}\">Save</button></td></tr>\n",
        i + 1, kind_name(report.subject), escaped(subject_text(report)),
        escaped(short_time(report.created)), escaped(report.quality.verdict),
        escaped(report.quality.verdict), escaped(command_text(report.command)), escaped(report.id),
        report_id(i), escaped(file_name(report)));
  }
  return out + "</tbody></table></div></section>\n";
}

std::string method_section(const Reports& reports) {
  std::string out =
      "<section id=\"method\"><h2>How it was measured</h2>\n"
      "<p>A value is the median of its samples unless the table says otherwise; its interval holds "
      "the median with the confidence that the report states. Every probe checks its own answer "
      "outside the timed region and reports no speed when the answer is wrong. Sizes are binary "
      "(KiB, "
      "MiB), rates decimal (GB/s, GFLOP/s). Predictions use generic probes only, unless their tier "
      "says profiled.</p>\n";
  for (const Report& report : reports) {
    const auto* validation = std::get_if<Validation>(&report.subject);
    if (validation == nullptr) continue;
    out += facts_html(
        {{"drift correction", validation->drift_rule},
         {"leakage", validation->leakage},
         {"machine report", validation->machine.id + ", SHA-256 " + validation->machine.sha256}});
  }
  return out + assumptions_html(reports) + probes_html(reports) + quality_html(reports) +
         "</section>\n";
}

}  // namespace plimsoll::reports
