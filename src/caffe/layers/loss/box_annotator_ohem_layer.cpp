#include "caffe/layers/box_annotator_ohem_layer.hpp"

#include <map>
#include <numeric>

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfBoxAnnotatorOhem(const LayerParameter&,
                                               const std::vector<Shape>& bottoms) {
  const Shape& rois = bottoms.at(0);
  const int height = ExtentOrOne(rois, 2), width = ExtentOrOne(rois, 3);
  constexpr const char* kNames[] = {"regions", "losses", "labels", "box weights"};
  constexpr int kChannels[] = {5, 1, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    const Shape& shape = bottoms.at(i);
    const bool fits = shape.size() <= 4 && ExtentOrOne(shape, 0) == ExtentOrOne(rois, 0) &&
                      ExtentOrOne(shape, 2) == height && ExtentOrOne(shape, 3) == width;
    Require(fits && (kChannels[i] == 0 || ExtentOrOne(shape, 1) == kChannels[i]), "bottom ", i,
            ", the ", kNames[i], ", must have shape (", ExtentOrOne(rois, 0), ", ",
            kChannels[i] ? std::to_string(kChannels[i]) : "channels", ", ", height, ", ", width,
            "), not ", ShapeString(shape));
  }
  return {{ExtentOrOne(rois, 0), 1, height, width},
          {ExtentOrOne(rois, 0), ExtentOrOne(bottoms[3], 1), height, width}};
}

const bool box_annotator_ohem_registered =
    OperationTable::Add(Operation("BoxAnnotatorOHEM")
                            .CpuOnly(kSequential)
                            .Shapes(TopShapesOfBoxAnnotatorOhem)
                            .BackwardReads(Operation::kNothing)
                            .FloatBottoms({-1})
                            .FloatTops({-1}));

}  // namespace

template <typename Dtype>
void BoxAnnotatorOHEMLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                              const vector<Blob<Dtype>*>&) {
  Require(this->layer_param_.box_annotator_ohem_param().roi_per_img() > 0,
          Error::Field{"box_annotator_ohem_param"}, ": roi_per_img must be positive");
}

template <typename Dtype>
void BoxAnnotatorOHEMLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  const std::vector<Shape> shapes =
      TopShapesOfBoxAnnotatorOhem(this->layer_param_, ShapesOf(bottom));
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes[i]);
}

template <typename Dtype>
void BoxAnnotatorOHEMLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  const BoxAnnotatorOHEMParameter& param = this->layer_param_.box_annotator_ohem_param();
  const int regions = bottom[1]->count(), channels = top[1]->channels();
  const int positions = top[0]->height() * top[0]->width();
  const Dtype* rois = bottom[0]->cpu_data();
  const Dtype* losses = bottom[1]->cpu_data();
  const Dtype* weights = bottom[3]->cpu_data();
  Dtype* top_labels = top[0]->mutable_cpu_data();
  Dtype* top_weights = top[1]->mutable_cpu_data();
  caffe_set(top[0]->count(), Dtype(param.ignore_label()), top_labels);
  caffe_set(top[1]->count(), Dtype(0), top_weights);

  vector<int> order(regions);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [losses](int a, int b) { return losses[a] > losses[b]; });
  std::map<Dtype, uint32_t> kept;  // by image
  for (const int i : order) {
    const int n = i / positions, position = i % positions;
    if (kept[rois[size_t(n) * 5 * positions + position]]++ >= param.roi_per_img()) continue;
    top_labels[i] = bottom[2]->cpu_data()[i];
    for (int c = 0; c < channels; ++c) {
      const size_t at = (size_t(n) * channels + c) * positions + position;
      top_weights[at] = weights[at];
    }
  }
}

INSTANTIATE_CLASS(BoxAnnotatorOHEMLayer);
REGISTER_LAYER_CLASS(BoxAnnotatorOHEM);

}  // namespace caffe
