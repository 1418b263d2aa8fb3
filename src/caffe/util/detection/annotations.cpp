// Boost's JSON parser of some versions would else say that it uses them.
#define BOOST_BIND_GLOBAL_PLACEHOLDERS

#include "caffe/util/detection/annotations.hpp"

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/core/limits.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/detection/box.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/list_line.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {
namespace {

using boost::property_tree::ptree;

/// A number in a file, somewhere.
float Number(const ptree& tree, const char* path, const string& file, const string& where) {
  const auto text = tree.get_optional<string>(path);
  Require(text.has_value(), Error::File{file}, ": ", where, " has no ", path);
  const auto number = tree.get_optional<float>(path);
  Require(number.has_value() && std::isfinite(*number), Error::File{file}, ": ", where, ": ", path,
          " is '", *text, "', not a number");
  return *number;
}

/// `word`, all of it, as a number; not set if it is none.
std::optional<float> NumberOf(const string& word) {
  StringReader stream(word);
  float number = 0;
  if (!(stream >> number) || stream.peek() != StringReader::traits_type::eof()) return {};
  return number;
}

/// A line "label xmin ymin xmax ymax", between blanks and tabs; not set if it is none. Floats hold
/// whole labels like 1.0 up to 2^24 exactly.
struct TxtLine {
  int label;
  Box box;
};
std::optional<TxtLine> TxtLineOf(const string& line) {
  StringReader stream(line);
  vector<string> words;
  for (string word; stream >> word;) words.push_back(word);
  if (words.size() != 5) return {};
  int label = 0;
  if (!ParseWholeNumber(words[0], &label)) {
    const std::optional<float> number = NumberOf(words[0]);
    if (!number || std::abs(*number) > 1 << 24 || *number != std::trunc(*number)) return {};
    label = static_cast<int>(*number);
  }
  const std::optional<float> xmin = NumberOf(words[1]), ymin = NumberOf(words[2]),
                             xmax = NumberOf(words[3]), ymax = NumberOf(words[4]);
  if (!xmin || !ymin || !xmax || !ymax) return {};
  return TxtLine{label, {*xmin, *ymin, *xmax, *ymax}};
}

/// A size that the file may tell; as given otherwise.
int Size(const ptree& tree, const char* path, int given) {
  const int size = tree.get_optional<int>(path).get_value_or(0);
  return size > 0 ? size : given;
}

int LabelOf(const std::map<string, int>& name_to_label, const string& name, const string& file) {
  const auto found = name_to_label.find(name);
  Require(found != name_to_label.end(), Error::File{file}, ": the label map does not know '", name,
          "'");
  return found->second;
}

AnnotationGroup* GroupOf(int label, AnnotatedDatum* anno_datum) {
  for (AnnotationGroup& group : *anno_datum->mutable_annotation_group()) {
    if (group.group_label() == label) return &group;
  }
  AnnotationGroup* group = anno_datum->add_annotation_group();
  group->set_group_label(label);
  return group;
}

/// Adds a box in pixels of an image of `height` x `width`.
void AddBox(const Box& box, int label, bool difficult, int height, int width, const string& file,
            AnnotatedDatum* anno_datum) {
  Require(height > 0 && width > 0, Error::File{file}, ": the image's size is ", height, " x ",
          width);
  Require(box.xmin <= box.xmax && box.ymin <= box.ymax, Error::File{file}, ": a box from (",
          box.xmin, ", ", box.ymin, ") to (", box.xmax, ", ", box.ymax,
          ") has its corners in the wrong order");
  LOG_IF(WARNING, box.xmin < 0 || box.ymin < 0 || box.xmax > width || box.ymax > height)
      << file << ": bounding box exceeds image boundary.";
  AnnotationGroup* group = GroupOf(label, anno_datum);
  Annotation* annotation = group->add_annotation();
  annotation->set_instance_id(group->annotation_size() - 1);
  NormalizedBBox* bbox = annotation->mutable_bbox();
  bbox->set_xmin(box.xmin / width);
  bbox->set_ymin(box.ymin / height);
  bbox->set_xmax(box.xmax / width);
  bbox->set_ymax(box.ymax / height);
  bbox->set_difficult(difficult);
}

/// How deeply the elements of XML lie within one another at most.
uint64_t DepthOfXml(const string& text) {
  int64_t depth = 0, deepest = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.compare(i, 4, "<!--") == 0) {
      i = std::min(text.find("-->", i), text.size());
    } else if (text.compare(i, 9, "<![CDATA[") == 0) {
      i = std::min(text.find("]]>", i), text.size());
    } else if (text[i] == '<' && text[i + 1] == '/') {
      --depth;
    } else if (text[i] == '<' && text[i + 1] != '!' && text[i + 1] != '?') {
      deepest = std::max(deepest, ++depth);
    } else if (text[i] == '/' && text[i + 1] == '>') {
      --depth;
    }
  }
  return static_cast<uint64_t>(deepest);
}

/// Likewise the lists and objects of JSON.
uint64_t DepthOfJson(const string& text) {
  int64_t depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return static_cast<uint64_t>(deepest);
}

/// Reads a file with one of Boost's parsers, which call themselves for what lies within something:
/// `depth_of` bounds that.
template <typename Parser>
ptree ReadTree(const string& file, uint64_t (*depth_of)(const string&), Parser&& parse) {
  std::ifstream in = OpenTextFile(file);
  const string text(std::istreambuf_iterator<char>(in), {});
  limits::Check(limits::kNesting, depth_of(text), Error::File{file}, ": its deepest part");
  StringReader stream(text);
  ptree tree;
  try {
    parse(stream, &tree);
  } catch (const boost::property_tree::file_parser_error& error) {
    Fail(Error::File{file}, ", line ", error.line(), ": ", error.message());
  }
  return tree;
}

}  // namespace

bool ReadXMLToAnnotatedDatum(const string& labelname, const int img_height, const int img_width,
                             const std::map<string, int>& name_to_label,
                             AnnotatedDatum* anno_datum) {
  const ptree tree = ReadTree(labelname, DepthOfXml, [](std::istream& stream, ptree* to) {
    boost::property_tree::read_xml(stream, *to);
  });
  const auto annotation = tree.get_child_optional("annotation");
  Require(annotation.has_value(), Error::File{labelname}, ": there is no element <annotation>");
  const int height = Size(*annotation, "size.height", img_height);
  const int width = Size(*annotation, "size.width", img_width);
  LOG_IF(WARNING, height != img_height || width != img_width)
      << labelname << ": says that the image is " << height << " x " << width << ", it is "
      << img_height << " x " << img_width;
  for (const auto& child : *annotation) {
    if (child.first != "object") continue;
    const ptree& object = child.second;
    const string name = object.get<string>("name", ""), where = "<object> '" + name + "'";
    const auto number = [&](const char* path) { return Number(object, path, labelname, where); };
    AddBox({number("bndbox.xmin"), number("bndbox.ymin"), number("bndbox.xmax"),
            number("bndbox.ymax")},
           LabelOf(name_to_label, name, labelname), object.get("difficult", 0) == 1, height, width,
           labelname, anno_datum);
  }
  return true;
}

bool ReadJSONToAnnotatedDatum(const string& labelname, const int img_height, const int img_width,
                              const std::map<string, int>& name_to_label,
                              AnnotatedDatum* anno_datum) {
  const ptree tree = ReadTree(labelname, DepthOfJson, [](std::istream& stream, ptree* to) {
    boost::property_tree::read_json(stream, *to);
  });
  const int height = Size(tree, "image.height", img_height);
  const int width = Size(tree, "image.width", img_width);
  LOG_IF(WARNING, height != img_height || width != img_width)
      << labelname << ": says that the image is " << height << " x " << width << ", it is "
      << img_height << " x " << img_width;
  const auto annotations = tree.get_child_optional("annotation");
  Require(annotations.has_value(), Error::File{labelname}, ": there is no member 'annotation'");
  for (const auto& child : *annotations) {
    const ptree& object = child.second;
    const string name = object.get<string>("category_id", "");
    const auto numbers = object.get_child_optional("bbox");
    Require(numbers.has_value() && numbers->size() == 4, Error::File{labelname},
            ": an annotation of category '", name, "' has no bbox of 4 numbers");
    vector<float> b;
    for (const auto& number : *numbers) b.push_back(Number(number.second, "", labelname, "bbox"));
    AddBox({b[0], b[1], b[0] + b[2], b[1] + b[3]}, LabelOf(name_to_label, name, labelname),
           object.get("iscrowd", 0) != 0, height, width, labelname, anno_datum);
  }
  return true;
}

bool ReadTxtToAnnotatedDatum(const string& labelname, const int height, const int width,
                             AnnotatedDatum* anno_datum) {
  std::ifstream stream = OpenTextFile(labelname);
  int line_number = 0;
  for (string line; std::getline(stream, line);) {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == string::npos) continue;
    const std::optional<TxtLine> read = TxtLineOf(line);
    Require(read.has_value(), Error::File{labelname}, ", line ", line_number, ": '",
            line.substr(0, line.find_last_not_of(" \t\r") + 1),
            "' is not label, xmin, ymin, xmax and ymax",
            Error::Remedy{"give a whole number and four numbers, nothing else"});
    AddBox(read->box, read->label, false, height, width, labelname, anno_datum);
  }
  return true;
}

#ifdef USE_OPENCV

void GetImageSize(const string& filename, int* height, int* width) {
  const cv::Mat image = ReadImageToCVMat(filename);
  Require(!image.empty(), Error::File{filename}, ": there is no such file, or it is not an image");
  *height = image.rows;
  *width = image.cols;
}

bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const int min_dim, const int max_dim, const bool is_color,
                      const string& encoding, Datum* datum) {
  int new_height = height, new_width = width;
  if ((height <= 0 || width <= 0) && (min_dim > 0 || max_dim > 0)) {
    const cv::Mat image = ReadImageToCVMat(filename, is_color);
    if (image.empty()) return false;
    const int shorter = std::min(image.rows, image.cols), longer = std::max(image.rows, image.cols);
    float factor = min_dim > shorter ? float(min_dim) / shorter : 1;
    if (max_dim > 0 && int(factor * longer) > max_dim) factor = float(max_dim) / longer;
    new_height = factor == 1 ? 0 : std::max(1, int(std::lround(factor * image.rows)));
    new_width = factor == 1 ? 0 : std::max(1, int(std::lround(factor * image.cols)));
  }
  return ReadImageToDatum(filename, label, new_height, new_width, is_color, encoding, datum);
}

bool ReadRichImageToAnnotatedDatum(const string& filename, const string& labelname,
                                   const int height, const int width, const int min_dim,
                                   const int max_dim, const bool is_color, const string& encoding,
                                   const AnnotatedDatum_AnnotationType type,
                                   const string& labeltype,
                                   const std::map<string, int>& name_to_label,
                                   AnnotatedDatum* anno_datum) {
  if (!ReadImageToDatum(filename, -1, height, width, min_dim, max_dim, is_color, encoding,
                        anno_datum->mutable_datum())) {
    return false;
  }
  anno_datum->clear_annotation_group();
  anno_datum->set_type(type);
  int original_height = 0, original_width = 0;
  GetImageSize(filename, &original_height, &original_width);
  if (labeltype == "xml") {
    return ReadXMLToAnnotatedDatum(labelname, original_height, original_width, name_to_label,
                                   anno_datum);
  }
  if (labeltype == "json") {
    return ReadJSONToAnnotatedDatum(labelname, original_height, original_width, name_to_label,
                                    anno_datum);
  }
  Require(labeltype == "txt", "annotations are xml, json or txt files, not '", labeltype, "'");
  return ReadTxtToAnnotatedDatum(labelname, original_height, original_width, anno_datum);
}

#endif  // USE_OPENCV

}  // namespace caffe
