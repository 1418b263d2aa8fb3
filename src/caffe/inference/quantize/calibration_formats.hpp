#ifndef CAFFE_INFERENCE_CALIBRATION_FORMATS_HPP_
#define CAFFE_INFERENCE_CALIBRATION_FORMATS_HPP_

#include <string>

#include "caffe/inference/calibration_table.hpp"

// Other programs' calibration files. Their numbers, with T the threshold of a CalibrationTable:
//
//   TensorRT   the scale of an int8 tensor, T / 127
//   ncnn       the factor that a value is multiplied by, 127 / T; of weights 127 / max|w|
namespace caffe {

/// A TensorRT calibration cache. The first line is "TRT-<version>-<algorithm>", each other line
/// "<tensor>: <hex>", the bits of the scale (a float) as a big-endian hexadecimal number whose
/// leading zeros may be missing. Names may contain anything, ": " too. Every blob is int8 in the
/// table, as TensorRT has no unsigned type; a tensor with the scale 0 is left out: TensorRT writes
/// that for what it does not quantize. Names are those of the blobs where the cache was made from a
/// Caffe net. Throws Error with the line, and for a cache without any scale.
CalibrationTable ParseTensorRtCache(const std::string& text, const std::string& name);

/// The table as such a cache. `header` is the first line; TensorRT ignores a cache whose version is
/// not its own. An unsigned blob's threshold gets the scale T / 127, too. Reading and writing a
/// cache reproduces all lines behind the first, except for tensors with the scale 0. Throws Error
/// if a name contains a line feed or a scale is beyond float's normal range.
std::string TensorRtCache(const CalibrationTable& table, const std::string& header);

/// A header for a version of TensorRT ("8503" for 8.5.3): EntropyCalibration2, or MinMaxCalibration
/// for tables of that method.
std::string TensorRtHeader(const CalibrationTable& table, const std::string& version);

/// An ncnn table: lines "<layer>_param_0 s s s ..." for the weights' output channels and "<layer>
/// s" for the layer's first bottom. `net` tells which blob that is, under the name that engines
/// give it where layers work in place (ValueGraph). If several layers that read one blob disagree,
/// the larger threshold is taken. A channel of weights that are all 0 has the factor 0 or inf
/// there, and the scale 1 here. ncnn prints six digits behind the point and takes 31 instead of 127
/// levels for the weights of 3x3 convolutions: its numbers are less exact for that. Throws Error
/// with the line, for layers that the net lacks, too.
CalibrationTable ParseNcnnTable(const std::string& text, const std::string& name,
                                const NetParameter& net);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_CALIBRATION_FORMATS_HPP_
