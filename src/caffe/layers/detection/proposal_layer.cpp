#include "caffe/layers/proposal_layer.hpp"

#include "caffe/kernels/parallel.hpp"
#include "caffe/util/detection/regions.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfProposal(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  const ProposalParameter& param = layer.proposal_param();
  const int64_t anchors = int64_t(param.ratio_size()) * param.scale_size();
  const Shape &scores = bottoms.at(0), &codes = bottoms.at(1), &images = bottoms.at(2);
  Require(scores.size() == 4 && codes.size() == 4, "Proposal takes maps of 4 axes, not ",
          ShapeString(scores), " and ", ShapeString(codes));
  Require(scores[1] == 2 * anchors && codes[1] == 4 * anchors, Error::Field{"proposal_param"}, ": ",
          param.ratio_size(), " times ratio and ", param.scale_size(), " times scale need ",
          2 * anchors, " channels of scores and ", 4 * anchors, " of boxes, got ", scores[1],
          " and ", codes[1]);
  Require(scores[0] == codes[0] && scores[2] == codes[2] && scores[3] == codes[3],
          "the maps differ: ", ShapeString(scores), " and ", ShapeString(codes));
  int64_t numbers = 1;
  for (const int extent : images) numbers *= extent;
  Require(numbers >= 3 * int64_t(scores[0]) && numbers % std::max(1, scores[0]) == 0,
          "Proposal takes height, width and scales of each image: (", scores[0],
          ", 3) or more numbers, not ", ShapeString(images));
  const int64_t regions = int64_t(scores[0]) * param.post_nms_topn();
  Require(regions > 0 && regions < 100000000, Error::Field{"proposal_param"},
          ": post_nms_topn must be positive, got ", param.post_nms_topn());
  std::vector<Shape> tops = {{static_cast<int>(regions), 5}};
  if (layer.top_size() > 1) tops.push_back({static_cast<int>(regions)});
  return tops;
}

const bool proposal_registered = OperationTable::Add(Operation("Proposal")
                                                         .CpuOnly(kSequential)
                                                         .Shapes(TopShapesOfProposal)
                                                         .SizedByData()
                                                         .BackwardReads(Operation::kNothing)
                                                         .FloatBottoms({-1})
                                                         .FloatTops({-1}));

}  // namespace

template <typename Dtype>
void ProposalLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const ProposalParameter& param = this->layer_param_.proposal_param();
  Require(param.ratio_size() > 0 && param.scale_size() > 0, Error::Field{"proposal_param"},
          ": ratio and scale are missing");
  Require(param.feat_stride() > 0, Error::Field{"proposal_param"},
          ": feat_stride must be positive, got 0");
  Require(param.pre_nms_topn() > 0 && param.pre_nms_topn() < 2147483648u,
          Error::Field{"proposal_param"}, ": pre_nms_topn must be positive, got ",
          param.pre_nms_topn());
  anchors_ = std::make_shared<const vector<Box>>(
      CellAnchors("proposal_param", param.base_size(), {param.ratio().begin(), param.ratio().end()},
                  {param.scale().begin(), param.scale().end()}));
}

template <typename Dtype>
void ProposalLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const vector<Shape> shapes = TopShapesOfProposal(
      this->layer_param_, {bottom[0]->shape(), bottom[1]->shape(), bottom[2]->shape()});
  top[0]->Reshape(shapes[0]);
  if (top.size() > 1) top[1]->Reshape({shapes[0][0]});
}

template <typename Dtype>
typename ProposalLayer<Dtype>::Image ProposalLayer<Dtype>::ImageOf(const Blob<Dtype>& images,
                                                                   int item) const {
  const int numbers = images.count() / images.shape(0);
  const Dtype* info = images.cpu_data() + size_t(item) * numbers;
  const float min_size = this->layer_param_.proposal_param().min_size();
  return {float(info[0]), float(info[1]), min_size * float(info[2]),
          min_size * float(info[numbers > 3 ? 3 : 2])};
}

/// All boxes of one item, in the order of cells and anchors, and their scores.
template <typename Dtype>
void ProposalLayer<Dtype>::Propose(const Dtype* scores, const Dtype* codes, int height, int width,
                                   const Image& image, vector<Box>* boxes,
                                   vector<ScoredIndex>* scored) const {
  const BoxCode code = RegionCode();
  const float stride = this->layer_param_.proposal_param().feat_stride();
  const size_t cells = size_t(height) * width, anchors = anchors_->size();
  boxes->resize(cells * anchors);
  scored->resize(cells * anchors);
  kernels::ParallelFor(cells, 256, [&](size_t begin, size_t end) {
    Prior prior;
    for (size_t cell = begin; cell < end; ++cell) {
      const float x = stride * float(cell % width), y = stride * float(cell / width);
      for (size_t a = 0; a < anchors; ++a) {
        prior.box = Moved((*anchors_)[a], x, y);
        const auto number = [&](int k) { return float(codes[(a * 4 + k) * cells + cell]); };
        const Box box = Clipped(Decode(prior, code, {number(0), number(1), number(2), number(3)}),
                                image.height - 1, image.width - 1);
        const bool large = box.xmax - box.xmin + 1 >= image.min_width &&
                           box.ymax - box.ymin + 1 >= image.min_height;
        const size_t i = cell * anchors + a;
        (*boxes)[i] = box;
        (*scored)[i] = {large ? float(scores[a * cells + cell]) : 0.f, static_cast<int>(i)};
      }
    }
  });
}

template <typename Dtype>
void ProposalLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const ProposalParameter& param = this->layer_param_.proposal_param();
  const int height = bottom[0]->height(), width = bottom[0]->width();
  const size_t objects = anchors_->size() * height * width;  // behind as many of background
  vector<Dtype> rows, kept_scores;
  vector<Box> boxes;
  vector<ScoredIndex> scored;
  for (int n = 0; n < bottom[0]->num(); ++n) {
    Propose(bottom[0]->cpu_data() + bottom[0]->offset(n) + objects,
            bottom[1]->cpu_data() + bottom[1]->offset(n), height, width, ImageOf(*bottom[2], n),
            &boxes, &scored);
    vector<float> score(scored.size());
    for (const ScoredIndex& s : scored) score[s.second] = s.first;
    SortByScore(static_cast<int>(param.pre_nms_topn()), &scored);
    for (const int i : Suppress(boxes.data(), scored, param.nms_thresh(), 1, false,
                                static_cast<int>(param.post_nms_topn()))) {
      const Box& box = boxes[i];
      rows.insert(rows.end(), {Dtype(n), box.xmin, box.ymin, box.xmax, box.ymax});
      kept_scores.push_back(score[i]);
    }
  }
  const int regions = static_cast<int>(kept_scores.size());
  top[0]->Reshape({regions, 5});
  std::copy(rows.begin(), rows.end(), top[0]->mutable_cpu_data());
  if (top.size() < 2) return;
  top[1]->Reshape({regions});
  std::copy(kept_scores.begin(), kept_scores.end(), top[1]->mutable_cpu_data());
}

INSTANTIATE_CLASS(ProposalLayer);
REGISTER_LAYER_CLASS(Proposal);

}  // namespace caffe
