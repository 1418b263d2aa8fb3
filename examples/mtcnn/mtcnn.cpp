#include "mtcnn.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace mtcnn {
namespace {

constexpr int kCell = 12;    // pixels that one score of the proposal net sees
constexpr int kStride = 2;   // between neighbouring scores
constexpr int kBatch = 128;  // boxes in one pass of the later nets

/// Writes an image as the nets take it: red, green, blue planes, each value in [-1, 1], columns
/// where rows are usual, because MATLAB, in which they were trained, counts so.
void WriteInput(const cv::Mat& image, float* to) {
  for (int channel = 2; channel >= 0; --channel) {
    for (int x = 0; x < image.cols; ++x) {
      for (int y = 0; y < image.rows; ++y) {
        *to++ = (image.at<cv::Vec3b>(y, x)[channel] - 127.5f) * 0.0078125f;
      }
    }
  }
}

/// The pixels of a box, black where it lies outside of the image.
template <typename Candidate>
cv::Mat Crop(const cv::Mat& image, const Candidate& box) {
  const cv::Rect wanted(int(box.x1) - 1, int(box.y1) - 1, int(box.x2) - int(box.x1) + 1,
                        int(box.y2) - int(box.y1) + 1);
  const cv::Rect inside = wanted & cv::Rect(0, 0, image.cols, image.rows);
  cv::Mat crop(wanted.size(), CV_8UC3, cv::Scalar::all(0));
  if (!inside.empty()) image(inside).copyTo(crop(inside - wanted.tl()));
  return crop;
}

enum class Measure { kUnion, kSmaller };

/// The common area of two boxes as a part of both together, or of the smaller one.
template <typename Candidate>
float Overlap(const Candidate& a, const Candidate& b, Measure measure) {
  const auto area = [](const Candidate& c) { return (c.x2 - c.x1 + 1) * (c.y2 - c.y1 + 1); };
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + 1;
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + 1;
  const float common = std::max(0.f, width) * std::max(0.f, height);
  const float whole =
      measure == Measure::kUnion ? area(a) + area(b) - common : std::min(area(a), area(b));
  return common / whole;
}

/// Keeps the surest of those that overlap by more than `threshold`, the surest first.
template <typename Candidate>
void Suppress(float threshold, Measure measure, std::vector<Candidate>* candidates) {
  std::stable_sort(candidates->begin(), candidates->end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::vector<Candidate> kept;
  for (const Candidate& candidate : *candidates) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return Overlap(candidate, other, measure) > threshold;
    });
    if (!covered) kept.push_back(candidate);
  }
  candidates->swap(kept);
}

/// Moves the corners as the net said; `margin` is 1 where a box's width counts both corners.
template <typename Candidate>
void Refine(float margin, std::vector<Candidate>* candidates) {
  for (Candidate& c : *candidates) {
    const float width = c.x2 - c.x1 + margin, height = c.y2 - c.y1 + margin;
    c.x1 += c.shift[0] * width;
    c.y1 += c.shift[1] * height;
    c.x2 += c.shift[2] * width;
    c.y2 += c.shift[3] * height;
  }
}

/// Squares of whole pixels around the boxes.
template <typename Candidate>
void MakeSquare(std::vector<Candidate>* candidates) {
  for (Candidate& c : *candidates) {
    const float width = c.x2 - c.x1, height = c.y2 - c.y1, side = std::max(width, height);
    c.x1 += (width - side) / 2;
    c.y1 += (height - side) / 2;
    c.x2 = std::trunc(c.x1 + side);
    c.y2 = std::trunc(c.y1 + side);
    c.x1 = std::trunc(c.x1);
    c.y1 = std::trunc(c.y1);
  }
}

}  // namespace

Detector::Detector(const Files& proposal, const Files& refinement, const Files& output,
                   const Options& options)
    : proposal_(proposal.net, caffe::TEST),
      refinement_(refinement.net, caffe::TEST),
      output_(output.net, caffe::TEST),
      options_(options) {
  caffe::Require(options.min_size >= kCell, "min_size must be at least ", kCell, ", got ",
                 options.min_size);
  caffe::Require(options.factor > 0 && options.factor < 1, "factor must be between 0 and 1, got ",
                 options.factor);
  proposal_.CopyTrainedLayersFrom(proposal.weights);
  refinement_.CopyTrainedLayersFrom(refinement.weights);
  output_.CopyTrainedLayersFrom(output.weights);
}

// The first makes faces of min_size as large as a cell, the last leaves the image that large.
std::vector<float> Detector::Scales(const cv::Mat& image) const {
  std::vector<float> scales;
  const float side = std::min(image.rows, image.cols);
  for (float scale = kCell / options_.min_size; side * scale >= kCell; scale *= options_.factor) {
    scales.push_back(scale);
  }
  return scales;
}

void Detector::Propose(const cv::Mat& image, float scale, Candidates* candidates) {
  const cv::Size size(std::ceil(image.cols * scale), std::ceil(image.rows * scale));
  cv::Mat scaled;
  cv::resize(image, scaled, size, 0, 0, cv::INTER_AREA);
  caffe::Blob<float>& input = *proposal_.input_blobs()[0];
  input.Reshape(1, 3, size.width, size.height);
  WriteInput(scaled, input.mutable_cpu_data());
  proposal_.Forward();

  const caffe::Blob<float>& scores = *proposal_.blob_by_name("prob1");
  const caffe::Blob<float>& shifts = *proposal_.blob_by_name("conv4-2");
  Candidates found;
  for (int x = 0; x < scores.shape(2); ++x) {
    for (int y = 0; y < scores.shape(3); ++y) {
      const float score = scores.data_at(0, 1, x, y);
      if (score < options_.thresholds[0]) continue;
      Candidate c = {};
      c.x1 = std::trunc((kStride * x + 1) / scale);
      c.y1 = std::trunc((kStride * y + 1) / scale);
      c.x2 = std::trunc((kStride * x + kCell) / scale);
      c.y2 = std::trunc((kStride * y + kCell) / scale);
      c.score = score;
      for (int i = 0; i < 4; ++i) c.shift[i] = shifts.data_at(0, i, x, y);
      found.push_back(c);
    }
  }
  Suppress(0.5f, Measure::kUnion, &found);
  candidates->insert(candidates->end(), found.begin(), found.end());
}

Detector::Candidates Detector::Judge(const cv::Mat& image, const Candidates& boxes, int size,
                                     const std::string& shifts, const std::string& points,
                                     float threshold, caffe::Net<float>* net) {
  Candidates kept;
  for (size_t first = 0; first < boxes.size(); first += kBatch) {
    const int count = std::min<int>(kBatch, boxes.size() - first);
    caffe::Blob<float>& input = *net->input_blobs()[0];
    input.Reshape(count, 3, size, size);
    for (int i = 0; i < count; ++i) {
      cv::Mat sample;
      cv::resize(Crop(image, boxes[first + i]), sample, cv::Size(size, size), 0, 0, cv::INTER_AREA);
      WriteInput(sample, input.mutable_cpu_data() + input.offset(i));
    }
    net->Forward();
    const float* scores = net->blob_by_name("prob1")->cpu_data();
    const float* shift = net->blob_by_name(shifts)->cpu_data();
    const float* point = points.empty() ? nullptr : net->blob_by_name(points)->cpu_data();
    for (int i = 0; i < count; ++i) {
      if (scores[2 * i + 1] <= threshold) continue;
      Candidate c = boxes[first + i];
      c.score = scores[2 * i + 1];
      std::copy_n(shift + 4 * i, 4, c.shift);
      if (point) std::copy_n(point + 10 * i, 10, c.points);
      kept.push_back(c);
    }
  }
  return kept;
}

std::vector<Face> Detector::Detect(const cv::Mat& image) {
  caffe::Require(image.type() == CV_8UC3, "an image of three 8-bit channels is needed");
  Candidates boxes;
  for (const float scale : Scales(image)) Propose(image, scale, &boxes);
  Suppress(0.7f, Measure::kUnion, &boxes);
  Refine(0, &boxes);
  MakeSquare(&boxes);

  boxes = Judge(image, boxes, 24, "conv5-2", "", options_.thresholds[1], &refinement_);
  Suppress(0.7f, Measure::kUnion, &boxes);
  Refine(1, &boxes);
  MakeSquare(&boxes);

  // The points belong to the box as it was judged, so they come before its last move.
  boxes = Judge(image, boxes, 48, "conv6-2", "conv6-3", options_.thresholds[2], &output_);
  for (Candidate& c : boxes) {
    const float width = c.x2 - c.x1 + 1, height = c.y2 - c.y1 + 1;
    for (int i = 0; i < 5; ++i) {
      c.points[i] = c.x1 + width * c.points[i] - 1;
      c.points[5 + i] = c.y1 + height * c.points[5 + i] - 1;
    }
  }
  Refine(1, &boxes);
  Suppress(0.7f, Measure::kSmaller, &boxes);

  std::vector<Face> faces;
  for (const Candidate& c : boxes) {
    Face face = {c.x1 - 1, c.y1 - 1, c.x2 - 1, c.y2 - 1, c.score, {}};
    for (int i = 0; i < 5; ++i) face.points[i] = {c.points[i], c.points[5 + i]};
    faces.push_back(face);
  }
  return faces;
}

}  // namespace mtcnn
