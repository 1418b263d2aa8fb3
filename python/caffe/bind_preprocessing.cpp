// Python's ImagePreprocessing.
#include <pybind11/stl.h>

#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

using inference::ImagePreprocessing;

/// A file, a number, numbers, or an image of C x H x W.
void SetMean(const py::object& mean, ImagePreprocessing* preprocessing) {
  if (mean.is_none()) return;
  if (py::isinstance<py::str>(mean) || py::isinstance<py::bytes>(mean) ||
      py::hasattr(mean, "__fspath__")) {
    return preprocessing->ReadMeanImage(PathOf(mean));
  }
  const FloatArray array(mean);
  if (array.shape.size() == 3) {
    const int height = array.shape[1], width = array.shape[2];
    Require(preprocessing->resize_height == 0 ||
                (preprocessing->resize_height == height && preprocessing->resize_width == width),
            "the mean image is ", height, "x", width, ", images are resized to ",
            preprocessing->resize_height, "x", preprocessing->resize_width);
    preprocessing->resize_height = height;
    preprocessing->resize_width = width;
  } else if (array.shape.size() > 1) {
    throw py::value_error(
        Join("a mean is a number, one for each channel or an image of C x H x W, "
             "not an array of ",
             array.shape.size(), " axes"));
  }
  preprocessing->mean.assign(array.data(), array.data() + array.count());
}

ImagePreprocessing Make(const py::object& mean, float scale, const std::string& channel_order,
                        const std::optional<std::pair<int, int>>& resize,
                        const std::map<std::string, std::vector<float>>& constants,
                        const std::string& input, bool engine_normalizes) {
  if (channel_order != "BGR" && channel_order != "RGB") {
    throw py::value_error("channel_order is 'BGR' or 'RGB', not '" + channel_order + "'");
  }
  ImagePreprocessing preprocessing;
  preprocessing.input = input;
  preprocessing.scale = scale;
  preprocessing.rgb = channel_order == "RGB";
  if (resize) {
    preprocessing.resize_height = resize->first;
    preprocessing.resize_width = resize->second;
  }
  preprocessing.constants = constants;
  preprocessing.engine_normalizes = engine_normalizes;
  SetMean(mean, &preprocessing);
  return preprocessing;
}

py::object Mean(const ImagePreprocessing& preprocessing) {
  const std::vector<float>& mean = preprocessing.mean;
  if (mean.empty()) return py::none();
  const int count = static_cast<int>(mean.size());
  const int plane = preprocessing.resize_height * preprocessing.resize_width;
  if (plane <= 1 || count % plane != 0) return NewArray({count}, mean.data());
  return NewArray({count / plane, preprocessing.resize_height, preprocessing.resize_width},
                  mean.data());
}

std::optional<std::pair<int, int>> Resize(const ImagePreprocessing& preprocessing) {
  if (preprocessing.resize_height == 0) return std::nullopt;
  return std::make_pair(preprocessing.resize_height, preprocessing.resize_width);
}

}  // namespace

void BindImagePreprocessing(py::module_& module) {
  py::class_<ImagePreprocessing>(
      module, "ImagePreprocessing",
      "How images become what an engine's input takes: they are resized, cut in the middle, their\n"
      "channels are ordered, and each value from 0 to 255 becomes (value - mean) * scale.\n\n"
      "    Builder(preprocessing=ImagePreprocessing(mean=[104, 117, 123], scale=0.017))\n\n"
      "mean is a number, one for each channel in the net's order of channels, an array of\n"
      "C x H x W or a .binaryproto file; an image that is the mean is also the size that images "
      "are\n"
      "resized to. resize is (height, width), of which the middle is cut; None: images are "
      "resized\n"
      "to the input. constants are values for inputs that take no images, by name. input is the\n"
      "one that does; '': the only one that can. Builder.build raises caffe.Error for what does "
      "not\n"
      "fit the net.")
      .def(py::init(&Make), py::arg("mean") = py::none(), py::arg("scale") = 1.f,
           py::arg("channel_order") = "BGR", py::arg("resize") = py::none(),
           py::arg("constants") = std::map<std::string, std::vector<float>>(),
           py::arg("input") = "", py::arg("engine_normalizes") = false)
      .def_readonly("input", &ImagePreprocessing::input, "The input that takes images.")
      .def_property_readonly("mean", &Mean,
                             "Float32 values, one for each channel or C x H x W; None: 0.")
      .def_readonly("scale", &ImagePreprocessing::scale,
                    "What values are multiplied by after the mean.")
      .def_property_readonly(
          "channel_order",
          [](const ImagePreprocessing& preprocessing) { return preprocessing.rgb ? "RGB" : "BGR"; },
          "'BGR' or 'RGB'.")
      .def_property_readonly("resize", &Resize,
                             "(height, width) that images are resized to and cut from; None: they\n"
                             "are resized to the input.")
      .def_readonly("constants", &ImagePreprocessing::constants,
                    "Values of inputs that take no images, by name.")
      .def_readonly("engine_normalizes", &ImagePreprocessing::engine_normalizes,
                    "Mean and scale are part of the engine, which takes values from 0 to 255.")
      .def("__repr__", [](const ImagePreprocessing& preprocessing) {
        return Join("<caffe image preprocessing of '", preprocessing.input, "': (value - ",
                    inference::ValuesText(preprocessing.mean), ") * ", preprocessing.scale, ">");
      });
}

}  // namespace caffe::pycaffe
