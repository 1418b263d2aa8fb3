#ifndef CAFFE_UTIL_ANNOTATIONS_HPP_
#define CAFFE_UTIL_ANNOTATIONS_HPP_

#include <map>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

/// Annotations as data sets write them, into an AnnotatedDatum of type BBOX: corners become
/// fractions of the image, boxes of one label a group, numbered in the order of the file. All
/// throw Error with the file and what is wrong with it; a box that reaches over the image's
/// border is logged.
namespace caffe {

/// PASCAL VOC's XML: annotation.object elements with name, difficult and bndbox (xmin, ymin, xmax,
/// ymax). annotation.size counts, or else the image's size that is given.
bool ReadXMLToAnnotatedDatum(const string& labelname, const int img_height, const int img_width,
                             const std::map<string, int>& name_to_label,
                             AnnotatedDatum* anno_datum);
/// COCO's JSON, one file per image: `annotation`, an array of objects with category_id, bbox (x, y,
/// width, height) and iscrowd, which makes a box difficult. `image` has height and width, or else
/// those given count. Labels are category_id mapped by name_to_label.
bool ReadJSONToAnnotatedDatum(const string& labelname, const int img_height, const int img_width,
                              const std::map<string, int>& name_to_label,
                              AnnotatedDatum* anno_datum);
/// Lines "label xmin ymin xmax ymax" in pixels. The label is a whole number, also written 1.0.
bool ReadTxtToAnnotatedDatum(const string& labelname, const int height, const int width,
                             AnnotatedDatum* anno_datum);

#ifdef USE_OPENCV

/// The size of the image in a file, as stored (EXIF turns nothing); Error if it is none.
void GetImageSize(const string& filename, int* height, int* width);

/// An image and its annotations in `labelname`, which is of labeltype "xml", "json" or "txt". The
/// image becomes height x width or, if these are 0, is enlarged until its shorter side is min_dim
/// and reduced until its longer one is max_dim (0: neither). False if the file is not an image.
bool ReadRichImageToAnnotatedDatum(const string& filename, const string& labelname,
                                   const int height, const int width, const int min_dim,
                                   const int max_dim, const bool is_color, const string& encoding,
                                   const AnnotatedDatum_AnnotationType type,
                                   const string& labeltype,
                                   const std::map<string, int>& name_to_label,
                                   AnnotatedDatum* anno_datum);

/// The image alone, sized likewise.
bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const int min_dim, const int max_dim, const bool is_color,
                      const string& encoding, Datum* datum);

#endif  // USE_OPENCV

}  // namespace caffe

#endif  // CAFFE_UTIL_ANNOTATIONS_HPP_
