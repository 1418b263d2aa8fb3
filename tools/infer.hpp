#ifndef CAFFE_TOOLS_INFER_HPP_
#define CAFFE_TOOLS_INFER_HPP_

#include <gflags/gflags.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/results.hpp"
#include "engine_flags.hpp"

DEFINE_string(labels, "", "infer: names of classes, one a line, or a LabelMap (.prototxt).");
DEFINE_int32(top, 5, "infer: how many classes to print.");
DEFINE_double(min_score, 0.5, "infer: boxes with a smaller score are left out.");
DEFINE_bool(raw, false, "infer: print all values of the outputs.");

DECLARE_string(plan);
DECLARE_string(model);
DECLARE_string(weights);
DECLARE_bool(json);
DECLARE_int32(iterations);

namespace caffe {

inline const std::string kInferUsage =
    std::string(R"(caffe infer: runs pictures through an engine and prints what it says.

usage: caffe infer -plan FILE [flags] PICTURE...
       caffe infer -model FILE -weights FILE[,FILE] [flags] PICTURE...

  -plan FILE            a plan that caffe build has written; or a net to build an engine from:
  -model FILE -weights FILE[,FILE]

output:
  -labels FILE          names of classes, one a line; of detectors' classes a LabelMap (.prototxt)
  -top K                of scores, the K best classes (default 5): score, class, name
  -min_score S          of detections, boxes with this score or more (default 0.5): picture, class,
                        score, xmin, ymin, xmax, ymax, as the net gives them (SSD: 0 to 1)
  -raw                  all values of every output
  -json                 JSON, whatever the output is

)") +
    kInputUsage +
    R"(Pictures on the command line, or these; at most -iterations batches of a database (50).
With -model, mean and scale of a transform_param in the net hold unless -mean or -scale say
otherwise; a plan does not know them.
)" + kEngineFlagsUsage +
    R"(
example:
  caffe infer -plan googlenet.plan -mean 104,117,123 -labels synset_words.txt cat.jpg
  caffe infer -model deploy.prototxt -weights ssd.caffemodel -precision fp16 \
    -mean 104,117,123 -labels labelmap_voc.prototxt -min_score 0.3 -json street.jpg > boxes.json
)";

namespace infer {

inline std::shared_ptr<const inference::Engine> TheEngine(const NetParameter* param,
                                                          const std::vector<std::string>& weights) {
  if (!param) return inference::Engine::Load(FLAGS_plan);
  return EngineMaker(*param, FLAGS_model, weights, &std::cerr).Build();
}

}  // namespace infer

/// The command infer. `param` is the net to build an engine of, with the state that the command
/// line gives; null for a plan. `pictures` are what is left of the command line.
inline int Infer(const NetParameter* param, const std::vector<std::string>& weights,
                 const std::vector<std::string>& pictures) {
  Require(pictures.empty() || !engine_flags::DataIsGiven(), "give pictures or one of ", kInputFlags,
          ", not both");
  const auto names =
      FLAGS_labels.empty() ? inference::ClassNames() : inference::ClassNames(FLAGS_labels);
  inference::ResultOptions options;
  options.raw = FLAGS_raw;
  options.top = FLAGS_top;
  options.least_score = static_cast<float>(FLAGS_min_score);
  const auto engine = infer::TheEngine(param, weights);
  const int batch = static_cast<int>(std::min<size_t>(pictures.size(), engine->max_batch()));
  const std::unique_ptr<Net<float>> feed = inference::InputNetOf(*engine, batch);
  const NetParameter prepared = param ? *param : NetParameter();
  const std::unique_ptr<InputBatches> batches =
      pictures.empty() ? Inputs(*feed, prepared, FLAGS_iterations, ", or name pictures")
                       : InputBatches::FromPictures(pictures, Preparation(prepared));
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

}  // namespace caffe

#endif  // CAFFE_TOOLS_INFER_HPP_
