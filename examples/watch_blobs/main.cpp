// Prints what each layer of a net makes: the blob's name, its storage type and its largest
// magnitude.
//
//     watch_blobs deploy.prototxt [net.caffemodel]
//
// Net calls back before and after each layer; a callback sees the layer's blobs by name and type.
// So custom checks need no change of the library: here, what comes near FLOAT16's 65504.
#include <caffe/caffe.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>

using caffe::Blob;
using caffe::Net;

class PrintTops : public Net<float>::Callback {
 public:
  explicit PrintTops(const Net<float>& net) : net_(net) {}

 protected:
  void run(int layer) override {
    for (size_t i = 0; i < net_.top_vecs()[layer].size(); ++i) {
      const Blob<float>& top = *net_.top_vecs()[layer][i];
      float largest = 0;
      bool finite = true;
      for (int j = 0; j < top.count(); ++j) {
        const float value = std::abs(top.cpu_data()[j]);
        finite &= std::isfinite(value);
        largest = std::max(largest, value);
      }
      std::printf("%-24s %-16s %-24s %-8s %g%s\n", net_.layer_names()[layer].c_str(),
                  net_.layers()[layer]->type(), net_.blob_names()[net_.top_ids(layer)[i]].c_str(),
                  caffe::Name(top.data_type()), largest,
                  !finite           ? " NaN or infinite"
                  : largest > 32752 ? " near FLOAT16's end"
                                    : "");
    }
  }

 private:
  const Net<float>& net_;
};

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: watch_blobs NET.prototxt [WEIGHTS.caffemodel]" << std::endl;
    return 1;
  }
  try {
    Net<float> net(argv[1], caffe::TEST);
    if (argc == 3) net.CopyTrainedLayersFrom(argv[2]);
    for (Blob<float>* input : net.input_blobs()) {
      std::fill_n(input->mutable_cpu_data(), input->count(), 1.f);
    }
    PrintTops print(net);
    net.add_after_forward(&print);
    std::printf("%-24s %-16s %-24s %-8s %s\n", "layer", "type", "blob", "stored", "max |x|");
    net.Forward();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "watch_blobs: " << error.what() << std::endl;
    return 1;
  }
}
