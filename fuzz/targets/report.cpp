// Nets as text: an engine of each, and what is written about it: JSON, Graphviz, and the page of
// `caffe build -report`, which has names of the net in HTML and SVG.
#include "caffe/inference/report/build_report.hpp"

#include <cstdlib>

#include "caffe/inference/builder.hpp"
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/test_net.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caffe::inference;                           // NOLINT: a page of them
  static const int without_graphviz = setenv("PATH", "", 1);  // a process for each would take long
  if (without_graphviz != 0) std::abort();
  return caffe::fuzz::Try([&] {
    const caffe::NetParameter net = caffe::fuzz::TestNetOf(data, size);
    caffe::fuzz::RequireQuick(caffe::Net<float>(net));
    const NetworkDefinition definition = NetworkDefinition::FromCaffe(net, {});
    BuilderConfig config;
    config.timing_iterations = 0;
    const auto engine = Builder(config).Build(definition);
    engine->ToJson();
    BuildReport report;
    report.title = net.name();
    report.date = "today";
    report.before = definition.graph();
    EngineResult result;
    result.name = "fp32";
    result.graph = engine->graph();
    result.layers = engine->layers();
    report.engines.push_back(result);
    ReportAsHtml(report);
  });
}
