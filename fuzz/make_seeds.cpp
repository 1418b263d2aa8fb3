// Writes small inputs for the fuzz targets, made by the library itself, to OUT/TARGET/NAME.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/quantize/calibration_formats.hpp"
#include "caffe/io/precision_migration.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "fuzz.hpp"
#include "plan_input.hpp"
#include "small_image.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace caffe::fuzz {
namespace {

std::string out;

/// Targets that take nets as text.
constexpr const char* kNetTargets[] = {"net_prototxt", "net_run", "engine_prototxt", "report"};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Seed(const std::string& target, const std::string& name, const std::string& contents) {
  std::filesystem::create_directories(out + "/" + target);
  std::ofstream(out + "/" + target + "/" + name, std::ios::binary) << contents;
}

void Weights() {
  Net<float> net(SmallNet());
  NetParameter weights;
  net.ToProto(&weights);
  Seed("caffemodel", "small", weights.SerializeAsString());
  Seed("migration_weights", "small", weights.SerializeAsString());
  WriteProtoToTextFile(SmallNet(), "small.prototxt");
  Seed("migration_prototxt", "small.prototxt", ReadAll("small.prototxt"));
  for (const char* target : kNetTargets) {
    Seed(target, "small.prototxt", ReadAll("small.prototxt"));
  }
  const std::string file = NewFile("small.caffemodel", weights.SerializeAsString());
  AtomicFile half("half.caffemodel");
  PrecisionMigration("small.prototxt", file, {}).WriteModel(&half);
  half.Commit();
  Seed("caffemodel", "half", ReadAll("half.caffemodel"));
  Seed("migration_weights", "half", ReadAll("half.caffemodel"));
}

/// What layers need that have no default.
const std::map<std::string, std::string> kFields = {
    {"CenterLoss", "center_loss_param { num_output: 3 }"},
    {"ContinuationIndicator", "continuation_indicator_param { time_step: 2 batch_size: 3 }"},
    {"ConvolutionDepthwise", "convolution_param { num_output: 4 kernel_size: 3 }"},
    {"CropCenter", "crop_center_param { crop_size: [2, 4, 3, 3] }"},
    {"DetectionEvaluate", "detection_evaluate_param { num_classes: 2 }"},
    {"Lstm", "lstm_param { num_output: 3 }"},
    {"MarginInnerProduct", "margin_inner_product_param { num_output: 3 type: DOUBLE }"},
    {"MultiBoxLoss", "multibox_loss_param { num_classes: 2 }"},
    {"PriorBoxClustered", "prior_box_param { width: 3 height: 4 variance: 0.1 }"},
    {"Proposal", "proposal_param { feat_stride: 2 min_size: 1 pre_nms_topn: 9 post_nms_topn: 3 }"},
    {"Transpose", "transpose_param { dim: [1, 0, 2, 3] }"},
    {"YoloDetectionOutput",
     "yolo_detection_output_param { num_classes: 2 num_box: 2 biases: [1, 2, 3, 4] }"},
    {"Yolov3DetectionOutput",
     "yolov3_detection_output_param { num_classes: 2 num_box: 2 biases: [1, 2, 3, 4] "
     "mask: [0, 1] mask_group_num: 1 anchors_scale: 8 }"},
    {"Clip", "clip_param { min: 0 max: 1 }"},
    {"Convolution", "convolution_param { num_output: 4 kernel_size: 3 pad: 1 dilation: 1 }"},
    {"Crop", "crop_param { axis: 2 offset: 1 }"},
    {"Deconvolution", "convolution_param { num_output: 4 kernel_size: 2 stride: 2 }"},
    {"DepthwiseConvolution", "convolution_param { num_output: 4 kernel_size: 3 group: 4 }"},
    {"DetectionOutput",
     "detection_output_param { num_classes: 2 nms_param { nms_threshold: 0.5 } "
     "code_type: CENTER_SIZE keep_top_k: 4 confidence_threshold: 0.1 }"},
    {"DummyData", "dummy_data_param { shape { dim: 2 dim: 3 } }"},
    {"Embed", "embed_param { input_dim: 4 num_output: 3 }"},
    {"Im2col", "convolution_param { kernel_size: 2 stride: 1 }"},
    {"InnerProduct", "inner_product_param { num_output: 3 }"},
    {"Input", "input_param { shape { dim: 1 dim: 3 } }"},
    {"Interp", "interp_param { height: 5 width: 7 }"},
    {"LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }"},
    {"LSTM", "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"},
    {"MemoryData", "memory_data_param { batch_size: 1 channels: 2 height: 3 width: 3 }"},
    {"Parameter", "parameter_param { shape { dim: 2 dim: 3 } }"},
    {"Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"},
    {"Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"},
    {"PriorBox", "prior_box_param { min_size: 2 max_size: 4 aspect_ratio: 2 variance: 0.1 }"},
    {"PSROIPooling", "psroi_pooling_param { spatial_scale: 0.5 output_dim: 1 group_size: 2 }"},
    {"RNN", "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"},
    {"ROIAlign", "roi_align_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }"},
    {"ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 }"},
    {"Reorg", "reorg_param { stride: 2 }"},
    {"Reshape", "reshape_param { shape { dim: 0 dim: -1 } }"},
    {"Resize", "resize_param { height: 4 width: 5 }"},
    {"SPP", "spp_param { pyramid_height: 2 }"},
    {"ShuffleChannel", "shuffle_channel_param { group: 2 }"},
    {"Slice", "slice_param { axis: 1 }"},
    {"Tile", "tile_param { axis: 1 tiles: 2 }"},
    {"Upsample", "upsample_param { scale: 2 }"},
};

/// Shapes of the bottoms of layers: alike, features with labels, images with what is about them.
const std::vector<std::vector<std::string>> kBottoms = {
    {"2, 4, 6, 6", "2, 4, 6, 6", "2, 4, 6, 6", "2, 4, 6, 6"},
    {"2, 4", "2", "2, 4", "2"},
    {"2, 4, 6, 6", "2, 1, 6, 6", "2", "2, 4, 6, 6"},
    {"2, 4", "2, 4", "2", "2"},
    {"2, 4, 6, 6", "3, 5", "2, 5", "2"},
    {"1, 16", "1, 8", "1, 2, 16", "1, 8"},
    {"1, 8, 3, 3", "1, 16, 3, 3", "1, 3", "4, 5"},
    {"3, 2, 4", "3, 2", "2, 4", "3, 2"},
    {"1, 18, 6, 6", "1, 36, 6, 6", "1, 3", "1, 3"},
    {"1, 14, 3, 3", "1, 14, 3, 3", "1, 4", "1, 4"},
    {"2, 4, 6, 6", "2, 4", "2, 4, 6, 6", "2, 4"},
    {"1, 16", "1, 8", "1, 2, 16", "1, 1, 2, 8"},
    {"1, 1, 4, 7", "1, 1, 3, 8", "1, 3", "2"},
    {"2, 4, 6, 6", "2, 4, 1, 1", "2, 4, 6, 6", "4"}};

/// A net of inputs and one layer.
std::string LayerNet(const std::string& type, const std::vector<std::string>& shapes, int bottoms,
                     int tops) {
  std::string text, layer = "layer { name: 'layer' type: '" + type + "'";
  for (int i = 0; i < bottoms; ++i) {
    const std::string name = "'in" + std::to_string(i) + "'";
    text += "layer { name: " + name + " type: 'Input' top: " + name +
            " input_param { shape { dim: [" + shapes[i] + "] } } }\n";
    layer += " bottom: " + name;
  }
  for (int i = 0; i < tops; ++i) layer += " top: 'out" + std::to_string(i) + "'";
  const auto fields = kFields.find(type);
  return text + layer + " " + (fields == kFields.end() ? "" : fields->second) + " }\n";
}

bool IsNet(const std::string& text) {
  try {
    NetParameter net;
    ParseProtoText(text, "net", &net);
    RequireSmall(net);
    Net<float> made(net);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// A net of the type that can be set up, with as few bottoms as possible; if there is none, any.
std::string SomeNet(const std::string& type) {
  for (int bottoms = 0; bottoms <= 4; ++bottoms) {
    for (int tops = 0; tops <= 5; ++tops) {
      for (const auto& shapes : kBottoms) {
        const std::string net = LayerNet(type, shapes, bottoms, tops);
        if (IsNet(net)) return net;
      }
    }
  }
  return LayerNet(type, kBottoms[0], 2, 1);
}

void Layers() {
  for (const std::string& type : LayerRegistry<float>::LayerTypeList()) {
    const std::string net = SomeNet(type);
    for (const char* target : kNetTargets) {
      Seed(target, type + ".prototxt", net);
    }
  }
}

void Solvers() {
  for (const char* type : {"SGD", "Adam"}) {
    SolverParameter param = SmallSolver();
    param.set_type(type);
    const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
    solver->Step(1);
    solver->Snapshot();
    Seed("solverstate", type, ReadAll("small_iter_1.solverstate"));
    param.clear_net_param();
    WriteProtoToTextFile(param, "solver.prototxt");
    Seed("solver_prototxt", std::string(type) + ".prototxt", ReadAll("solver.prototxt"));
  }
}

#ifdef USE_HDF5
void Hdf5() {
  Net<float>(SmallNet()).ToHDF5("small.h5");
  Seed("hdf5_weights", "small", ReadAll("small.h5"));
  SolverParameter param = SmallSolver();
  param.set_snapshot_format(SolverParameter::HDF5);
  const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  solver->Step(1);
  solver->Snapshot();
  Seed("solverstate", "hdf5", ReadAll("small_iter_1.solverstate.h5"));
  Blob<float> data(std::vector<int>{4, 2}), label(std::vector<int>{4});
  {
    const Hdf5Handle file = Hdf5Handle::CreateFile("rows.h5");
    hdf5_save_nd_dataset(file.id(), "data", data);
    hdf5_save_nd_dataset(file.id(), "label", label);
  }
  Seed("hdf5_data", "rows", ReadAll("rows.h5"));
}
#endif

std::shared_ptr<const CalibrationTable> Table() {
  auto table = std::make_shared<CalibrationTable>();
  for (const char* blob :
       {"data", "conv", "bn", "scale", "same", "sum", "pool", "up", "cat", "fc", "prob"}) {
    BlobCalibration calibration;
    calibration.threshold = 3;
    calibration.method = "entropy";
    table->Set(blob, calibration);
  }
  return table;
}

void Engines() {
  NetParameter net = SmallNet();
  const auto definition = inference::NetworkDefinition::FromCaffe(net, {});
  inference::BuilderConfig config;
  config.calibration = Table();
  config.timing_cache = std::make_shared<inference::TimingCache>();
  for (const auto precision : {inference::Precision::FP32, inference::Precision::FP16,
                               inference::Precision::BF16, inference::Precision::INT8}) {
    config.precision = precision;
    inference::Builder(config).Build(definition)->Save("net.plan");
    Seed("plan", std::to_string(static_cast<int>(precision)), InputOf(ReadAll("net.plan")));
  }
  config.timing_cache->Write("times.txt");
  Seed("timing_cache", "times", ReadAll("times.txt"));
}

void Tables() {
  CalibrationTable table = *Table();
  table.AddComment("of noise");
  table.set_images(8);
  table.SetWeightScales("conv", {0.5f, 0.25f});
  table.SetChannelRanges("conv", {1, 2});
  table.SetChannelMeans("conv", {1, -2});
  Seed("calibration_table", "ours", table.Text());
  Seed("calibration_table", "tensorrt", TensorRtCache(table, TensorRtHeader(table, "8503")));
  Seed("calibration_table", "ncnn", "conv_param_0 31.5 20 127\nfc_param_0 2\nconv 12.5\nfc 1.25\n");
}

void Images() {
  for (const char* form : {"png", "jpg", "bmp", "ppm", "webp", "tiff"}) {
    if (cv::haveImageWriter(std::string(".") + form)) Seed("image", form, SmallImage(form));
  }
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(SmallImage("png"));
  datum.set_label(3);
  Seed("datum", "encoded", datum.SerializeAsString());
  AnnotatedDatum annotated;
  *annotated.mutable_datum() = datum;
  annotated.set_type(AnnotatedDatum::BBOX);
  AnnotationGroup* group = annotated.add_annotation_group();
  group->set_group_label(1);
  NormalizedBBox* box = group->add_annotation()->mutable_bbox();
  box->set_xmin(0.1f);
  box->set_ymin(0.2f);
  box->set_xmax(0.6f);
  box->set_ymax(0.9f);
  Seed("annotated_datum", "box", annotated.SerializeAsString());
  datum.Clear();
  datum.set_channels(3);
  datum.set_height(6);
  datum.set_width(5);
  for (int i = 0; i < 90; ++i) datum.add_float_data(static_cast<float>(i));
  Seed("datum", "floats", datum.SerializeAsString());
  datum.clear_float_data();
  datum.set_data(std::string(90, 'x'));
  Seed("datum", "bytes", datum.SerializeAsString());
  *annotated.mutable_datum() = datum;
  Seed("annotated_datum", "bytes", annotated.SerializeAsString());
}

void Texts() {
  Seed("label_map", "two.prototxt",
       "item { name: 'none' label: 0 display_name: 'none' }\n"
       "item { name: 'cat' label: 1 display_name: 'Cat' }\n");
  Seed("image_list", "images", "0.png 0\na folder/1.png 1\n");
  Seed("image_list", "sizes", "0 10 12\n1 480 640\n");
  Seed("window_data", "two", "# 0\n0.png\n3\n10\n12\n2\n1 0.9 1 1 8 7\n2 0.1 0 0 5 5\n");
  Seed("annotations", "voc.xml",
       "<annotation><size><width>12</width><height>10</height></size><object><name>cat</name>"
       "<difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>8</xmax><ymax>9</ymax>"
       "</bndbox></object></annotation>\n");
  Seed("annotations", "coco.json",
       "{\"image\": {\"height\": 10, \"width\": 12}, \"annotation\": [{\"category_id\": 7, "
       "\"bbox\": [1, 2, 3, 4.5], \"iscrowd\": 0}]}\n");
  Seed("annotations", "lines", "1 1 2 8 9\n2 0 0 5 5\n");
  Seed("param_str", "python",
       "'feat_stride': 16, 'scales': [8, 16, 32], 'clobber_positives': True");
  Seed("param_str", "yaml", "{feat_stride: 16, scales: (8, .5)}");
  Seed("command_line", "exec",
       "--deploy=net.prototxt\n--batch=4\n--int8\n--shapes='a:b':1x3x8x8\n");
}

void Arrays() {
  for (const char* type : {"<f4", "<i8", "|u1"}) {
    const std::string header = std::string("{'descr': '") + type +
                               "', 'fortran_order': False, 'shape': (2, 3), }" +
                               std::string(61, ' ') + "\n";
    Seed("npy", type + 1,
         std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
             std::string(48, '\1'));
  }
  const std::string zeros(3, '\0');
  Seed("idx", "images",
       std::string("\0\0\x08\x03", 4) + zeros + '\2' + zeros + '\2' + zeros + "\3abcdefABCDEF");
  Seed("idx", "labels", std::string("\0\0\x08\x01", 4) + zeros + "\3\1\2\3");
  BlobProto mean;
  for (const int extent : {1, 3, 8, 8}) mean.mutable_shape()->add_dim(extent);
  for (int i = 0; i < 192; ++i) mean.add_data(static_cast<float>(i));
  Seed("mean_binaryproto", "mean", mean.SerializeAsString());
}

}  // namespace
}  // namespace caffe::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds OUT\n";
    return 1;
  }
  using namespace caffe::fuzz;  // NOLINT: main cannot be in the namespace
  try {
    out = std::filesystem::absolute(argv[1]).string();
    LLVMFuzzerInitialize(&argc, &argv);
    Weights();
    Solvers();
#ifdef USE_HDF5
    Hdf5();
#endif
    Engines();
    Tables();
    Images();
    Texts();
    Arrays();
    Layers();  // many nets are tried: last
  } catch (const std::exception& error) {
    std::cerr << "make_seeds: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
