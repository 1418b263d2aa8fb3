#include "caffe/util/text/param_str.hpp"

#include <gtest/gtest.h>

#include "caffe/error.hpp"

namespace caffe {
namespace {

TEST(ParamStr, ReadsWhatAuthorsOfPythonLayersWrite) {
  for (const char* text :
       {"'a': 16, 'b': [0.5, 1e1, -2], 'c': True", "{'a': 16, 'b': [0.5, 1e1, -2], 'c': True}",
        "{\"a\": 16, \"b\": (0.5, 10, -2), \"c\": 1,}", "a: 16, b: [.5, +10, -2], c: true",
        "  { 'a' :16 ,'b':[ 0.5,10 , -2, ],'c':true } "}) {
    ParamStr settings(text);
    EXPECT_EQ(settings.Number("a", 1), 16) << text;
    EXPECT_EQ(settings.Numbers("b", {}), (std::vector<float>{.5f, 10, -2})) << text;
    EXPECT_TRUE(settings.Flag("c", false)) << text;
    EXPECT_NO_THROW(settings.RequireAllKnown()) << text;
  }
}

TEST(ParamStr, WhatIsNotThereIsAsTheCallerSays) {
  for (const char* text : {"", "{}", "  "}) {
    ParamStr settings(text);
    EXPECT_EQ(settings.Number("a", 3), 3);
    EXPECT_EQ(settings.Numbers("b", {1, 2}), (std::vector<float>{1, 2}));
    EXPECT_TRUE(settings.Flag("c", true));
  }
}

TEST(ParamStr, OneNumberIsAListOfOne) {
  EXPECT_EQ(ParamStr("'a': 4").Numbers("a", {}), std::vector<float>{4});
  EXPECT_TRUE(ParamStr("'a': []").Numbers("a", {1}).empty());
}

std::string MessageOf(const std::string& text) {
  try {
    ParamStr settings(text);
    settings.Number("a", 0);
    settings.RequireAllKnown();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParamStr, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"'a' 16", "':' is wanted at '16'"},
      {"'a': x", "a number is wanted at 'x'"},
      {"'a': 1 'b': 2", "',' is wanted at ''b': 2'"},
      {"{'a': 1", "',' or '}' is wanted at ''"},
      {"'a': [1", "',' or ']' is wanted at ''"},
      {"'a: 1", "the closing quote is wanted at ': 1'"},
      {"{'a': 1} x", "',' is wanted at 'x'"},
      {": 1", "a name is wanted at ': 1'"},
      {"'a':", "a number is wanted at ''"},
      {"'a': [1, 2]", "'a' is one number, not 2"},
      {"'a': 1, 'b': 2", "there is no setting 'b'; there are a"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_NE(MessageOf(text).find(message), std::string::npos) << text << ": " << MessageOf(text);
  }
}

}  // namespace
}  // namespace caffe
