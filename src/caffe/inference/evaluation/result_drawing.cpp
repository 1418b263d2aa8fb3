#include "caffe/inference/evaluation/result_drawing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#ifdef USE_OPENCV
#include <opencv2/imgproc.hpp>
#endif

#include "caffe/error.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe::inference {
namespace {

constexpr int kBoxColumns = 7;      // of detections
constexpr int kLargestLabel = 254;  // 255 says "ignore" in label images

constexpr std::pair<const char*, ResultKind> kKinds[] = {{"classes", ResultKind::CLASSES},
                                                         {"boxes", ResultKind::BOXES},
                                                         {"segmentation", ResultKind::SEGMENTATION},
                                                         {"image", ResultKind::IMAGE},
                                                         {"nothing", ResultKind::NOTHING}};

/// A tensor as channels of height x width; no channels if it is none.
struct Map {
  int channels = 0, height = 0, width = 0;
};

Map MapOf(const Shape& shape) {
  Shape extents = shape;
  while (extents.size() > 3 && extents[0] == 1) extents.erase(extents.begin());
  if (extents.size() == 2) extents.insert(extents.begin(), 1);
  if (extents.size() != 3 || CountOf(extents) == 0) return {};
  return {extents[0], extents[1], extents[2]};
}

bool AreLabels(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) {
    return value >= 0 && value <= kLargestLabel && value == std::floor(value);
  });
}

bool ChannelsAddUpToOne(const NamedTensor& item, const Map& map) {
  const size_t area = size_t(map.height) * map.width;
  for (size_t i = 0; i < area; ++i) {
    double sum = 0;
    for (int c = 0; c < map.channels; ++c) sum += item.values[c * area + i];
    if (!(std::abs(sum - 1) < 1e-3)) return false;
  }
  return true;
}

}  // namespace

ResultKind ParseResultKind(const std::string& name) {
  std::string known;
  for (const auto& kind : kKinds) {
    if (name == kind.first) return kind.second;
    known += std::string(known.empty() ? "" : ", ") + kind.first;
  }
  Fail("an output is drawn as one of ", known, ", not as '", name, "'");
}

ResultKind ResultKindOf(const NamedTensor& item) {
  const Shape& shape = item.shape;
  if (shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[3] == kBoxColumns) {
    return ResultKind::BOXES;
  }
  const int longest = shape.empty() ? 0 : *std::max_element(shape.begin(), shape.end());
  if (longest > 1 && size_t(longest) == CountOf(shape)) return ResultKind::CLASSES;
  const Map map = MapOf(shape);
  if (map.channels == 0 || longest == 1) return ResultKind::NOTHING;
  if (map.channels == 1) {
    return AreLabels(item.values) ? ResultKind::SEGMENTATION : ResultKind::IMAGE;
  }
  if (map.channels == 3 && !ChannelsAddUpToOne(item, map)) return ResultKind::IMAGE;
  return ResultKind::SEGMENTATION;
}

#ifdef USE_OPENCV

namespace {

constexpr int kLegibleSide = 200;  // pixels
constexpr size_t kMaxLegendRows = 12;
constexpr double kFontScale = 0.45;  // of a unit
constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
const cv::Scalar kWhite(255, 255, 255), kInk(40, 32, 24), kTrack(235, 230, 225);

/// Without letters that OpenCV's font does not have.
std::string Ascii(const std::string& text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) ascii += c;
    if (byte >= 0xc0) ascii += '?';  // the first byte of a letter of UTF-8
  }
  return ascii;
}

std::string NameOf(const ClassNames& names, int label) {
  const std::string name = Ascii(names.Of(label));
  return name.empty() ? "class " + std::to_string(label) : name;
}

/// Text and lines grow with the image.
class Pen {
 public:
  explicit Pen(const cv::Size& size)
      : unit_(std::max(1.0, std::max(size.width, size.height) / 700.0)) {}

  /// Scales a length in pixels from the smallest image size to this one.
  int Pixels(double pixels) const { return static_cast<int>(std::lround(pixels * unit_)); }
  cv::Size SizeOf(const std::string& text) const {
    int below = 0;
    const cv::Size size = cv::getTextSize(text, kFont, kFontScale * unit_, Stroke(), &below);
    return {size.width, size.height};
  }
  /// The text, shortened to fit into `width`.
  std::string Fit(const std::string& text, int width) const {
    std::string kept = text, fitted = text;
    while (!kept.empty() && SizeOf(fitted).width > width) {
      kept.pop_back();
      fitted = kept + "..";
    }
    return kept.empty() ? "" : fitted;
  }
  /// `at`: the left end of the baseline.
  void Write(const std::string& text, const cv::Point& at, const cv::Scalar& color,
             cv::Mat* image) const {
    cv::putText(*image, text, at, kFont, kFontScale * unit_, color, Stroke(), cv::LINE_AA);
  }

 private:
  int Stroke() const { return Pixels(1); }

  const double unit_;
};

/// Black or white, whichever is read better on a colour.
cv::Scalar InkOn(const cv::Vec3b& color) {
  const double light = 0.114 * color[0] + 0.587 * color[1] + 0.299 * color[2];
  return light > 140 ? cv::Scalar(0, 0, 0) : kWhite;
}

// Boxes.

class BoxDrawer {
 public:
  BoxDrawer(const ClassNames& names, const ImagePart& seen, cv::Mat* image)
      : names_(names), seen_(seen), pen_(image->size()), line_(pen_.Pixels(2)), image_(*image) {}

  /// The best box is drawn last, on top of the others.
  void Draw(std::vector<Detection> detections) {
    std::stable_sort(detections.begin(), detections.end(),
                     [](const Detection& a, const Detection& b) { return a.score < b.score; });
    for (const Detection& detection : detections) DrawOne(detection);
  }

 private:
  static int Pixel(double at, int end) {
    return static_cast<int>(std::lround(std::clamp<double>(at, 0, end)));
  }

  void DrawOne(const Detection& d) {
    if (!std::isfinite(d.xmin + d.ymin + d.xmax + d.ymax)) return;
    const int left = Pixel(seen_.left + d.xmin * seen_.width, image_.cols);
    const int right = Pixel(seen_.left + d.xmax * seen_.width, image_.cols);
    const int top = Pixel(seen_.top + d.ymin * seen_.height, image_.rows);
    const int bottom = Pixel(seen_.top + d.ymax * seen_.height, image_.rows);
    if (right <= left || bottom <= top) return;  // outside of the image
    const cv::Vec3b color = ColorOfClass(d.label);
    const int across = std::min(line_, right - left), down = std::min(line_, bottom - top);
    Fill({left, top, right - left, down}, color);
    Fill({left, bottom - down, right - left, down}, color);
    Fill({left, top, across, bottom - top}, color);
    Fill({right - across, top, across, bottom - top}, color);
    DrawLabel(d, left, top, color);
  }

  /// Above the box; where there is no room, inside of it.
  void DrawLabel(const Detection& d, int left, int top, const cv::Vec3b& color) {
    const int margin = pen_.Pixels(3);
    const std::string text =
        pen_.Fit(NameOf(names_, d.label) + Formatted(" %.2f", d.score), image_.cols - 2 * margin);
    const cv::Size size = pen_.SizeOf(text);
    const int width = size.width + 2 * margin;
    const int height = size.height + 3 * margin;  // some letters go below the line
    const int x = std::clamp(left, 0, std::max(0, image_.cols - width));
    const int y = top >= height ? top - height : std::min(top + line_, image_.rows - height);
    Fill({x, y, width, height}, color);
    pen_.Write(text, {x + margin, y + margin + size.height}, InkOn(color), &image_);
  }

  void Fill(const cv::Rect& rectangle, const cv::Vec3b& color) {
    const cv::Rect inside = rectangle & cv::Rect({0, 0}, image_.size());
    if (!inside.empty()) image_(inside).setTo(cv::Scalar(color[0], color[1], color[2]));
  }

  const ClassNames& names_;
  const ImagePart seen_;
  const Pen pen_;
  const int line_;
  cv::Mat& image_;
};

// Lists of classes, below the image.

struct PanelRow {
  int label;
  std::string number;
  double share;  ///< of the bar, 0 to 1
};

struct Panel {
  std::string title;
  std::vector<PanelRow> rows;
  size_t left_out = 0;  ///< further rows
};

cv::Mat Drawn(const Panel& panel, const ClassNames& names, const Pen& pen, int width) {
  const int row_height = pen.Pixels(20), margin = pen.Pixels(6);
  const int lines =
      static_cast<int>(panel.rows.size()) + !panel.title.empty() + (panel.left_out > 0);
  cv::Mat image(lines * row_height + 2 * margin, width, CV_8UC3, kWhite);
  const int number_at = pen.Pixels(24), bar_at = pen.Pixels(90), bar = pen.Pixels(80);
  const int name_at = bar_at + bar + pen.Pixels(10);
  int y = margin;
  const auto write = [&](const std::string& text, int x) {
    pen.Write(pen.Fit(text, width - x - margin), {x, y + pen.Pixels(14)}, kInk, &image);
  };
  if (!panel.title.empty()) {
    write(Ascii(panel.title), pen.Pixels(8));
    y += row_height;
  }
  for (const PanelRow& row : panel.rows) {
    const cv::Vec3b color = ColorOfClass(row.label);
    const int side = pen.Pixels(10), above = pen.Pixels(5);
    image(cv::Rect(pen.Pixels(8), y + above, side, side)).setTo(color);
    write(row.number, number_at);
    image(cv::Rect(bar_at, y + above, bar, side)).setTo(kTrack);
    const int filled = static_cast<int>(std::lround(bar * std::clamp(row.share, 0.0, 1.0)));
    if (filled > 0) image(cv::Rect(bar_at, y + above, filled, side)).setTo(color);
    write(NameOf(names, row.label), name_at);
    y += row_height;
  }
  if (panel.left_out > 0) write("and " + std::to_string(panel.left_out) + " more", number_at);
  return image;
}

/// Bars show scores if all are 0 to 1, else positions from the smallest to the largest.
Panel BestClasses(const NamedTensor& item, int top) {
  const auto [least, most] = std::minmax_element(item.values.begin(), item.values.end());
  const bool shares = *least >= 0 && *most <= 1;
  const double zero = shares ? 0 : *least, one = shares ? 1 : *most;
  Panel panel;
  for (const Ranked& ranked : TopOf(item.values.data(), item.values.size(), top)) {
    const double share = one > zero ? (ranked.score - zero) / (one - zero) : 0;
    panel.rows.push_back({ranked.index, Formatted(shares ? "%.4f" : "%.4g", ranked.score),
                          std::isfinite(share) ? share : 0});
  }
  return panel;
}

// Segmentations.

cv::Mat LabelsOf(const NamedTensor& item, const Map& map) {
  cv::Mat labels(map.height, map.width, CV_32S);
  const size_t area = size_t(map.height) * map.width;
  for (size_t i = 0; i < area; ++i) {
    int& label = labels.ptr<int>()[i];
    if (map.channels == 1) {
      const float value = item.values[i];
      label = value >= 0 && value < 1e6f ? static_cast<int>(std::lround(value)) : 0;
      continue;
    }
    label = 0;
    for (int c = 1; c < map.channels; ++c) {
      if (item.values[c * area + i] > item.values[label * area + i]) label = c;
    }
  }
  return labels;
}

bool IsBackground(int label, const ClassNames& names) {
  if (label != 0) return false;
  const std::string name = names.Of(0);
  return name.empty() || name.find("background") != std::string::npos || name == "none" ||
         name == "none_of_the_above" || name == "unlabeled" || name == "void";
}

/// Blends the colours of labels into the part of the image that they are of; returns the classes
/// with their share of it.
Panel Overlay(const cv::Mat& labels, const ImagePart& seen, const ClassNames& names, double opacity,
              cv::Mat* image) {
  std::map<int, size_t> pixels;
  size_t all = 0;
  for (int h = 0; h < image->rows; ++h) {
    const double y = std::floor((h + 0.5 - seen.top) / seen.height * labels.rows);
    if (y < 0 || y >= labels.rows) continue;
    for (int w = 0; w < image->cols; ++w) {
      const double x = std::floor((w + 0.5 - seen.left) / seen.width * labels.cols);
      if (x < 0 || x >= labels.cols) continue;
      const int label = labels.at<int>(static_cast<int>(y), static_cast<int>(x));
      ++pixels[label];
      ++all;
      if (IsBackground(label, names)) continue;
      const cv::Vec3b color = ColorOfClass(label);
      cv::Vec3b& pixel = image->at<cv::Vec3b>(h, w);
      for (int c = 0; c < 3; ++c) {
        pixel[c] = static_cast<uchar>(std::lround((1 - opacity) * pixel[c] + opacity * color[c]));
      }
    }
  }
  Panel legend;
  for (const auto& count : pixels) {
    if (IsBackground(count.first, names)) continue;
    const double share = double(count.second) / double(all);
    legend.rows.push_back({count.first, Formatted("%.1f %%", 100 * share), share});
  }
  std::stable_sort(legend.rows.begin(), legend.rows.end(),
                   [](const PanelRow& a, const PanelRow& b) { return a.share > b.share; });
  if (legend.rows.size() > kMaxLegendRows) {
    legend.left_out = legend.rows.size() - kMaxLegendRows;
    legend.rows.resize(kMaxLegendRows);
  }
  return legend;
}

// Images.

cv::Mat ImageOf(const NamedTensor& item, const Map& map, bool rgb) {
  const bool is_unit = std::all_of(item.values.begin(), item.values.end(), [](float value) {
    return std::isnan(value) || (value >= -0.5f && value <= 1.5f);
  });
  const size_t area = size_t(map.height) * map.width;
  cv::Mat image(map.height, map.width, CV_8UC3);
  for (size_t i = 0; i < area; ++i) {
    for (int c = 0; c < 3; ++c) {
      const int channel = map.channels == 1 ? 0 : rgb ? 2 - c : c;
      const float value = item.values[channel * area + i] * (is_unit ? 255 : 1);
      image.ptr<uchar>()[3 * i + c] =
          std::isnan(value) ? 0 : static_cast<uchar>(std::lround(std::clamp(value, 0.f, 255.f)));
    }
  }
  return image;
}

cv::Mat InThreeChannels(const cv::Mat& image) {
  Require(!image.empty() && image.depth() == CV_8U, "results are drawn on images of 8 bits");
  cv::Mat result;
  switch (image.channels()) {
    case 1:
      cv::cvtColor(image, result, cv::COLOR_GRAY2BGR);
      return result;
    case 3:
      return image.clone();
    case 4:
      cv::cvtColor(image, result, cv::COLOR_BGRA2BGR);
      return result;
    default:
      Fail("results are drawn on images of 1, 3 or 4 channels, not ", image.channels());
  }
}

/// Side by side or below each other, on white.
cv::Mat Joined(const std::vector<cv::Mat>& images, bool below) {
  if (images.size() == 1) return images[0];
  constexpr int kGap = 8;
  int width = 0, height = 0;
  for (const cv::Mat& image : images) {
    width = below ? std::max(width, image.cols) : width + image.cols + (width > 0 ? kGap : 0);
    height = below ? height + image.rows : std::max(height, image.rows);
  }
  cv::Mat joined(height, width, CV_8UC3, kWhite);
  int at = 0;
  for (const cv::Mat& image : images) {
    image.copyTo(joined(cv::Rect(below ? 0 : at, below ? at : 0, image.cols, image.rows)));
    at += below ? image.rows : image.cols + kGap;
  }
  return joined;
}

/// Draws outputs one after the other.
class ResultDrawer {
 public:
  ResultDrawer(const cv::Mat& image, const ClassNames& names, const ImagePart& seen,
               const DrawingOptions& options)
      : names_(names), options_(options), seen_(seen), image_(InThreeChannels(image)) {
    Require(options.top > 0, "the number of classes to draw must be positive, got ", options.top);
    Require(options.opacity >= 0 && options.opacity <= 1, "an opacity is 0 to 1, got ",
            options.opacity);
    Require(seen.width > 0 && seen.height > 0, "the part of the image that the net saw is empty");
    const int longer = std::max(image_.cols, image_.rows);
    const int times = (kLegibleSide + longer - 1) / longer;
    if (times > 1) {
      cv::resize(image_, image_, {}, times, times, cv::INTER_NEAREST);
      seen_ = {seen.left * times, seen.top * times, seen.width * times, seen.height * times};
    }
  }

  cv::Mat Draw(const Tensors& outputs) {
    for (const auto& kind : options_.kinds) {
      Require(outputs.count(kind.first) > 0, "there is no output '", kind.first, "' to draw");
    }
    // Boxes and their labels lie on top of colours.
    for (const bool boxes : {false, true}) {
      for (const auto& output : outputs) {
        const ResultKind kind = KindOf(output.first, output.second);
        if ((kind == ResultKind::BOXES) == boxes) DrawOne(output.first, output.second, kind);
      }
    }
    if (!annotated_) {
      Require(!images_.empty(), "there is nothing to draw: ", Described(outputs),
              ": neither scores of classes, boxes, a segmentation nor an image");
      return Joined(images_, /*below=*/false);
    }
    images_.insert(images_.begin(), WithPanels());
    return Joined(images_, /*below=*/false);
  }

 private:
  static std::string Described(const Tensors& outputs) {
    std::string text;
    for (const auto& output : outputs) {
      text += Join(text.empty() ? "output '" : ", output '", output.first, "' is ",
                   ShapeString(output.second.shape));
    }
    return text.empty() ? "there are no outputs" : text;
  }

  ResultKind KindOf(const std::string& name, const NamedTensor& item) const {
    const auto given = options_.kinds.find(name);
    const ResultKind kind = given == options_.kinds.end() ? ResultKindOf(item) : given->second;
    const auto require = [&](bool fits, const char* what) {
      Require(fits, "output '", name, "' is ", ShapeString(item.shape), ", not ", what);
    };
    const Map map = MapOf(item.shape);
    Require(item.values.size() == CountOf(item.shape), "output '", name, "' has ",
            item.values.size(), " values for ", ShapeString(item.shape));
    if (kind == ResultKind::BOXES)
      require(item.values.size() % kBoxColumns == 0, "rows of 7 values");
    if (kind == ResultKind::CLASSES) require(!item.values.empty(), "scores of classes");
    if (kind == ResultKind::SEGMENTATION) require(map.channels > 0, "a map, (C, H, W) or (H, W)");
    if (kind == ResultKind::IMAGE) {
      require(map.channels == 1 || map.channels == 3, "an image, (1, H, W) or (3, H, W)");
    }
    return kind;
  }

  void DrawOne(const std::string& name, const NamedTensor& item, ResultKind kind) {
    const Map map = MapOf(item.shape);
    switch (kind) {
      case ResultKind::CLASSES:
        names_.RequireFor(name, static_cast<int>(item.values.size()));
        AddPanel(name, BestClasses(item, options_.top));
        break;
      case ResultKind::BOXES:
        BoxDrawer(names_, seen_, &image_).Draw(DetectionsOf(item, options_.least_score));
        annotated_ = true;
        break;
      case ResultKind::SEGMENTATION:
        if (map.channels > 1) names_.RequireFor(name, map.channels);
        AddPanel(name, Overlay(LabelsOf(item, map), seen_, names_, options_.opacity, &image_));
        break;
      case ResultKind::IMAGE:
        images_.push_back(ImageOf(item, map, options_.rgb));
        break;
      case ResultKind::NOTHING:
        break;
    }
  }

  void AddPanel(const std::string& name, Panel panel) {
    panel.title = name;
    panels_.push_back(std::move(panel));
    annotated_ = true;
  }

  /// The image, below it the panels; the title says the output where there are several.
  cv::Mat WithPanels() {
    const Pen pen(image_.size());
    const int width = std::max(image_.cols, pen.Pixels(400));
    std::vector<cv::Mat> parts = {image_};
    for (Panel& panel : panels_) {
      if (panels_.size() == 1) panel.title.clear();
      if (!panel.rows.empty()) parts.push_back(Drawn(panel, names_, pen, width));
    }
    return Joined(parts, /*below=*/true);
  }

  const ClassNames& names_;
  const DrawingOptions& options_;
  ImagePart seen_;
  cv::Mat image_;
  bool annotated_ = false;
  std::vector<Panel> panels_;
  std::vector<cv::Mat> images_;
};

}  // namespace

cv::Vec3b ColorOfClass(int label) {
  // Hues that are far apart for labels that follow each other.
  const double turn = label * 0.381966, hue = 180 * (turn - std::floor(turn));
  const cv::Mat hsv(1, 1, CV_8UC3,
                    cv::Scalar(std::floor(hue), 205, label / 8 % 2 == 0 ? 235 : 165));
  cv::Mat bgr;
  cv::cvtColor(hsv, bgr, cv::COLOR_HSV2BGR);
  return bgr.at<cv::Vec3b>(0, 0);
}

cv::Mat DrawResults(const cv::Mat& image, const Tensors& outputs, const ClassNames& names,
                    const ImagePart& seen, const DrawingOptions& options) {
  return ResultDrawer(image, names, seen, options).Draw(outputs);
}

#endif  // USE_OPENCV

}  // namespace caffe::inference
