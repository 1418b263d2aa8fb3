#ifndef CAFFE_TOOLS_CAFFE_TEST_PLAN_HPP_
#define CAFFE_TOOLS_CAFFE_TEST_PLAN_HPP_

#include <memory>

#include "caffe/inference/engine.hpp"

namespace caffe {

/// Logs the accuracy of an engine on labelled images that flags name, in `caffe test`'s lines.
int TestPlanOnImages(const std::shared_ptr<const inference::Engine>& engine);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_TEST_PLAN_HPP_
