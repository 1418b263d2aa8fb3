#ifndef CAFFE_NVCAFFE_HPP_
#define CAFFE_NVCAFFE_HPP_

// Programs that were written for NVCaffe compile with
//
//     g++ -include caffe/nvcaffe.hpp ...
//
// (or link the target Caffe::nvcaffe, which says so) and no change of their own. Where BVLC Caffe
// has class templates, NVCaffe has classes: Net, Blob, Solver, LayerBase. One namespace cannot hold
// both, so those classes live in namespace nvcaffe, together with all that the two have in common,
// and this header, which has to come before all others, ends with a macro that makes `caffe` mean
// that namespace in the rest of the file. Every class of NVCaffe's is a handle on one of caffe's.
//
// Layers of the program's own (NVCaffe's Layer<Ftype, Btype>) are not among them: write these as
// caffe::Layer<Dtype>, in a file without this header.

// Everything that a program may include below has to be here: behind the macro it would declare
// itself in the wrong namespace.
#include "caffe/caffe.hpp"
#include "caffe/data_reader.hpp"
#include "caffe/layers/annotated_data_layer.hpp"
#include "caffe/layers/axpy_layer.hpp"
#include "caffe/layers/clip_layer.hpp"
#include "caffe/layers/cudnn_conv_layer.hpp"
#include "caffe/layers/cudnn_deconv_layer.hpp"
#include "caffe/layers/cudnn_lcn_layer.hpp"
#include "caffe/layers/cudnn_lrn_layer.hpp"
#include "caffe/layers/cudnn_pooling_layer.hpp"
#include "caffe/layers/cudnn_relu_layer.hpp"
#include "caffe/layers/cudnn_sigmoid_layer.hpp"
#include "caffe/layers/cudnn_softmax_layer.hpp"
#include "caffe/layers/cudnn_tanh_layer.hpp"
#include "caffe/layers/detection_evaluate_layer.hpp"
#include "caffe/layers/detection_output_layer.hpp"
#include "caffe/layers/detectnet_transform_layer.hpp"
#include "caffe/layers/input_layer.hpp"
#include "caffe/layers/l1_loss_layer.hpp"
#include "caffe/layers/lstm_layer.hpp"
#include "caffe/layers/multibox_loss_layer.hpp"
#include "caffe/layers/normalize_layer.hpp"
#include "caffe/layers/parameter_layer.hpp"
#include "caffe/layers/permute_layer.hpp"
#include "caffe/layers/prior_box_layer.hpp"
#include "caffe/layers/recurrent_layer.hpp"
#include "caffe/layers/rnn_layer.hpp"
#include "caffe/layers/smooth_L1_loss_layer.hpp"
#include "caffe/layers/swish_layer.hpp"
#include "caffe/layers/video_data_layer.hpp"
#include "caffe/macros.hpp"
#include "caffe/nvcaffe/blob.hpp"
#include "caffe/nvcaffe/net.hpp"
#include "caffe/nvcaffe/solver.hpp"
#include "caffe/python_layer.hpp"
#include "caffe/type.hpp"
#include "caffe/util/bbox_util.hpp"
#include "caffe/util/cudnn.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/db_leveldb.hpp"
#include "caffe/util/db_lmdb.hpp"
#include "caffe/util/device_alternate.hpp"
#include "caffe/util/gpu_memory.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/im2col.hpp"
#include "caffe/util/im_transforms.hpp"
#include "caffe/util/insert_splits.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/nccl.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/sampler.hpp"
#include "caffe/util/signal_handler.h"
#include "caffe/vision_layers.hpp"

namespace nvcaffe {

// The messages and enums of the schema.
#include "caffe/proto/names.inc"

using caffe::fstream;
using caffe::ios;
using caffe::isinf;
using caffe::isnan;
using caffe::iterator;
using caffe::make_pair;
using caffe::map;
using caffe::ostringstream;
using caffe::pair;
using caffe::set;
using caffe::stringstream;

using caffe::Caffe;
using caffe::Error;
using caffe::Fail;
using caffe::GlobalInit;
using caffe::GPUMemory;
using caffe::Join;
using caffe::Require;
using caffe::SyncedMemory;

using caffe::bfloat16;
using caffe::float16;
using caffe::is_type;
using caffe::tp;
using caffe::tsize;

using caffe::ActionCallback;
using caffe::SignalHandler;
namespace SolverAction = caffe::SolverAction;

using caffe::BlockingQueue;
using caffe::CPUTimer;
template <typename Record>
using DataReader = caffe::BasicDataReader<Record>;
using caffe::DataTransformer;
using caffe::InternalThread;
using caffe::Timer;
namespace db = caffe::db;

using caffe::format_int;
using caffe::MakeTempDir;
using caffe::MakeTempFilename;
using caffe::Message;
using caffe::ReadFileToDatum;
using caffe::ReadNetParamsFromBinaryFileOrDie;
using caffe::ReadNetParamsFromTextFileOrDie;
using caffe::ReadProtoFromBinaryFile;
using caffe::ReadProtoFromBinaryFileOrDie;
using caffe::ReadProtoFromTextFile;
using caffe::ReadProtoFromTextFileOrDie;
using caffe::ReadSolverParamsFromTextFileOrDie;
using caffe::UpgradeNetAsNeeded;
using caffe::UpgradeSolverAsNeeded;
using caffe::WriteProtoToBinaryFile;
using caffe::WriteProtoToTextFile;
#ifdef USE_OPENCV
using caffe::CVMatToDatum;
using caffe::DecodeDatum;
using caffe::DecodeDatumNative;
using caffe::DecodeDatumToCVMat;
using caffe::DecodeDatumToCVMatNative;
using caffe::ReadImageToCVMat;
using caffe::ReadImageToDatum;
#endif

using caffe::caffe_add;
using caffe::caffe_axpy;
using caffe::caffe_copy;
using caffe::caffe_cpu_axpby;
using caffe::caffe_cpu_dot;
using caffe::caffe_cpu_gemm;
using caffe::caffe_cpu_gemv;
using caffe::caffe_cpu_scale;
using caffe::caffe_div;
using caffe::caffe_exp;
using caffe::caffe_log;
using caffe::caffe_mul;
using caffe::caffe_powx;
using caffe::caffe_rng;
using caffe::caffe_rng_bernoulli;
using caffe::caffe_rng_gaussian;
using caffe::caffe_rng_rand;
using caffe::caffe_rng_uniform;
using caffe::caffe_scal;
using caffe::caffe_set;
using caffe::caffe_sqr;
using caffe::caffe_sub;
using caffe::rng_t;
using caffe::shuffle;

using caffe::ApplyNMS;
using caffe::ApplyNMSFast;
using caffe::BBoxCoverage;
using caffe::BBoxSize;
using caffe::ClipBBox;
using caffe::ComputeAP;
using caffe::IntersectBBox;
using caffe::JaccardOverlap;
using caffe::LabelBBox;
using caffe::LocateBBox;
using caffe::ProjectBBox;
using caffe::UnitBBox;

}  // namespace nvcaffe

#define caffe nvcaffe

#endif  // CAFFE_NVCAFFE_HPP_
