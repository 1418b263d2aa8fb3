#ifndef CAFFE_TOOLS_INPUT_FLAGS_HPP_
#define CAFFE_TOOLS_INPUT_FLAGS_HPP_

#include <gflags/gflags.h>

#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/io/atomic_file.hpp"
#include "caffe/util/input_batches.hpp"
#include "command_line.hpp"

// The flags by which commands are told what to run a net on.

DEFINE_string(images, "", "A text file with the path of a picture on each line.");
DEFINE_string(data, "", "A database of Datum records.");
DEFINE_string(backend, "lmdb", "What -data is, lmdb or leveldb.");
DEFINE_string(mean, "", "A .binaryproto, or one value a channel: 104,117,123.");
DEFINE_double(scale, 1, "What pixels are multiplied by after the mean.");
DEFINE_string(resize, "", "HxW: pictures are resized to this and cut in the middle.");
DEFINE_string(channel_order, "BGR", "BGR (as Caffe trains) or RGB.");
DEFINE_string(constant, "", "Values of inputs that are no pictures: im_info=300,300,1;other=0");
DEFINE_string(npy, "",
              "NumPy files with an item of an input in each row: FILE, or "
              "INPUT=FILE,INPUT=FILE.");
DEFINE_string(plot, "",
              "check_fp16, calibrate, build: write a picture (SVG) of the ranges to this file.");

namespace caffe {

constexpr char kInputUsage[] = R"(input:
  -images LIST          a text file with the path of a picture on each line, resized to the input;
                        a number behind the path is its label
  -data DB [-backend lmdb|leveldb]   records of a database
  -npy FILE | NAME=FILE,...          NumPy files, an item a row, taken as they are
  -mean FILE|V,V,V      .binaryproto, or a value a channel, in the net's order of channels. Pictures
                        are resized to a larger mean picture and cut in the middle
  -scale S              pixels become (pixel - mean) * S
  -resize HxW           resizes pictures to this, and cuts them in the middle to the input
  -channel_order BGR|RGB
  -constant NAME=V,V,...[;NAME=...]  inputs that are no pictures
)";

constexpr char kOwnDataUsage[] =
    R"(A net with data layers of its own reads them if none of these is given; where a layer of the
net has a transform_param, its mean and scale hold unless -mean or -scale say otherwise.
)";

inline std::vector<float> Numbers(const std::string& text, const std::string& flag) {
  std::vector<float> numbers;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    size_t used = 0;
    try {
      numbers.push_back(std::stof(part, &used));
    } catch (const std::exception&) {
    }
    Require(!part.empty() && used == part.size(), flag, ": '", part, "' in '", text,
            "' is no number");
  }
  Require(!numbers.empty(), flag, ": no numbers given");
  return numbers;
}

/// True if the text begins like a number; a mean is a file otherwise.
inline bool LooksLikeNumbers(const std::string& text) {
  return text.find_first_not_of("0123456789.,-+eE ") == std::string::npos;
}

// The first transform_param of the net, changed by the flags.
inline PicturePreparation Preparation(const NetParameter& net) {
  PicturePreparation preparation;
  for (const LayerParameter& layer : net.layer()) {
    if (!layer.has_transform_param()) continue;
    preparation.transform = layer.transform_param();
    break;
  }
  TransformationParameter& transform = preparation.transform;
  if (!FLAGS_mean.empty()) {
    transform.clear_mean_file();
    transform.clear_mean_value();
    if (LooksLikeNumbers(FLAGS_mean)) {
      for (float value : Numbers(FLAGS_mean, "-mean")) transform.add_mean_value(value);
    } else {
      transform.set_mean_file(FLAGS_mean);
    }
  }
  if (IsGiven("scale")) transform.set_scale(static_cast<float>(FLAGS_scale));
  Require(FLAGS_channel_order == "BGR" || FLAGS_channel_order == "RGB", "-channel_order ",
          FLAGS_channel_order, ": valid are BGR and RGB");
  preparation.rgb = FLAGS_channel_order == "RGB";
  if (!FLAGS_resize.empty()) {
    char rest = 0;
    const int read = std::sscanf(FLAGS_resize.c_str(), "%dx%d%c", &preparation.resize_height,
                                 &preparation.resize_width, &rest);
    Require(read == 2 && preparation.resize_height > 0 && preparation.resize_width > 0, "-resize ",
            FLAGS_resize, " is not HxW, as in 256x256");
  }
  std::istringstream constants(FLAGS_constant);
  for (std::string constant; std::getline(constants, constant, ';');) {
    const size_t equals = constant.find('=');
    Require(equals != std::string::npos && equals > 0, "-constant: '", constant,
            "' is not NAME=V,V,...");
    preparation.constants[constant.substr(0, equals)] =
        Numbers(constant.substr(equals + 1), "-constant " + constant.substr(0, equals));
  }
  return preparation;
}

/// "-npy FILE" or "-npy NAME=FILE,NAME=FILE": files by input, "" for the only one.
inline std::map<std::string, std::string> NpyFiles() {
  std::map<std::string, std::string> files;
  std::istringstream parts(FLAGS_npy);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const bool named = equals != std::string::npos;
    const std::string name = named ? part.substr(0, equals) : "";
    Require(files.emplace(name, part.substr(named ? equals + 1 : 0)).second,
            "-npy: give the input of each file, as in -npy data=a.npy,im_info=b.npy");
  }
  return files;
}

constexpr char kInputFlags[] = "-images, -data, -npy";

/// What the flags say that the net shall run on; of a database and of the net's own data at most
/// `most_batches` batches. `otherwise` is added to the message for a user who gave nothing.
inline std::unique_ptr<InputBatches> Inputs(const Net<float>& net,
                                            const PicturePreparation& preparation, int most_batches,
                                            const std::string& otherwise = "") {
  const int given = !FLAGS_images.empty() + !FLAGS_data.empty() + !FLAGS_npy.empty();
  Require(given <= 1, "give one of ", kInputFlags);
  if (net.num_inputs() == 0) {
    Require(given == 0, "the net reads data of its own (it has no Input layer): leave out ",
            kInputFlags, ", or give its deploy.prototxt");
    return InputBatches::Own(most_batches);
  }
  Require(given == 1,
          "what shall the net run on? Give -images LIST, -data DB or -npy FILE with inputs as the "
          "net will see them",
          otherwise);
  if (!FLAGS_images.empty()) return InputBatches::FromList(FLAGS_images, preparation);
  if (!FLAGS_npy.empty()) return InputBatches::FromNpy(NpyFiles(), preparation.constants);
  return InputBatches::FromDatabase(FLAGS_data, FLAGS_backend, most_batches, preparation);
}

/// The same, with pictures prepared as the flags and the net say.
inline std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const NetParameter& param,
                                            int most_batches, const std::string& otherwise = "") {
  return Inputs(net, Preparation(param), most_batches, otherwise);
}

/// Throws Error if the file cannot be written: before the work, not after it.
inline void RequireWritable(const std::string& file) {
  if (!file.empty()) AtomicFile probe(file);
}

inline void WriteText(const std::string& text, const std::string& file) {
  AtomicFile out(file);
  out.Write(text.data(), text.size());
  out.Commit();
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_INPUT_FLAGS_HPP_
