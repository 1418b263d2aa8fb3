#include "caffe/layers/yolo_output_layer.hpp"

#include <cmath>

#include "caffe/util/detection/box.hpp"

namespace caffe {

Operation YoloOperation(const char* type) {
  return Operation(type)
      .CpuOnly(kSequential)
      .Shapes([](const LayerParameter&, const std::vector<Shape>&) {
        return std::vector<Shape>{{1, 1, 1, 7}};
      })
      .SizedByData()
      .BackwardReads(Operation::kNothing)
      .FloatBottoms({-1})
      .FloatTops({-1});
}

template <typename Dtype>
void YoloOutputLayer<Dtype>::ReadParameters(const char* param, uint32_t num_classes,
                                            uint32_t num_box, float nms_threshold, int biases) {
  Require(num_classes > 0 && num_classes < 1000000, Error::Field{param},
          ": num_classes must be positive, got ", num_classes);
  Require(num_box > 0 && num_box < 10000, Error::Field{param}, ": num_box must be positive, got ",
          num_box);
  Require(nms_threshold >= 0, Error::Field{param}, ": nms_threshold must not be negative, got ",
          nms_threshold);
  Require(biases > 0 && biases % 2 == 0, Error::Field{param},
          ": biases are widths and heights of anchors, got ", biases, " numbers");
  num_class_ = static_cast<int>(num_classes);
  num_ = static_cast<int>(num_box);
  nms_threshold_ = nms_threshold;
}

template <typename Dtype>
void YoloOutputLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  for (const Blob<Dtype>* map : bottom) {
    Require(map->num_axes() == 4 && map->shape(0) == bottom[0]->shape(0) &&
                map->shape(1) == int64_t(num_) * (5 + num_class_),
            "num_box ", num_, " and num_classes ", num_class_, " need maps of shape (N, ",
            int64_t(num_) * (5 + num_class_), ", H, W), not ", ShapeString(map->shape()));
  }
  top[0]->Reshape({1, 1, 1, 7});
}

template <typename Dtype>
void YoloOutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  const int items = bottom[0]->shape(0);
  vector<Dtype> rows;
  for (int item = 0; item < items; ++item) {
    vector<Box> boxes;
    vector<int> labels;
    vector<ScoredIndex> scored;
    const Found add = [&](int label, float score, float x, float y, float width, float height) {
      scored.emplace_back(score, static_cast<int>(boxes.size()));
      labels.push_back(label);
      boxes.push_back({x - width / 2, y - height / 2, x + width / 2, y + height / 2});
    };
    for (size_t map = 0; map < bottom.size(); ++map) {
      const int height = bottom[map]->height(), width = bottom[map]->width();
      const size_t step = size_t(height) * width;
      const Dtype* x = bottom[map]->cpu_data() + bottom[map]->offset(item);
      for (size_t cell = 0; cell < step; ++cell) {
        for (int n = 0; n < num_; ++n) {
          const Dtype* first = x + size_t(n) * (5 + num_class_) * step + cell;
          Read(static_cast<int>(map),
               {first, step, int(cell % width), int(cell / width), width, height, n}, add);
        }
      }
    }
    SortByScore(-1, &scored);
    vector<float> scores(boxes.size());
    for (const ScoredIndex& s : scored) scores[s.second] = s.first;
    // Kept is what overlaps by less than the threshold.
    const float most = std::nextafter(nms_threshold_, -1.f);
    for (const int i : Suppress(boxes.data(), scored, most)) {
      const Box& box = boxes[i];
      rows.insert(rows.end(), {Dtype(item), Dtype(labels[i] + 1), scores[i], box.xmin, box.ymin,
                               box.xmax, box.ymax});
    }
  }
  if (rows.empty()) {
    rows.assign(size_t(items) * 7, Dtype(-1));
    for (int item = 0; item < items; ++item) rows[size_t(item) * 7] = item;
  }
  top[0]->Reshape({1, 1, static_cast<int>(rows.size() / 7), 7});
  std::copy(rows.begin(), rows.end(), top[0]->mutable_cpu_data());
}

INSTANTIATE_CLASS(YoloOutputLayer);

}  // namespace caffe
