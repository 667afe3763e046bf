// Three kinds of wrong stay apart.
//
//   The world is wrong    Error{what, where, how to fix}: thrown, printed once in main.
//   The program is wrong  expects(): on in every build, aborts with the place.
//   It does not apply     a value: a status with its reason, never an exception.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace plimsoll {

// Exit codes of every program of this project; they are part of the interface.
enum class ExitCode : int {
  good = 0,
  could_not_run = 1,
  wrong_usage = 2,
  verdict_bad = 3,
  undecided = 4,
  partial = 5,
  not_applicable = 77,
  timed_out = 124,
  interrupted = 130,
};

// Something outside the program is wrong. Texts are lower case without a full stop; `what` holds
// the offending value, `where` the file, flag or device, `fix` the next thing to try.
class Error : public std::runtime_error {
 public:
  Error(std::string what, std::string where, std::string fix,
        ExitCode exit_code = ExitCode::could_not_run);

  [[nodiscard]] const std::string& problem() const { return what_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& fix() const { return fix_; }
  [[nodiscard]] ExitCode exit_code() const { return exit_code_; }

 private:
  std::string what_, where_, fix_;
  ExitCode exit_code_;
};

// A usage error: exit code 2.
[[nodiscard]] Error usage_error(std::string what, std::string where, std::string fix);

// Where a promise was broken. Not std::source_location: clang 14 with libstdc++ has none.
struct Place {
  const char* file;
  int line;
  const char* function;
  static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                 const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

// A promise of the program itself: prints the text and the place on stderr and aborts when broken.
void expects(bool condition, std::string_view what, Place place = Place::current());

}  // namespace plimsoll
