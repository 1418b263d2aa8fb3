#include "caffe/util/detection/annotations.hpp"

#include <gtest/gtest.h>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/label_map.hpp"
#include "google/protobuf/text_format.h"

namespace caffe {
namespace {

const std::map<string, int> kLabels = {{"cat", 1}, {"dog", 7}, {"18", 2}};

void ExpectBox(const Annotation& annotation, int instance, const Box& box, bool difficult) {
  EXPECT_EQ(annotation.instance_id(), instance);
  EXPECT_FLOAT_EQ(annotation.bbox().xmin(), box.xmin);
  EXPECT_FLOAT_EQ(annotation.bbox().ymin(), box.ymin);
  EXPECT_FLOAT_EQ(annotation.bbox().xmax(), box.xmax);
  EXPECT_FLOAT_EQ(annotation.bbox().ymax(), box.ymax);
  EXPECT_EQ(annotation.bbox().difficult(), difficult);
}

string XmlObject(const string& name, const string& box, const string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<bndbox>" + box + "</bndbox></object>\n";
}

const char kBox[] = "<xmin>10</xmin><ymin>20</ymin><xmax>30</xmax><ymax>40</ymax>";

TEST(XmlAnnotations, AreGroupedByLabel) {
  const string file = NewFile(
      "<?xml version='1.0'?>\n<annotation><size><width>100</width><height>50</height>"
      "</size>" +
      XmlObject("dog", kBox) + XmlObject("cat", kBox, "<difficult>1</difficult>") +
      XmlObject("dog", "<ymax>25</ymax><xmax>50</xmax><xmin>0</xmin><ymin>0.5</ymin>") +
      "</annotation>");
  AnnotatedDatum annotated;
  ASSERT_TRUE(ReadXMLToAnnotatedDatum(file, 50, 100, kLabels, &annotated));
  ASSERT_EQ(annotated.annotation_group_size(), 2);
  const AnnotationGroup &dogs = annotated.annotation_group(0),
                        &cats = annotated.annotation_group(1);
  EXPECT_EQ(dogs.group_label(), 7);
  ExpectBox(dogs.annotation(0), 0, {.1f, .4f, .3f, .8f}, false);
  ExpectBox(dogs.annotation(1), 1, {0, .01f, .5f, .5f}, false);
  EXPECT_EQ(cats.group_label(), 1);
  ExpectBox(cats.annotation(0), 0, {.1f, .4f, .3f, .8f}, true);
}

TEST(XmlAnnotations, TakeTheImagesSizeIfTheyHaveNone) {
  const string file = NewFile("<annotation>" + XmlObject("cat", kBox) + "</annotation>");
  AnnotatedDatum annotated;
  ReadXMLToAnnotatedDatum(file, 200, 100, kLabels, &annotated);
  ExpectBox(annotated.annotation_group(0).annotation(0), 0, {.1f, .1f, .3f, .2f}, false);
}

// Parsers call themselves for each level: a file of a stranger could use up the stack.
TEST(XmlAnnotations, AndJsonAreNoDeeperThanTheLimit) {
  AnnotatedDatum annotated;
  string xml, json = "{\"annotation\": ";
  for (int i = 0; i < 300000; ++i) {
    xml += "<a>";
    json += "[";
  }
  const string xml_file = NewFile(xml), json_file = NewFile(json);
  ExpectContains(ErrorOf([&] { ReadXMLToAnnotatedDatum(xml_file, 10, 10, kLabels, &annotated); }),
                 xml_file + ": its deepest part asks for 300000, and the limit (nesting) is 100");
  ExpectContains(ErrorOf([&] { ReadJSONToAnnotatedDatum(json_file, 10, 10, kLabels, &annotated); }),
                 json_file + ": its deepest part asks for 300001, and the limit (nesting) is 100");
  // Many that follow one another are not deep, nor are brackets in text.
  string flat = "<annotation>";
  for (int i = 0; i < 500; ++i) flat += "<a/><b>x</b><!-- <c> -->" + XmlObject("cat", kBox);
  ReadXMLToAnnotatedDatum(NewFile(flat + "</annotation>"), 100, 100, kLabels, &annotated);
  EXPECT_EQ(annotated.annotation_group(0).annotation_size(), 500);
  string text = "{\"annotation\": [], \"x\": \"\\\"";
  for (int i = 0; i < 500; ++i) text += "[{";
  ReadJSONToAnnotatedDatum(NewFile(text + "\"}"), 100, 100, kLabels, &annotated);
}

string XmlError(const string& contents) {
  AnnotatedDatum annotated;
  return ErrorOf([&] { ReadXMLToAnnotatedDatum(NewFile(contents), 10, 10, kLabels, &annotated); });
}

TEST(XmlAnnotations, SayWhatIsWrong) {
  ExpectContains(XmlError("<annotation>\n<object>\n</annotation>"), "line 3");
  ExpectContains(XmlError("<x></x>"), "no element <annotation>");
  ExpectContains(XmlError("<annotation>" + XmlObject("cow", kBox) + "</annotation>"),
                 "label map does not know 'cow'");
  ExpectContains(XmlError("<annotation>" + XmlObject("cat", "<xmin>1</xmin>") + "</annotation>"),
                 "<object> 'cat' has no bndbox.ymin");
  ExpectContains(XmlError("<annotation>" + XmlObject("cat", "<xmin>one</xmin>") + "</annotation>"),
                 "bndbox.xmin is 'one', not a number");
  ExpectContains(XmlError("<annotation>" +
                          XmlObject("cat",
                                    "<xmin>5</xmin><ymin>0</ymin><xmax>1</xmax>"
                                    "<ymax>1</ymax>") +
                          "</annotation>"),
                 "corners in the wrong order");
  AnnotatedDatum annotated;
  ExpectContains(ErrorOf([&] { ReadXMLToAnnotatedDatum("/none", 10, 10, kLabels, &annotated); }),
                 "/none: there is no such file");
}

TEST(JsonAnnotations, HaveCornersAndSizes) {
  const string file = NewFile(R"({"image": {"height": 50, "width": 100}, "annotation": [
      {"category_id": 18, "bbox": [10, 20, 20, 20.5], "iscrowd": 0},
      {"category_id": 18, "bbox": [0, 0, 1, 1], "iscrowd": 1}]})");
  AnnotatedDatum annotated;
  ASSERT_TRUE(ReadJSONToAnnotatedDatum(file, 50, 100, kLabels, &annotated));
  ASSERT_EQ(annotated.annotation_group_size(), 1);
  EXPECT_EQ(annotated.annotation_group(0).group_label(), 2);
  ExpectBox(annotated.annotation_group(0).annotation(0), 0, {.1f, .4f, .3f, .81f}, false);
  ExpectBox(annotated.annotation_group(0).annotation(1), 1, {0, 0, .01f, .02f}, true);
}

TEST(JsonAnnotations, SayWhatIsWrong) {
  const auto error = [](const string& contents) {
    AnnotatedDatum annotated;
    return ErrorOf(
        [&] { ReadJSONToAnnotatedDatum(NewFile(contents), 10, 10, kLabels, &annotated); });
  };
  ExpectContains(error("{\n\"annotation\": ["), "line");
  ExpectContains(error("{}"), "no member 'annotation'");
  ExpectContains(error(R"({"annotation": [{"category_id": 18, "bbox": [1, 2]}]})"),
                 "category '18' has no bbox of 4 numbers");
  ExpectContains(error(R"({"annotation": [{"category_id": 3, "bbox": [1, 2, 3, 4]}]})"),
                 "does not know '3'");
}

TEST(TxtAnnotations, AreLines) {
  AnnotatedDatum annotated;
  ASSERT_TRUE(
      ReadTxtToAnnotatedDatum(NewFile("3 10 20 30 40\n\n3 0 0 50 25\r\n"), 50, 100, &annotated));
  ASSERT_EQ(annotated.annotation_group_size(), 1);
  EXPECT_EQ(annotated.annotation_group(0).group_label(), 3);
  ExpectBox(annotated.annotation_group(0).annotation(1), 1, {0, 0, .5f, .5f}, false);
  ExpectContains(ErrorOf([&] {
                   ReadTxtToAnnotatedDatum(NewFile("3 10 20 30 40\n3 1 2\n"), 50, 100, &annotated);
                 }),
                 "line 2: '3 1 2' is not label, xmin, ymin, xmax and ymax");
}

// A number of a float's form must not shift those behind it.
TEST(TxtAnnotations, HaveWholeLabelsAndFourNumbers) {
  AnnotatedDatum annotated;
  ReadTxtToAnnotatedDatum(NewFile("1.0 10 20 30 40\n\t-2\t 10.5\t2e1  30 40.\t\r\n +3 0 0 50 25"),
                          50, 100, &annotated);
  ASSERT_EQ(annotated.annotation_group_size(), 3);
  EXPECT_EQ(annotated.annotation_group(0).group_label(), 1);
  ExpectBox(annotated.annotation_group(0).annotation(0), 0, {.1f, .4f, .3f, .8f}, false);
  EXPECT_EQ(annotated.annotation_group(1).group_label(), -2);
  ExpectBox(annotated.annotation_group(1).annotation(0), 0, {.105f, .4f, .3f, .8f}, false);
  EXPECT_EQ(annotated.annotation_group(2).group_label(), 3);
  for (const string line :
       {"1.5 10 20 30 40", "1.x 10 20 30 40", "cat 10 20 30 40", "1 10 20 30 40 0",
        "1 10, 20 30 40", "1 10 20 30 4x", "1 10 20 30", "3000000000 10 20 30 40", "nan 1 2 3 4"}) {
    const string file = NewFile("3 10 20 30 40\n" + line + " \r\n");
    const string error = ErrorOf([&] { ReadTxtToAnnotatedDatum(file, 50, 100, &annotated); });
    ExpectContains(error,
                   file + ", line 2: '" + line + "' is not label, xmin, ymin, xmax and ymax");
    ExpectContains(error, "give a whole number and four numbers");
  }
}

TEST(LabelMaps, AreReadBothWays) {
  LabelMap map;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "item { name: 'a' label: 1 display_name: 'A' } item { name: 'b' label: 2 } "
      "item { name: 'b' label: 3 }",
      &map));
  std::map<string, int> labels;
  std::map<int, string> names, displayed;
  EXPECT_FALSE(MapNameToLabel(map, true, &labels));
  labels.clear();
  EXPECT_TRUE(MapNameToLabel(map, false, &labels));
  EXPECT_EQ(labels, (std::map<string, int>{{"a", 1}, {"b", 3}}));
  EXPECT_TRUE(MapLabelToName(map, true, &names));
  EXPECT_EQ(names[3], "b");
  EXPECT_TRUE(MapLabelToDisplayName(map, true, &displayed));
  EXPECT_EQ(displayed[1], "A");
}

}  // namespace
}  // namespace caffe
