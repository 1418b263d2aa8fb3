// What outputs of engines say: classes, boxes, their names, text and JSON.
#include <gtest/gtest.h>

#include <cmath>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/test/support/inference_test.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

std::vector<int> Classes(const std::vector<float>& scores, int k) {
  std::vector<int> classes;
  for (const Ranked& r : TopOf(scores.data(), scores.size(), k)) classes.push_back(r.index);
  return classes;
}

TEST(TopOf, OrdersByScore) {
  EXPECT_EQ(Classes({0.1f, 0.5f, 0.4f}, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(Classes({1, 2}, 5), (std::vector<int>{1, 0})) << "there are no more";
  EXPECT_EQ(Classes({3, 3, 3}, 2), (std::vector<int>{0, 1})) << "equal ones in their order";
  EXPECT_EQ(Classes({NAN, -1, NAN}, 3), (std::vector<int>{1, 0, 2}));
}

NamedTensor Rows(const std::vector<float>& values) {
  return {{1, 1, static_cast<int>(values.size() / 7), 7}, values};
}

TEST(Detections, AreRows) {
  const NamedTensor output = Rows({0, 3,  0.9f, 0.1f, 0.2f, 0.3f, 0.4f,  //
                                   1, 2,  0.4f, 0,    0,    1,    1,     //
                                   2, -1, -1,   -1,   -1,   -1,   -1});
  const std::vector<Detection> all = DetectionsOf(output, 0);
  ASSERT_EQ(all.size(), 2u) << "the third row says that there is nothing";
  EXPECT_EQ(all[0].label, 3);
  EXPECT_EQ(all[1].item, 1);
  EXPECT_EQ(all[0].ymax, 0.4f);
  EXPECT_EQ(DetectionsOf(output, 0.5f).size(), 1u);
}

TEST(Detections, OverlapByTheirAreas) {
  const Detection a = {0, 1, 1, 0, 0, 2, 2}, b = {0, 1, 1, 1, 0, 3, 2}, far = {0, 1, 1, 5, 5, 6, 6};
  EXPECT_DOUBLE_EQ(Overlap(a, a), 1);
  EXPECT_DOUBLE_EQ(Overlap(a, b), 2.0 / 6);
  EXPECT_EQ(Overlap(a, far), 0);
}

TEST(UnmatchedShare, ComparesBoxes) {
  const NamedTensor one = Rows({0, 3, 0.9f, 0, 0, 10, 10});
  const auto share = [&](const std::vector<float>& row) { return UnmatchedShare(one, Rows(row)); };
  EXPECT_EQ(share({0, 3, 0.9f, 0, 0, 10, 10}), 0);
  EXPECT_EQ(share({0, 3, 0.89f, 0, 0, 10, 9.5f}), 0) << "near enough";
  EXPECT_EQ(share({0, 3, 0.9f, 0, 0, 10, 8}), 1) << "another box";
  EXPECT_EQ(share({0, 3, 0.8f, 0, 0, 10, 10}), 1) << "another score";
  EXPECT_EQ(share({0, 2, 0.9f, 0, 0, 10, 10}), 1) << "another class";
  EXPECT_EQ(share({1, 3, 0.9f, 0, 0, 10, 10}), 1) << "another image";
  EXPECT_EQ(share({0, -1, -1, -1, -1, -1, -1}), 1) << "nothing there";
  EXPECT_DOUBLE_EQ(share({0, 3, 0.9f, 0, 0, 10, 10, 0, 3, 0.9f, 0, 0, 10, 10}), 1.0 / 3)
      << "a partner of one box is none of another";
  EXPECT_EQ(share({0, 3, 0.9f, 0, 0, 10, 10, 0, 1, 0.1f, 0, 0, 1, 1}), 0) << "too weak to count";
  EXPECT_EQ(UnmatchedShare(Rows({0, -1, -1, -1, -1, -1, -1}), Rows({})), 0);
}

TEST(ClassNames, AreLinesOrALabelMap) {
  const ClassNames lines(NewFile("n01 tench\nn02 goldfish \r\n"));
  EXPECT_EQ(lines.Of(1), "n02 goldfish");
  EXPECT_EQ(lines.Of(2), "");
  EXPECT_EQ(lines.Of(-1), "");
  const std::string map = NewFileName() + ".prototxt";
  std::ofstream(map) << "item { name: 'none' label: 0 display_name: 'background' }\n"
                        "item { name: 'c' label: 2 display_name: 'cat' }";
  EXPECT_EQ(ClassNames(map).Of(2), "cat");
  EXPECT_EQ(ClassNames(map).Of(1), "");
  EXPECT_TRUE(ClassNames().empty());
}

TEST(ClassNames, HaveToBeThere) {
  ExpectContains(ErrorOf([] { ClassNames("/no/such/file"); }), "/no/such/file");
  ExpectContains(ErrorOf([] { ClassNames(NewFile("")); }), "it names no classes");
  ExpectContains(ErrorOf([] { ClassNames(NewFile("a\nb\n")).RequireFor("prob", 3); }),
                 "it names 2 classes, output 'prob' has 3");
}

/// Three scores of each of two items, and a map of 2 x 2.
std::shared_ptr<const Engine> TwoOutputs() {
  NetworkDefinition net("two");
  net.AddInput("x", {2, 3});
  net.AddInput("m", {2, 1, 2, 2});
  for (const char* name : {"x", "m"}) {
    const std::string n = name;
    net.AddLayer(
        ParseLayer("name: '" + n + "' type: 'Power' bottom: '" + n + "' top: '" + n + "_out'"));
    net.MarkOutput(n + "_out");
  }
  return Builder().Build(net);
}

TEST(Results, AreTextOrJson) {
  ResultOptions options;
  options.top = 2;
  Results results(TwoOutputs(), ClassNames(NewFile("cat\ndog\nbird\n")), options);
  results.Add({"a.png"}, {{"x_out", {{2, 3}, {0.25f, 0.75f, 0, 1, 0, 0}}},
                          {"m_out", {{2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}});
  EXPECT_EQ(results.Text(),
            "a.png m_out 1 2 2 (4): 1 2 3 4\n"
            "a.png x_out\n"
            "  0.7500  1  dog\n"
            "  0.2500  0  cat\n")
      << "the second item only filled the batch up";
  const std::string json = results.Json();
  ExpectContains(json, "\"name\": \"a.png\"");
  ExpectContains(json, "\"label\": \"dog\"");
  ExpectContains(json, "\"score\": 0.75");
  ExpectContains(json, "\"values\": [");
}

TEST(Results, NeedANameForEachClass) {
  Results results(TwoOutputs(), ClassNames(NewFile("cat\n")), ResultOptions());
  ExpectContains(ErrorOf([&] {
                   results.Add({"a"}, {{"x_out", {{1, 3}, {1, 2, 3}}}});
                 }),
                 "it names 1 classes, output 'x_out' has 3");
  ResultOptions none;
  none.top = 0;
  ExpectContains(ErrorOf([&] { Results(TwoOutputs(), ClassNames(), none); }), "-top must be");
}

TEST(Results, NeedANameForEachClassOfADetector) {
  NetworkDefinition net("detector");
  net.AddInput("loc", {1, 8});
  net.AddInput("conf", {1, 6});
  net.AddInput("priors", {1, 2, 8});
  net.AddLayer(
      ParseLayer("name: 'detection' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' "
                 "bottom: 'priors' top: 'boxes' detection_output_param { num_classes: 3 "
                 "nms_param { nms_threshold: 0.5 } }"));
  net.MarkOutput("boxes");
  const auto engine = Builder().Build(net);
  const Tensors boxes = {{"boxes", {{1, 1, 1, 7}, {0, 2, 0.9f, 0, 0, 1, 1}}}};
  Results short_of_one(engine, ClassNames(NewFile("background\ncat\n")), ResultOptions());
  ExpectContains(ErrorOf([&] { short_of_one.Add({"a"}, boxes); }),
                 "it names 2 classes, output 'boxes' has 3");
  Results named(engine, ClassNames(NewFile("background\ncat\ndog\n")), ResultOptions());
  named.Add({"a"}, boxes);
  ExpectContains(named.Text(), "dog");
}

}  // namespace
}  // namespace caffe::inference
