#include "caffe/util/detection/detection_results.hpp"

#include <cmath>
#include <filesystem>

#include "caffe/io/atomic_file.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {
namespace {

constexpr int kAllLabels = -1;

double Hundredths(float x) { return std::round(double(x) * 100) / 100; }

/// A number as it is, anything else as a JSON string.
string JsonValue(const string& text) {
  const bool number = !text.empty() && text.size() < 16 &&
                      text.find_first_not_of("0123456789") == string::npos &&
                      (text[0] != '0' || text.size() == 1);
  if (number) return text;
  string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void WriteFile(const string& path, const string& contents) {
  AtomicFile file(path);
  file.Write(contents.data(), contents.size());
  file.Commit();
}

}  // namespace

DetectionResults::DetectionResults(const SaveOutputParameter& param, int background_label)
    : param_(param), background_label_(background_label) {
  if (!wanted()) return;
  const string& format = param.output_format();
  Require(format == "VOC" || format == "COCO" || format == "ILSVRC",
          "save_output_param: output_format must be VOC, COCO or ILSVRC, got '", format, "'");
  Require(!param.label_map_file().empty() && !param.name_size_file().empty(),
          "save_output_param: output_directory needs label_map_file and name_size_file");
  Require(MapLabelToName(ReadLabelMap(param.label_map_file()), true, &names_),
          "save_output_param: label_map_file ", param.label_map_file(), " has a label twice");
  images_ = ReadNameSizeFile(param.name_size_file());
  round_ = param.has_num_test_image() ? param.num_test_image() : images_.size();
  Require(round_ > 0 && round_ <= images_.size(), "save_output_param: num_test_image ", round_,
          " must be at least 1 and at most the ", images_.size(), " images in name_size_file ",
          param.name_size_file());
  std::error_code error;
  std::filesystem::create_directories(param.output_directory(), error);
  Require(!error, "save_output_param: output_directory ", param.output_directory(), ": ",
          error.message());
}

void DetectionResults::Add(int label, float score, const Box& box) {
  const NamedSize& image = images_[image_];
  NormalizedBBox bbox, in_pixels;
  SetBox(box, &bbox);
  OutputBBox(bbox, {image.height, image.width}, param_.has_resize_param(), param_.resize_param(),
             &in_pixels);
  detections_.push_back({image.name, label, score, BoxOf(in_pixels)});
}

void DetectionResults::NextImage() {
  if (++image_ < round_) return;
  Write();
  image_ = 0;
  detections_.clear();
}

string DetectionResults::LabelName(int label) const {
  const auto found = names_.find(label);
  Require(found != names_.end(), "save_output_param: label_map_file ", param_.label_map_file(),
          " has no label ", label);
  return found->second;
}

void DetectionResults::WriteLines(const string& file, int label) const {
  StringWriter lines;
  for (const Detection& d : detections_) {
    if (label != kAllLabels && d.label != label) continue;
    lines << d.image;
    if (label == kAllLabels) lines << " " << d.label;
    lines << " " << d.score << " " << Hundredths(d.box.xmin) << " " << Hundredths(d.box.ymin) << " "
          << Hundredths(d.box.xmax) << " " << Hundredths(d.box.ymax) << "\n";
  }
  WriteFile(file, lines.str());
}

void DetectionResults::WriteCoco(const string& file) const {
  StringWriter json;
  json.precision(9);
  json << "[";
  const char* before = "\n";
  for (const Detection& d : detections_) {
    json << before << "  {\"image_id\": " << JsonValue(d.image)
         << ", \"category_id\": " << JsonValue(LabelName(d.label)) << ", \"bbox\": ["
         << Hundredths(d.box.xmin) << ", " << Hundredths(d.box.ymin) << ", "
         << Hundredths(d.box.xmax - d.box.xmin) << ", " << Hundredths(d.box.ymax - d.box.ymin)
         << "], \"score\": " << d.score << "}";
    before = ",\n";
  }
  json << "\n]\n";
  WriteFile(file, json.str());
}

void DetectionResults::Write() const {
  const string path = param_.output_directory() + "/" + param_.output_name_prefix();
  if (param_.output_format() == "COCO") return WriteCoco(path + ".json");
  if (param_.output_format() == "ILSVRC") return WriteLines(path + ".txt", kAllLabels);
  for (const auto& name : names_) {
    if (name.first != background_label_) WriteLines(path + name.second + ".txt", name.first);
  }
}

}  // namespace caffe
