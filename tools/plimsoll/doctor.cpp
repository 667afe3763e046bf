// plimsoll doctor: what this machine is, and what would spoil results, each with effect and fix.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "core/system/buffer.hpp"
#include "core/system/doctor.hpp"
#include "core/system/parts.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/envelope.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  std::string json, only;
  bool strict = false;
};

std::string bytes_text(std::int64_t bytes) {
  return sys::format_bytes(Bytes(static_cast<double>(bytes)));
}

void add_line(std::string& text, std::string_view label, std::string_view line) {
  text += fmt::format("{:<9} {}\n", label, line);
}

void describe_processor(const sys::Facts& facts, std::string& text) {
  const Environment& host = facts.environment;
  add_line(text, "host",
           fmt::format("{}   {}   {}{}", host.hostname, host.distribution, host.kernel,
                       host.virtualised ? "   virtual machine " + host.hypervisor : ""));
  add_line(
      text, "cpu",
      fmt::format("{}   {}   {} socket{}, {} cores, {} hardware threads",
                  host.cpu_model.empty() ? "unknown model" : host.cpu_model, host.architecture,
                  host.sockets, host.sockets == 1 ? "" : "s", host.cores, host.hardware_threads));
  const int threads = sys::default_threads(facts.topology.usable.count(), facts.cgroup.cpu_quota);
  add_line(text, "",
           fmt::format("present {}   online {}   usable {}   CPU time {}   default threads {}",
                       host.present_cpus, host.online_cpus, host.usable_cpus,
                       host.cpu_quota.value ? fmt::format("{:.2f} CPUs", *host.cpu_quota.value)
                                            : host.cpu_quota.reason,
                       threads));
  add_line(text, "",
           fmt::format("governor {}   frequency {}", host.governor.value.value_or("unknown"),
                       host.frequency_hz.value
                           ? fmt::format("{:.2f} GHz", *host.frequency_hz.value / 1e9)
                           : "unknown"));
  add_line(text, "", fmt::format("{}", fmt::join(host.isa, " ")));
}

void describe_memory(const sys::Facts& facts, std::string& text) {
  const Environment& host = facts.environment;
  std::string caches;
  for (const CacheFact& cache : host.caches)
    caches += fmt::format("{}L{} {} {} x {}", caches.empty() ? "" : "   ", cache.level, cache.type,
                          cache.instances,
                          cache.size_bytes ? bytes_text(*cache.size_bytes) : "unknown size");
  add_line(text, "caches", caches.empty() ? "unknown" : caches);
  add_line(text, "memory",
           fmt::format("{}, {} available, {}   huge pages: {}", bytes_text(host.memory_bytes),
                       host.available_bytes > 0 ? bytes_text(host.available_bytes) : "unknown",
                       host.memory_limit_bytes.value
                           ? "limited to " + bytes_text(*host.memory_limit_bytes.value)
                           : host.memory_limit_bytes.reason,
                       host.transparent_huge_pages));
  for (const NumaFact& node : host.numa)
    add_line(text, "",
             fmt::format("node {}: {}, {}", node.id,
                         node.memory_bytes > 0 ? bytes_text(node.memory_bytes) : "no memory",
                         node.cpus.empty() ? "no CPUs" : "CPUs " + node.cpus));
}

void describe_devices(const sys::Facts& facts, std::string& text) {
  const Environment& host = facts.environment;
  add_line(text, "clock",
           fmt::format("{}   step {:.0f} ns, {:.0f} ns a read", host.clock_source,
                       host.clock_resolution_s * 1e9, host.clock_cost_s * 1e9));
  std::string network;
  for (const auto& interface : facts.network)
    network += fmt::format(
        "{}{} {}, {}", network.empty() ? "" : "   ", interface.name, interface.state,
        interface.speed.value ? fmt::format("{:g} GB/s", interface.speed.value->value() / 1e9)
                              : "speed unknown");
  add_line(text, "network", network.empty() ? "no interface" : network);
  if (facts.cuda.devices.empty()) {
    add_line(text, "gpu", sys::cuda_state_name(facts.cuda.state) + ": " + facts.cuda.reason);
  }
  for (const sys::CudaDevice& gpu : facts.cuda.devices)
    add_line(text, "gpu",
             fmt::format("{}: {}, {} ({} free), compute {}.{}", gpu.id, gpu.name,
                         sys::format_bytes(gpu.total_memory), sys::format_bytes(gpu.free_memory),
                         gpu.compute_major, gpu.compute_minor));
}

void describe_build(const Tool& tool, std::string& text) {
  std::string parts;
  for (const sys::Part& part : sys::parts())
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, part.state);
  add_line(text, "build",
           fmt::format("{} {} {}{}, {}, {}", tool.name, tool.version,
                       tool.git_commit.empty() ? "unknown commit" : tool.git_commit.substr(0, 12),
                       tool.git_dirty ? " (modified)" : "", tool.compiler, tool.build_type));
  add_line(text, "", parts);
}

std::string_view severity_word(Severity severity) {
  if (severity == Severity::error) return "ERROR";
  return severity == Severity::warning ? "warn" : "note";
}

void describe_findings(const std::vector<Finding>& findings, std::size_t checked,
                       std::string& text) {
  const auto count = [&](Severity severity) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& finding) { return finding.severity == severity; });
  };
  text += fmt::format("\nchecks {}: errors {}, warnings {}, notes {}\n", checked,
                      count(Severity::error), count(Severity::warning), count(Severity::info));
  for (const Finding& finding : findings)
    text += fmt::format("  {:<5} {:<22} {}\n{:>30}effect: {}\n{:>30}fix:    {}\n",
                        severity_word(finding.severity), finding.id, finding.message, "",
                        finding.effect, "", finding.fix);
}

void run(const Options& options, Context& context) {
  const sys::Facts facts = sys::gather_facts();
  Report report = envelope(MachineSubject{.level = "default"}, context.argv, {}, facts.environment);
  report.findings = sys::diagnose(facts, options.only);
  const bool error = std::any_of(report.findings.begin(), report.findings.end(),
                                 [](const Finding& f) { return f.severity == Severity::error; });
  if (error) report.quality.verdict = "invalid";
  if (!options.json.empty()) reports::write_text(reports::to_json(report), options.json);
  if (options.json != "-") {
    std::string text;
    if (options.only.empty()) {
      describe_processor(facts, text);
      describe_memory(facts, text);
      describe_devices(facts, text);
      describe_build(report.tool, text);
    }
    describe_findings(report.findings, options.only.empty() ? sys::checks().size() : 1, text);
    reports::write_text(text, "-");
  }
  if (error && options.strict) context.exit_code = ExitCode::verdict_bad;
}

}  // namespace

void add_doctor(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      root.add_subcommand("doctor", "what this machine is, and what would spoil results");
  command->add_option("--json", options->json, "write a machine report; - prints only that");
  command->add_option("--only", options->only, "one check by its id");
  command->add_flag("--strict", options->strict, "exit 3 when a check finds an error");
  command->footer(
      "examples:\n"
      "  plimsoll doctor\n"
      "  plimsoll doctor --only cgroup.cpu_quota\n"
      "  plimsoll doctor --strict --json - | jq .findings");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
