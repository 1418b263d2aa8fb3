// A classifier as people wrote it for NVCaffe 0.17: classes without a type parameter.
#include <algorithm>
#include <caffe/caffe.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace caffe;  // NOLINT(build/namespaces)
using std::string;

typedef std::pair<string, float> Prediction;

class Classifier {
 public:
  Classifier(const string& model_file, const string& trained_file,
             const std::vector<string>& labels);
  std::vector<Prediction> Classify(float brightness, int n);

 private:
  shared_ptr<Net> net_;
  std::vector<string> labels_;
};

Classifier::Classifier(const string& model_file, const string& trained_file,
                       const std::vector<string>& labels)
    : labels_(labels) {
  Caffe::set_mode(Caffe::CPU);
  net_.reset(new Net(model_file, TEST));
  net_->CopyTrainedLayersFrom(trained_file);
  CHECK_EQ(net_->num_inputs(), 1) << "Network should have exactly one input.";
  CHECK_EQ(net_->num_outputs(), 1) << "Network should have exactly one output.";
  Blob* output_layer = net_->output_blobs()[0];
  CHECK_EQ(labels_.size(), output_layer->channels())
      << "Number of labels is different from the output layer dimension.";
}

std::vector<Prediction> Classifier::Classify(float brightness, int n) {
  Blob* input_layer = net_->input_blobs()[0];
  input_layer->Reshape(1, input_layer->channels(), input_layer->height(), input_layer->width());
  net_->Reshape();
  float* input_data = input_layer->mutable_cpu_data<float>();
  for (int i = 0; i < input_layer->count(); ++i) input_data[i] = brightness + i % 7;
  CHECK(input_data == net_->input_blobs()[0]->cpu_data<float>());

  net_->Forward();

  Blob* output_layer = net_->output_blobs()[0];
  const float* begin = output_layer->cpu_data<float>();
  const std::vector<float> output(begin, begin + output_layer->channels());
  std::vector<Prediction> predictions;
  for (size_t i = 0; i < output.size(); ++i)
    predictions.push_back(std::make_pair(labels_[i], output[i]));
  std::sort(predictions.begin(), predictions.end(),
            [](const Prediction& a, const Prediction& b) { return a.second > b.second; });
  predictions.resize(std::min<size_t>(n, predictions.size()));
  return predictions;
}

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "usage: nv_classification deploy.prototxt net.caffemodel";
#ifndef CPU_ONLY
  caffe::GPUMemory::Scope gpu_memory_scope(std::vector<int>{});
#endif
  Classifier classifier(argv[1], argv[2], {"cat", "dog", "bird"});
  const std::vector<Prediction> predictions = classifier.Classify(0.5f, 3);
  float sum = 0;
  for (const Prediction& p : predictions) {
    std::cout << p.second << " - \"" << p.first << "\"" << std::endl;
    sum += p.second;
  }
  CHECK_EQ(predictions.size(), 3u);
  CHECK_NEAR(sum, 1, 2e-3);
  CHECK_GE(predictions[0].second, predictions[1].second);
  return 0;
}
