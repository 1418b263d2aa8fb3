// The page about a build: what it says, that it is well formed whatever names layers have, and the
// places of its graphs.
#include "caffe/inference/report/build_report.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <fstream>
#include <random>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/report/drawing.hpp"
#include "caffe/inference/report/format.hpp"
#include "caffe/inference/report/graph_drawing.hpp"
#include "caffe/inference/report/html.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/markup_check.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/plot/svg.hpp"
#include "caffe/util/system/energy_counter.hpp"
#include "caffe/version.hpp"

namespace caffe::inference {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr char kNet[] =
    "name: 'tiny' "
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 3 dim: 8 "
    "dim: 8 } } } "
    "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param { "
    "num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } } "
    "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' } "
    "layer { name: 'fc' type: 'InnerProduct' bottom: 'conv' top: 'fc' inner_product_param { "
    "num_output: 5 weight_filler { type: 'xavier' } } } "
    "layer { name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' }";

NetworkDefinition Tiny() { return NetworkDefinition::FromCaffe(ParseNet(kNet), {}); }

/// What the passes make of it; other backends add layers that move blobs.
std::shared_ptr<const Engine> ReferenceEngine() {
  BuilderConfig config;
  config.backend = Backend::REFERENCE;
  return Builder(config).Build(Tiny());
}

MeasurementOptions Quick() {
  MeasurementOptions options;
  options.seconds = 0;
  options.least_passes = 1;
  return options;
}

/// Two engines of the tiny net, the second of which is said to compute in INT8.
BuildReport ExampleReport() {
  const NetworkDefinition net = Tiny();
  BuildReport report;
  report.title = "tiny";
  report.facts = {{"model", "tiny.prototxt"}};
  report.before = net.graph();
  report.accuracy_of = "top-1 of 100 images";
  const auto engine = ReferenceEngine();
  for (const char* name : {"fp32", "int8"}) {
    EngineResult result;
    result.name = name;
    result.graph = engine->graph();
    result.layers = engine->layers();
    report.engines.push_back(result);
  }
  EngineResult& fp32 = report.engines[0];
  EngineResult& int8 = report.engines[1];
  for (LayerInfo& layer : fp32.layers) layer.microseconds = 300;
  for (LayerInfo& layer : int8.layers) layer.microseconds = 120;
  int8.layers[0].type_of_math = ElementType::INT8;
  int8.layers[0].implementation = "eight bits";
  fp32.latency_ms = 2;
  int8.latency_ms = 0.5;
  fp32.accuracy = 0.99;
  int8.accuracy = 0.9875;
  fp32.plan_bytes = 4000000;
  int8.plan_bytes = 1000000;
  int8.remarks = {"layer prob stays fp32"};
  return report;
}

TEST(BuildReport, NeedsAnEngine) { EXPECT_THROW(ReportAsHtml(BuildReport()), Error); }

TEST(BuildReport, IsWellFormed) {
  const MarkupCheck page(ReportAsHtml(ExampleReport()));
  EXPECT_EQ(page.error(), "");
  EXPECT_EQ(page.Count("body"), 1);
}

TEST(BuildReport, NeedsNothingFromElsewhere) {
  const std::string page = ReportAsHtml(ExampleReport());
  for (const char* reference : {"src=", "href=", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_FALSE(Contains(page, reference)) << reference;
  }
}

TEST(BuildReport, SaysHowItCameAbout) {
  BuildReport report = ExampleReport();
  report.command = "caffe build -model 'a b.prototxt'";
  report.date = "2025-03-01 14:05 CET";
  const std::string page = ReportAsHtml(report);
  const auto expect = [&](const std::string& what, const std::string& value) {
    EXPECT_TRUE(Contains(page, "<dt>" + what + "</dt><dd>" + value + "</dd>")) << what;
  };
  expect("Cortado", Version());
  expect("date", "2025-03-01 14:05 CET");
  expect("command", "caffe build -model 'a b.prototxt'");
  expect("model", "tiny.prototxt");
  expect("instruction set", kernels::Name(kernels::CpuInstructionSet()));
  expect("threads", std::to_string(omp_get_max_threads()));
  EXPECT_TRUE(Contains(page, "<dt>processor</dt>"));
  EXPECT_FALSE(Contains(ReportAsHtml(ExampleReport()), "<dt>command</dt>")) << "unknown";
}

TEST(BuildReport, SaysWhatTheOutputErrorIs) {
  BuildReport report = ExampleReport();
  EXPECT_FALSE(Contains(ReportAsHtml(report), "The output error is")) << "it was not measured";
  report.engines[1].output_error = 0.015;
  const std::string page = ReportAsHtml(report);
  EXPECT_TRUE(Contains(page, "<th title=\"The output error is the root mean square"));
  EXPECT_TRUE(Contains(page, ">The output error is the root mean square")) << "below the table";
}

TEST(BuildReport, ShowsEnginesSideBySide) {
  const std::string page = ReportAsHtml(ExampleReport());
  EXPECT_TRUE(Contains(page, "2 ms"));
  EXPECT_TRUE(Contains(page, "0.5 ms")) << "int8";
  EXPECT_TRUE(Contains(page, "0.25 x")) << "latency and size, as a share of the first one's";
  EXPECT_TRUE(Contains(page, "top-1 of 100 images"));
  EXPECT_TRUE(Contains(page, "99.00 %"));
  EXPECT_TRUE(Contains(page, "98.75 %"));
  EXPECT_TRUE(Contains(page, "-0.25 points"));
  EXPECT_TRUE(Contains(page, "layer prob stays fp32"));
}

TEST(BuildReport, LeavesOutColumnsThatNobodyMeasured) {
  BuildReport report = ExampleReport();
  EXPECT_FALSE(Contains(ReportAsHtml(report), "images/joule"));
  report.engines[0].images_per_joule = 12.5;
  const std::string page = ReportAsHtml(report);
  EXPECT_TRUE(Contains(page, "images/joule"));
  EXPECT_TRUE(Contains(page, "not measured")) << "of the second engine";
}

TEST(BuildReport, ShowsEachLayerWithItsImplementation) {
  const std::string page = ReportAsHtml(ExampleReport());
  EXPECT_TRUE(Contains(page, "data-name=\"conv\""));
  EXPECT_TRUE(Contains(page, "with relu"));
  EXPECT_TRUE(Contains(page, "eight bits"));
  EXPECT_TRUE(Contains(page, "Before: 4 layers"));
  EXPECT_TRUE(Contains(page, "int8: 3 layers"));
}

TEST(BuildReport, PutsLayersThatOneEngineLacksWhereTheOthersRunThem) {
  BuildReport report = ExampleReport();
  report.engines[1].layers[1].name = "only here";
  const std::string page = ReportAsHtml(report);
  EXPECT_EQ(MarkupCheck(page).error(), "");
  const auto place = [&](const std::string& layer) {
    const size_t at = page.find("<td class=\"name\" data-name=\"" + layer + "\"");
    EXPECT_NE(at, std::string::npos) << layer;
    return at;
  };
  EXPECT_LT(place("conv"), place("only here"));
  EXPECT_LT(place("only here"), place("prob"));
}

TEST(BuildReport, SaysWhichLayersAreComputedTogether) {
  BuildReport report = ExampleReport();
  std::vector<LayerInfo>& int8 = report.engines[1].layers;
  const std::string first = int8[0].name, second = int8[1].name;
  int8[0].joined = {second};
  int8.erase(int8.begin() + 1);
  const std::string page = ReportAsHtml(report);
  EXPECT_EQ(MarkupCheck(page).error(), "");
  EXPECT_TRUE(Contains(page, "eight bits, with " + second));
  EXPECT_TRUE(Contains(page, ">in " + first + "<"));
}

TEST(BuildReport, ShowsTheIntegersOfEachLayer) {
  BuildReport report = ExampleReport();
  EXPECT_FALSE(Contains(ReportAsHtml(report), "<section id=\"integers\">"));
  IntegerInfo own, joined;
  own.name = "conv";
  own.affine = {0.25f, 7};
  own.multipliers = {{1 << 30, -3}};
  joined.name = "behind it";
  joined.affine = {0.125f, 9};
  report.engines[1].layers[0].in_integers = {own, joined};
  const std::string page = ReportAsHtml(report);
  EXPECT_EQ(MarkupCheck(page).error(), "");
  EXPECT_TRUE(Contains(page, "<td>0.25</td><td>7</td>"));
  EXPECT_TRUE(Contains(page, "<td>behind it</td>"));
  EXPECT_TRUE(Contains(page, "<td>0.125</td><td>9</td>"));
}

TEST(BuildReport, SaysThatLayersWereNotTimed) {
  BuildReport report = ExampleReport();
  for (EngineResult& engine : report.engines) {
    for (LayerInfo& layer : engine.layers) layer.microseconds = 0;
  }
  EXPECT_TRUE(Contains(ReportAsHtml(report), "The layers were not timed."));
}

TEST(BuildReport, EscapesNames) {
  constexpr char kBad[] = "</script><b a=\"'&{{title}}\x01";
  BuildReport report = ExampleReport();
  report.title = report.facts[0].second = report.accuracy_of = kBad;
  report.before.name = report.before.nodes[0].layer.mutable_name()->assign(kBad);
  for (Value& value : report.before.values) value.name += kBad;
  for (EngineResult& engine : report.engines) {
    engine.name += kBad;
    engine.remarks = {kBad};
    engine.layers[0].name = engine.layers[0].type = engine.layers[0].implementation = kBad;
    engine.layers[0].also = {kBad};
  }
  const std::string page = ReportAsHtml(report);
  EXPECT_EQ(MarkupCheck(page).error(), "");
  EXPECT_FALSE(Contains(page, kBad));
  EXPECT_TRUE(Contains(page, "&lt;/script&gt;&lt;b a=&quot;'&amp;{{title}}\uFFFD"));
}

TEST(BuildReport, DrawsTheThresholdInEachHistogram) {
  Net<float> net(ParseNet(std::string(kNet) + " state { phase: TEST }"));
  ActivationStatistics statistics(&net);
  Blob<float>* input = net.input_blobs()[0];
  for (int i = 0; i < input->count(); ++i) input->mutable_cpu_data()[i] = i * 0.01f;
  statistics.Forward();
  CalibrationTable table;
  for (const BlobStatistics& blob : statistics.blobs()) {
    table.Set(blob.blob, {0.5 * blob.histogram.largest(), false, 0, 0, "minmax"});
  }
  table.set_images(2);
  BuildReport report = ExampleReport();
  report.calibration = &table;
  const std::string without = ReportAsHtml(report);
  EXPECT_TRUE(Contains(without, "threshold"));
  report.statistics = &statistics;
  const std::string page = ReportAsHtml(report);
  EXPECT_EQ(MarkupCheck(page).error(), "");
  EXPECT_TRUE(Contains(page, "Magnitudes in 2 images"));
  const MarkupCheck with(page), before(without);
  EXPECT_EQ(with.Count("svg"), before.Count("svg") + 1);
  EXPECT_GE(with.Count("line"), 2 * table.blobs().size()) << "an axis and a threshold each";
}

TEST(MarkupCheck, FindsWhatIsWrong) {
  EXPECT_EQ(MarkupCheck("<!DOCTYPE html><a b=\"c &amp; d\"><e/>&lt;</a>").error(), "");
  for (const char* wrong : {"<a>", "</a>", "<a></b>", "<a b=c></a>", "<a b=\"</a>", "<a b></a>",
                            "a & b", "<a b=\"1\" b=\"2\"/>", "< a/>"}) {
    EXPECT_NE(MarkupCheck(wrong).error(), "") << wrong;
  }
}

TEST(ReportPage, FillsInEachNameOnce) {
  EXPECT_EQ(Filled("<{{a}}|{{b}}|{{a}}>", {{"a", "1{{b}}"}, {"b", "2"}}), "<1{{b}}|2|1{{b}}>");
  EXPECT_THROW(Filled("{{c}}", {{"a", "1"}}), Error);
  EXPECT_THROW(Filled("{{a", {{"a", "1"}}), Error);
}

TEST(ReportPage, WritesNumbersInThreeDigits) {
  EXPECT_EQ(Short(0.01234), "0.0123");
  EXPECT_EQ(Short(999.4), "999");
  EXPECT_EQ(Short(123456), "123456");
}

// A graph by itself.

TEST(GraphDrawing, IsAnSvgFileWithItsStyle) {
  const std::string svg = GraphAsSvg(*ReferenceEngine()->graph());
  const MarkupCheck check(svg);
  EXPECT_EQ(check.error(), "");
  EXPECT_EQ(svg.rfind("<svg ", 0), 0);
  EXPECT_EQ(check.Count("style"), 1);
  EXPECT_EQ(check.Count("marker"), 1) << "the head of arrows";
  EXPECT_TRUE(Contains(svg, "data-name=\"conv\""));
  EXPECT_FALSE(Contains(svg, "var(")) << "programs that convert SVG know no variables";
}

TEST(GraphDrawing, IsAPageWithZoomAndSearch) {
  Graph graph = *ReferenceEngine()->graph();
  graph.nodes[0].layer.set_name("a<b>&\"c\"");
  const std::string page = GraphAsHtml(graph, "net <1>");
  const MarkupCheck check(page);
  EXPECT_EQ(check.error(), "");
  EXPECT_TRUE(Contains(page, "<title>net &lt;1&gt;</title>"));
  EXPECT_TRUE(Contains(page, "id=\"search\""));
  EXPECT_TRUE(Contains(page, "data-zoom=\"1.25\""));
  EXPECT_TRUE(Contains(page, "class=\"node end input\" data-name=\"data\"")) << "where it starts";
  for (const char* reference : {"src=", "href=", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_FALSE(Contains(page, reference)) << reference;
  }
}

// Layouts.

/// Arrows go down from box to later box, at random.
Drawing RandomDrawing(unsigned seed) {
  std::mt19937 random(seed);
  Drawing drawing;
  for (unsigned i = 0; i < 3 + random() % 40; ++i) {
    Box box;
    box.name = "box" + std::to_string(i);
    box.width = static_cast<double>(40 + random() % 100);
    box.height = 36;
    drawing.boxes.push_back(box);
    for (unsigned from = 0; from < i; ++from) {
      if (random() % (from + 3 < i ? 15 : 3) == 0) {
        drawing.arrows.push_back({static_cast<int>(from), static_cast<int>(i), "", {}});
      }
    }
  }
  return drawing;
}

bool BoxesOverlap(const Box& a, const Box& b) {
  return std::abs(a.x - b.x) < (a.width + b.width) / 2 - 0.5 &&
         std::abs(a.y - b.y) < (a.height + b.height) / 2 - 0.5;
}

/// Boxes lie within the image, apart from each other, below what they follow; arrows begin and
/// end at their boxes.
void ExpectGoodPlaces(const Drawing& drawing) {
  constexpr double kPixel = 1;
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Box& box = drawing.boxes[i];
    EXPECT_GE(box.x - box.width / 2, -kPixel);
    EXPECT_LE(box.x + box.width / 2, drawing.width + kPixel);
    EXPECT_GE(box.y - box.height / 2, -kPixel);
    EXPECT_LE(box.y + box.height / 2, drawing.height + kPixel);
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(BoxesOverlap(box, drawing.boxes[j])) << i << ' ' << j;
    }
  }
  for (const Arrow& arrow : drawing.arrows) {
    const Box& from = drawing.boxes[arrow.from];
    const Box& to = drawing.boxes[arrow.to];
    EXPECT_LT(from.y, to.y);
    ASSERT_GE(arrow.curve.size(), 4);
    EXPECT_EQ(arrow.curve.size() % 3, 1);
    EXPECT_NEAR(arrow.curve.front().y, from.y + from.height / 2, kPixel);
    EXPECT_NEAR(arrow.curve.back().y, to.y - to.height / 2, kPixel);
    EXPECT_LE(std::abs(arrow.curve.front().x - from.x), from.width / 2 + kPixel);
    EXPECT_LE(std::abs(arrow.curve.back().x - to.x), to.width / 2 + kPixel);
  }
}

TEST(Drawing, RowsKeepBoxesApart) {
  for (int i = 0; i < 20; ++i) {
    const unsigned seed = TestSeed();
    SCOPED_TRACE(seed);
    Drawing drawing = RandomDrawing(seed);
    PlaceInRows(&drawing);
    ExpectGoodPlaces(drawing);
  }
}

TEST(Drawing, RowsOfNothing) {
  Drawing drawing;
  PlaceInRows(&drawing);
  EXPECT_EQ(MarkupCheck(ToSvg(drawing)).error(), "");
}

TEST(Drawing, AChainStandsInOneColumn) {
  Drawing drawing = DrawingOf(Tiny().graph());
  ASSERT_EQ(drawing.boxes.size(), 6) << "input, four layers, output";
  PlaceInRows(&drawing);
  for (const Box& box : drawing.boxes) EXPECT_NEAR(box.x, drawing.boxes[0].x, 1e-6) << box.name;
}

TEST(Drawing, GraphvizKeepsBoxesApart) {
  Drawing drawing = RandomDrawing(7);
  if (!PlaceByGraphviz(&drawing)) GTEST_SKIP() << "Graphviz (dot) is not installed";
  ExpectGoodPlaces(drawing);
}

TEST(Drawing, ShowsTypesShapesAndTimes) {
  Graph graph = *ReferenceEngine()->graph();
  for (Node& node : graph.nodes) node.microseconds = node.name() == "conv" ? 10.f : 5.f;
  const Drawing drawing = DrawingOf(graph);
  const Box& conv = drawing.boxes[1];
  EXPECT_EQ(conv.name, "conv");
  EXPECT_TRUE(Contains(conv.subtitle, "Convolution + ReLU 2x4x6x6")) << conv.subtitle;
  EXPECT_EQ(conv.look, "fp32");
  EXPECT_EQ(conv.share, 1);
  EXPECT_EQ(drawing.boxes[2].share, 0.5);
  EXPECT_EQ(drawing.arrows[0].tip, "data: 2x3x8x8");
}

// Measurement.

TEST(MeasureEngine, SaysWhatAnEngineIsAndTakes) {
  const auto engine = ReferenceEngine();
  const EngineResult result = MeasureEngine("fp32", engine, Quick());
  EXPECT_EQ(result.name, "fp32");
  EXPECT_EQ(result.latency_batch, 1);
  EXPECT_EQ(result.batch, 2);
  EXPECT_GT(result.latency_ms, 0);
  EXPECT_GT(result.images_per_second, 0);
  EXPECT_EQ(result.weight_bytes, engine->weight_bytes());
  EXPECT_EQ(result.activation_bytes, engine->activation_bytes());
  ASSERT_EQ(result.layers.size(), 3);
  for (const LayerInfo& layer : result.layers) EXPECT_GT(layer.microseconds, 0) << layer.name;
}

// Energy.

class Counters {
 public:
  Counters() : folder_(NewFileName()) {}
  void Set(const std::string& zone, const std::string& name, const std::string& energy) {
    std::filesystem::create_directories(folder_ + "/" + zone);
    std::ofstream(folder_ + "/" + zone + "/name") << name << '\n';
    std::ofstream(folder_ + "/" + zone + "/energy_uj") << energy << '\n';
    std::ofstream(folder_ + "/" + zone + "/max_energy_range_uj") << 10000000 << '\n';
  }
  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
};

TEST(EnergyCounter, AddsUpPackages) {
  Counters counters;
  counters.Set("intel-rapl:0", "package-0", "1000000");
  counters.Set("intel-rapl:1", "package-1", "5000000");
  counters.Set("intel-rapl:2", "psys", "1");
  counters.Set("intel-rapl:0:0", "core", "1");
  counters.Set("intel-rapl-mmio:0", "package-0", "1");
  const EnergyCounter energy(counters.folder());
  EXPECT_EQ(energy.Joules(), 0);
  counters.Set("intel-rapl:0", "package-0", "3000000");
  counters.Set("intel-rapl:1", "package-1", "5500000");
  counters.Set("intel-rapl:2", "psys", "9000000");
  counters.Set("intel-rapl:0:0", "core", "9000000");
  counters.Set("intel-rapl-mmio:0", "package-0", "9000000");
  EXPECT_DOUBLE_EQ(energy.Joules().value(), 2.5);
}

TEST(EnergyCounter, GoesOnBehindTheEndOfItsRange) {
  Counters counters;
  counters.Set("intel-rapl:0", "package-0", "9000000");
  const EnergyCounter energy(counters.folder());
  counters.Set("intel-rapl:0", "package-0", "500000");
  EXPECT_DOUBLE_EQ(energy.Joules().value(), 1.5);
}

TEST(EnergyCounter, SaysNothingWithoutCounters) {
  EXPECT_FALSE(EnergyCounter("/nowhere").Joules());
  Counters counters;
  counters.Set("intel-rapl:0", "package-0", "");
  EXPECT_FALSE(EnergyCounter(counters.folder()).Joules()) << "unreadable";
}

}  // namespace
}  // namespace caffe::inference
