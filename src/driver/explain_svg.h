#pragma once

#include <string>
#include <string_view>

#include "driver/explain.h"

namespace tokamak {

/// The drawing as an <svg> element; `style` is put inside it when not empty, else the page has it.
std::string svgElement(const Explanation& explanation, std::string_view style);

/// Colours, as CSS variables for light and dark; the drawing's own rules; the rest of the page; the page's script.
extern const std::string_view kPalette, kSvgStyle, kPageStyle, kPageScript;

}  // namespace tokamak
