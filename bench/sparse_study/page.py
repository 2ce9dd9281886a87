"""docs/sparse-study.md from the answers of the study."""

from pathlib import Path

from plots import bars, number

PUBLISHED = {  # cycles of the paper's simulator: unfused, per layer, full
    "gcn cora": (48_998_261, 29_997_611, 166_361_105),
    "gcn cora_ml": (115_435_265, 61_259_360, 842_383_059),
    "gcn dblp": (934_042_655, 627_775_406, 3_589_346_391),
    "gcn collab": (1_056_927_396, 409_951_944, 55_634_377_783),
    "graphsage cora": (79_355_629, 37_798_698, 166_361_105),
    "graphsage collab": (1_569_940_814, 505_455_837, 55_634_376_841),
}
COMAL = {  # its compiled graphs on real data in Comal, features stored sparse: unfused, per layer, full
    "gcn cora": (4_647_742, 4_132_333, 24_344_089),
    "gcn cora_ml": (13_384_570, 11_958_680, 137_673_850),
    "graphsage cora": (8_977_242, 4_190_581, 24_344_071),
    "attention, 4 heads, 128 tokens, block 16": (6_628_365, None, 4_234_058),
}
BOUND = {
    "gcn cora": 1.5e6,
    "gcn cora_ml": 3.5e6,
    "graphsage cora": 2.5e6,
    "attention, 4 heads, 128 tokens, block 16": 3.5e6,
}
LEVELS = ["unfused", "partial", "layers", "full"]
COLOURS = {"unfused": "#9aa5b1", "partial": "#8ab17d", "layers": "#4c8bf5", "full": "#e07a5f", "search": "#2a9d8f"}


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cycles_of(cell: dict | None) -> float | None:
    return cell["best"]["cycles"] if cell and "best" in cell else None


def cell_text(cell: dict | None, metric: str = "cycles") -> str:
    """A number; * where it is counted by the cost model."""
    if not cell:
        return ""
    if "refused" in cell:
        return "cannot run"
    return number(cell["best"][metric]) + ("" if cell["simulated"] else " ~" if "sampled" in cell else " *")


def search_cycles(row: dict) -> float | None:
    found = row.get("search", {})
    return found["answer"]["cycles"] if "answer" in found else None


def granularity_table(rows: dict) -> str:
    head = ["model and data", "unfused", "partial", "per layer", "full", "search"]
    head += ["partial gains", "full gains", "search gains", "Comal's"]
    body = []
    for name, row in rows.items():
        base, found = cycles_of(row["unfused"]), search_cycles(row)
        partial = "partial" if "partial" in row else "layers"
        gained = [cycles_of(row.get(partial)), cycles_of(row.get("full")), found]
        gain = [f"{base / c:.2f}x" if base and c else "" for c in gained]
        theirs = " / ".join(number(c) or "-" for c in COMAL.get(name, ()))
        body.append([name, *(cell_text(row.get(s)) for s in LEVELS), number(found), *gain, theirs])
    return table(head, body)


def work_table(rows: dict) -> str:
    head = [
        "model and data",
        *(f"operations, {s}" for s in LEVELS),
        *(f"bytes, {s}" for s in LEVELS),
        "full over unfused",
    ]
    body = []
    for name, row in rows.items():
        ratio = ""
        if "best" in (row.get("full") or {}) and "best" in (row["unfused"] or {}):
            ratio = f"{row['full']['best']['operations'] / row['unfused']['best']['operations']:.1f}x operations"
        body.append(
            [
                name,
                *(cell_text(row.get(s), "operations") for s in LEVELS),
                *(cell_text(row.get(s), "bytes") for s in LEVELS),
                ratio,
            ]
        )
    return table(head, body)


def plain_table(title: str, cells: dict) -> str:
    known = {name: cycles_of(cell) for name, cell in cells.items()}
    first = next((c for c in known.values() if c), None)
    return table(
        [title, "cycles", "against the first"],
        [[n, cell_text(cells[n]), f"{first / c:.2f}x" if first and c else ""] for n, c in known.items()],
    )


def blocks_table(found: dict) -> str:
    rows = []
    for name, cell in found.items():
        answer = cell.get("answer")
        regions = " ".join("{" + ", ".join(r["fused"]) + "}" for r in answer["regions"]) if answer else "cannot run"
        rows.append([name, number(answer["cycles"]) if answer else "", regions])
    return table(["attention, the search's choice", "cycles", "regions"], rows)


def errors_table(groups: list[dict]) -> str:
    """The cost model against simulation, over everything that was simulated, and of that what was fully fused."""
    metrics = ["operations", "bytes", "cycles"]
    errors: dict[str, list[float]] = {name: [] for m in metrics for name in (m, f"{m}, fully fused")}
    for group in groups:
        for level, cell in group.items():
            if not cell or not cell.get("simulated"):
                continue
            for metric in metrics:
                wanted = cell["simulated"][metric]
                if not wanted:
                    continue
                error = abs(cell["counted"][metric] - wanted) / wanted
                errors[metric].append(error)
                if level == "full":
                    errors[f"{metric}, fully fused"].append(error)
    rows = []
    for metric, found in errors.items():
        if found:
            found.sort()
            rows.append([metric, str(len(found)), f"{100 * found[len(found) // 2]:.2f}%", f"{100 * found[-1]:.2f}%"])
    return table(["counted", "schedules", "median error", "largest error"], rows)


def sample_table(rows: dict) -> str:
    """Full fusion from a sample of rows, against the whole where that was simulated too."""
    body = []
    for name, row in rows.items():
        full = row.get("full") or {}
        if "sampled" not in full:
            continue
        whole = full["simulated"]
        error = f"{100 * abs(full['sampled']['cycles'] / whole['cycles'] - 1):.2f}%" if whole else ""
        cycles = [number(full["sampled"]["cycles"]), number(whole["cycles"]) if whole else ""]
        body.append([name, str(full["rows"]), *cycles, error])
    return table(["full fusion", "rows sampled", "cycles from the sample", "simulated", "error"], body)


def pictures(folder: Path, results: dict, every: dict) -> dict[str, str]:
    """Draws what the tables say; the place of each picture, by what it shows."""

    def value(row: dict, level: str, metric: str) -> float | None:
        if level == "search":
            return search_cycles(row) if metric == "cycles" else None
        cell = row.get(level) or {}
        return cell["best"][metric] if "best" in cell else None

    series = [*LEVELS, "search"]
    names = {"cycles": "sparse-study", "operations": "sparse-study-operations", "bytes": "sparse-study-bytes"}
    drawn = {
        metric: bars(
            f"{metric.capitalize()} by granularity (comal, logarithmic)",
            {
                name.replace("small decoder, ", ""): {s: value(row, s, metric) for s in series}
                for name, row in every.items()
            },
            COLOURS,
        )
        for metric in names
    }
    for what, title in [
        ("parallel", "Cycles of fused attention by lanes (logarithmic)"),
        ("orders", "Cycles of A X on Cora by order of the loops (logarithmic)"),
    ]:
        names[what] = f"sparse-study-{what}"
        cells = {name: {"full": cycles_of(cell)} for name, cell in results[what].items()}
        drawn[what] = bars(title, cells, {"full": COLOURS["layers"]})
    for what, picture in drawn.items():
        (folder / f"{names[what]}.svg").write_text(picture)
    return {what: f"![{what}]({folder.name}/{name}.svg)\n" for what, name in names.items()}


def exhaustive_table(found: dict) -> str:
    rows = []
    for name, row in found.items():
        if "answer" not in row["search"] or "answer" not in row["exhaustive"]:
            continue
        quick, whole = row["search"]["answer"], row["exhaustive"]["answer"]
        above = 100 * (quick["cycles"] / whole["cycles"] - 1)
        share = f"{quick['simulated']} of {quick['choices']}"
        if quick["confirmed"]:
            share += f", {quick['confirmed']} to confirm"
        seconds = f"{row['search']['seconds']:.1f} and {row['exhaustive']['seconds']:.1f} s"
        rows.append([name, number(quick["cycles"]), number(whole["cycles"]), f"{above:.2f}%", share, seconds])
    return table(["model", "search", "exhaustive", "above it", "simulated of choices", "time"], rows)


def trends(rows: dict, transformer: dict) -> str:
    """Where the published trends hold, said from the numbers."""
    out = []
    for name, row in rows.items():
        base, partial, layers, full = (cycles_of(row.get(s)) for s in LEVELS)
        if not (base and partial and layers and full):
            continue
        theirs = PUBLISHED.get(name)
        said = (
            f"- **{name}**: partial fusion {'beats' if partial < base else 'loses to'} unfused ({base / partial:.2f}x"
        )
        said += f"; published, per layer: {theirs[0] / theirs[1]:.2f}x)" if theirs else ")"
        said += f"; the published cut by layers {'wins' if layers < base else 'loses'} here ({base / layers:.2f}x)"
        said += f"; full fusion {'wins' if full < base else 'loses'} ({base / full:.2f}x"
        said += f"; published {theirs[0] / theirs[2]:.2f}x)" if theirs else ")"
        if found := search_cycles(row):
            said += f"; the search finds {base / found:.2f}x"
        out.append(said + ".")
    for name, row in transformer.items():
        base, full = cycles_of(row["unfused"]), cycles_of(row.get("full"))
        if base and full:
            out.append(f"- **{name}**: full fusion {'wins' if full < base else 'loses'} ({base / full:.2f}x).")
    return "\n".join(out) + "\n"


def bounds_table(rows: dict) -> str:
    body = []
    for name, bound in BOUND.items():
        found = search_cycles(rows.get(name, {}))
        if found:
            answer = rows[name]["search"]["answer"]
            body.append(
                [
                    name,
                    number(found),
                    number(bound),
                    "yes" if found <= bound else "no",
                    f"{answer['simulated']} of {answer['choices']}",
                ]
            )
    return table(["search's choice", "cycles", "wanted at most", "held", "simulated of choices"], body)


def write(path: Path, folder: Path, results: dict, conditions: str) -> None:
    rows, transformer = results["granularity"], results["transformer"]
    every = {**rows, **transformer, "autoencoder": results["autoencoder"]}
    drawn = pictures(folder, results, every)
    simulated = [*every.values(), results["parallel"], results["orders"]]
    text = [
        "# Fusion granularity of sparse models\n",
        "Written by `make sparse-study`; numbers are cycles of the `comal` profile unless said, simulated but for\n"
        "those marked ~. Full fusion would put hundreds of billions of tokens there: it is counted, and corrected by\n"
        "what counting is wrong by on a sample of rows; how good that is stands at the end. A star: counted alone.\n",
        conditions,
        "## Granularity\n",
        granularity_table(every),
        drawn["cycles"],
        "*Partial*: what shares a row is one region (`rows` in the examples). *Per layer*: the paper's cut.\n"
        "*Comal's*: FuseFlow's own graphs on the same data in Comal (unfused / per layer / full), features stored\n"
        "sparse.\n",
        "## The search's choice\n",
        bounds_table(every),
        "## Search against exhaustive simulation\n",
        exhaustive_table(results["exhaustive"]),
        "Graphs are Cora's. The decoder blocks, of 17 statements, have 32 tokens, 16 features and 2 heads, so that\n"
        "all can be simulated; at most two orders a region, and nothing is walked that can be located.\n",
        "## Where the published trends hold\n",
        trends(rows, transformer),
        results["reading"],
        "## Operations and bytes\n",
        work_table(every),
        drawn["operations"],
        drawn["bytes"],
        "## Lanes: how many, and where\n",
        plain_table("attention as one region", results["parallel"]),
        drawn["parallel"],
        "## Blocks of the mask\n",
        blocks_table(results["blocks"]),
        "## Order of the loops\n",
        plain_table("A X on Cora, both stored sparse", results["orders"]),
        drawn["orders"],
        "## Sampled rows against all of them\n",
        sample_table(rows),
        "## Cost model against simulation\n",
        errors_table(simulated),
    ]
    path.write_text("\n".join(text))
