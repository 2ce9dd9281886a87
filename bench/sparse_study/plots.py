"""Pictures of the study: bars on a logarithmic scale as SVG that needs nothing else."""

import math


def number(value: float | None) -> str:
    if value is None:
        return ""
    for unit, name in [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]:
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.0f}"


def bars(title: str, groups: dict[str, dict[str, float | None]], colours: dict[str, str]) -> str:
    """A group of bars for each name, a bar for each series that it has; `colours` says the series and their order."""
    groups = {name: values for name, values in groups.items() if any(values.values())}
    powers = [math.log10(value) for values in groups.values() for value in values.values() if value]
    low, high = math.floor(min(powers)), math.ceil(max(powers) + 0.1)
    group = max(30 * len(colours), 70)
    width, height, left = group * len(groups) + 110, 320, 70
    bottom, scale = height - 60, (height - 90) / (high - low)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11"><rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="{left}" y="18" font-size="13">{title}</text>'
    ]
    for power in range(low, high + 1):
        y = bottom - (power - low) * scale
        out.append(
            f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e6ea"/>'
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">10^{power}</text>'
        )
    for n, (name, values) in enumerate(groups.items()):
        x = left + 15 + group * n
        for k, (series, colour) in enumerate(colours.items()):
            if not values.get(series):
                continue
            value = values[series]
            tall = (math.log10(value) - low) * scale
            out.append(
                f'<rect x="{x + 30 * k}" y="{bottom - tall:.1f}" width="26" height="{tall:.1f}" '
                f'fill="{colour}"><title>{name}: {value:.0f}</title></rect>'
                f'<text x="{x + 30 * k + 13}" y="{bottom - tall - 3:.1f}" text-anchor="middle" '
                f'font-size="9">{number(value)}</text>'
            )
        middle = x + (30 * len(colours) - 4) / 2
        label = name if 7 * len(name) <= group else name.split(",")[0]
        out.append(f'<text x="{middle:.0f}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    for k, (series, colour) in enumerate(colours.items() if len(colours) > 1 else []):
        out.append(
            f'<rect x="{left + 110 * k}" y="{height - 26}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{left + 110 * k + 17}" y="{height - 16}">{series}</text>'
        )
    return "\n".join(out) + "</svg>\n"
