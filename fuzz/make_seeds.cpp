// Writes small inputs for the fuzz targets, made by the library itself, to OUT/TARGET/NAME.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/quantize/calibration_formats.hpp"
#include "caffe/io/precision_migration.hpp"
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
  Seed("net_prototxt", "small.prototxt", ReadAll("small.prototxt"));
  const std::string file = NewFile("small.caffemodel", weights.SerializeAsString());
  AtomicFile half("half.caffemodel");
  PrecisionMigration("small.prototxt", file, {}).WriteModel(&half);
  half.Commit();
  Seed("caffemodel", "half", ReadAll("half.caffemodel"));
  Seed("migration_weights", "half", ReadAll("half.caffemodel"));
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
    Seed("solver_prototxt", std::string(type) + ".prototxt", param.DebugString());
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
    Seed("image", form, SmallImage(form));
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
  } catch (const std::exception& error) {
    std::cerr << "make_seeds: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
