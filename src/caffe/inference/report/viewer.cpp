#include "viewer.hpp"

#include "drawing.hpp"
#include "html.hpp"

namespace caffe::inference {
namespace {

constexpr size_t kMaxForGraphviz = 700;  // boxes; it takes minutes for some larger graphs

std::string Button(const std::string& attributes, const std::string& tip, const char* text) {
  return Tag("button", attributes + " " + Attribute("title", tip), text);
}

}  // namespace

const char kDrawingStyle[] = R"css(
.drawing text { font: 10px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  text-anchor: middle; fill: #44525f; }
.drawing text.name { font-size: 11px; font-weight: 600; fill: #1d2733; }
.drawing rect { fill: #eef2f7; stroke: #6b7f99; }
.drawing .fp16 rect { fill: #e8f5ed; stroke: #3a8f5c; }
.drawing .bf16 rect { fill: #e6f5f8; stroke: #2a92a8; }
.drawing .int8 rect { fill: #fdf1e4; stroke: #d0782a; }
.drawing .free rect { fill: #fff; stroke: #a9b4c0; stroke-dasharray: 4 3; }
.drawing .end rect { fill: #fff; stroke: #44525f; }
.drawing .input rect { stroke-width: 2; }
.drawing rect.share { fill: #c0392b; stroke: none; stroke-dasharray: none; }
.drawing .found rect:not(.share) { stroke: #c0392b; stroke-width: 3; }
.drawing .current rect:not(.share) { fill: #fff3b0; }
.drawing rect.paper { fill: #fff; stroke: none; }
.drawing .arrow { fill: none; stroke: #8794a3; }
)css";

const char kArrowHead[] =
    R"(<marker id="head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" )"
    R"(orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" fill="#8794a3"/></marker>)";

const char kViewerStyle[] = R"css(
.panel { min-width: 0; }
.bar-of-tools { display: flex; gap: 8px; align-items: center; margin-bottom: 6px; flex-wrap: wrap; }
.bar-of-tools h3 { margin-right: auto; }
button, select, input { font: inherit; font-size: 13px; padding: 2px 8px; border-radius: 5px;
  border: 1px solid var(--line); background: var(--paper); color: inherit; }
.view { overflow: auto; height: 70vh; border: 1px solid var(--line); border-radius: 6px;
  background: var(--paper); cursor: grab; }
.view:focus { outline: 2px solid var(--line); }
.view svg { display: block; margin: 0 auto; }
.hidden { position: absolute; width: 0; height: 0; }
[hidden] { display: none !important; }
)css";

const char kGraphSearch[] =
    R"(<input id="search" type="search" placeholder="find a layer" aria-label="find a layer" )"
    R"(title="Enter: the next one"/> <span id="hits" class="small"></span>)";

const char kViewerScript[] = R"js(
var graphs = (function () {
  var LEAST = 0.03, MOST = 8, READABLE = 0.55;
  function all(selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  }
  function shown(view) {
    return all("svg", view).filter(function (svg) { return !svg.hasAttribute("hidden"); })[0];
  }
  function factor(view) { return Number(view.dataset.scale) || 1; }
  // Without a point (x, y of the window) the center of the view stays in place.
  function scale(view, wanted, x, y) {
    var frame = view.getBoundingClientRect(), old = shown(view).getBoundingClientRect();
    if (x === undefined) { x = frame.left + frame.width / 2; y = frame.top + frame.height / 2; }
    var right = (x - old.left) / old.width, down = (y - old.top) / old.height;
    var next = Math.min(MOST, Math.max(LEAST, wanted));
    all("svg", view).forEach(function (svg) {
      var size = svg.viewBox.baseVal;
      svg.setAttribute("width", size.width * next);
      svg.setAttribute("height", size.height * next);
    });
    view.dataset.scale = next;
    var now = shown(view).getBoundingClientRect();
    view.scrollLeft += now.left + right * now.width - x;
    view.scrollTop += now.top + down * now.height - y;
  }
  function width_scale(view) {
    return Math.min(1.2, (view.clientWidth - 20) / shown(view).viewBox.baseVal.width);
  }
  function fit(view) {
    var height = (view.clientHeight - 4) / shown(view).viewBox.baseVal.height;
    scale(view, Math.min(width_scale(view), height));
  }
  // share: where in the height of the view the node shall be
  function show(node, share) {
    var view = node.closest(".view");
    var box = node.getBoundingClientRect(), frame = view.getBoundingClientRect();
    view.scrollTop += box.top + box.height / 2 - frame.top - frame.height * share;
    view.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }
  function start(view) {
    scale(view, Math.max(READABLE, width_scale(view)));
    var input = all(".node.input", shown(view))[0] || all(".node", shown(view))[0];
    if (input) { show(input, 0.08); }
  }
  var step = 0;
  function show_found() {
    all(".view").forEach(function (view) {
      all(".current", view).forEach(function (node) { node.classList.remove("current"); });
      var hits = all(".found", shown(view));
      if (hits.length === 0) { return; }
      var node = hits[(step % hits.length + hits.length) % hits.length];
      node.classList.add("current");
      show(node, 0.5);
    });
  }
  function find(matches) {
    var count = 0;
    all(".view .node").forEach(function (node) {
      var found = matches(node);
      node.classList.toggle("found", found);
      if (found) { count += node.closest("svg").hasAttribute("hidden") ? 0 : 1; }
    });
    step = 0;
    show_found();
    return count;
  }
  function set_up(panel) {
    var view = panel.querySelector(".view"), held = null;
    all("select", panel).forEach(function (select) {
      function choose() {
        all("svg", view).forEach(function (svg, i) {
          svg.toggleAttribute("hidden", i !== select.selectedIndex);
        });
      }
      select.addEventListener("change", function () { choose(); start(view); show_found(); });
      choose();
    });
    all("button", panel).forEach(function (button) {
      button.addEventListener("click", function () {
        var zoom = Number(button.dataset.zoom);
        if (zoom) { scale(view, factor(view) * zoom); return; }
        (button.dataset.show === "all" ? fit : start)(view);
      });
    });
    view.addEventListener("wheel", function (event) {
      var wanted = event.ctrlKey || view.dataset.wheel || document.activeElement === view;
      if (!wanted) { return; }
      event.preventDefault();
      var pixels = event.deltaY * (event.deltaMode === 1 ? 20 : 1);
      scale(view, factor(view) * Math.pow(1.002, -pixels), event.clientX, event.clientY);
    }, { passive: false });
    view.addEventListener("keydown", function (event) {
      if (event.key === "+") { scale(view, factor(view) * 1.25); }
      if (event.key === "-") { scale(view, factor(view) * 0.8); }
      if (event.key === "0") { start(view); }
    });
    view.addEventListener("mousedown", function (event) {
      held = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
      view.focus({ preventScroll: true });
      event.preventDefault();
    });
    window.addEventListener("mouseup", function () { held = null; });
    window.addEventListener("mousemove", function (event) {
      if (!held) { return; }
      view.scrollLeft = held.x - event.clientX;
      view.scrollTop = held.y - event.clientY;
    });
    start(view);
  }
  all(".panel").forEach(set_up);
  all("#search").forEach(function (search) {
    search.addEventListener("input", function () {
      var wanted = search.value.toLowerCase();
      var count = find(function (node) {
        return wanted !== "" ? node.textContent.toLowerCase().indexOf(wanted) >= 0 : false;
      });
      document.getElementById("hits").textContent = wanted === "" ? "" : count + " found";
    });
    search.addEventListener("keydown", function (event) {
      if (event.key !== "Enter") { return; }
      step += event.shiftKey ? -1 : 1;
      show_found();
    });
  });
  return { find: find };
}());
)js";

std::string DrawnGraph(const Graph& graph) {
  Drawing drawing = DrawingOf(graph);
  if (drawing.boxes.size() > kMaxForGraphviz || !PlaceByGraphviz(&drawing)) PlaceInRows(&drawing);
  return ToSvg(drawing);
}

std::string GraphPanel(const std::string& title, const std::string& choice,
                       const std::string& drawings, const std::string& attributes) {
  const std::string tools = Tag("h3", SvgEscaped(title)) + choice +
                            Button("data-zoom=\"0.8\"", "smaller", "-") +
                            Button("data-zoom=\"1.25\"", "larger", "+") +
                            Button("data-show=\"all\"", "all of the graph", "all") +
                            Button("data-show=\"input\"", "back to the input", "input");
  return Tag(
      "div", "class=\"panel\"",
      Tag("div", "class=\"bar-of-tools\"", tools) +
          Tag("div", "class=\"view\" tabindex=\"0\"" + (attributes.empty() ? "" : " " + attributes),
              drawings));
}

}  // namespace caffe::inference
