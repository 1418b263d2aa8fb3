// Runs a net with an Angle layer and prints what it makes of four directions. With a second
// argument the net is built into an engine first, whose plan is written to that file.
#include <caffe/caffe.hpp>
#include <caffe/inference/builder.hpp>
#include <iostream>

namespace {

constexpr float kVectors[8] = {1, 0, 0, 1, -1, 1, 0, -2};

void Print(const float* angles) {
  for (int i = 0; i < 4; ++i) std::cout << angles[i] << " degrees\n";
}

void RunNet(const std::string& model) {
  caffe::Net<float> net(model, caffe::TEST);
  std::copy_n(kVectors, 8, net.input_blobs()[0]->mutable_cpu_data());
  Print(net.Forward()[0]->cpu_data());
}

// An engine knows nothing of the layer: each context makes one through the registry, with the
// parameters that lie in the plan.
void RunEngine(const std::string& model, const std::string& plan) {
  using namespace caffe::inference;
  Builder().Build(NetworkDefinition::FromCaffe(model, {}))->Save(plan);

  const auto engine = Engine::Load(plan);
  ExecutionContext context(engine), another(engine);
  std::copy_n(kVectors, 8, context.Input("vectors"));
  std::copy_n(kVectors, 8, another.Input("vectors"));
  auto done = another.Enqueue();  // on a thread of its own
  context.Run();
  done.get();
  Print(context.Output("degrees"));
  Print(another.Output("degrees"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "Usage: " << argv[0] << " net.prototxt [net.plan]\n";
    return 1;
  }
  try {
    argc == 2 ? RunNet(argv[1]) : RunEngine(argv[1], argv[2]);
  } catch (const caffe::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
