// Lines of words; every number in decimal. The graph's lines are those of checkpoints.

#include "trainer/execution/plan_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/error.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/execution/liveness.hpp"

namespace plimsoll::trainer {
namespace {

constexpr const char* kFormat = "plimsoll.program/1";

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Operand {
  const char* name;
  int ProgramStep::*id;
};
constexpr std::array kOperands{
    Operand{"x", &ProgramStep::x},   Operand{"x2", &ProgramStep::x2},
    Operand{"y", &ProgramStep::y},   Operand{"dx", &ProgramStep::dx},
    Operand{"dy", &ProgramStep::dy}, Operand{"workspace", &ProgramStep::workspace},
    Operand{"dw", &ProgramStep::dw}, Operand{"parameter", &ProgramStep::parameter}};

constexpr std::array kActivations{"none", "relu", "gelu_tanh", "gelu_erf"};
constexpr std::array kSteps{"convert", "kernel", "accumulate", "copy", "ready"};

std::string word(Mode mode) { return mode == Mode::train ? "train" : "evaluate"; }

std::string checksum_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// --- Writing -------------------------------------------------------------------------------------
void write(std::ostream& out, const ProgramStep& step, const Graph& graph) {
  if (step.kind != ProgramStep::Kind::kernel) {
    out << kSteps[static_cast<std::size_t>(step.kind)];
  } else {
    out << to_string(step.direction);
  }
  if (step.op >= 0) out << " op " << step.op;
  if (step.activation != Activation::none) {
    out << " activation " << kActivations[static_cast<std::size_t>(step.activation)];
  }
  for (const auto& [name, id] : kOperands) {
    if (step.*id == kInputSlot) out << ' ' << name << " input";
    if (step.*id >= 0) out << ' ' << name << ' ' << step.*id;
  }
  for (const int fused : step.fused) out << " fused " << fused;
  if (step.op < 0) return;
  out << " # " << graph.ops[at(step.op)].name;
  for (const int fused : step.fused) out << " + " << graph.ops[at(fused)].name;
}

}  // namespace

std::string to_text(const Program& program, const Graph& graph) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << kFormat << "\nbatch " << program.batch << "\ndtype " << to_string(program.dtype)
      << "\nmode " << word(program.mode) << '\n';
  for (const std::string& line : lines_of(graph_text(graph))) out << "graph " << line << '\n';
  out << "forward_steps " << program.forward_steps << "\nscores " << program.scores << "\nlosses "
      << program.losses << "\narena_bytes " << program.arena_bytes << '\n';
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer& one = program.buffers[i];
    out << "buffer " << i << " offset " << one.offset << " elements " << one.elements << " dtype "
        << to_string(one.dtype) << " first " << one.first << " last " << one.last << " # "
        << one.name << '\n';
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    out << "step " << i << ' ';
    write(out, program.steps[i], graph);
    out << '\n';
  }
  const std::string text = out.str();
  return text + "checksum " + checksum_of(text) + '\n';
}

// --- Reading -------------------------------------------------------------------------------------
namespace {

class Reader {
 public:
  Reader(const std::string& text, const ProgramUse& use, std::string where)
      : use_(use), where_(std::move(where)) {
    const std::size_t end = text.rfind("checksum ");
    if (!text.starts_with(std::string(kFormat) + "\n")) {
      const std::string first = text.substr(0, std::min<std::size_t>(text.find('\n'), 40));
      refuse("it begins with '" + first + "' and not with " + kFormat);
    }
    if (end == std::string::npos ||
        text.substr(end) != "checksum " + checksum_of(text.substr(0, end)) + "\n") {
      refuse("its checksum is wrong: it was cut off or changed");
    }
    for (const std::string& line : lines_of(text.substr(0, end))) read(line);
  }

  Program program() && {
    same("batch", std::to_string(program_.batch), std::to_string(use_.batch));
    same("dtype", to_string(program_.dtype), to_string(use_.dtype));
    same("mode", word(program_.mode), word(use_.mode));
    check_graph();
    check_places();
    return std::move(program_);
  }

 private:
  using Words = std::map<std::string, std::string>;

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error("this compiled program cannot be used: " + why, where_,
                "compile it anew for this graph, batch, type and mode");
  }
  void same(const std::string& what, const std::string& has, const std::string& wanted) const {
    if (has != wanted) refuse("it is of " + what + " " + has + ", not " + wanted);
  }

  [[nodiscard]] std::int64_t number(const std::string& text) const {
    std::size_t used = 0;
    std::int64_t value = 0;
    try {
      value = std::stoll(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size()) refuse("'" + text + "' is no number");
    return value;
  }
  [[nodiscard]] std::int64_t number(const Words& words, const std::string& name) const {
    const auto found = words.find(name);
    if (found == words.end()) refuse("'" + name + "' is missing in a line");
    return number(found->second);
  }
  template <class List>
  [[nodiscard]] std::size_t place_in(const List& list, const std::string& text) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (text == list[i]) return i;
    }
    refuse("'" + text + "' is not known");
  }
  [[nodiscard]] DType dtype(const std::string& text) const {
    if (text != "f32" && text != "bf16") refuse("'" + text + "' is no data type");
    return dtype_from(text);
  }

  void read(const std::string& line) {
    std::istringstream in(line);
    std::string kind, first;
    in >> kind;
    if (kind == "graph") return graph_.push_back(line.substr(std::strlen("graph ")));
    if (kind == kFormat) return;
    in >> first;
    if (kind == "batch") program_.batch = number(first);
    if (kind == "dtype") program_.dtype = dtype(first);
    if (kind == "mode") program_.mode = first == "train" ? Mode::train : Mode::evaluate;
    if (kind == "forward_steps") program_.forward_steps = static_cast<int>(number(first));
    if (kind == "scores") program_.scores = static_cast<int>(number(first));
    if (kind == "losses") program_.losses = static_cast<int>(number(first));
    if (kind == "arena_bytes") program_.arena_bytes = number(first);
    if (kind == "buffer") read_buffer(line, in);
    if (kind == "step") read_step(in);
  }

  void read_buffer(const std::string& line, std::istringstream& in) {
    Words words;
    for (std::string name, value; in >> name && name != "#" && in >> value;) words[name] = value;
    program_.buffers.push_back({.name = line.substr(line.find(" # ") + 3),
                                .elements = number(words, "elements"),
                                .dtype = dtype(words["dtype"]),
                                .first = static_cast<int>(number(words, "first")),
                                .last = static_cast<int>(number(words, "last")),
                                .offset = number(words, "offset")});
  }

  void read_step(std::istringstream& in) {
    ProgramStep step;
    std::string kind;
    in >> kind;
    constexpr std::array kDirections{Direction::forward, Direction::backward_data,
                                     Direction::backward_weights};
    bool kernel = false;
    for (const Direction direction : kDirections) {
      if (kind != to_string(direction)) continue;
      step.direction = direction;
      kernel = true;
    }
    if (!kernel) step.kind = static_cast<ProgramStep::Kind>(place_in(kSteps, kind));
    for (std::string name, value; in >> name && name != "#" && in >> value;) {
      if (name == "op") {
        step.op = static_cast<int>(number(value));
      } else if (name == "activation") {
        step.activation = static_cast<Activation>(place_in(kActivations, value));
      } else if (name == "fused") {
        step.fused.push_back(static_cast<int>(number(value)));
      } else {
        read_operand(step, name, value);
      }
    }
    program_.steps.push_back(std::move(step));
  }

  void read_operand(ProgramStep& step, const std::string& name, const std::string& value) const {
    for (const auto& [known, id] : kOperands) {
      if (name != known) continue;
      step.*id = value == "input" ? kInputSlot : static_cast<int>(number(value));
      return;
    }
    refuse("'" + name + "' is not known");
  }

  void check_graph() const {
    // The first line is the shapes; an operator tells more to whoever reads the message.
    const std::vector<std::string> wanted = lines_of(graph_text(use_.graph));
    const auto line = [](const std::vector<std::string>& all, std::size_t i) {
      return i < all.size() ? all[i] : std::string("nothing");
    };
    for (std::size_t i = 1; i < std::max(wanted.size(), graph_.size()) + 1; ++i) {
      const std::size_t at = i < std::max(wanted.size(), graph_.size()) ? i : 0;
      if (line(wanted, at) == line(graph_, at)) continue;
      refuse("it is of another graph: it has '" + line(graph_, at) + "' where this one has '" +
             line(wanted, at) + "'");
    }
  }

  void check_places() const {
    const int steps = static_cast<int>(program_.steps.size());
    const int buffers = static_cast<int>(program_.buffers.size());
    const auto within = [](int value, int end) { return value >= 0 && value < end; };
    if (!within(program_.scores, buffers) || !within(program_.losses, buffers) ||
        program_.forward_steps < 1 || program_.forward_steps > steps) {
      refuse("its results are in no buffer of it");
    }
    std::vector<Lifetime> lifetimes;
    std::vector<std::int64_t> offsets;
    for (const ProgramBuffer& one : program_.buffers) {
      if (one.elements < 0 || one.offset < 0 || one.offset + one.bytes() > program_.arena_bytes) {
        refuse("buffer '" + one.name + "' is outside of its memory");
      }
      lifetimes.push_back({one.bytes(), one.first, one.last});
      offsets.push_back(one.offset);
    }
    const Collision meet = collision(lifetimes, offsets);
    if (meet.one >= 0) {
      refuse("buffers '" + program_.buffers[at(meet.one)].name + "' and '" +
             program_.buffers[at(meet.other)].name + "' overlap while both are needed");
    }
    for (int s = 0; s < steps; ++s) check_step(s);
  }

  void check_step(int s) const {
    const ProgramStep& step = program_.steps[at(s)];
    const int ops = static_cast<int>(use_.graph.ops.size());
    const bool names_one =
        step.kind == ProgramStep::Kind::kernel || step.kind == ProgramStep::Kind::ready;
    if (step.op >= ops || (names_one && step.op < 0)) {
      refuse("step " + std::to_string(s) + " is of no operator");
    }
    for (const auto& [name, id] : kOperands) {
      const int buffer = step.*id;
      if (buffer < 0 || id == &ProgramStep::parameter) continue;
      if (buffer >= static_cast<int>(program_.buffers.size())) {
        refuse("step " + std::to_string(s) + " uses a buffer that is not there");
      }
      const ProgramBuffer& one = program_.buffers[at(buffer)];
      if (s < one.first || s > one.last) {
        refuse("step " + std::to_string(s) + " uses buffer '" + one.name + "' outside of its life");
      }
    }
  }

  const ProgramUse& use_;
  std::string where_;
  std::vector<std::string> graph_;
  Program program_;
};

}  // namespace

Program program_from(const std::string& text, const ProgramUse& use, const std::string& where) {
  return Reader(text, use, where).program();
}

void save_program(const std::string& path, const Program& program, const Graph& graph) {
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << to_text(program, graph);
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Error("cannot write: " + why, path, "choose a folder that exists and has room");
  }
}

Program load_program(const std::string& path, const ProgramUse& use) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error("cannot read: " + std::string(std::strerror(errno)), path, "name a file");
  return program_from(text.str(), use, path);
}

}  // namespace plimsoll::trainer
