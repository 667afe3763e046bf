// Escaping and number formatting of the HTML page.

#include "reports/format/html_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <variant>

namespace plimsoll::reports {
namespace {

// Three significant digits, never as an exponent between a thousandth and a million.
std::string digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 1e-3 || magnitude >= 1e6) return fmt::format("{:.3g}", value);
  const int decimals = magnitude >= 99.95    ? 0
                       : magnitude >= 9.995  ? 1
                       : magnitude >= 0.9995 ? 2
                                             : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t i = 0;
  while (std::fabs(value) >= step * 0.9995 && i + 1 < units.size()) {
    value /= step;
    ++i;
  }
  return digits(value) + " " + units[i];
}

std::string duration(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude == 0) return "0 s";
  if (magnitude < 0.9995e-6) return digits(seconds * 1e9) + " ns";
  if (magnitude < 0.9995e-3) return digits(seconds * 1e6) + " µs";
  if (magnitude < 0.9995) return digits(seconds * 1e3) + " ms";
  return digits(seconds) + " s";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\xEF\xBF\xBD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string with_unit(double value, std::string_view unit) {
  if (unit == "s") return duration(value);
  if (unit == "B") return scaled(value, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
  if (unit == "B/s") return scaled(value, 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
  if (unit == "FLOP/s") {
    return scaled(value / 1e6, 1000, {"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"});
  }
  if (unit == "Hz") return scaled(value / 1e6, 1000, {"MHz", "GHz", "THz", "PHz", "EHz"});
  if (unit == "1/s") return scaled(value, 1000, {"/s", "k/s", "M/s", "G/s", "T/s"});
  if (unit.empty() || unit == "1") return digits(value);
  return digits(value) + " " + std::string(unit);
}

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", 100 * ratio); }

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string plain(const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return fmt::format("{}", std::get<double>(value));
}

std::string joined(const Params& params) {
  std::string out;
  for (const auto& [key, value] : params) {
    if (!out.empty()) out += ", ";
    out += key + "=" + plain(value);
    if (key.ends_with("bytes") && std::holds_alternative<std::int64_t>(value) &&
        std::get<std::int64_t>(value) >= 1024) {
      out += " (" + with_unit(static_cast<double>(std::get<std::int64_t>(value)), "B") + ")";
    }
  }
  return out;
}

std::string plan_label(const Plan& plan) {
  const Plan usual;
  std::string out = fmt::format("{}, batch {}, {}", plan.workload, plan.batch,
                                counted(static_cast<std::size_t>(plan.workers), "worker"));
  if (plan.threads > 1) out += fmt::format(" × {} threads", plan.threads);
  if (plan.dtype != usual.dtype) out += ", " + to_string(plan.dtype);
  if (plan.device != usual.device) out += ", " + plan.device;
  if (plan.comm != usual.comm) out += ", " + plan.comm;
  if (plan.sync != usual.sync) out += ", " + plan.sync;
  if (plan.algorithm != usual.algorithm) out += ", " + plan.algorithm;
  if (plan.overlap != usual.overlap) out += ", no overlap";
  if (plan.execution != usual.execution) out += ", " + plan.execution;
  if (plan.bucket != usual.bucket) out += ", bucket " + with_unit(plan.bucket.value(), "B");
  return out;
}

}  // namespace plimsoll::reports
