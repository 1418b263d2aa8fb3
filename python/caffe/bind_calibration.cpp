// Python's CalibrationTable, and calibrators that are written in Python.
#include <pybind11/stl.h>

#include <algorithm>

#include "caffe/inference/calibrator.hpp"
#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

/// Writes what get_batch returned into a net's inputs. Another number of items than the net has
/// reshapes it. Throws Error naming the input.
void FillInputs(const py::object& batch, Net<float>* net) {
  py::dict arrays;
  if (py::isinstance<py::dict>(batch)) {
    arrays = batch;
  } else {
    Require(net->num_inputs() == 1, "get_batch returned an array for a net with ",
            net->num_inputs(), " inputs: return a dict of arrays by their names");
    arrays[py::cast(net->blob_names()[net->input_blob_indices()[0]])] = batch;
  }
  Require(!arrays.empty(), "get_batch returned no array; None ends the calibration");
  bool reshaped = false;
  for (const auto& [key, values] : arrays) {
    const std::string name = py::str(key).cast<std::string>();
    const auto& inputs = net->input_blob_indices();
    const auto found = std::find_if(inputs.begin(), inputs.end(),
                                    [&](int input) { return net->blob_names()[input] == name; });
    Require(found != inputs.end(), "get_batch returned values of '", name,
            "', which is not an input of the net");
    Blob<float>* blob = net->blobs()[*found].get();
    const FloatArray array(values);
    std::vector<int> other_batch = blob->shape();
    if (!other_batch.empty() && !array.shape.empty()) other_batch[0] = array.shape[0];
    Require(array.shape == other_batch && array.count() > 0, "get_batch: input '", name,
            "' has shape ", blob->shape_string(), ", the values have ", ShapeString(array.shape));
    if (blob->shape() != array.shape) {
      blob->Reshape(array.shape);
      reshaped = true;
    }
    std::copy_n(array.data(), array.count(), blob->mutable_cpu_data());
  }
  if (reshaped) {
    const WithoutGil without_gil;
    net->Reshape();
  }
}

class PythonCalibrator : public Calibrator {
 public:
  explicit PythonCalibrator(const py::object& self)
      : self_(Share(self)),
        thresholds_(MakeCalibrator(
            py::getattr(self, "method", py::str(kDefaultCalibrator)).cast<std::string>(), nullptr,
            0,
            py::getattr(self, "percent", py::float_(PercentileCalibrator::kDefaultPercent))
                .cast<double>())) {}

  int64_t GetBatch(Net<float>* net) override {
    const WithGil with_gil;
    py::dict shapes;
    for (int i = 0; i < net->num_inputs(); ++i) {
      shapes[py::cast(net->blob_names()[net->input_blob_indices()[i]])] =
          ShapeTuple(net->input_blobs()[i]->shape());
    }
    const py::object batch = CallWithGil(self_->attr("get_batch"), shapes);
    if (batch.is_none()) return 0;
    FillInputs(batch, net);
    const Blob<float>& first = *net->input_blobs()[0];
    return first.num_axes() > 0 ? first.shape(0) : 1;
  }

  std::string ReadCalibrationCache() override {
    const WithGil with_gil;
    if (!py::hasattr(*self_, "read_calibration_cache")) return "";
    const py::object cache = CallWithGil(self_->attr("read_calibration_cache"));
    return cache.is_none() ? "" : cache.cast<std::string>();
  }

  void WriteCalibrationCache(const std::string& cache) override {
    const WithGil with_gil;
    if (py::hasattr(*self_, "write_calibration_cache")) {
      CallWithGil(self_->attr("write_calibration_cache"), cache);
    }
  }

  double ChooseThreshold(const Histogram& histogram) const override {
    return thresholds_->ChooseThreshold(histogram);
  }
  std::string method() const override { return thresholds_->method(); }
  std::vector<std::shared_ptr<const Calibrator>> Candidates() const override {
    return thresholds_->Candidates();
  }

 private:
  SharedObject self_;
  std::unique_ptr<Calibrator> thresholds_;
};

CalibrationTable ReadTable(const py::object& file, const DefinitionHandle* net) {
  const std::string path = PathOf(file);
  if (!net) return CalibrationTable::Read(path);
  return ReadAnyCalibrationTable(path, inference::ToNetParameter(net->net.graph()));
}

void SetBlob(CalibrationTable& table, const std::string& blob, double threshold, bool is_unsigned) {
  BlobCalibration calibration;
  calibration.threshold = threshold;
  calibration.is_unsigned = is_unsigned;
  table.Set(blob, calibration);
}

}  // namespace

std::shared_ptr<Calibrator> MakePythonCalibrator(const py::object& calibrator) {
  if (!py::hasattr(calibrator, "get_batch")) {
    throw py::type_error("a calibrator has a method get_batch(inputs), which " +
                         py::repr(calibrator).cast<std::string>() + " has not");
  }
  return std::make_shared<PythonCalibrator>(calibrator);
}

void BindCalibration(py::module_& module) {
  py::class_<BlobCalibration>(module, "BlobCalibration", "How a blob becomes 8-bit integers.")
      .def_readonly("threshold", &BlobCalibration::threshold,
                    "The magnitude that becomes the largest integer.")
      .def_readonly("is_unsigned", &BlobCalibration::is_unsigned,
                    "True for 0 to 255, False for -127 to 127.")
      .def_readonly("minimum", &BlobCalibration::minimum, "The least value that was seen.")
      .def_readonly("maximum", &BlobCalibration::maximum, "The largest value that was seen.")
      .def_readonly("method", &BlobCalibration::method, "How the threshold was chosen.")
      .def_property_readonly("scale", &BlobCalibration::scale, "What an integer is multiplied by.");

  py::class_<CalibrationTable>(
      module, "CalibrationTable",
      "The outcome of a calibration: table['conv1'].threshold, and so on. docs/calibration.md\n"
      "describes the file.")
      .def(py::init<>())
      .def_static(
          "read", &ReadTable, py::arg("file"), py::arg("net") = nullptr,
          "Reads a table; with a NetworkDefinition TensorRT's caches and ncnn's tables too.")
      .def_static("parse", &CalibrationTable::Parse, py::arg("text"),
                  py::arg("name") = "calibration table",
                  "The table that a text is; name stands for the file in messages.")
      .def(
          "write",
          [](const CalibrationTable& table, const py::object& file) { table.Write(PathOf(file)); },
          py::arg("file"), "Writes the table; the file is replaced at once.")
      .def("to_text", &CalibrationTable::Text, "The table as its file has it.")
      .def_property_readonly("blobs", &CalibrationTable::blobs, "The names of the blobs.")
      .def_property_readonly("images", &CalibrationTable::images,
                             "How many images were looked at; 0 if that is unknown.")
      .def_property_readonly("comments", &CalibrationTable::comments,
                             "Lines that say how the method was chosen, of 'auto'.")
      .def("set", &SetBlob, py::arg("blob"), py::arg("threshold"), py::arg("is_unsigned") = false,
           "Adds a blob, or changes its threshold.")
      .def("remove", &CalibrationTable::Remove, py::arg("blob"),
           "Leaves a blob out: it stays float.")
      .def("__getitem__", &CalibrationTable::At, py::arg("blob"))
      .def(
          "__contains__",
          [](const CalibrationTable& table, const std::string& blob) {
            return table.Find(blob) != nullptr;
          },
          py::arg("blob"))
      .def("__len__", [](const CalibrationTable& table) { return table.blobs().size(); });
}

}  // namespace caffe::pycaffe
