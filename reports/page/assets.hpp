// The files that every page carries inside itself; they are part of the library, so that a page can
// be written without the source or build tree.

#pragma once

#include <string_view>

namespace plimsoll::reports {

[[nodiscard]] std::string_view page_style();    // page.css
[[nodiscard]] std::string_view page_script();   // ui.js
[[nodiscard]] std::string_view chart_script();  // charts.js with Vega; empty: built without charts
[[nodiscard]] std::string_view chart_licences();  // of what chart_script() holds

}  // namespace plimsoll::reports
