#ifndef CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/util/input_batches.hpp"

// The flags by which commands are told what to run a net on.

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

/// How images are prepared, as -mean, -scale, -resize, -channel_order and -constant say, else the
/// first transform_param of the net; nothing if none of them is given.
std::optional<inference::ImagePreprocessing> GivenPreprocessing(const NetParameter& net);
/// The same; if nothing is given, only resized.
inference::ImagePreprocessing Preprocessing(const NetParameter& net);
/// How images are prepared for an engine: as its plan says, with values of -constant on top; where
/// it says nothing, as the flags and `net` do. Throws Error for a flag that contradicts the plan.
inference::ImagePreprocessing Preprocessing(const inference::Engine& engine,
                                            const NetParameter& net);

/// What the flags say that the net shall run on; of a database and of the net's own data at most
/// `most_batches` batches. `otherwise` is added to the message for a user who gave nothing.
std::unique_ptr<InputBatches> Inputs(const Net<float>& net,
                                     const inference::ImagePreprocessing& preprocessing,
                                     int most_batches, const std::string& otherwise = "");
/// The same, with images prepared as the flags and the net say.
std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const NetParameter& param,
                                     int most_batches, const std::string& otherwise = "");

/// Throws Error if the file cannot be written: before the work, not after it.
void RequireWritable(const std::string& file);
/// Throws Error if a file to be written is one of those that are read. `flag` names it.
void RequireOther(const std::string& flag, const std::string& written,
                  const std::vector<std::string>& read);
void WriteText(const std::string& text, const std::string& file);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_
