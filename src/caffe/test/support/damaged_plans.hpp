#ifndef CAFFE_TEST_DAMAGED_PLANS_HPP_
#define CAFFE_TEST_DAMAGED_PLANS_HPP_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "caffe/inference/engine.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {

/// Loads a plan that may be damaged and calls use(engine). Expects an Error that names the file, or
/// a valid engine: what it saves is a plan that is loaded and saved again without a change. Returns
/// the Error's message, "" if there is none.
inline std::string ExpectErrorOrEngine(
    const std::string& file,
    const std::function<void(const std::shared_ptr<const Engine>&)>& use = {}) {
  std::shared_ptr<const Engine> engine;
  const std::string refused = ErrorOf([&] { engine = Engine::Load(file); });
  if (!engine) {
    ExpectContains(refused, file);
    return refused;
  }
  const std::string first = NewFileName(), second = NewFileName();
  engine->Save(first);
  Engine::Load(first)->Save(second);
  EXPECT_TRUE(ReadFile(first) == ReadFile(second)) << "the plan changes when it is saved again";
  return use ? ErrorOf([&] { use(engine); }) : "";
}

}  // namespace caffe::inference

#endif  // CAFFE_TEST_DAMAGED_PLANS_HPP_
