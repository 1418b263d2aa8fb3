#include <algorithm>
#include <deque>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/result_drawing.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/progress.hpp"
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
CAFFE_FLAG(string, draw, "", "OUT",
           "draws what is found onto the images: boxes, colours of a segmentation, the best "
           "classes; into the folder OUT, or, of one image, into the file OUT (.png, .jpg)");

namespace caffe {
namespace {

std::shared_ptr<const inference::Engine> TheEngine(const NetParameter* param,
                                                   const std::vector<std::string>& weights) {
  if (!param) return inference::Engine::Load(FLAGS_plan);
  return EngineMaker(*param, weights, &std::cerr).Build();
}

/// Runs batches in contexts side by side, and hands on what they make in the batches' order.
class Runs {
 public:
  using Done =
      std::function<void(const std::vector<std::string>& items, const inference::Tensors&)>;

  Runs(const std::shared_ptr<const inference::Engine>& engine, const inference::ThreadSplit& split,
       Done done)
      : done_(std::move(done)) {
    for (int i = 0; i < split.contexts; ++i) contexts_.emplace_back(engine, split.threads);
  }

  /// Returns when a context is free again.
  void Add(std::vector<std::string> items, inference::Tensors inputs) {
    // A single context stays in this thread: its team of threads is made once.
    const auto launch = contexts_.size() == 1 ? std::launch::deferred : std::launch::async;
    inference::ExecutionContext* context = &contexts_[count_++ % contexts_.size()];
    pending_.push_back({std::move(items), std::async(launch, [context, inputs = std::move(inputs)] {
                          return inference::RunInPieces(inputs, context);
                        })});
    if (pending_.size() == contexts_.size()) FinishFirst();
  }
  void Finish() {
    while (!pending_.empty()) FinishFirst();
  }

 private:
  struct Run {
    std::vector<std::string> items;
    std::future<inference::Tensors> outputs;
  };

  void FinishFirst() {
    Run first = std::move(pending_.front());
    pending_.pop_front();
    done_(first.items, first.outputs.get());
  }

  const Done done_;
  std::vector<inference::ExecutionContext> contexts_;
  std::deque<Run> pending_;  // ends before the contexts, which its runs use
  size_t count_ = 0;
};

#ifdef USE_OPENCV

/// Draws results onto the images that they are of.
class Drawer {
 public:
  Drawer(const std::string& out, const inference::ClassNames& names) : writer_(out), names_(names) {
    options_.top = FLAGS_top;
    options_.least_score = static_cast<float>(FLAGS_min_score);
  }

  void Draw(const inference::Engine& engine, const std::vector<std::string>& images,
            const inference::Tensors& outputs, const Net<float>& feed,
            const PicturePreparation& preparation) {
    options_.rgb = preparation.rgb;
    for (size_t i = 0; i < images.size(); ++i) {
      const cv::Mat image = ReadImageToCVMat(images[i], /*is_color=*/true);
      Require(!image.empty(), images[i], ": cannot be read as an image");
      inference::Tensors item;
      for (const auto& output : outputs) {
        item[output.first] =
            inference::ItemOf(engine, output.first, output.second, static_cast<int>(i));
      }
      writer_.Write(images[i], inference::DrawResults(image, item, names_,
                                                      Seen(feed, preparation, image), options_));
      ++drawn_;
    }
  }
  int drawn() const { return drawn_; }

 private:
  static ImagePart Seen(const Net<float>& feed, const PicturePreparation& preparation,
                        const cv::Mat& image) {
    for (int i = 0; i < feed.num_inputs(); ++i) {
      const Blob<float>& input = *feed.input_blobs()[i];
      const std::string& name = feed.blob_names()[feed.input_blob_indices()[i]];
      if (preparation.constants.count(name) > 0 || input.num_axes() != 4) continue;
      return SeenPart(preparation, input.shape(2), input.shape(3), image.rows, image.cols);
    }
    Fail("-draw: the net has no input that takes images");
  }

  inference::ImageWriter writer_;
  const inference::ClassNames& names_;
  inference::DrawingOptions options_;
  int drawn_ = 0;
};

#else

class Drawer {
 public:
  Drawer(const std::string& out, const inference::ClassNames&) {
    Fail("-draw ", out, ": drawing needs OpenCV: build with USE_OPENCV=ON");
  }
  void Draw(const inference::Engine&, const std::vector<std::string>&, const inference::Tensors&,
            const Net<float>&, const PicturePreparation&) {}
  int drawn() const { return 0; }
};

#endif  // USE_OPENCV

/// `param` is the net to build an engine of; null for a plan.
int InferWith(const NetParameter* param, const std::vector<std::string>& images) {
  Require(images.empty() || !DataIsGiven(), "give images or one of ", kInputFlags, ", not both");
  const auto names =
      FLAGS_labels.empty() ? inference::ClassNames() : inference::ClassNames(FLAGS_labels);
  inference::ResultOptions options;
  options.raw = FLAGS_raw;
  options.top = FLAGS_top;
  options.least_score = static_cast<float>(FLAGS_min_score);
  std::unique_ptr<Drawer> drawer;
  if (!FLAGS_draw.empty()) {
    Require(!images.empty() || !FLAGS_images.empty(),
            "-draw needs image files: name them, or give -images");
    drawer = std::make_unique<Drawer>(FLAGS_draw, names);
  }
  const auto engine = TheEngine(param, WeightFiles());
  if (!param) NoteTunedThreads(*engine, std::cerr);
  const inference::ThreadSplit split = ThreadsOfHint();
  // As many as each context gets, where there are fewer than contexts for full batches.
  const size_t share = (images.size() + split.contexts - 1) / split.contexts;
  const int batch = static_cast<int>(std::min<size_t>(share, engine->max_batch()));
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine, batch);
  const PicturePreparation preparation = Preparation(param ? *param : NetParameter());
  const std::unique_ptr<InputBatches> batches =
      images.empty() ? Inputs(*feed, preparation, FLAGS_iterations, ", or name images")
                     : InputBatches::FromPictures(images, preparation);
  const inference::InputSource source(*feed, *engine);
  inference::Results all(engine, names, options);
  Progress progress("batch", FLAGS_json ? batches->batches(*feed) : 0);
  Runs runs(engine, split,
            [&](const std::vector<std::string>& items, const inference::Tensors& outputs) {
              if (drawer) drawer->Draw(*engine, items, outputs, *feed, preparation);
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
  if (FLAGS_json) std::cout << all.Json();
  if (drawer) {
    std::cerr << "drew " << drawer->drawn()
              << (drawer->drawn() == 1 ? " image into " : " images into ") << FLAGS_draw << '\n';
  }
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
      "net hold unless -mean or -scale say otherwise; a plan does not know them.\n";
  command.groups = {{"engine",
                     "",
                     {"plan", {"model", "without -plan: the net to build an engine of"}, "weights"},
                     ""},
                    {"output", "", {"labels", "top", "min_score", "raw", "json", "draw"}, ""},
                    input};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.examples =
      "  caffe infer -plan googlenet.plan -mean 104,117,123 -labels synset_words.txt cat.jpg\n"
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
