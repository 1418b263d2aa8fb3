#include "fuzz.hpp"

#include <glog/logging.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "caffe/allocator.hpp"
#include "caffe/common.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/limits.hpp"

namespace caffe::fuzz {
namespace {

/// The heap, up to kMaxTensorBytes.
class LimitedMemory : public Allocator {
 public:
  explicit LimitedMemory(Allocator& heap) : heap_(heap) {}
  void* Allocate(size_t size) override {
    const size_t used = used_ += size;
    if (used < size || used > kMaxTensorBytes) {
      used_ -= size;
      Fail("out of memory: ", size, " bytes were asked for");
    }
    return heap_.Allocate(size);
  }
  void Free(void* pointer, size_t size) noexcept override {
    used_ -= size;
    heap_.Free(pointer, size);
  }

 private:
  Allocator& heap_;
  std::atomic<size_t> used_{0};
};

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string();
    CHECK(mkdtemp(&pattern[0])) << pattern;
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

constexpr char kSmallNet[] = R"(
  name: "small"
  layer { name: "data" type: "DummyData" top: "data" include { phase: TRAIN }
    dummy_data_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
  layer { name: "data" type: "Input" top: "data" include { phase: TEST }
    input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
    convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "constant" value: 0.1 } } }
  layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" }
  layer { name: "scale" type: "Scale" bottom: "bn" top: "scale" scale_param { bias_term: true } }
  layer { name: "relu" type: "PReLU" bottom: "scale" top: "scale" }
  layer { name: "same" type: "Convolution" bottom: "scale" top: "same"
    convolution_param { num_output: 8 kernel_size: 3 pad: 1 group: 2
      weight_filler { type: "constant" value: 0.1 } } }
  layer { name: "sum" type: "Eltwise" bottom: "scale" bottom: "same" top: "sum" }
  layer { name: "pool" type: "Pooling" bottom: "sum" top: "pool"
    pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: "up" type: "Deconvolution" bottom: "pool" top: "up"
    convolution_param { num_output: 8 kernel_size: 2 stride: 2 } }
  layer { name: "cat" type: "Concat" bottom: "up" bottom: "sum" top: "cat" }
  layer { name: "fc" type: "InnerProduct" bottom: "cat" top: "fc"
    inner_product_param { num_output: 4 weight_filler { type: "constant" value: 0.1 } } }
  layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" include { phase: TEST } }
  layer { name: "loss" type: "Reduction" bottom: "fc" top: "loss" loss_weight: 1
    include { phase: TRAIN } }
)";

/// Layers that look for more than files: packages of Python, cameras.
const std::set<std::string> kOutside = {"Python", "VideoData"};

}  // namespace

void Tell(const char* message) {
  static const bool tells = std::getenv("FUZZ_ERRORS") != nullptr;
  if (tells) std::cerr << message << '\n';
}

const std::string& Folder() {
  static const TemporaryFolder folder;
  return folder.path;
}

std::string NewFile(const std::string& name, const std::string& contents) {
  const std::string path = Folder() + "/" + name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

NetParameter SmallNet() {
  NetParameter net;
  ParseProtoText(kSmallNet, "the small net", &net);
  return net;
}

SolverParameter SmallSolver() {
  SolverParameter solver;
  ParseProtoText(R"(type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 1
                    solver_mode: CPU random_seed: 1 snapshot_after_train: false
                    snapshot_prefix: "small")",
                 "the small solver", &solver);
  *solver.mutable_net_param() = SmallNet();
  return solver;
}

void RequireSmall(const NetParameter& net) {
  Require(net.layer_size() <= 64, "more layers than a fuzz target takes");
  for (const LayerParameter& layer : net.layer()) {
    Require(kOutside.count(layer.type()) == 0, "a layer that a fuzz target leaves out");
    Require(layer.multi_stage_meanfield_param().num_iterations() <= 10,
            "more iterations than a fuzz target takes");
  }
}

void RequireQuick(const Net<float>& net) {
  for (const auto& blob : net.blobs()) {
    Require(blob->count() <= 1 << 16, "a blob is larger than a fuzz target takes");
  }
}

}  // namespace caffe::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace caffe;  // NOLINT: the function cannot be in the namespace
  FLAGS_minloglevel = google::GLOG_FATAL;
  // Layers take relative paths from files.
  CHECK_EQ(chdir(fuzz::Folder().c_str()), 0);
  Caffe::set_threads(1);
  Limits limits = Caffe::limits();
  limits.image_pixels = Limits::Untrusted().image_pixels;  // as few as fit scripts/fuzz.sh's memory
  Caffe::set_limits(limits);
  static fuzz::LimitedMemory memory(Allocator::Get());
  Allocator::Set(&memory);
  return 0;
}
