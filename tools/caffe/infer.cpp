#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/results.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(int32, top, 5, "K", "of scores, the K best classes: score, class, name");
CAFFE_FLAG(double, min_score, 0.5, "S",
           "of detections, boxes with this score or more: image, class, score, xmin, ymin, xmax, "
           "ymax, as the net gives them (SSD: 0 to 1)");
CAFFE_FLAG(bool, raw, false, "", "all values of every output");

namespace caffe {
namespace {

std::shared_ptr<const inference::Engine> TheEngine(const NetParameter* param,
                                                   const std::vector<std::string>& weights) {
  if (!param) return inference::Engine::Load(FLAGS_plan);
  return EngineMaker(*param, weights, &std::cerr).Build();
}

/// Says where mean and scale may be missing that the net was trained with.
void NoteUnknownPreprocessing(const inference::Engine& engine, const NetParameter& net) {
  if (engine.preprocessing() || !FLAGS_npy.empty() || GivenPreprocessing(net)) return;
  const inference::Graph& graph = *engine.graph();
  const bool takes_images = std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](int input) {
    const Shape& shape = graph.values[input].shape;
    return shape.size() == 4 && (shape[1] == 1 || shape[1] == 3);
  });
  if (!takes_images) return;
  std::cerr << "note: the plan knows no mean and scale, and neither -mean nor -scale is given: "
               "values from 0 to 255 go in as they are. caffe build -mean V,V,V -scale S keeps "
               "them in the plan (-scale 1: there are none)\n";
}

/// `param` is the net to build an engine of; null for a plan.
int InferWith(const NetParameter* param, const std::vector<std::string>& images) {
  Require(images.empty() || !DataIsGiven(), "give images or one of ", kInputFlags, ", not both");
  inference::ResultOptions options;
  options.raw = FLAGS_raw;
  options.top = FLAGS_top;
  options.least_score = static_cast<float>(FLAGS_min_score);
  const auto engine = TheEngine(param, WeightFiles());
  const auto names =
      FLAGS_labels.empty() ? inference::ClassNames(*engine) : inference::ClassNames(FLAGS_labels);
  const int batch = static_cast<int>(std::min<size_t>(images.size(), engine->max_batch()));
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine, batch);
  const NetParameter net = param ? *param : NetParameter();
  const inference::ImagePreprocessing preprocessing = Preprocessing(*engine, net);
  NoteUnknownPreprocessing(*engine, net);
  const std::unique_ptr<InputBatches> batches =
      images.empty() ? Inputs(*feed, preprocessing, FLAGS_iterations, ", or name images")
                     : InputBatches::FromPictures(images, preprocessing);
  const inference::InputSource source(*feed, *engine);
  inference::ExecutionContext context(engine);
  inference::Results all(engine, names, options);
  for (int i = 0; batches->Feed(i, feed.get()); ++i) {
    const inference::Tensors outputs = RunInPieces(source.Read(feed.get()), &context);
    std::vector<std::string> items;
    for (const InputItem& item : batches->items()) items.push_back(item.name);
    if (FLAGS_json) {
      all.Add(items, outputs);
      continue;
    }
    inference::Results these(engine, names, options);
    these.Add(items, outputs);
    std::cout << these.Text() << std::flush;
  }
  if (FLAGS_json) std::cout << all.Json();
  return 0;
}

int Infer(const std::vector<std::string>& images) {
  Require(FLAGS_plan.empty() || (FLAGS_model.empty() && FLAGS_weights.empty()),
          "give -plan FILE, or -model and -weights to build an engine, not both");
  ChooseEngineDevice();
  if (!FLAGS_plan.empty()) return InferWith(nullptr, images);
  Require(!FLAGS_model.empty(),
          "infer needs an engine: -plan FILE, or -model and -weights to build one");
  Require(!FLAGS_weights.empty(), "infer needs trained weights: -weights FILE");
  const NetParameter net = TestPhaseNet("infer");
  return InferWith(&net, images);
}

}  // namespace

Command InferCommand() {
  Command command;
  command.name = "infer";
  command.summary = "runs images through an engine and prints what it says";
  command.usage = {"-plan FILE [flags] IMAGE...",
                   "-model FILE -weights FILE[,FILE] [flags] IMAGE..."};
  FlagGroup input = InputFlags();
  input.flags.push_back({"iterations", "at most N batches of a database (default 50)"});
  input.notes =
      "Images on the command line, or these. They are prepared as the plan says, which the flags\n"
      "may repeat and not contradict; where it says nothing, as the flags say. With -model, mean "
      "and\n"
      "scale of a transform_param in the net hold unless -mean or -scale say otherwise.\n";
  command.groups = {
      {"engine",
       "",
       {"plan", {"model", "without -plan: the net to build an engine of"}, "weights"},
       ""},
      {"output",
       "",
       {{"labels",
         "names of classes, one a line, or a LabelMap (.prototxt), instead of the plan's"},
        "top",
        "min_score",
        "raw",
        "json"},
       ""},
      input};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.examples =
      "  caffe infer -plan googlenet.plan cat.jpg\n"
      "  caffe infer -model deploy.prototxt -weights ssd.caffemodel -precision fp16 \\\n"
      "    -mean 104,117,123 -labels labelmap_voc.prototxt -min_score 0.3 -json street.jpg > "
      "boxes.json\n";
  command.takes_files = true;
  command.quiet = true;
  command.run = Infer;
  return command;
}

}  // namespace caffe
