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

CAFFE_FLAG(string, labels, "", "FILE",
           "names of classes, one a line; of detectors' classes a LabelMap (.prototxt)");
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

/// `param` is the net to build an engine of; null for a plan.
int InferWith(const NetParameter* param, const std::vector<std::string>& images) {
  Require(images.empty() || !DataIsGiven(), "give images or one of ", kInputFlags, ", not both");
  const auto names =
      FLAGS_labels.empty() ? inference::ClassNames() : inference::ClassNames(FLAGS_labels);
  inference::ResultOptions options;
  options.raw = FLAGS_raw;
  options.top = FLAGS_top;
  options.least_score = static_cast<float>(FLAGS_min_score);
  const auto engine = TheEngine(param, WeightFiles());
  const int batch = static_cast<int>(std::min<size_t>(images.size(), engine->max_batch()));
  // A net's engine is built for them, a plan may run many shapes.
  const auto shapes = ParseShapes("-input_shape", FLAGS_input_shape);
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine, batch, shapes);
  const NetParameter prepared = param ? *param : NetParameter();
  const std::unique_ptr<InputBatches> batches =
      images.empty() ? Inputs(*feed, prepared, FLAGS_iterations, ", or name images")
                     : InputBatches::FromPictures(images, Preparation(prepared));
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
      "Images on the command line, or these. With -model, mean and scale of a transform_param in "
      "the\n"
      "net hold unless -mean or -scale say otherwise; a plan does not know them. -input_shape "
      "says\n"
      "in which shapes a plan runs, of those that it is built for (default: the largest of its "
      "first\n"
      "profile): images are resized to it.\n";
  command.groups = {{"engine",
                     "",
                     {"plan", {"model", "without -plan: the net to build an engine of"}, "weights"},
                     ""},
                    {"output", "", {"labels", "top", "min_score", "raw", "json"}, ""},
                    input};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.examples =
      "  caffe infer -plan googlenet.plan -mean 104,117,123 -labels synset_words.txt cat.jpg\n"
      "  caffe infer -model deploy.prototxt -weights ssd.caffemodel -precision fp16 \\\n"
      "    -mean 104,117,123 -labels labelmap_voc.prototxt -min_score 0.3 -json street.jpg > "
      "boxes.json\n";
  command.takes_files = true;
  command.quiet = true;
  command.run = Infer;
  return command;
}

}  // namespace caffe
