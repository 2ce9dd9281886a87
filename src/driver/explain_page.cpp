#include "driver/explain_svg.h"

namespace tokamak {

const std::string_view kPalette = R"css(
:root, svg.plan {
  --paper: #ffffff; --ink: #1d2330; --soft: #667085; --line: #d5dae3; --panel: #f6f7fa; --accent: #2f6fdb;
  --memory: #c4632b; --inner: #9aa5b8;
  --pointwise: #dbe9ff; --fold: #e6dcfb; --view: #eef0f4; --index: #d3f1ea; --product: #ffe3c8; --source: #f3f0dc;
  --kernel: #f7faff; --kernel-line: #8fb0e8;
}
@media (prefers-color-scheme: dark) {
  :root, svg.plan {
    --paper: #12151c; --ink: #e6e9f0; --soft: #98a2b5; --line: #343b49; --panel: #1a1f29; --accent: #7aa7f5;
    --memory: #f0a06a; --inner: #6b7790;
    --pointwise: #22375c; --fold: #3b2d5e; --view: #2a303c; --index: #1c463e; --product: #5a3a1c; --source: #3f3c25;
    --kernel: #171d29; --kernel-line: #46669d;
  }
}
)css";

const std::string_view kSvgStyle = R"css(
svg.plan { background: var(--paper); }
svg.plan text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--ink); text-anchor: middle; }
svg.plan .frame { fill: var(--panel); stroke: var(--line); stroke-width: 1.2; }
svg.plan .kernel .frame { fill: var(--kernel); stroke: var(--kernel-line); stroke-width: 1.6; }
svg.plan .kernel.lit .frame { stroke: var(--memory); stroke-width: 3; }
svg.plan text.name { font-weight: 700; }
svg.plan text.detail { fill: var(--soft); font-size: 10.5px; }
svg.plan .op rect { fill: var(--pointwise); stroke: none; }
svg.plan .op text { font-size: 10.5px; }
svg.plan .op.fold rect { fill: var(--fold); }
svg.plan .op.view rect { fill: var(--view); }
svg.plan .op.index rect { fill: var(--index); }
svg.plan .op.product rect { fill: var(--product); }
svg.plan .op.source rect { fill: var(--source); }
svg.plan .op.stored rect { stroke: var(--memory); stroke-width: 1.8; }
svg.plan .op.replicated rect { stroke: var(--inner); stroke-width: 1.2; stroke-dasharray: 3 2; }
svg.plan .op.view text { fill: var(--soft); }
svg.plan .edge path { fill: none; stroke: var(--inner); stroke-width: 1.1; }
svg.plan .edge.memory path { stroke: var(--memory); stroke-width: 1.5; }
svg.plan .edge.view path { stroke: var(--soft); stroke-dasharray: 4 3; }
svg.plan .edge:hover path { stroke-width: 3; }
svg.plan .tip { fill: var(--memory); stroke: none; }
svg.plan text.bytes { font-size: 10.5px; fill: var(--memory); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
)css";

const std::string_view kPageStyle = R"css(
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header, section { max-width: 1500px; margin: 0 auto; padding: 20px 28px 4px; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 14px 0 8px; }
p { margin: 4px 0 10px; color: var(--soft); max-width: 75ch; }
code, td.code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12.5px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 14px 0 4px; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 10px 16px; min-width: 190px; }
.card b { display: block; font-size: 20px; } .card span { color: var(--soft); font-size: 13px; }
.frame-of-plan { border: 1px solid var(--line); border-radius: 10px; overflow: auto; max-height: 88vh; text-align: center; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 16px; font-size: 13px; color: var(--soft); margin: 0 0 8px; align-items: center; }
.legend i { display: inline-block; width: 14px; height: 14px; border-radius: 4px; vertical-align: -2px; margin-right: 5px; }
button { font: inherit; font-size: 13px; background: var(--panel); color: var(--ink); border: 1px solid var(--line); border-radius: 7px; padding: 2px 10px; cursor: pointer; }
button.on { border-color: var(--accent); color: var(--accent); }
input { font: inherit; font-size: 13px; background: var(--panel); color: var(--ink); border: 1px solid var(--line); border-radius: 7px; padding: 2px 10px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; } td.code { white-space: nowrap; }
tr.lit td { background: var(--panel); } tr[hidden] { display: none; }
.tag { border-radius: 5px; padding: 1px 7px; font-size: 12px; background: var(--view); }
.tag.fused, .tag.library { background: var(--index); } .tag.replicated { background: var(--pointwise); } .tag.cut { background: var(--product); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px; overflow: auto; font-size: 12px; }
footer { max-width: 1500px; margin: 20px auto; padding: 0 28px; color: var(--soft); font-size: 13px; }
)css";

const std::string_view kPageScript = R"js(
const plan = document.querySelector("svg.plan"), frame = document.querySelector(".frame-of-plan");
const natural = plan.viewBox.baseVal.width, ratio = plan.viewBox.baseVal.height / natural;
let width = natural;
function zoom(to) { width = to; plan.setAttribute("width", width); plan.setAttribute("height", width * ratio); }
document.querySelector("#fit").onclick = () => zoom(Math.min(frame.clientWidth - 4, (frame.clientHeight - 4) / ratio));
document.querySelector("#full").onclick = () => zoom(natural);
document.querySelector("#wide").onclick = () => zoom(frame.clientWidth - 20);
if (natural > frame.clientWidth) zoom(Math.max(frame.clientWidth - 20, natural * 0.5));
const boxes = [...document.querySelectorAll(".kernel")], rows = [...document.querySelectorAll("tr[data-kernel]")];
function light(kernel, on) {
  for (const e of [...boxes, ...rows]) if (e.dataset.kernel === kernel) e.classList.toggle("lit", on);
}
for (const e of [...boxes, ...rows]) {
  e.onmouseenter = () => light(e.dataset.kernel, true);
  e.onmouseleave = () => light(e.dataset.kernel, false);
}
for (const row of rows) row.onclick = () =>
  boxes.find(b => b.dataset.kernel === row.dataset.kernel).scrollIntoView({behavior: "smooth", block: "center", inline: "center"});
const edges = [...document.querySelectorAll("tr[data-decision]")], search = document.querySelector("#search");
let decision = "";
function filter() {
  const words = search.value.toLowerCase();
  for (const e of edges)
    e.hidden = (decision && e.dataset.decision !== decision) || !e.textContent.toLowerCase().includes(words);
}
search.oninput = filter;
for (const b of document.querySelectorAll("button[data-show]")) b.onclick = () => {
  decision = b.dataset.show;
  document.querySelectorAll("button[data-show]").forEach(o => o.classList.toggle("on", o === b));
  filter();
};
)js";

}  // namespace tokamak
