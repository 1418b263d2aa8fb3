#include "input_flags.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

#include "caffe/data/image_files.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(string, images, "", "FOLDER|'*.jpg'|LIST",
           "the images of a folder and of those below it, or those that fit a pattern, or a text "
           "file with the path of an image on each line, where a number behind the path is its "
           "label; resized to the input");
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
CAFFE_FLAG(string, labels, "", "FILE",
           "names of classes, one a line; of detectors' classes a LabelMap (.prototxt)");
CAFFE_FLAG(int32, random, 0, "N", "N batches of noise, pixels from 0 to 255 prepared like images");
CAFFE_FLAG(string, plot, "", "OUT.svg", "a plot of the ranges");

namespace caffe {

using inference::ImagePreprocessing;
using inference::ValuesText;

namespace {

std::vector<float> Numbers(const std::string& text, const std::string& flag) {
  std::vector<float> numbers;
  for (const std::string& part : SplitAt(',', text)) {
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

/// What the flags say changes what a net says.
void TakeFlags(ImagePreprocessing* preprocessing) {
  if (!FLAGS_resize.empty()) {
    int height = 0, width = 0;
    char rest = 0;
    const int read = std::sscanf(FLAGS_resize.c_str(), "%dx%d%c", &height, &width, &rest);
    Require(read == 2 && height > 0 && width > 0, Error::Field{"-resize"}, " ", FLAGS_resize,
            " is not HxW, as in 256x256");
    Require(preprocessing->resize_height == 0 ||
                (preprocessing->resize_height == height && preprocessing->resize_width == width),
            Error::Field{"-resize"}, " ", FLAGS_resize, ": the net's mean_file is ",
            preprocessing->resize_height, "x", preprocessing->resize_width,
            Error::Remedy{"give -mean too"});
    preprocessing->resize_height = height;
    preprocessing->resize_width = width;
  }
  if (LooksLikeNumbers(FLAGS_mean)) {
    if (!FLAGS_mean.empty()) preprocessing->mean = Numbers(FLAGS_mean, "-mean");
  } else {
    preprocessing->ReadMeanImage(FLAGS_mean);
  }
  Require(std::isfinite(FLAGS_scale), Error::Field{"-scale"}, " must be a finite number, got ",
          FLAGS_scale);
  if (IsGiven("scale")) preprocessing->scale = static_cast<float>(FLAGS_scale);
  Require(FLAGS_channel_order == "BGR" || FLAGS_channel_order == "RGB",
          Error::Field{"-channel_order"}, " ", FLAGS_channel_order, ": valid are BGR and RGB");
  preprocessing->rgb = FLAGS_channel_order == "RGB";
  for (const std::string& constant : SplitAt(';', FLAGS_constant)) {
    const size_t equals = constant.find('=');
    Require(equals != std::string::npos && equals > 0, Error::Field{"-constant"}, ": '", constant,
            "' is not NAME=V,V,...");
    preprocessing->constants[constant.substr(0, equals)] =
        Numbers(constant.substr(equals + 1), "-constant " + constant.substr(0, equals));
  }
}

/// Whether both subtract the same: one value is meant for all channels.
bool SameMean(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() == b.size()) return a == b;
  const std::vector<float>& one = a.size() < b.size() ? a : b;
  const std::vector<float>& other = a.size() < b.size() ? b : a;
  const float value = one.empty() ? 0 : one[0];
  return one.size() <= 1 &&
         std::all_of(other.begin(), other.end(), [&](float x) { return x == value; });
}

/// Throws Error for a flag that says other than the plan.
void RequireAgreement(const ImagePreprocessing& given, const ImagePreprocessing& plan) {
  const bool means = !FLAGS_mean.empty(), scales = IsGiven("scale");
  Require(!plan.engine_normalizes || (!means && !scales), means ? "-mean" : "-scale",
          ": the plan was built with -normalize and computes (value - ", ValuesText(plan.mean),
          ") * ", plan.scale, " itself, which would be done twice",
          Error::Remedy{"leave -mean and -scale out"});
  const auto require = [](bool agrees, const std::string& said, const std::string& known) {
    Require(agrees, said, " contradicts the plan, which has ", known,
            Error::Remedy{"leave the flag out, or build the plan again with it"});
  };
  const auto size = [](const ImagePreprocessing& preprocessing) {
    return Join(preprocessing.resize_height, "x", preprocessing.resize_width);
  };
  require(!means || SameMean(given.mean, plan.mean), "-mean " + FLAGS_mean, ValuesText(plan.mean));
  require(!scales || given.scale == plan.scale, Join("-scale ", given.scale), Join(plan.scale));
  require(!IsGiven("channel_order") || given.rgb == plan.rgb,
          "-channel_order " + FLAGS_channel_order, plan.rgb ? "RGB" : "BGR");
  require(FLAGS_resize.empty() || size(given) == size(plan), "-resize " + FLAGS_resize,
          plan.resize_height > 0 ? size(plan) : "the size of the input");
}

/// "-npy FILE" or "-npy NAME=FILE,NAME=FILE": files by input, "" for the only one.
std::map<std::string, std::string> NpyFiles() {
  std::map<std::string, std::string> files;
  const auto path_of = [](const std::string& part) { return part.substr(part.find('=') + 1); };
  for (const std::string& part : SplitFiles(FLAGS_npy, path_of)) {
    const size_t equals = part.find('=');
    const std::string name = equals != std::string::npos ? part.substr(0, equals) : "";
    Require(files.emplace(name, path_of(part)).second, Error::Field{"-npy"},
            Error::Remedy{"give the input of each file, as in -npy data=a.npy,im_info=b.npy"});
  }
  return files;
}

/// The images that -images names; how many a folder has is said before the work.
std::unique_ptr<InputBatches> Images(const ImagePreprocessing& preprocessing) {
  if (!IsFolderOrPattern(FLAGS_images)) return InputBatches::FromList(FLAGS_images, preprocessing);
  const std::vector<std::string> files = ImageFilesIn(FLAGS_images);
  std::cerr << files.size() << (files.size() == 1 ? " image in " : " images in ") << FLAGS_images
            << std::endl;
  return InputBatches::FromImages(files, preprocessing);
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

void RequireImagesToPrepare() {
  if (FLAGS_npy.empty()) return;
  RequireNotGiven({"mean", "scale", "resize", "channel_order"},
                  "is for images, and NumPy files are taken as they are", "leave it out");
}

bool PreprocessingIsGiven() {
  return !FLAGS_mean.empty() || IsGiven("scale") || IsGiven("channel_order") ||
         !FLAGS_resize.empty() || !FLAGS_constant.empty();
}

std::optional<ImagePreprocessing> GivenPreprocessing(const NetParameter& net) {
  const auto layer =
      std::find_if(net.layer().begin(), net.layer().end(),
                   [](const LayerParameter& param) { return param.has_transform_param(); });
  if (!PreprocessingIsGiven() && layer == net.layer().end()) return std::nullopt;
  TransformationParameter transform;
  if (layer != net.layer().end()) transform = layer->transform_param();
  if (!FLAGS_mean.empty()) {
    transform.clear_mean_file();
    transform.clear_mean_value();
  }
  ImagePreprocessing preprocessing = ImagePreprocessing::Of(transform);
  TakeFlags(&preprocessing);
  return preprocessing;
}

ImagePreprocessing Preprocessing(const NetParameter& net) {
  return GivenPreprocessing(net).value_or(ImagePreprocessing());
}

ImagePreprocessing Preprocessing(const inference::Engine& engine, const NetParameter& net) {
  if (!engine.preprocessing()) return Preprocessing(net);
  ImagePreprocessing known = *engine.preprocessing();
  const ImagePreprocessing given = Preprocessing(NetParameter());
  RequireAgreement(given, known);
  for (const auto& [input, values] : given.constants) known.constants[input] = values;
  return known;
}

inference::ClassNames ClassNamesOfFlag() {
  inference::ClassNames names(FLAGS_labels);
  for (const std::string& name : names.names()) {
    const bool is_text = std::none_of(name.begin(), name.end(), [](char c) {
      return std::iscntrl(static_cast<unsigned char>(c)) && c != '\t';
    });
    Require(is_text, Error::Field{"-labels"}, " ", FLAGS_labels, ": it is no text",
            Error::Remedy{
                "give a file with the name of a class on each line, or a LabelMap (.prototxt)"});
  }
  return names;
}

std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const ImagePreprocessing& preprocessing,
                                     int most_batches, const std::string& otherwise) {
  const int given = !FLAGS_images.empty() + !FLAGS_data.empty() + !FLAGS_npy.empty();
  Require(given <= 1, "give one of ", kInputFlags);
  if (net.num_inputs() == 0) {
    Require(given == 0, "the net reads data of its own (it has no Input layer): leave out ",
            kInputFlags, ", or give its deploy.prototxt");
    return InputBatches::Own(most_batches);
  }
  Require(given == 1,
          "what shall the net run on? Give -images FOLDER (or a list), -data DB or -npy FILE with "
          "inputs as the "
          "net will see them",
          otherwise);
  if (!FLAGS_images.empty()) return Images(preprocessing);
  if (!FLAGS_npy.empty()) return InputBatches::FromNpy(NpyFiles(), preprocessing.constants);
  return InputBatches::FromDatabase(FLAGS_data, FLAGS_backend, most_batches, preprocessing);
}

std::unique_ptr<InputBatches> Inputs(const Net<float>& net, const NetParameter& param,
                                     int most_batches, const std::string& otherwise) {
  // A mean_file need not be there where no images are prepared.
  const bool prepares = net.num_inputs() > 0 && FLAGS_npy.empty();
  return Inputs(net, Preprocessing(prepares ? param : NetParameter()), most_batches, otherwise);
}

std::vector<NamedFile> FilesRead() {
  std::vector<NamedFile> files = NamedFiles("-weights", WeightFiles());
  files.push_back({"-model", FLAGS_model});
  files.push_back({"-images", FLAGS_images});
  files.push_back({"-mean", FLAGS_mean});
  files.push_back({"-labels", FLAGS_labels});
  for (const auto& [input, file] : NpyFiles()) files.push_back({"-npy", file});
  return files;
}

}  // namespace caffe
