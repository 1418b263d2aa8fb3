#include "caffe/util/net_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "caffe/io/npy.hpp"

namespace caffe {

namespace {

OutputDifference Compare(const std::string& name, const Blob<float>& first,
                         const Blob<float>& second) {
  OutputDifference difference;
  difference.blob = name;
  if (first.shape() != second.shape()) {
    difference.shapes = first.shape_string() + " and " + second.shape_string();
    return difference;
  }
  for (int i = 0; i < first.count(); ++i) {
    const double a = first.cpu_data()[i], b = second.cpu_data()[i];
    if (!std::isfinite(a)) continue;
    difference.largest_value = std::max(difference.largest_value, std::abs(a));
    if (std::isfinite(b)) {
      difference.largest_difference = std::max(difference.largest_difference, std::abs(a - b));
    } else {
      ++difference.not_finite;
    }
  }
  return difference;
}

}  // namespace

void FillInputs(uint32_t seed, Net<float>* net) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (Blob<float>* input : net->input_blobs()) {
    float* values = input->mutable_cpu_data();
    std::generate(values, values + input->count(), [&] { return uniform(random); });
  }
}

void FillInputs(const std::vector<std::string>& files, Net<float>* net) {
  Require(static_cast<int>(files.size()) == net->num_inputs(), "the net has ", net->num_inputs(),
          " inputs, and ", files.size(), " files were given");
  for (size_t i = 0; i < files.size(); ++i) {
    const NpyArray array = ReadNpy(files[i]);
    Blob<float>* input = net->input_blobs()[i];
    input->Reshape(array.shape);
    std::copy(array.values.begin(), array.values.end(), input->mutable_cpu_data());
  }
  net->Reshape();
}

std::vector<OutputDifference> CompareNets(Net<float>* first, Net<float>* second) {
  Require(
      first->num_inputs() == second->num_inputs() && first->num_outputs() == second->num_outputs(),
      "the nets have other inputs or outputs");
  for (int i = 0; i < first->num_inputs(); ++i) {
    const Blob<float>& from = *first->input_blobs()[i];
    Blob<float>* to = second->input_blobs()[i];
    to->ReshapeLike(from);
    std::copy(from.cpu_data(), from.cpu_data() + from.count(), to->mutable_cpu_data());
  }
  second->Forward();
  std::vector<OutputDifference> differences;
  for (int i = 0; i < first->num_outputs(); ++i) {
    const std::string& name = first->blob_names()[first->output_blob_indices()[i]];
    differences.push_back(Compare(name, *first->output_blobs()[i], *second->output_blobs()[i]));
  }
  return differences;
}

}  // namespace caffe
