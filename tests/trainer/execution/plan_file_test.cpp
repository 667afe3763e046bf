// Compiled programs as files.

#include <filesystem>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/execution/networks.hpp"
#include "trainer/execution/graph.hpp"
#include "trainer/execution/plan_file.hpp"

namespace plimsoll::trainer {
namespace {

using namespace testing;

TEST_CASE("a program is the same after it was written and read") {
  const auto backend = make_cpu_backend(1);
  for (const Network& network : networks()) {
    for (const Mode mode : {Mode::train, Mode::evaluate}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const Program program =
            compile(network.graph, *backend, {.batch = 3, .dtype = dtype, .mode = mode});
        const ProgramUse use{network.graph, 3, dtype, mode};
        CHECK(program_from(to_text(program, network.graph), use, "text") == program);
      }
    }
  }
}

TEST_CASE("a loaded program trains like a compiled one") {
  const Graph graph = residual_network();
  const auto backend = make_cpu_backend(1);
  const Training how{.steps = 4};
  const std::string path =
      (std::filesystem::temp_directory_path() / "plimsoll_plan_file_test.program").string();
  save_program(path, compile(graph, *backend, {.batch = how.batch}), graph);
  const Program loaded = load_program(path, {graph, how.batch, DType::f32, Mode::train});
  std::filesystem::remove(path);
  const auto with = [&](const Graph& g, const Backend& b, const FlatLayout& l,
                        const ExecutorOptions& o) {
    return make_graph_executor(g, b, l, o, GraphOptions{.programs = {loaded}});
  };
  CHECK(train(graph, with, how).losses == train(graph, execution_mode("graph").make, how).losses);
}

TEST_CASE("a program of something else, or a damaged one, is refused by name") {
  const auto backend = make_cpu_backend(1);
  const Graph graph = residual_network();
  const Program program = compile(graph, *backend, {.batch = 3});
  const std::string text = to_text(program, graph);
  const auto refused = [&](const std::string& what, const ProgramUse& use, const std::string& why) {
    CHECK_THROWS_WITH(program_from(what, use, "text"), Catch::Matchers::Contains(why));
  };
  refused(text, {graph, 4, DType::f32, Mode::train}, "of batch 3, not 4");
  refused(text, {graph, 3, DType::bf16, Mode::train}, "of dtype f32, not bf16");
  refused(text, {graph, 3, DType::f32, Mode::evaluate}, "of mode train, not evaluate");
  const Graph other = attention_network();
  refused(text, {other, 3, DType::f32, Mode::train}, "of another graph: it has 'stem.conv");
  const ProgramUse right{graph, 3, DType::f32, Mode::train};
  refused("", right, "it begins with");
  refused("plimsoll.program/2\n", right, "plimsoll.program/2");
  for (std::size_t cut = text.size() - 1; cut > 20; cut /= 2) {
    CHECK_THROWS_AS(program_from(text.substr(0, cut), right, "text"), Error);
  }
  for (std::size_t i = 30; i < text.size(); i += 97) {
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    if (changed != text) refused(changed, right, "checksum");
  }
  // Whole, but with two live buffers in one place.
  Program overlapping = program;
  for (ProgramBuffer& one : overlapping.buffers) one.offset = 0;
  refused(to_text(overlapping, graph), right, "overlap while both are needed");
}

}  // namespace
}  // namespace plimsoll::trainer
