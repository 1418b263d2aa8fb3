#ifndef CAFFE_TEST_TEST_GRADIENT_CHECK_UTIL_HPP_
#define CAFFE_TEST_TEST_GRADIENT_CHECK_UTIL_HPP_

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Compares the gradients that a layer computes with differences of its outputs; needs GoogleTest,
/// whose expectations say what is wrong. Every function leaves bottoms and parameters as they were.
///
/// `stepsize` is by how much an input is changed, up and down; a gradient may be off by
/// `threshold` times the larger of its own size and 1. Before each pass the random generator is
/// set to `seed`, so that layers which draw numbers draw the same ones. Inputs whose absolute
/// value is within `kink_range` of `kink` are skipped: the layer has no derivative there.
template <typename Dtype>
class GradientChecker {
 public:
  GradientChecker(const Dtype stepsize, const Dtype threshold, const unsigned int seed = 1701,
                  const Dtype kink = 0., const Dtype kink_range = -1)
      : stepsize_(stepsize),
        threshold_(threshold),
        seed_(seed),
        kink_(kink),
        kink_range_(kink_range) {}

  /// Sets the layer up and checks the gradient of half the sum of squares of all its tops.
  /// `check_bottom` is the bottom whose gradient is checked besides the parameters'; -1: all
  /// bottoms, -2: none.
  void CheckGradient(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                     const vector<Blob<Dtype>*>& top, int check_bottom = -1) {
    layer->SetUp(bottom, top);
    CheckGradientSingle(layer, bottom, top, check_bottom, -1, -1);
  }

  /// Sets the layer up and checks the gradient of each element of each top.
  void CheckGradientExhaustive(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top, int check_bottom = -1) {
    layer->SetUp(bottom, top);
    CheckEachElement(layer, bottom, top, check_bottom, false);
  }

  /// The same for a layer without parameters whose top elements depend on the bottoms' elements in
  /// the same place only: that the other gradients are zero is checked, too.
  void CheckGradientEltwise(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                            const vector<Blob<Dtype>*>& top) {
    layer->SetUp(bottom, top);
    CheckEachElement(layer, bottom, top, -1, true);
  }

  /// Checks the gradient of element `top_data_id` of top `top_id` (-1: of half the sum of squares
  /// of all tops) of a layer that is set up.
  void CheckGradientSingle(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                           const vector<Blob<Dtype>*>& top, int check_bottom, int top_id,
                           int top_data_id, bool element_wise = false) {
    if (element_wise) RequireElementwise(*layer, bottom, top, top_id, top_data_id);
    for (const shared_ptr<Blob<Dtype>>& parameter : layer->blobs()) {
      std::fill_n(parameter->mutable_cpu_diff(), parameter->count(), Dtype(0));
    }
    vector<bool> propagate_down(bottom.size(), check_bottom == -1);
    if (check_bottom >= 0) propagate_down.at(check_bottom) = true;

    ForwardWithSeed(layer, bottom, top);
    GetObjAndGradient(*layer, top, top_id, top_data_id);
    layer->Backward(top, propagate_down, bottom);

    const vector<Blob<Dtype>*> checked = BlobsToCheck(*layer, bottom, check_bottom);
    vector<vector<Dtype>> gradients;
    for (const Blob<Dtype>* blob : checked) {
      gradients.emplace_back(blob->cpu_diff(), blob->cpu_diff() + blob->count());
    }
    for (size_t i = 0; i < checked.size(); ++i) {
      for (int k = 0; k < checked[i]->count(); ++k) {
        // Elements in other places need no differences: they have to be without influence.
        const Dtype estimate =
            element_wise && k != top_data_id
                ? Dtype(0)
                : DifferenceQuotient(layer, bottom, top, top_id, top_data_id, checked[i], k);
        ExpectGradient(gradients[i][k], estimate, checked[i]->cpu_data()[k], top_id, top_data_id,
                       static_cast<int>(i), k);
      }
    }
  }

  /// Runs the net and checks each layer that has gradients, with the bottoms and parameters of that
  /// pass. `input`, if not empty, is copied to the net's inputs first. Layers that work in place
  /// are left out: what they took is gone.
  void CheckGradientNet(Net<Dtype>& net, const vector<Blob<Dtype>*>& input) {
    CHECK(input.empty() || input.size() == net.input_blobs().size())
        << "the net has " << net.input_blobs().size() << " inputs, given are " << input.size();
    for (size_t i = 0; i < input.size(); ++i) net.input_blobs()[i]->CopyFrom(*input[i]);
    for (size_t i = 0; i < net.layers().size(); ++i) {
      const vector<Blob<Dtype>*>& bottom = net.bottom_vecs()[i];
      const vector<Blob<Dtype>*>& top = net.top_vecs()[i];
      const bool in_place =
          std::find_first_of(bottom.begin(), bottom.end(), top.begin(), top.end()) != bottom.end();
      if (!net.layer_need_backward()[i] || in_place) continue;
      Caffe::set_random_seed(seed_);
      net.Forward();
      CheckLayerOfNet(net.layers()[i].get(), bottom, top, net.bottom_need_backward()[i]);
    }
  }

 protected:
  /// The objective, whose gradient it writes to the diffs of the tops.
  Dtype GetObjAndGradient(const Layer<Dtype>& /*layer*/, const vector<Blob<Dtype>*>& top,
                          int top_id = -1, int top_data_id = -1) {
    Dtype objective = 0;
    if (top_id >= 0) {
      // A weight other than 1, so that a layer which forgets its tops' diffs is found out.
      const Dtype weight = 2;
      for (Blob<Dtype>* blob : top) {
        std::fill_n(blob->mutable_cpu_diff(), blob->count(), Dtype(0));
      }
      top[top_id]->mutable_cpu_diff()[top_data_id] = weight;
      return weight * top[top_id]->cpu_data()[top_data_id];
    }
    for (Blob<Dtype>* blob : top) {
      const Dtype* data = blob->cpu_data();
      std::copy(data, data + blob->count(), blob->mutable_cpu_diff());
      for (int k = 0; k < blob->count(); ++k) objective += data[k] * data[k] / 2;
    }
    return objective;
  }

  Dtype stepsize_;
  Dtype threshold_;
  unsigned int seed_;
  Dtype kink_;
  Dtype kink_range_;

 private:
  static vector<Blob<Dtype>*> BlobsToCheck(Layer<Dtype>& layer, const vector<Blob<Dtype>*>& bottom,
                                           int check_bottom) {
    vector<Blob<Dtype>*> blobs;
    for (const shared_ptr<Blob<Dtype>>& parameter : layer.blobs()) blobs.push_back(parameter.get());
    if (check_bottom == -1) blobs.insert(blobs.end(), bottom.begin(), bottom.end());
    if (check_bottom >= 0) blobs.push_back(bottom.at(check_bottom));
    return blobs;
  }

  static void RequireElementwise(Layer<Dtype>& layer, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top, int top_id, int top_data_id) {
    CHECK(layer.blobs().empty()) << "a layer with parameters is not elementwise";
    CHECK_GE(top_id, 0);
    CHECK_GE(top_data_id, 0);
    for (const Blob<Dtype>* blob : bottom) CHECK_EQ(blob->count(), top[top_id]->count());
  }

  /// The tops' diffs, where losses have their weights, are as before afterwards.
  void CheckLayerOfNet(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                       const vector<Blob<Dtype>*>& top, const vector<bool>& wanted) {
    SCOPED_TRACE("layer " + layer->layer_param().name());
    vector<vector<Dtype>> diffs;
    for (const Blob<Dtype>* blob : top) {
      diffs.emplace_back(blob->cpu_diff(), blob->cpu_diff() + blob->count());
    }
    CheckEachElement(layer, bottom, top, -2, false);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) CheckEachElement(layer, bottom, top, static_cast<int>(i), false);
    }
    for (size_t i = 0; i < top.size(); ++i) {
      std::copy(diffs[i].begin(), diffs[i].end(), top[i]->mutable_cpu_diff());
    }
  }

  void CheckEachElement(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                        const vector<Blob<Dtype>*>& top, int check_bottom, bool element_wise) {
    CHECK(!top.empty()) << "a layer without tops has no gradient";
    for (size_t i = 0; i < top.size(); ++i) {
      for (int k = 0; k < top[i]->count(); ++k) {
        CheckGradientSingle(layer, bottom, top, check_bottom, static_cast<int>(i), k, element_wise);
      }
    }
  }

  void ForwardWithSeed(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                       const vector<Blob<Dtype>*>& top) {
    Caffe::set_random_seed(seed_);
    layer->Forward(bottom, top);
  }

  Dtype DifferenceQuotient(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                           const vector<Blob<Dtype>*>& top, int top_id, int top_data_id,
                           Blob<Dtype>* blob, int k) {
    const Dtype old = blob->cpu_data()[k];
    const auto objective_at = [&](Dtype value) {
      blob->mutable_cpu_data()[k] = value;
      ForwardWithSeed(layer, bottom, top);
      return GetObjAndGradient(*layer, top, top_id, top_data_id);
    };
    const Dtype above = objective_at(old + stepsize_);
    const Dtype below = objective_at(old - stepsize_);
    blob->mutable_cpu_data()[k] = old;
    return (above - below) / (2 * stepsize_);
  }

  void ExpectGradient(Dtype gradient, Dtype estimate, Dtype input, int top_id, int top_data_id,
                      int blob_id, int k) const {
    if (std::fabs(std::fabs(input) - kink_) <= kink_range_) return;
    const Dtype scale =
        std::max(Dtype(1), std::max<Dtype>(std::fabs(gradient), std::fabs(estimate)));
    EXPECT_NEAR(gradient, estimate, threshold_ * scale)
        << "of (top, element) = (" << top_id << ", " << top_data_id << ") by (blob, element) = ("
        << blob_id << ", " << k << "), which is " << input
        << "; parameters are counted before bottoms";
  }
};

}  // namespace caffe

#endif  // CAFFE_TEST_TEST_GRADIENT_CHECK_UTIL_HPP_
