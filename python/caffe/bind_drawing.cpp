// Python's way to draw results.
#include <pybind11/stl.h>

#include <array>
#include <map>
#include <optional>

#include "caffe/inference/evaluation/result_drawing.hpp"
#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

/// None, a file, or a list of names.
inference::ClassNames NamesOf(const py::object& given) {
  if (given.is_none()) return {};
  if (py::isinstance<py::str>(given) || py::isinstance<py::bytes>(given) ||
      py::hasattr(given, "__fspath__")) {
    return inference::ClassNames(PathOf(given));
  }
  return inference::ClassNames(given.cast<std::vector<std::string>>());
}

/// `image` is (height, width, 3) bytes: blue, green, red. Returns the same of what is drawn, and
/// its height and width.
py::tuple DrawResults(const py::buffer& image, const py::dict& outputs, const py::object& names,
                      const std::optional<std::array<double, 4>>& seen,
                      const std::map<std::string, std::string>& kinds, int top, float min_score,
                      double opacity, bool rgb) {
#ifdef USE_OPENCV
  using namespace inference;
  const py::buffer_info pixels = image.request();
  Require(pixels.ndim == 3 && pixels.shape[2] == 3 && pixels.itemsize == 1,
          "the image is not (height, width, 3) bytes");
  const int height = static_cast<int>(pixels.shape[0]), width = static_cast<int>(pixels.shape[1]);
  Tensors items;
  for (const auto& output : outputs) {
    const FloatArray array(output.second);
    items[output.first.cast<std::string>()] = {array.shape,
                                               {array.data(), array.data() + array.count()}};
  }
  DrawingOptions options;
  options.top = top;
  options.least_score = min_score;
  options.opacity = opacity;
  options.rgb = rgb;
  for (const auto& kind : kinds) options.kinds[kind.first] = ParseResultKind(kind.second);
  const ImagePart part = seen ? ImagePart{(*seen)[0], (*seen)[1], (*seen)[2], (*seen)[3]}
                              : ImagePart{0, 0, double(width), double(height)};
  const ClassNames classes = NamesOf(names);
  const cv::Mat original(height, width, CV_8UC3, pixels.ptr);
  cv::Mat drawn;
  {
    const WithoutGil without_gil;
    drawn = inference::DrawResults(original, items, classes, part, options);
  }
  return py::make_tuple(
      py::bytes(reinterpret_cast<const char*>(drawn.data), drawn.total() * drawn.elemSize()),
      drawn.rows, drawn.cols);
#else
  Fail("drawing results needs OpenCV: build with USE_OPENCV=ON");
#endif
}

}  // namespace

void BindDrawing(py::module_& module) {
  module.def("_draw_results", &DrawResults, py::arg("image"), py::arg("outputs"), py::arg("names"),
             py::arg("seen"), py::arg("kinds"), py::arg("top"), py::arg("min_score"),
             py::arg("opacity"), py::arg("rgb"));
}

}  // namespace caffe::pycaffe
