#include "test_plan.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/evaluation/engine_scoring.hpp"
#include "caffe/inference/results.hpp"
#include "input_flags.hpp"
#include "net_flags.hpp"

namespace caffe {
namespace {

/// The output with a score for each class of each item.
std::string ScoresOf(const inference::Engine& engine) {
  std::vector<std::string> found;
  for (const std::string& output : engine.outputs()) {
    const inference::Graph& graph = *engine.graph();
    const Shape& shape = graph.values[graph.FindValue(output)].shape;
    const bool scores = !shape.empty() && shape[0] == inference::BatchOf(graph) &&
                        inference::CountOf(shape) > size_t(shape[0]);
    if (scores && !inference::IsDetections(engine, output)) found.push_back(output);
  }
  Require(found.size() == 1, "engine '", engine.name(), "' has ", found.size(),
          " outputs with scores of classes: labels say how good it is where there is one; give the "
          "net with its data and Accuracy layers: -model train_val.prototxt");
  return found[0];
}

/// How many of a batch's items have their label among the five (`top`) largest scores.
int CountRight(const inference::NamedTensor& scores, const std::vector<InputItem>& items, int top) {
  const size_t classes = scores.values.size() / scores.shape[0];
  int right = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    for (const auto& ranked : inference::TopOf(scores.values.data() + i * classes, classes, top)) {
      right += ranked.index == items[i].label;
    }
  }
  return right;
}

}  // namespace

int TestPlanOnImages(const std::shared_ptr<const inference::Engine>& engine) {
  const std::string output = ScoresOf(*engine);
  const inference::Graph& graph = *engine->graph();
  const Shape& scores = graph.values[graph.FindValue(output)].shape;
  const int classes = static_cast<int>(inference::CountOf(scores)) / scores[0];
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine);
  const inference::InputSource source(*feed, *engine);
  const std::unique_ptr<InputBatches> batches =
      Inputs(*feed, Preprocessing(*engine, NetParameter()), FLAGS_iterations);
  inference::ExecutionContext context(engine);
  double right = 0, among_five = 0;
  int64_t images = 0;
  for (int i = 0; (!IsGiven("iterations") || i < FLAGS_iterations) && batches->Feed(i, feed.get());
       ++i) {
    for (const InputItem& item : batches->items()) {
      Require(item.label >= 0, Error::File{item.name}, ": it has no label to test with");
      Require(item.label < classes, Error::File{item.name}, ": its label ", item.label,
              " is none of the ", classes, " classes of output '", output, "', 0 to ", classes - 1);
    }
    const inference::Tensors outputs = RunInPieces(source.Read(feed.get()), &context);
    const int batch_right = CountRight(outputs.at(output), batches->items(), 1);
    PROGRAM_LOG() << "Batch " << i << ", accuracy = " << float(batch_right) / batches->images();
    right += batch_right;
    among_five += CountRight(outputs.at(output), batches->items(), 5);
    images += batches->images();
  }
  Require(images > 0, "there are no images to test with");
  PROGRAM_LOG() << "Tested on " << images << " images.";
  PROGRAM_LOG() << "accuracy = " << right / images;
  PROGRAM_LOG() << "accuracy_top5 = " << among_five / images;
  return 0;
}

}  // namespace caffe
