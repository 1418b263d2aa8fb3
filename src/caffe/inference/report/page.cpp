// The skeleton of a report. Scripts have no less-than and no ampersand, so that the page is XHTML
// as well.
#include "html.hpp"

namespace caffe::inference {

const char kPage[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{{title}}</title>
<style>
:root { --ink: #1d2733; --soft: #667585; --line: #dde3ea; --paper: #fff; --ground: #f4f6f9;
  --fp32: #6b7f99; --fp16: #3a8f5c; --bf16: #2a92a8; --int8: #d0782a; --best: #8a5cb8; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--ground);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1440px; margin: 0 auto; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 6px; }
h2 { font-size: 17px; margin: 0 0 10px; }
h3 { font-size: 14px; margin: 0; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  padding: 18px 20px; margin: 16px 0; }
p.note, .facts { color: var(--soft); margin: 0 0 10px; }
p.below { margin: 10px 0 0; }
th[title] { text-decoration: underline dotted; text-underline-offset: 3px; }
.facts { display: flex; flex-wrap: wrap; gap: 4px 24px; margin: 0; }
.facts div { min-width: 0; overflow-wrap: anywhere; }
.facts dt { display: inline; } .facts dt::after { content: ": "; }
.facts dd { display: inline; margin: 0; color: var(--ink); }
.scroll { overflow: auto; max-height: 75vh; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
table.layers { table-layout: fixed; }
.layers thead th { position: sticky; top: 0; background: var(--paper); cursor: pointer; z-index: 1; }
.layers thead th.sorted::after { content: " \25BE"; }
td.number { min-width: 110px; font-variant-numeric: tabular-nums; }
td.name { overflow-wrap: anywhere; }
.layers th:nth-child(2) { width: 12%; }
.layers td.name { cursor: pointer; }
.layers td.name:hover { text-decoration: underline; }
.small { color: var(--soft); font-size: 12px; overflow-wrap: anywhere; }
.good { font-weight: 700; }
.track { height: 6px; background: #edf0f4; border-radius: 3px; margin-top: 4px; overflow: hidden; }
td.number .chip { margin: 0 2px 0 6px; }
.bar { height: 6px; border-radius: 3px; background: var(--fp32); }
.bar.fp16 { background: var(--fp16); } .bar.bf16 { background: var(--bf16); }
.bar.int8 { background: var(--int8); } .bar.best { background: var(--best); }
.chip { display: inline-block; border-radius: 4px; padding: 0 6px; color: #fff; font-size: 12px;
  background: var(--fp32); }
.chip.fp16 { background: var(--fp16); } .chip.bf16 { background: var(--bf16); }
.chip.int8 { background: var(--int8); } .chip.best { background: var(--best); }
.stack { display: flex; height: 22px; border-radius: 4px; overflow: hidden; }
.stack i { display: block; height: 100%; }
.stacks { display: grid; grid-template-columns: max-content 1fr max-content; gap: 6px 12px;
  align-items: center; margin: 6px 0 10px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--soft); font-size: 12px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
.k0 { background: #4c78a8; } .k1 { background: #f58518; } .k2 { background: #54a24b; }
.k3 { background: #e45756; } .k4 { background: #72b7b2; } .k5 { background: #b279a2; }
.k6 { background: #eeca3b; } .k7 { background: #9d9da1; }
.graphs { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
@media (max-width: 900px) { .graphs { grid-template-columns: 1fr; } }
{{viewer_style}}
{{drawing_style}}
details { margin: 6px 0; }
details summary { cursor: pointer; font-weight: 600; }
.histograms svg { width: 100%; height: auto; }
</style>
</head>
<body>
<svg class="hidden" xmlns="http://www.w3.org/2000/svg"><defs>{{arrow_head}}</defs></svg>
<main>
<header>
<h1>{{title}}</h1>
<dl class="facts">{{facts}}</dl>
</header>
<section id="comparison"><h2>Side by side</h2>{{comparison}}</section>
<section id="time"><h2>Where the time goes</h2>{{types}}</section>
<section id="layers"><h2>Layers</h2>
<p class="note">Microseconds of a pass at batch {{batch}}. A click on a heading sorts, on a layer shows it in
the graphs.</p>
<div class="scroll">{{layers}}</div></section>
<section id="graph"><h2>Graph</h2>
<p class="note">The colour of a box is the type that the layer computes in; the red line at its foot is its
time, as a share of the longest. A dashed box has nothing to do. Dragging moves a graph; the wheel zooms
with Ctrl, or after a click into the graph.</p>
<div class="bar-of-tools">{{search}}</div>
<div class="graphs">{{graphs}}</div></section>
{{integers}}
{{ranges}}
</main>
<script>{{viewer_script}}
(function () {
  function all(selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  }
  all(".layers td.name").forEach(function (cell) {
    cell.addEventListener("click", function () {
      var name = cell.dataset.name;
      document.getElementById("graph").scrollIntoView();
      graphs.find(function (node) { return node.dataset.name === name; });
    });
  });
  all(".layers thead th").forEach(function (head, column) {
    head.addEventListener("click", function () {
      var body = head.closest("table").tBodies[0];
      var key = function (row) { return row.cells[column].dataset.key; };
      all("th", head.parentNode).forEach(function (other) {
        other.classList.toggle("sorted", other === head);
      });
      all("tr", body).sort(function (a, b) {
        var left = key(a), right = key(b);
        if (head.dataset.numbers) { return Number(right) - Number(left); }
        return left.localeCompare(right);
      }).forEach(function (row) { body.appendChild(row); });
    });
  });
}());
</script>
</body>
</html>
)html";

}  // namespace caffe::inference
