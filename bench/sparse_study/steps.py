"""The measurements of the study, each a call of the command line whose answer is kept: an interrupted study goes on."""

import os
import re
from pathlib import Path

from calls import Calls
from graphs import GRAPHS, bigbird_mask, prepare, sample_rows

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLES = ROOT / "examples" / "sparse"
LIMIT = 3e11  # tokens of a region beyond which it is sampled: full fusion at Collab and MAG size


class Study:
    """Calls, their answers, and the data that they need."""

    def __init__(self, folder: Path, source: Path | None) -> None:
        self.folder, self.source = folder, source
        folder.mkdir(parents=True, exist_ok=True)
        self.calls = Calls(os.environ.get("TOKAMAK", str(ROOT / "build" / "bin" / "tokamak")), folder / "answers.json")
        self.later = self.calls.later
        self.real: dict[str, bool] = {}

    def call(self, what: str, *arguments: object) -> dict:
        """One call; `what` is its name in the answers and for the progress line."""
        words = [str(word) for word in arguments]
        key = " ".join([what, *(word.replace(str(self.folder), "").replace(str(ROOT), "") for word in words)])
        return self.calls.call(key, what, words)

    def graph(self, name: str) -> Path:
        folder = self.folder / "data" / name
        marker = folder / "real"
        if not marker.exists():
            real = prepare(GRAPHS[name], self.source, folder)
            marker.write_text("yes" if real else "no")
        self.real[name] = marker.read_text() == "yes"
        return folder

    def model(self, name: str, changes: dict[str, str] | None = None) -> Path:
        """An example or a program of the study, or a copy of it with pieces of its text replaced."""
        path = next(p for p in [EXAMPLES / f"{name}.ein", HERE / f"{name}.ein"] if p.exists())
        if not changes:
            return path
        text = path.read_text()
        for old, new in changes.items():
            if not re.search(old, text):
                raise ValueError(f"{name}.ein has no {old}")
            text = re.sub(old, new, text)
        tag = re.sub(r"\W+", "_", "_".join(changes.values())).strip("_").lower()
        path = self.folder / "models" / f"{name}_{tag}.ein"
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:  # others may be reading it
            path.write_text(text)
        return path

    def costs(self, what: str, program: Path, schedule: object, *arguments: object, limit: float = LIMIT) -> dict:
        """Totals of a schedule: counted, and simulated where every region is within the limit."""
        found = self.call(
            what,
            *("sparse", "explain", program, "--check", "--schedule", schedule, "--limit", f"{limit:g}"),
            *("--database", self.folder / "regions.db"),  # equal regions are simulated once
            *arguments,
        )
        if "refused" in found:
            return {"refused": found["refused"]}
        regions = found["answer"]
        out = {"counted": {}, "simulated": None, "seconds": found["seconds"], "regions": len(regions)}
        for metric in ["operations", "bytes", "cycles", "tokens"]:
            out["counted"][metric] = sum(r["counted"][metric] for r in regions)
        if all(r["simulated"] for r in regions):
            out["simulated"] = {m: sum(r["simulated"][m] for r in regions) for m in ["operations", "bytes", "cycles"]}
        out["best"] = {  # simulated where it was, else counted
            m: sum((r["simulated"] or r["counted"])[m] or r["counted"][m] for r in regions)
            for m in ["operations", "bytes", "cycles"]
        }
        return out

    def sweep(self, what: str, program: Path, *arguments: object) -> dict:
        tag = re.sub(r"\W+", "_", what)
        files = ["--database", self.folder / f"{tag}.db", "-o", self.folder / f"{tag}.schedule"]
        return self.call(what, "sweep", program, *files, "--threads", 1, *arguments)


GNNS = ["gcn", "graphsage"]
LEVELS = ["unfused", "layers", "full"]
GNN_LEVELS = {"unfused": "unfused", "partial": "rows", "layers": "layers", "full": "full"}


def gnn_program(study: Study, model: str, graph: str) -> Path:
    """Features that are stored dense are declared so; the number of classes is the data's."""
    changes = {}
    if not GRAPHS[graph].features:
        changes[r"input (Xr?\[[NR], F\]): csr"] = r"input \1"
    if GRAPHS[graph].classes != 7:
        changes[r"C = 7"] = f"C = {GRAPHS[graph].classes}"
    return study.model(model, changes)


def gnn_arguments(study: Study, graph: str) -> list[object]:
    data = ["--data", study.graph(graph), "--random", 0]
    return data if GRAPHS[graph].features else [*data, "--dims", f"F={GRAPHS[graph].width}"]


def with_sample(study: Study, model: str, graph: str, full: dict) -> dict:
    """Full fusion with the last layer for some rows alone, counted and simulated. What counting is wrong by there
    corrects the count of the whole where that is too long to simulate, and is compared with it elsewhere."""
    if "refused" in full:
        return full
    nodes = GRAPHS[graph].nodes
    rows = max(20, min(nodes // 20, int(1e9 * nodes / full["counted"]["tokens"])))
    names = ["S", "Xr"] if model == "graphsage" else ["S"]
    files = sample_rows(study.graph(graph), study.folder / "data" / f"{model}_{graph}_sample", rows)
    given = [word for name in names if files[name].exists() for word in ["--input", f"{name}={files[name]}"]]
    program, arguments = gnn_program(study, f"{model}_sample", graph), [*gnn_arguments(study, graph), *given]
    part = study.costs(f"{model} {graph} full, {rows} rows", program, "full", *arguments)
    if "refused" in part or not part["simulated"]:
        return full
    factor = {m: part["simulated"][m] / part["counted"][m] for m in ["operations", "bytes", "cycles"]}
    sampled = {m: full["counted"][m] * factor[m] for m in factor}
    return {**full, "sampled": sampled, "rows": rows, "best": full["best"] if full["simulated"] else sampled}


def granularity(study: Study, graphs: list[str]) -> dict:
    """Each model on each graph, the largest graphs first. What has regions in common runs one after another."""
    out: dict = {f"{model} {graph}": {} for graph in graphs for model in GNNS}

    def costs(model: str, graph: str, level: str) -> dict:
        program, arguments = gnn_program(study, model, graph), gnn_arguments(study, graph)
        return study.costs(f"{model} {graph} {level}", program, GNN_LEVELS[level], *arguments)

    def small(graph: str) -> dict:
        return {f"{m} {graph}": {level: costs(m, graph, level) for level in ["unfused", "partial"]} for m in GNNS}

    def full(model: str, graph: str) -> dict:
        return with_sample(study, model, graph, costs(model, graph, "full"))

    def search(model: str, graph: str) -> dict:
        program, arguments = gnn_program(study, model, graph), gnn_arguments(study, graph)
        return study.sweep(f"{model} {graph} search", program, *arguments, "--algebra", "on")

    for graph in sorted(graphs, key=lambda name: -GRAPHS[name].edges):
        study.graph(graph)
        for model in GNNS:
            out[f"{model} {graph}"]["layers"] = study.later(costs, model, graph, "layers")
        rows = study.later(small, graph)
        for model in GNNS:
            name = f"{model} {graph}"
            row = out[name]
            for level in ["unfused", "partial"]:
                row[level] = lambda rows=rows, name=name, level=level: rows.result()[name][level]
            row["full"] = study.later(full, model, graph)
            if GRAPHS[graph].nodes < 10000:
                row["search"] = study.later(search, model, graph)
    return out


def autoencoder(study: Study) -> dict:
    program, sizes = study.model("autoencoder"), ["--random", 0, "--density", 0.1, "--dims", "B=128,D=784,H=256"]
    row: dict = {s: study.later(study.costs, f"autoencoder {s}", program, s, *sizes) for s in LEVELS}
    row["search"] = study.later(study.sweep, "autoencoder search", program, *sizes, "--algebra", "on")
    return row


def attention(study: Study, tokens: int, heads: int, block: int, random_blocks: int) -> tuple[Path, list[object]]:
    data = study.folder / "data" / f"bigbird_{tokens}_{block}"
    if not (data / "M.npz").exists():
        bigbird_mask(tokens, block, random_blocks, data)
    return study.model("attention"), ["--data", data, "--random", 0, "--dims", f"H={heads},E=64"]


def transformer(study: Study) -> dict:
    """Decoder blocks of both sizes of blocks one after another: all but attention is the same in them."""
    out: dict = {}
    program, arguments = attention(study, 128, 4, 16, 2)

    def decoders() -> dict:
        cells = {(b, s): study.costs(f"bigbird {b} {s}", *decoder(b, s)) for b in [16, 64] for s in LEVELS}
        return {b: {s: cells[b, s] for s in LEVELS} for b in [16, 64]}

    def decoder(block: int, schedule: str) -> list[object]:
        data = study.folder / "data" / f"bigbird_1024_{block}"
        if not (data / "M.npz").exists():
            bigbird_mask(1024, block, 3, data)
        return [study.model("bigbird"), schedule, "--data", data, "--random", 0]

    rows = study.later(decoders)
    row: dict = {s: study.later(study.costs, f"attention 128 {s}", program, s, *arguments) for s in LEVELS}
    row["search"] = study.later(study.sweep, "attention 128 search", program, *arguments, "--algebra", "on")
    out["attention, 4 heads, 128 tokens, block 16"] = row
    for block in [16, 64]:
        out[f"GPT-3 small decoder, block {block}"] = lambda block=block: rows.result()[block]
    return out


def exhaustive(study: Study) -> dict:
    """The search's choice and the best of everything: graphs at Cora size, decoder blocks small."""
    cora = ["--data", study.graph("cora"), "--random", 0]
    models = {name: (study.model(name), cora) for name in ["gcn", "graphsage", "graph_attention"]}
    models["attention"] = attention(study, 128, 4, 16, 2)
    models["autoencoder"] = study.model("autoencoder"), ["--random", 0, "--dims", "B=128,D=784,H=256"]
    models["chain"] = study.model("chain"), [*cora, "--dims", "H=16,C=7"]
    models |= kernels(study)
    for name in ["spmm", "spmm_orders", "sddmm", "softmax", "layer_norm"]:  # more ways to run than storage allows
        program, arguments = models[name]
        models[f"{name}, all orders, 4 lanes"] = program, [*arguments, "--all-orders", "--parallel", "1,4"]
    small = "--random 0 --density 0.3 --dims S=32,D=16,H=2,E=8,F=32 --algebra on --orders 2 --no-iterate".split()
    models["GPT-3 decoder, 32 tokens"] = study.model("bigbird"), small
    models["GPT-3 decoder, mask in blocks"] = study.model("gpt3", {r"bcsr\(16, 16\)": "bcsr(4, 4)"}), small
    out = {}
    for name, (program, arguments) in models.items():
        quick = study.later(study.sweep, f"{name} search", program, *arguments)
        whole = study.later(study.sweep, f"{name} exhaustive", program, *arguments, "--exhaustive")
        out[name] = {"search": quick, "exhaustive": whole}
    return out


def kernels(study: Study) -> dict:
    """Single products and norms on Cora: the adjacency, squared where two operands are wanted."""
    data = study.folder / "data" / "kernels"
    data.mkdir(parents=True, exist_ok=True)
    adjacency = (study.graph("cora") / "A.npz").read_bytes()
    for name in ["A", "B"]:
        (data / f"{name}.npz").write_bytes(adjacency)
    only = study.folder / "data" / "kernel"
    only.mkdir(parents=True, exist_ok=True)
    (only / "A.npz").write_bytes(adjacency)
    mask = study.folder / "data" / "bigbird_128_16"
    return {
        "spmm": (study.model("spmm"), ["--data", data]),
        "spmm_orders": (study.model("spmm_orders"), ["--data", data]),
        "sddmm": (study.model("sddmm"), ["--data", only, "--random", 0, "--dims", "K=64"]),
        "softmax": (study.model("softmax"), ["--data", only]),
        "layer_norm": (study.model("layer_norm"), ["--data", only, "--random", 0]),
        "block_attention": (study.model("block_attention"), ["--data", mask, "--random", 0, "--dims", "E=64"]),
    }


def schedule_file(study: Study, name: str, text: str) -> Path:
    path = study.folder / "schedules" / f"{name}.schedule"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"schedule {name} {{\n{text}\n}}\n")
    return path


def parallel(study: Study) -> dict:
    """Attention as one region: lanes along heads, rows, or both."""
    program, arguments = attention(study, 128, 4, 16, 2)
    out: dict = {}
    for where in ["h", "s", "h, s"]:
        for lanes in [1, 2, 4, 8, 16]:
            if where != "s" and lanes > 4:
                continue
            asked = ", ".join(f"{v} {lanes}" for v in where.split(", "))
            path = schedule_file(
                study,
                f"lanes_{where.replace(', ', '')}_{lanes}",
                f"  fuse all {{ parallel {asked} }}" if lanes > 1 else "  fuse all",
            )
            what = f"attention lanes {where} {lanes}"
            out[f"{where} x {lanes}"] = study.later(study.costs, what, program, path, *arguments)
    return out


def blocks(study: Study) -> dict:
    """The mask by element and in blocks: the same pairs, other streams. The schedule is the search's each time."""
    program, arguments = attention(study, 128, 4, 16, 2)
    out = {"by element": study.later(study.sweep, "attention by element", program, *arguments, "--algebra", "on")}
    for size in [4, 8, 16]:
        blocked = study.model("attention", {r"input M\[S, S\]: csr": f"input M[S, S]: bcsr({size}, {size})"})
        what = f"attention blocks {size}"
        out[f"blocks of {size}"] = study.later(study.sweep, what, blocked, *arguments, "--algebra", "on")
    return out


def orders(study: Study) -> dict:
    program = study.model("spmm_orders", {r"B\[K, M\]": "B[K, M]"})
    data = study.folder / "data" / "orders"
    data.mkdir(exist_ok=True)
    cora = study.graph("cora")
    for source, name in [("A", "A"), ("X", "B")]:
        (data / f"{name}.npz").write_bytes((cora / f"{source}.npz").read_bytes())
    names = ["inner", "inner_t", "rows", "columns", "outer", "outer_t"]
    return {s: study.later(study.costs, f"order {s}", program, s, "--data", data) for s in names}
