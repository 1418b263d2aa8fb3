#include <gtest/gtest.h>

#include <set>
#include <string>

#include "caffe/net/net_comparison.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

std::string InputOf(const std::string& name, const std::string& shape) {
  return "layer { name: '" + name + "' type: 'Input' top: '" + name + "' input_param { shape { " +
         shape + " } } } ";
}

/// The numbers that the net's input `name` is filled with by a few seeds.
std::set<float> Numbers(const std::string& name, const std::string& layers) {
  const auto net = MakeNet(layers);
  std::set<float> numbers;
  for (uint32_t seed = 1; seed < 30; ++seed) {
    FillInputs(seed, net.get());
    EXPECT_EQ(ErrorOf([&] { net->Forward(); }), "");
    const Blob<float>& input = *net->blob_by_name(name);
    numbers.insert(input.cpu_data(), input.cpu_data() + input.count());
  }
  return numbers;
}

std::string Embed(const std::string& bottom, const std::string& top, int rows) {
  return "layer { name: '" + top + "' type: 'Embed' bottom: '" + bottom + "' top: '" + top +
         "' embed_param { num_output: 2 input_dim: " + std::to_string(rows) + " } } ";
}

TEST(FillInputs, GivesLayersTheIndicesThatTheyHave) {
  const std::string words = InputOf("words", "dim: 2 dim: 3");
  EXPECT_EQ(Numbers("words", words + Embed("words", "e", 4)), (std::set<float>{0, 1, 2, 3}));
  EXPECT_EQ(Numbers("words", words + Embed("words", "e", 4) + Embed("words", "f", 2)),
            (std::set<float>{0, 1}))
      << "of two readers both have the index";
  EXPECT_EQ(Numbers("words", words +
                                 "layer { name: 'flat' type: 'Flatten' bottom: 'words' "
                                 "top: 'flat' flatten_param { axis: 0 } } " +
                                 Embed("flat", "e", 3)),
            (std::set<float>{0, 1, 2}))
      << "Flatten shares the memory";

  const std::string reordered = InputOf("items", "dim: 3 dim: 2") + InputOf("order", "dim: 5") +
                                "layer { name: 'it' type: 'BatchReindex' bottom: 'items' "
                                "bottom: 'order' top: 'y' }";
  EXPECT_EQ(Numbers("order", reordered), (std::set<float>{0, 1, 2}));
}

TEST(FillInputs, GivesOthersNumbersOfBothSigns) {
  const std::set<float> items =
      Numbers("items", InputOf("items", "dim: 3 dim: 2") + InputOf("words", "dim: 3") +
                           Embed("words", "e", 4) +
                           "layer { name: 'sum' type: 'Eltwise' "
                           "bottom: 'items' bottom: 'e' top: 'y' }");
  EXPECT_LT(*items.begin(), -0.9f);
  EXPECT_GT(*items.rbegin(), 0.9f);
  EXPECT_GE(*items.begin(), -1);
  EXPECT_LE(*items.rbegin(), 1);
}

}  // namespace
}  // namespace caffe
