#ifndef CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_
#define CAFFE_TOOLS_CAFFE_INPUT_FLAGS_HPP_

#include <memory>
#include <string>
#include <vector>

#include "../common/command.hpp"
#include "caffe/util/input_batches.hpp"

// The flags by which commands are told what to run a net on.

DECLARE_string(images);
DECLARE_string(data);
DECLARE_string(npy);
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

/// The first transform_param of the net, changed by the flags.
PicturePreparation Preparation(const NetParameter& net);

/// What the flags say that the net shall run on; of a database and of the net's own data at most
/// `most_batches` batches. `otherwise` is added to the message for a user who gave nothing.
std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const PicturePreparation& preparation,
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
