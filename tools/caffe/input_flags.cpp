#include "input_flags.hpp"

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "caffe/io/atomic_file.hpp"

CAFFE_FLAG(string, images, "", "LIST",
           "a text file with the path of an image on each line, resized to the input; a number "
           "behind the path is its label");
CAFFE_FLAG(string, data, "", "DB", "a database of Datum records");
CAFFE_FLAG(string, backend, "lmdb", "lmdb|leveldb", "what -data is");
CAFFE_FLAG(string, npy, "", "FILE|NAME=FILE,...",
           "NumPy files with an item of an input in each row, taken as they are");
CAFFE_FLAG(string, mean, "", "FILE|V,V,V",
           ".binaryproto, or a value a channel, in the net's order of channels. Images are resized "
           "to a larger mean image and cut in the middle");
CAFFE_FLAG(double, scale, 1, "S", "pixels become (pixel - mean) * S");
CAFFE_FLAG(string, resize, "", "HxW",
           "images are resized to this, and cut in the middle to the input");
CAFFE_FLAG(string, channel_order, "BGR", "BGR|RGB", "order of the input's channels");
CAFFE_FLAG(string, constant, "", "NAME=V,V,...[;NAME=...]",
           "values of inputs that take no images: im_info=300,300,1");
CAFFE_FLAG(int32, random, 0, "N", "N batches of noise, pixels from 0 to 255 prepared like images");
CAFFE_FLAG(string, plot, "", "OUT.svg", "a plot of the ranges");

namespace caffe {
namespace {

std::vector<float> Numbers(const std::string& text, const std::string& flag) {
  std::vector<float> numbers;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    size_t used = 0;
    try {
      numbers.push_back(std::stof(part, &used));
    } catch (const std::exception&) {
    }
    Require(!part.empty() && used == part.size(), flag, ": '", part, "' in '", text,
            "' is not a number");
  }
  Require(!numbers.empty(), flag, ": no numbers given");
  return numbers;
}

/// True if the text begins like a number; a mean is a file otherwise.
bool LooksLikeNumbers(const std::string& text) {
  return text.find_first_not_of("0123456789.,-+eE ") == std::string::npos;
}

/// "-npy FILE" or "-npy NAME=FILE,NAME=FILE": files by input, "" for the only one.
std::map<std::string, std::string> NpyFiles() {
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

}  // namespace

FlagGroup InputFlags() {
  return {
      "input",
      "",
      {"images", "data", "backend", "npy", "mean", "scale", "resize", "channel_order", "constant"},
      ""};
}

bool DataIsGiven() { return !FLAGS_images.empty() || !FLAGS_data.empty() || !FLAGS_npy.empty(); }

PicturePreparation Preparation(const NetParameter& net) {
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

std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const PicturePreparation& preparation,
                                     int most_batches, const std::string& otherwise) {
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

std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const NetParameter& param,
                                     int most_batches, const std::string& otherwise) {
  return Inputs(net, Preparation(param), most_batches, otherwise);
}

void RequireWritable(const std::string& file) {
  if (!file.empty()) AtomicFile probe(file);
}

void RequireOther(const std::string& flag, const std::string& written,
                  const std::vector<std::string>& read) {
  for (const std::string& file : read) {
    std::error_code none;
    Require(!std::filesystem::equivalent(written, file, none), flag, ": ", written,
            " is what the net is read from: give another name");
  }
}

void WriteText(const std::string& text, const std::string& file) {
  AtomicFile out(file);
  out.Write(text.data(), text.size());
  out.Commit();
}

}  // namespace caffe
