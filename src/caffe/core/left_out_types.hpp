#ifndef CAFFE_CORE_LEFT_OUT_TYPES_HPP_
#define CAFFE_CORE_LEFT_OUT_TYPES_HPP_

namespace caffe {

/// Layer types that public nets of single projects use and that the library leaves out.
constexpr const char* kLeftOutTypes[] = {"Affinity",
                                         "AssistedExcitation",
                                         "CPMData",
                                         "CenterGridOutput",
                                         "ConnectedComponent",
                                         "DataRandTransform",
                                         "DenseBlock",
                                         "EvalDetection",
                                         "GeneralContrastiveLoss",
                                         "GeneralTripletLoss",
                                         "K1_EuclideanLoss",
                                         "K2_EuclideanLoss",
                                         "LabelSpecificRescale",
                                         "LpEvaluate",
                                         "MalisLoss",
                                         "RegionLoss",
                                         "Repeat",
                                         "SegmentationEvaluate",
                                         "SpatialTransformer",
                                         "ccpdData"};

}  // namespace caffe

#endif  // CAFFE_CORE_LEFT_OUT_TYPES_HPP_
