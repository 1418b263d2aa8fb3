// Nets as text: optimized for FP32 and BF16, and run once on zeros.
#include <algorithm>

#include "caffe/inference/builder.hpp"
#include "caffe/net.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/test_net.hpp"

CAFFE_FUZZ_MUTATOR(caffe::NetParameter, MutateText)

namespace {

void BuildAndRun(const caffe::NetParameter& net, caffe::inference::Precision precision) {
  using namespace caffe::inference;  // NOLINT: a page of them
  BuilderConfig config;
  config.precision = precision;
  config.timing_iterations = 0;
  const auto engine = Builder(config).Build(NetworkDefinition::FromCaffe(net, {}));
  ExecutionContext context(engine);
  for (const std::string& input : engine->inputs()) {
    std::fill_n(context.Input(input), CountOf(context.InputShape(input)), 0.f);
  }
  context.Run();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    const caffe::NetParameter net = caffe::fuzz::TestNetOf(data, size);
    caffe::fuzz::RequireQuick(caffe::Net<float>(net));
    BuildAndRun(net, caffe::inference::Precision::FP32);
    BuildAndRun(net, caffe::inference::Precision::BF16);
  });
}
