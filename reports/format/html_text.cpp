// Escaping, labels and lists of the HTML page.

#include "reports/format/html_text.hpp"

#include <fmt/format.h>

#include <variant>

#include "reports/format/units.hpp"

namespace plimsoll::reports {

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

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string short_time(const std::string& created) {
  if (created.size() < 17 || created[10] != 'T' || created.back() != 'Z') return created;
  return created.substr(0, 10) + " " + created.substr(11, 5) + " UTC";
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
      out += " (" + human(static_cast<double>(std::get<std::int64_t>(value)), "B") + ")";
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
  if (plan.accumulate != usual.accumulate) {
    out += fmt::format(", {} micro-batches", plan.accumulate);
  }
  if (plan.optimizer != usual.optimizer) out += ", " + plan.optimizer;
  if (plan.bucket != usual.bucket) out += ", bucket " + human(plan.bucket.value(), "B");
  return out;
}

}  // namespace plimsoll::reports
