// The skeleton of a report. The script has no less-than and no ampersand, so that the page is XHTML
// as well.
#include "html.hpp"

namespace caffe {
namespace inference {

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
.panel { min-width: 0; }
.bar-of-tools { display: flex; gap: 8px; align-items: center; margin-bottom: 6px; flex-wrap: wrap; }
.bar-of-tools h3 { margin-right: auto; }
button, select, input { font: inherit; font-size: 13px; padding: 2px 8px; border-radius: 5px;
  border: 1px solid var(--line); background: var(--paper); color: inherit; }
.view { overflow: auto; height: 70vh; border: 1px solid var(--line); border-radius: 6px; cursor: grab; }
.view svg { display: block; margin: 0 auto; }
.drawing text { font-size: 10px; text-anchor: middle; fill: #44525f; }
.drawing text.name { font-size: 11px; font-weight: 600; fill: var(--ink); }
.drawing rect { fill: #eef2f7; stroke: var(--fp32); }
.drawing .fp16 rect { fill: #e8f5ed; stroke: var(--fp16); }
.drawing .bf16 rect { fill: #e6f5f8; stroke: var(--bf16); }
.drawing .int8 rect { fill: #fdf1e4; stroke: var(--int8); }
.drawing .free rect { fill: #fff; stroke: #a9b4c0; stroke-dasharray: 4 3; }
.drawing .end rect { fill: #fff; stroke: #44525f; }
.drawing rect.share { fill: #c0392b; stroke: none; stroke-dasharray: none; }
.drawing .found rect:not(.share) { stroke: #c0392b; stroke-width: 3; }
.drawing .arrow { fill: none; stroke: #8794a3; }
#marker { position: absolute; width: 0; height: 0; }
details summary { cursor: pointer; font-weight: 600; }
.histograms svg { width: 100%; height: auto; }
[hidden] { display: none !important; }
</style>
</head>
<body>
<svg id="marker" xmlns="http://www.w3.org/2000/svg"><defs><marker id="head" viewBox="0 0 8 8" refX="7.5"
refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" fill="#8794a3"/>
</marker></defs></svg>
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
time, as a share of the longest. A dashed box has nothing to do.</p>
<div class="bar-of-tools"><input id="search" placeholder="find a layer" aria-label="find a layer"/>
<span id="hits" class="small"></span></div>
<div class="graphs">{{graphs}}</div></section>
{{ranges}}
</main>
<script>
(function () {
  function all(selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  }
  function scale(view, factor) {
    all("svg", view).forEach(function (svg) {
      var size = svg.viewBox.baseVal;
      svg.setAttribute("width", size.width * factor);
      svg.setAttribute("height", size.height * factor);
    });
    view.dataset.scale = factor;
  }
  function fit(view) {
    var widest = Math.max.apply(null, all("svg", view).map(function (svg) {
      return svg.hasAttribute("hidden") ? 1 : svg.viewBox.baseVal.width;
    }));
    scale(view, Math.min(1.2, (view.clientWidth - 20) / widest));
    return Number(view.dataset.scale);
  }
  function show(node) {
    var view = node.closest(".view");
    var box = node.getBoundingClientRect(), frame = view.getBoundingClientRect();
    view.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
    view.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }
  function find(matches) {
    var hits = 0;
    all(".view").forEach(function (view) {
      var first = null;
      all(".node", view).forEach(function (node) {
        var found = matches(node);
        node.classList.toggle("found", found);
        if (!found || node.closest("svg").hasAttribute("hidden")) { return; }
        hits += 1;
        first = first || node;
      });
      if (first) { show(first); }
    });
    return hits;
  }
  all(".panel").forEach(function (panel) {
    var view = panel.querySelector(".view");
    if (0.55 > fit(view)) { scale(view, 0.55); }
    all("button", panel).forEach(function (button) {
      button.addEventListener("click", function () {
        var factor = Number(button.dataset.zoom);
        if (factor) { scale(view, Number(view.dataset.scale) * factor); } else { fit(view); }
      });
    });
    all("select", panel).forEach(function (select) {
      select.addEventListener("change", function () {
        all("svg", view).forEach(function (svg, i) {
          svg.toggleAttribute("hidden", i !== select.selectedIndex);
        });
      });
      select.dispatchEvent(new Event("change"));
    });
    var held = null;
    view.addEventListener("mousedown", function (event) {
      held = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
      event.preventDefault();
    });
    window.addEventListener("mouseup", function () { held = null; });
    view.addEventListener("mousemove", function (event) {
      if (!held) { return; }
      view.scrollLeft = held.x - event.clientX;
      view.scrollTop = held.y - event.clientY;
    });
  });
  document.getElementById("search").addEventListener("input", function (event) {
    var wanted = event.target.value.toLowerCase(), hits = document.getElementById("hits");
    var count = find(function (node) {
      return wanted !== "" ? node.textContent.toLowerCase().indexOf(wanted) >= 0 : false;
    });
    hits.textContent = wanted === "" ? "" : count + " found";
  });
  all(".layers td.name").forEach(function (cell) {
    cell.addEventListener("click", function () {
      var name = cell.dataset.name;
      document.getElementById("graph").scrollIntoView();
      find(function (node) { return node.dataset.name === name; });
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

}  // namespace inference
}  // namespace caffe
