// Embeds the page's files through the assembler: no generated source, nothing to compile.

#include "reports/page/assets.hpp"

#include <cstddef>

// Defines plimsoll_asset_<name>_begin and _end around the bytes of a file.
#define PLIMSOLL_EMBED(name, path)                                                              \
  __asm__(".pushsection .rodata\n.global plimsoll_asset_" #name                                 \
          "_begin\n.hidden plimsoll_asset_" #name "_begin\nplimsoll_asset_" #name               \
          "_begin:\n.incbin \"" path "\"\n.global plimsoll_asset_" #name                        \
          "_end\n.hidden plimsoll_asset_" #name "_end\nplimsoll_asset_" #name                   \
          "_end:\n.byte 0\n.popsection\n");                                                     \
  extern "C" const char plimsoll_asset_##name##_begin[], plimsoll_asset_##name##_end[];         \
  namespace {                                                                                   \
  std::string_view name##_bytes() {                                                             \
    return {                                                                                    \
        plimsoll_asset_##name##_begin,                                                          \
        static_cast<std::size_t>(plimsoll_asset_##name##_end - plimsoll_asset_##name##_begin)}; \
  }                                                                                             \
  }

PLIMSOLL_EMBED(style, PLIMSOLL_PAGE_CSS)
PLIMSOLL_EMBED(script, PLIMSOLL_PAGE_UI)
#ifdef PLIMSOLL_PAGE_CHARTS
PLIMSOLL_EMBED(charts, PLIMSOLL_PAGE_CHARTS)
PLIMSOLL_EMBED(licences, PLIMSOLL_PAGE_LICENCES)
#endif

namespace plimsoll::reports {

std::string_view page_style() { return style_bytes(); }
std::string_view page_script() { return script_bytes(); }

#ifdef PLIMSOLL_PAGE_CHARTS
std::string_view chart_script() { return charts_bytes(); }
std::string_view chart_licences() { return licences_bytes(); }
#else
std::string_view chart_script() { return {}; }
std::string_view chart_licences() { return {}; }
#endif

}  // namespace plimsoll::reports
