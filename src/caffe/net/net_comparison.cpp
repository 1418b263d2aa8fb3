#include "caffe/net/net_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "caffe/io/npy.hpp"
#include "caffe/net/index_limits.hpp"

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
  difference.values = first.count();
  for (int i = 0; i < first.count(); ++i) {
    const double a = first.cpu_data()[i], b = second.cpu_data()[i];
    const bool before = std::isfinite(a), after = std::isfinite(b);
    if (before) difference.largest_value = std::max(difference.largest_value, std::abs(a));
    if (before && after) {
      difference.largest_difference = std::max(difference.largest_difference, std::abs(a - b));
    }
    difference.not_finite += before && !after;
    difference.not_finite_before += !before && after;
    difference.not_finite_in_both += !before && !after;
  }
  return difference;
}

/// ", all 10 values WHAT", ", 3 values WHAT"; "" for none.
std::string Counted(int64_t count, const OutputDifference& output, const char* what) {
  if (count == 0) return "";
  return Join(count == output.values ? ", all " : ", ", count, " values ", what);
}

}  // namespace

std::string Described(const OutputDifference& output) {
  const std::string blob = Join("output '", output.blob, "': ");
  if (!output.shapes.empty()) return blob + "not compared, its shapes are " + output.shapes;
  if (output.values == 0) return blob + "not compared, it has no values";
  const std::string not_finite =
      Counted(output.not_finite, output, "became NaN or infinite") +
      Counted(output.not_finite_before, output, "are NaN or infinite in the old net alone") +
      Counted(output.not_finite_in_both, output, "are NaN or infinite in both nets");
  const int64_t compared =
      output.values - output.not_finite - output.not_finite_before - output.not_finite_in_both;
  if (compared == 0) return blob + not_finite.substr(2) + ": nothing could be compared";
  return Join(blob, "largest difference ", output.largest_difference, " (largest value ",
              output.largest_value, ")", not_finite);
}

void FillInputs(uint32_t seed, Net<float>* net) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const std::vector<int> limits = IndexLimits(*net);
  for (int i = 0; i < net->num_inputs(); ++i) {
    Blob<float>* input = net->input_blobs()[i];
    float* values = input->mutable_cpu_data();
    std::generate(values, values + input->count(), [&] { return uniform(random); });
    const int limit = limits[net->input_blob_indices()[i]];
    if (limit == 0) continue;
    std::transform(values, values + input->count(), values, [](float x) { return std::abs(x); });
    MakeIndices(limit, input->count(), values);
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
