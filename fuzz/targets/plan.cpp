// Plans: loaded, bound and run on zeros. An input is what follows a plan's fingerprint, behind the
// size of its description: header, checksum and fingerprint are made here, as they fit this
// machine.
#include <algorithm>
#include <cstring>

#include "caffe/inference/engine.hpp"
#include "caffe/inference/plan_file.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/plan_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caffe;  // NOLINT: the function cannot be in the namespace
  return fuzz::Try([&] {
    const auto engine =
        inference::Engine::Load(fuzz::NewFile("net.plan", fuzz::PlanOf(data, size)));
    inference::ExecutionContext context(engine);
    for (const std::string& input : engine->inputs()) {
      std::fill_n(context.Input(input), inference::CountOf(context.InputShape(input)), 0.f);
    }
    context.Run();
    for (const std::string& output : engine->outputs()) context.Output(output);
    engine->ToJson();
  });
}
