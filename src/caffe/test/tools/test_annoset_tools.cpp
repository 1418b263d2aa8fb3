// The tools that make databases of annotated images, run as a user runs them.
#if defined(USE_OPENCV) && defined(USE_LMDB)

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/tool_test.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

class AnnosetToolsTest : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(folder_ + "d");
    cv::imwrite(folder_ + "d/a.png", cv::Mat(10, 20, CV_8UC3, cv::Scalar(1, 2, 3)));
    cv::imwrite(folder_ + "d/b.png", cv::Mat(30, 10, CV_8UC3, cv::Scalar(4, 5, 6)));
    Write("map", "n01 1 kit fox\nn02 7 dog\n");
    Write("labelmap", "item { name: 'cat' label: 3 } item { name: '5' label: 4 }");
    const string box = "<bndbox><xmin>5</xmin><ymin>1</ymin><xmax>10</xmax><ymax>9</ymax></bndbox>";
    Write("d/a.xml", "<annotation><object><name>cat</name>" + box + "</object></annotation>");
    Write("d/b.xml", "<annotation><object><name>cow</name>" + box + "</object></annotation>");
    Write("d/a.json", R"({"annotation": [{"category_id": 5, "bbox": [0, 0, 10, 5]}]})");
    Write("d/a.txt", "8 0 0 10 10\n");
  }
  map<string, AnnotatedDatum> Annotated(const string& database) {
    return Records<AnnotatedDatum>(database);
  }
};

TEST_F(AnnosetToolsTest, ListsBecomeLabelMaps) {
  const Outcome run = Tool("create_label_map", "-include_background %map %out");
  ASSERT_EQ(run.status, 0) << run.output;
  LabelMap map;
  ReadProtoFromTextFileOrDie(folder_ + "out", &map);
  ASSERT_EQ(map.item_size(), 3);
  EXPECT_EQ(map.item(0).name(), "none_of_the_above");
  EXPECT_EQ(map.item(0).label(), 0);
  EXPECT_EQ(map.item(0).display_name(), "background");
  EXPECT_EQ(map.item(1).name(), "n01");
  EXPECT_EQ(map.item(1).label(), 1);
  EXPECT_EQ(map.item(1).display_name(), "kit fox");
  Write("map", "n01,1,a b\r\n");
  ASSERT_EQ(Tool("create_label_map", "-delimiter , %map %out").status, 0);
  ReadProtoFromTextFileOrDie(folder_ + "out", &map);
  ASSERT_EQ(map.item_size(), 1);
  EXPECT_EQ(map.item(0).display_name(), "a b");
  Write("map", "n01 one x\n");
  ExpectContains(ToolError("create_label_map", "%map %out"), "line 1: 'n01 one x'");
  ExpectContains(ToolError("create_label_map", "%none %out"), "none: there is no such file");
}

TEST_F(AnnosetToolsTest, SizesAreListed) {
  Write("list", "d/a.png d/a.xml\nd/b.png d/b.xml\n");
  ASSERT_EQ(Tool("get_image_size", "% %list %sizes").status, 0);
  EXPECT_EQ(ReadFile(folder_ + "sizes"), "a 10 20\nb 30 10\n");
  Write("ids", "a 17\nb 4\n");
  ASSERT_EQ(Tool("get_image_size", "-name_id_file %ids % %list %sizes").status, 0);
  EXPECT_EQ(ReadFile(folder_ + "sizes"), "17 10 20\n4 30 10\n");
  Write("ids", "a 17\n");
  ExpectContains(ToolError("get_image_size", "-name_id_file %ids % %list %sizes"), "no id for 'b'");
  Write("list", "d/c.png x\n");
  ExpectContains(ToolError("get_image_size", "% %list %sizes"), "d/c.png: there is no such file");
}

TEST_F(AnnosetToolsTest, AnnotationsGoIntoTheDatabase) {
  const string flags = "-anno_type detection -label_map_file %labelmap ";
  Write("list", "d/a.png d/a.xml\n");
  Outcome run = Tool("convert_annoset", flags + "-encoded % %list %xml");
  ASSERT_EQ(run.status, 0) << run.output;
  ExpectContains(run.output, "A total of 1 images.");
  AnnotatedDatum a = Annotated("xml").at("00000000_d/a.png");
  EXPECT_EQ(a.type(), AnnotatedDatum::BBOX);
  EXPECT_EQ(a.datum().data(), ReadFile(folder_ + "d/a.png"));
  ASSERT_EQ(a.annotation_group_size(), 1);
  EXPECT_EQ(a.annotation_group(0).group_label(), 3);
  EXPECT_FLOAT_EQ(a.annotation_group(0).annotation(0).bbox().xmin(), 0.25);
  Write("list", "d/a.png d/a.json\n");
  run = Tool("convert_annoset", flags +
                                    "-label_type json -resize_height 5 -resize_width 5 % %list "
                                    "%json");
  ASSERT_EQ(run.status, 0) << run.output;
  a = Annotated("json").begin()->second;
  EXPECT_EQ(a.annotation_group(0).group_label(), 4);
  EXPECT_FLOAT_EQ(a.annotation_group(0).annotation(0).bbox().xmax(), 0.5);
  EXPECT_EQ(a.datum().height(), 5);
  Write("list", "d/a.png d/a.txt\n");
  run = Tool("convert_annoset", "-anno_type detection -label_type txt -min_dim 20 % %list %txt");
  ASSERT_EQ(run.status, 0) << run.output;
  a = Annotated("txt").begin()->second;
  EXPECT_EQ(a.annotation_group(0).group_label(), 8);
  EXPECT_EQ(a.datum().width(), 40);
}

// A photo that EXIF says to turn: its boxes are divided by the size of the pixels that are stored.
TEST_F(AnnosetToolsTest, BoxesAreInThePixelsThatAreStored) {
  Write("d/a.jpg", JpegWithOrientation(cv::Mat(10, 20, CV_8UC3, cv::Scalar::all(9))));
  Write("list", "d/a.jpg d/a.txt\n");
  for (const string flags : {"", "-encoded ", "-encode_type png -encoded "}) {
    const Outcome run =
        Tool("convert_annoset", "-anno_type detection -label_type txt " + flags + "% %list %db");
    ASSERT_EQ(run.status, 0) << run.output;
    AnnotatedDatum a = Annotated("db").begin()->second;
    DecodeDatumNative(a.mutable_datum());
    EXPECT_EQ(a.datum().height(), 10);
    EXPECT_EQ(a.datum().width(), 20);
    EXPECT_FLOAT_EQ(a.annotation_group(0).annotation(0).bbox().xmax(), 0.5);
    EXPECT_FLOAT_EQ(a.annotation_group(0).annotation(0).bbox().ymax(), 1);
    fs::remove_all(folder_ + "db");
  }
  ASSERT_EQ(Tool("get_image_size", "% %list %sizes").status, 0);
  EXPECT_EQ(ReadFile(folder_ + "sizes"), "a 10 20\n");
}

TEST_F(AnnosetToolsTest, LabelsGoIntoTheDatabase) {
  Write("list", "d/a.png 5\nd/b.png 6\n");
  ASSERT_EQ(Tool("convert_annoset", "-max_dim 15 % %list %db").status, 0);
  const map<string, AnnotatedDatum> records = Annotated("db");
  ASSERT_EQ(records.size(), 2u);
  const AnnotatedDatum& b = records.at("00000001_d/b.png");
  EXPECT_EQ(b.datum().label(), 6);
  EXPECT_EQ(b.datum().height(), 15);
  EXPECT_EQ(b.datum().width(), 5);
  EXPECT_FALSE(b.has_type());
}

TEST_F(AnnosetToolsTest, SayWhatIsWrong) {
  const string tool = "convert_annoset";
  const string flags = "-anno_type detection -label_map_file %labelmap % %list %db";
  Write("list", "d/b.png d/b.xml\n");
  ExpectContains(ToolError(tool, flags), "d/b.xml: the label map does not know 'cow'");
  Write("list", "d/a.png d/c.xml\n");
  ExpectContains(ToolError(tool, flags), "d/c.xml: there is no such file");
  ExpectContains(ToolError(tool, "-anno_type detection % %list %db"), "give -label_map_file");
  ExpectContains(ToolError(tool, "-anno_type boxes % %list %db"), "not 'boxes'");
  ExpectContains(ToolError(tool, "-label_type yaml % %list %db"), "not 'yaml'");
  ExpectContains(ToolError(tool, "% %list %db"), "the label 'd/c.xml' is not a whole number");
  Write("labelmap", "item { name: 'cat' label: 3 } item { name: 'cat' label: 4 }");
  ExpectContains(ToolError(tool, "-check_label " + flags), "a name is there twice");
  EXPECT_EQ(Count("db"), 0);
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV && USE_LMDB
