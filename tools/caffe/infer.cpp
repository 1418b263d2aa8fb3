#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/evaluation/output_digest.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/util/text/progress.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"
#include "parallel_runs.hpp"
#include "result_drawer.hpp"

CAFFE_FLAG(int32, top, 5, "K", "of scores, the K best classes: score, class, name");
CAFFE_FLAG(double, min_score, 0.5, "S",
           "of detections, boxes with this score or more: image, class, score, xmin, ymin, xmax, "
           "ymax, as the net gives them (SSD: 0 to 1)");
CAFFE_FLAG(bool, raw, false, "", "all values of every output");
CAFFE_FLAG(bool, digest, false, "",
           "instead of results a SHA-256 of all outputs as integers (uint8 or int8 each, in the "
           "order of the images): the same on every machine for an engine of integers alone");
CAFFE_FLAG(string, draw, "", "OUT",
           "draws what is found onto the images: boxes, colours of a segmentation, the best "
           "classes; into the folder OUT, or, of one image, into the file OUT (.png, .jpg). Files "
           "that are there already are replaced");

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

/// Throws Error for what looks like a file that -draw does not write: it would become a folder.
void RequireDrawable(const std::string& out) {
  static const std::set<std::string> kOthers = {".bmp", ".gif",  ".jp2", ".ppm", ".svg",
                                                ".tif", ".tiff", ".pdf", ".webp"};
  std::error_code none;
  if (std::filesystem::is_directory(out, none)) return;
  Require(kOthers.count(std::filesystem::path(out).extension().string()) == 0,
          Error::Field{"-draw"}, " ", out,
          ": a file is written as .png or .jpg; any other name is a folder's");
}

/// The smallest batch of the first profile; 0 where images do not say the batch.
int LeastBatch(const inference::Engine& engine) {
  if (!engine.has_profiles() || engine.inputs().empty()) return 0;
  const inference::ShapeProfile first = engine.profiles()[0];
  const auto shape = first.min.find(engine.inputs()[0]);
  return shape == first.min.end() || shape->second.empty() ? 0 : shape->second[0];
}

/// Throws Error for flags that do not go together.
void RequireFittingFlags(const std::vector<std::string>& images) {
  RequireImagesToPrepare();
  Require(images.empty() || !DataIsGiven(), "give images or one of ", kInputFlags, ", not both");
  Require(!FLAGS_digest || (FLAGS_draw.empty() && !FLAGS_json && !FLAGS_raw),
          Error::Field{"-digest"}, " is printed instead of results",
          Error::Remedy{"leave -draw, -json and -raw out"});
  Require(FLAGS_draw.empty() || !images.empty() || !FLAGS_images.empty(), Error::Field{"-draw"},
          " needs image files", Error::Remedy{"name them, or give -images"});
  RequireDrawable(FLAGS_draw);
}

/// How many images are run at a time where each context gets `share` of them. A plan for a range
/// runs no fewer than its least batch, which is filled up.
int BatchFor(const inference::Engine& engine, size_t share) {
  return std::max(LeastBatch(engine),
                  static_cast<int>(std::min<size_t>(share, engine.max_batch())));
}

/// `param` is the net to build an engine of; null for a plan.
int InferWith(const NetParameter* param, const std::vector<std::string>& images) {
  RequireFittingFlags(images);
  inference::ResultOptions options;
  options.raw = FLAGS_raw;
  options.top = FLAGS_top;
  options.least_score = static_cast<float>(FLAGS_min_score);
  const auto engine = TheEngine(param, WeightFiles());
  if (!param) NoteTunedThreads(*engine, std::cerr);
  const auto names = FLAGS_labels.empty() ? inference::ClassNames(*engine) : ClassNamesOfFlag();
  const inference::ThreadSplit split = ThreadsOfHint();
  // Every context gets its share, also where that is less than a full batch.
  const int batch = BatchFor(*engine, kernels::CeilDiv(images.size(), split.contexts));
  // A net's engine is built for them, a plan may run many shapes.
  const auto shapes = ParseShapes("-input_shape", FLAGS_input_shape);
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine, batch, shapes);
  const NetParameter net = param ? *param : NetParameter();
  const inference::ImagePreprocessing preprocessing = Preprocessing(*engine, net);
  NoteUnknownPreprocessing(*engine, net);
  const std::unique_ptr<InputBatches> batches =
      images.empty() ? Inputs(*feed, preprocessing, FLAGS_iterations, ", or name images")
                     : InputBatches::FromImages(images, preprocessing);
  std::unique_ptr<ResultDrawer> drawer;
  if (!FLAGS_draw.empty()) drawer = std::make_unique<ResultDrawer>(FLAGS_draw, names, options);
  const inference::InputSource source(*feed, *engine);
  inference::Results all(engine, names, options);
  std::unique_ptr<inference::OutputDigest> digest;
  if (FLAGS_digest) digest = std::make_unique<inference::OutputDigest>(*engine);
  Progress progress("batch", FLAGS_json || digest ? batches->batches(*feed) : 0);
  ParallelRuns runs(engine, split,
                    [&](const std::vector<std::string>& items, const inference::Tensors& outputs) {
                      if (digest) return digest->Add(outputs);
                      if (drawer) drawer->Draw(*engine, items, outputs, *feed, preprocessing);
                      if (FLAGS_json) return all.Add(items, outputs);
                      inference::Results these(engine, names, options);
                      these.Add(items, outputs);
                      std::cout << these.Text() << std::flush;
                    });
  for (int i = 0; batches->Feed(i, feed.get()); ++i) {
    std::vector<std::string> items;
    for (const InputItem& item : batches->items()) items.push_back(item.name);
    runs.Add(std::move(items), source.Read(feed.get()));
    progress.Update(i + 1);
  }
  runs.Finish();
  progress.Clear();
  if (digest) {
    std::cout << digest->Text() << '\n';
  } else if (FLAGS_json) {
    std::cout << all.Json();
  }
  if (drawer) {
    std::cerr << "drew " << drawer->drawn()
              << (drawer->drawn() == 1 ? " image into " : " images into ") << FLAGS_draw << '\n';
  }
  return 0;
}

/// Throws Error for a flag that says how an engine is built.
void RequireNoBuildFlags() {
  for (FlagGroup& group : EngineFlags()) {
    std::vector<FlagUse>& flags = group.flags;
    const auto runs = [](const FlagUse& flag) {
      return flag.name == "input_shape" || flag.name == "hint";
    };
    flags.erase(std::remove_if(flags.begin(), flags.end(), runs), flags.end());
    RequireNotGiven(flags, "is for building an engine, and -plan is one",
                    "leave it out, or give it to caffe build");
  }
}

int Infer(const std::vector<std::string>& images) {
  Require(FLAGS_plan.empty() || (FLAGS_model.empty() && FLAGS_weights.empty()),
          "give -plan FILE, or -model and -weights to build an engine, not both");
  RequireIterations();
  if (!FLAGS_plan.empty()) RequireNoBuildFlags();
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
  command.summary = "runs images through an engine and prints the results";
  command.usage = {"-plan FILE [flags] IMAGE...",
                   "-model FILE -weights FILE[,FILE] [flags] IMAGE..."};
  FlagGroup input = InputFlags();
  input.flags.push_back({"iterations", "at most N batches of a database (default 50)"});
  input.notes =
      "Images on the command line, or these. They are prepared as the plan says, which the flags\n"
      "may repeat and not contradict; where it says nothing, as the flags say. With -model, mean "
      "and\n"
      "scale of a transform_param in the net hold unless -mean or -scale say otherwise.\n"
      "-input_shape says in which shapes a plan runs, of those that it is built for (default: the\n"
      "largest of its first profile): images are resized to it.\n";
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
        "json",
        "digest",
        "draw"},
       ""},
      input};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.examples =
      "  caffe infer -plan googlenet.plan cat.jpg\n"
      "  caffe infer -model deploy.prototxt -weights ssd.caffemodel -precision fp16 \\\n"
      "    -mean 104,117,123 -labels labelmap_voc.prototxt -min_score 0.3 -json street.jpg > "
      "boxes.json\n"
      "  caffe infer -plan ssd.plan -mean 104,117,123 -labels labelmap_voc.prototxt -draw found "
      "*.jpg\n";
  command.takes_files = true;
  command.quiet = true;
  command.run = Infer;
  return command;
}

}  // namespace caffe
