"""The style sheet of the page: for light and dark screens, narrow ones, and paper."""

STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --panel: #f6f7f9; --text: #1b1f24;
  --quiet: #5b6470; --line: #d8dde3; --c0: #2f6fb0; --c1: #d9822b; --c2: #3f9142; --c3: #b4478a;
  --c4: #7a6bc2; --c5: #8a6d3b; --c6: #8b949e; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --panel: #1c2127; --text: #e6e9ed;
  --quiet: #9aa4b0; --line: #343b44; --c0: #5da2e6; --c1: #f0a04b; --c2: #6cc070; --c3: #e07bb8;
  --c4: #a598ea; --c5: #c9a76a; --c6: #7d8590; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--back);
  color: var(--text); font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "Liberation Sans",
  Arial, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .25rem; }
p { margin: 0 0 .75rem; color: var(--quiet); overflow-wrap: anywhere; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: 1rem; margin-top: 1rem; }
.figures { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; margin: 1rem 0 0; }
.figures div { display: flex; flex-direction: column-reverse; }
.figures dt { color: var(--quiet); font-size: .85rem; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: 600; white-space: nowrap; }
.chart { display: grid; grid-template-columns: max-content 1fr; gap: 0 .6rem;
  margin-top: 1rem; }
.chart svg { width: 100%; height: 15rem; display: block; overflow: visible; }
.scale { display: flex; flex-direction: column-reverse; justify-content: space-between;
  font-size: .8rem; color: var(--quiet); text-align: right; white-space: nowrap; }
.scale span { height: 0; line-height: 0; }
.grid line { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.area { fill: transparent; }
g:hover > .area { fill: var(--line); fill-opacity: .5; }
.times { grid-column: 2; position: relative; height: 2.6rem; margin-top: .35rem;
  font-size: .8rem; color: var(--quiet); }
.times span { position: absolute; transform: translateX(-50%); text-align: center;
  line-height: 1.2; white-space: nowrap; }
.times .first { transform: none; text-align: left; }
.times .last { transform: translateX(-100%); text-align: right; }
.times i, .times b { display: block; font: inherit; }
.times b { color: var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-top: .5rem; font-size: .85rem;
  overflow-wrap: anywhere; }
.legend i { display: inline-block; width: .75em; height: .75em; border-radius: 2px;
  margin-right: .4em; }
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr max-content;
  gap: .3rem .75rem; align-items: center; margin-top: .75rem; font-size: .9rem; }
.name { overflow-wrap: anywhere; max-width: 16rem; }
.bar { display: flex; height: 1rem; }
.bar span { min-width: 1px; }
.bar span:first-child { border-radius: 2px 0 0 2px; }
.bar span:last-child { border-radius: 0 2px 2px 0; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.table { overflow-x: auto; margin-top: .75rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
td:last-child:not(.n) { overflow-wrap: anywhere; min-width: 9rem; }
.n { text-align: right; white-space: nowrap; }
details { margin-top: .5rem; font-size: .9rem; }
summary { cursor: pointer; color: var(--quiet); }
@media (max-width: 40rem) { body { padding: 1rem .6rem 2rem; } section { padding: .75rem .6rem; }
  .chart svg { height: 11rem; } .times span:nth-child(even) { display: none; }
  .bars { grid-template-columns: 1fr max-content; gap: .1rem .75rem; }
  .name { grid-column: 1 / 3; max-width: none; margin-top: .35rem; } }
@media print { :root { color-scheme: light; --back: #ffffff; --panel: #ffffff; --text: #000000;
  --quiet: #444444; --line: #bbbbbb; --c0: #2f6fb0; --c1: #d9822b; --c2: #3f9142; --c3: #b4478a;
  --c4: #7a6bc2; --c5: #8a6d3b; --c6: #8b949e; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { max-width: none; padding: 0; font-size: 10pt; } details { display: none; }
  h2, p { break-after: avoid; } .chart, .bars, tr { break-inside: avoid; }
  .table { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .2rem .35rem; }
  .chart svg { height: 5.5cm; } }
""" + "".join(
    f".c{place} {{ fill: var(--c{place}); background: var(--c{place}); }}\n" for place in range(7)
)

COLOURS = 7
"""The number of colours."""

__all__ = ["COLOURS", "STYLE"]
