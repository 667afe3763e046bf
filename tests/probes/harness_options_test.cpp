// The command line of probe binaries: what is accepted, and that nothing wrong becomes a default.

#include "core/error.hpp"
#include "probes/harness/effort.hpp"
#include "probes/harness/options.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {
namespace {

ExitCode refusal_of(const std::vector<std::string>& arguments) {
  try {
    (void)parse_options(arguments);
  } catch (const Error& error) {
    CHECK_FALSE(error.fix().empty());
    return error.exit_code();
  }
  return ExitCode::good;
}

TEST_CASE("flags with a space and with an equals sign mean the same") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--level", "quick", "--out", "f.json", "--max-time", "2.5"},
        std::vector<std::string>{"--level=quick", "--out=f.json", "--max-time=2.5s"}}) {
    const HarnessOptions options = parse_options(arguments);
    CHECK(options.probe.level == Level::quick);
    CHECK(options.out == "f.json");
    REQUIRE(options.max_time);
    CHECK(options.max_time->value() == 2.5);
  }
}

TEST_CASE("Google Benchmark's flags keep their meaning") {
  const HarnessOptions options = parse_options(
      {"--benchmark_filter=a.*b", "--benchmark_repetitions=4", "--benchmark_min_time=0.01s",
       "--benchmark_out=x.json", "--benchmark_out_format=json", "--benchmark_format=json",
       "--benchmark_context=host=a,run=7", "--benchmark_report_aggregates_only",
       "--benchmark_color=no"});
  CHECK(options.filter == "a.*b");
  CHECK(options.repetitions == 4);
  CHECK(options.sample_time->value() == 0.01);
  CHECK(options.benchmark_out == "x.json");
  CHECK(options.benchmark_stdout);
  CHECK(options.aggregates_only);
  CHECK(options.context.at(1).second == "7");
  CHECK(parse_options({"--benchmark_min_time=0.01"}).sample_time->value() == 0.01);
  CHECK(parse_options({"--benchmark_list_tests=true"}).action == Action::list);
  CHECK(parse_options({"--benchmark_list_tests=false"}).action == Action::measure);
  CHECK(effort_of(options).rule.max_samples == 4);
}

TEST_CASE("wrong flags and values are usage errors") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--level", "huge"},
                                             {"--level"},
                                             {"--max-time", "-1"},
                                             {"--max-time", "nan"},
                                             {"--max-time", "soon"},
                                             {"--seed", "1.5"},
                                             {"--size", "12Q"},
                                             {"--size", "1M,,2M"},
                                             {"--benchmark_repetitions=0"},
                                             {"--benchmark_min_time=10x"},
                                             {"--benchmark_out_format=csv"},
                                             {"--benchmark_format=xml"},
                                             {"--benchmark_context=novalue"},
                                             {"--list=maybe"}}) {
    INFO(arguments.front());
    CHECK(refusal_of(arguments) == ExitCode::wrong_usage);
  }
}

TEST_CASE("sizes are binary and exact") {
  CHECK(parse_size("4096", "--size") == 4096);
  CHECK(parse_size("64K", "--size") == 65536);
  CHECK(parse_size("256MiB", "--size") == 268435456);
  CHECK(parse_size("1G", "--size") == 1073741824);
  CHECK(parse_size("2147483656", "--size") == 2147483656);
  CHECK(parse_size("1000TiB", "--size") == 1099511627776000);
  for (const std::string text : {"", "K", "-1", "0", "1.5M", "9223372036854775808", "10000000T"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_size(text, "--size"), Error);
  }
}

TEST_CASE("filters keep, and with a leading minus drop") {
  const std::vector<std::string> names = {"a/x:1", "a/x:2", "b/x:1"};
  CHECK(filter_names(names, "") == std::vector<bool>{true, true, true});
  CHECK(filter_names(names, "x:1") == std::vector<bool>{true, false, true});
  CHECK(filter_names(names, "-x:1") == std::vector<bool>{false, true, false});
  CHECK(filter_names(names, "a/x:(2|3)") == std::vector<bool>{false, true, false});
  CHECK_THROWS_AS(filter_names(names, "(["), Error);
}

TEST_CASE("levels rise in effort and --max-time shortens them") {
  HarnessOptions options;
  options.probe.level = Level::quick;
  const Effort quick = effort_of(options);
  options.probe.level = Level::full;
  const Effort full = effort_of(options);
  CHECK(quick.budget < full.budget);
  CHECK(quick.rule.noise_target > full.rule.noise_target);
  CHECK(effort_of(options, 100000).sample_time == Seconds(1e-3));
  CHECK(effort_of(options, 10).sample_time == full.sample_time);
  options.max_time = Seconds(1);
  CHECK(effort_of(options).budget == Seconds(1));
  options.dry_run = true;
  CHECK(effort_of(options).rule.max_samples == 1);
}

}  // namespace
}  // namespace plimsoll::probes
