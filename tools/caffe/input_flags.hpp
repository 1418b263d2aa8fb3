#ifndef CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "../common/files.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/util/input_batches.hpp"

// The flags that choose what a net runs on.

DECLARE_string(images);
DECLARE_string(data);
DECLARE_string(npy);
DECLARE_string(labels);
DECLARE_string(plot);
DECLARE_int32(random);

namespace caffe {

constexpr char kInputFlags[] = "-images, -data, -npy";

/// Images, databases and arrays, and how they are prepared.
FlagGroup InputFlags();
/// What commands that run a net say below InputFlags.
constexpr char kOwnDataUsage[] =
    "A net with data layers of its own reads them if none of these is given; where a layer of the\n"
    "net has a transform_param, its mean and scale hold unless -mean or -scale say otherwise.\n";

/// True if a flag names images, a database or arrays.
bool DataIsGiven();

/// Throws Error for flags that say how images are prepared where -npy gives none. For commands that
/// do not store what these flags say.
void RequireImagesToPrepare();

/// True if a flag says how images are prepared.
bool PreprocessingIsGiven();
/// How images are prepared, as -mean, -scale, -resize, -channel_order and -constant say, else the
/// first transform_param of the net; nothing if none of them is given.
std::optional<inference::ImagePreprocessing> GivenPreprocessing(const NetParameter& net);
/// The same; if nothing is given, only resized.
inference::ImagePreprocessing Preprocessing(const NetParameter& net);
/// How images are prepared for an engine: as its plan says, with values of -constant on top; where
/// it says nothing, as the flags and `net` do. Throws Error for a flag that contradicts the plan.
inference::ImagePreprocessing Preprocessing(const inference::Engine& engine,
                                            const NetParameter& net);

/// The names of -labels. Throws Error if the file is not text, or names nothing.
inference::ClassNames ClassNamesOfFlag();

/// What the flags say that the net shall run on; of a database and of the net's own data at most
/// `most_batches` batches. `otherwise` is added to the message for a user who gave nothing.
std::unique_ptr<InputBatches> Inputs(const Net<float>& net,
                                     const inference::ImagePreprocessing& preprocessing,
                                     int most_batches, const std::string& otherwise = "");
/// The same, with images prepared as the flags and the net say.
std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const NetParameter& param,
                                     int most_batches, const std::string& otherwise = "");

/// The files that -model, -weights and the flags of the input name: what a command must not write.
std::vector<NamedFile> FilesRead();

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_
