// What the page says first: one sentence, a word for the quality, and a few figures.

#pragma once

#include <string>
#include <vector>

#include "reports/page/chart.hpp"

namespace plimsoll::reports {

struct Figure {
  std::string name, value, note;
};

struct Verdict {
  std::string sentence;  // plain text
  std::string quality;   // the worst of the reports: good | noisy | invalid
  std::vector<Figure> figures;
};

[[nodiscard]] Verdict verdict_of(const Reports& reports);
[[nodiscard]] std::string title_of(const Reports& reports);

}  // namespace plimsoll::reports
