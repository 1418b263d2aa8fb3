# The headers that are installed: all of include/, and nothing of src/. docs/cpp_api.md says what
# programs can rely on. A header that programs are not meant to include lies next to its source.

# BVLC Caffe 1.0's, and those of its tests.
set(public_headers_caffe
  caffe/blob.hpp
  caffe/caffe.hpp
  caffe/common.hpp
  caffe/data_transformer.hpp
  caffe/filler.hpp
  caffe/internal_thread.hpp
  caffe/layer.hpp
  caffe/layer_factory.hpp
  caffe/layers/absval_layer.hpp
  caffe/layers/accuracy_layer.hpp
  caffe/layers/argmax_layer.hpp
  caffe/layers/base_conv_layer.hpp
  caffe/layers/base_data_layer.hpp
  caffe/layers/batch_norm_layer.hpp
  caffe/layers/batch_reindex_layer.hpp
  caffe/layers/bias_layer.hpp
  caffe/layers/bnll_layer.hpp
  caffe/layers/clip_layer.hpp
  caffe/layers/concat_layer.hpp
  caffe/layers/contrastive_loss_layer.hpp
  caffe/layers/conv_layer.hpp
  caffe/layers/crop_layer.hpp
  caffe/layers/cudnn_conv_layer.hpp
  caffe/layers/cudnn_deconv_layer.hpp
  caffe/layers/cudnn_lcn_layer.hpp
  caffe/layers/cudnn_lrn_layer.hpp
  caffe/layers/cudnn_pooling_layer.hpp
  caffe/layers/cudnn_relu_layer.hpp
  caffe/layers/cudnn_sigmoid_layer.hpp
  caffe/layers/cudnn_softmax_layer.hpp
  caffe/layers/cudnn_tanh_layer.hpp
  caffe/layers/data_layer.hpp
  caffe/layers/deconv_layer.hpp
  caffe/layers/dropout_layer.hpp
  caffe/layers/dummy_data_layer.hpp
  caffe/layers/eltwise_layer.hpp
  caffe/layers/elu_layer.hpp
  caffe/layers/embed_layer.hpp
  caffe/layers/euclidean_loss_layer.hpp
  caffe/layers/exp_layer.hpp
  caffe/layers/filter_layer.hpp
  caffe/layers/flatten_layer.hpp
  caffe/layers/hdf5_data_layer.hpp
  caffe/layers/hdf5_output_layer.hpp
  caffe/layers/hinge_loss_layer.hpp
  caffe/layers/im2col_layer.hpp
  caffe/layers/image_data_layer.hpp
  caffe/layers/infogain_loss_layer.hpp
  caffe/layers/inner_product_layer.hpp
  caffe/layers/input_layer.hpp
  caffe/layers/log_layer.hpp
  caffe/layers/loss_layer.hpp
  caffe/layers/lrn_layer.hpp
  caffe/layers/lstm_layer.hpp
  caffe/layers/memory_data_layer.hpp
  caffe/layers/multinomial_logistic_loss_layer.hpp
  caffe/layers/mvn_layer.hpp
  caffe/layers/neuron_layer.hpp
  caffe/layers/parameter_layer.hpp
  caffe/layers/pooling_layer.hpp
  caffe/layers/power_layer.hpp
  caffe/layers/prelu_layer.hpp
  caffe/layers/python_layer.hpp
  caffe/layers/recurrent_layer.hpp
  caffe/layers/reduction_layer.hpp
  caffe/layers/relu_layer.hpp
  caffe/layers/reshape_layer.hpp
  caffe/layers/rnn_layer.hpp
  caffe/layers/scale_layer.hpp
  caffe/layers/sigmoid_cross_entropy_loss_layer.hpp
  caffe/layers/sigmoid_layer.hpp
  caffe/layers/silence_layer.hpp
  caffe/layers/slice_layer.hpp
  caffe/layers/softmax_layer.hpp
  caffe/layers/softmax_loss_layer.hpp
  caffe/layers/split_layer.hpp
  caffe/layers/spp_layer.hpp
  caffe/layers/swish_layer.hpp
  caffe/layers/tanh_layer.hpp
  caffe/layers/threshold_layer.hpp
  caffe/layers/tile_layer.hpp
  caffe/layers/window_data_layer.hpp
  caffe/net.hpp
  caffe/parallel.hpp
  caffe/sgd_solvers.hpp
  caffe/solver.hpp
  caffe/solver_factory.hpp
  caffe/syncedmem.hpp
  caffe/test/test_caffe_main.hpp
  caffe/test/test_gradient_check_util.hpp
  caffe/util/benchmark.hpp
  caffe/util/blocking_queue.hpp
  caffe/util/cudnn.hpp
  caffe/util/db.hpp
  caffe/util/db_leveldb.hpp
  caffe/util/db_lmdb.hpp
  caffe/util/device_alternate.hpp
  caffe/util/format.hpp
  caffe/util/gpu_util.cuh
  caffe/util/hdf5.hpp
  caffe/util/im2col.hpp
  caffe/util/insert_splits.hpp
  caffe/util/io.hpp
  caffe/util/math_functions.hpp
  caffe/util/mkl_alternate.hpp
  caffe/util/nccl.hpp
  caffe/util/rng.hpp
  caffe/util/signal_handler.h
  caffe/util/upgrade_proto.hpp)

# Caffe's before 2016, when layers had one header a kind.
set(public_headers_before_2016
  caffe/common_layers.hpp
  caffe/data_layers.hpp
  caffe/loss_layers.hpp
  caffe/neuron_layers.hpp
  caffe/vision_layers.hpp)

# NVCaffe 0.17's and the SSD fork's.
set(public_headers_nvcaffe
  caffe/data_reader.hpp
  caffe/layers/annotated_data_layer.hpp
  caffe/layers/axpy_layer.hpp
  caffe/layers/detection_evaluate_layer.hpp
  caffe/layers/detection_output_layer.hpp
  caffe/layers/detectnet_transform_layer.hpp
  caffe/layers/l1_loss_layer.hpp
  caffe/layers/multibox_loss_layer.hpp
  caffe/layers/normalize_layer.hpp
  caffe/layers/permute_layer.hpp
  caffe/layers/prior_box_layer.hpp
  caffe/layers/smooth_L1_loss_layer.hpp
  caffe/layers/video_data_layer.hpp
  caffe/macros.hpp
  caffe/nvcaffe.hpp
  caffe/nvcaffe/blob.hpp
  caffe/nvcaffe/net.hpp
  caffe/nvcaffe/solver.hpp
  caffe/python_layer.hpp
  caffe/type.hpp
  caffe/util/bbox_util.hpp
  caffe/util/gpu_memory.hpp
  caffe/util/im_transforms.hpp
  caffe/util/label_map.hpp
  caffe/util/sampler.hpp)

# Layers of other published forks.
set(public_headers_forks
  caffe/layers/bn_layer.hpp
  caffe/layers/box_annotator_ohem_layer.hpp
  caffe/layers/center_loss_layer.hpp
  caffe/layers/combined_margin_layer.hpp
  caffe/layers/continuation_indicator_layer.hpp
  caffe/layers/crop_center_layer.hpp
  caffe/layers/ctc_decoder_layer.hpp
  caffe/layers/ctc_loss_layer.hpp
  caffe/layers/dense_image_data_layer.hpp
  caffe/layers/depthwise_conv_layer.hpp
  caffe/layers/flip_layer.hpp
  caffe/layers/focal_loss_layer.hpp
  caffe/layers/image_seg_data_layer.hpp
  caffe/layers/inner_distance_layer.hpp
  caffe/layers/interp_layer.hpp
  caffe/layers/label_specific_add_layer.hpp
  caffe/layers/label_specific_margin_layer.hpp
  caffe/layers/labelsequence_accuracy_layer.hpp
  caffe/layers/margin_inner_product_layer.hpp
  caffe/layers/mergecrop_layer.hpp
  caffe/layers/multi_stage_meanfield_layer.hpp
  caffe/layers/proposal_layer.hpp
  caffe/layers/psroi_pooling_layer.hpp
  caffe/layers/relu6_layer.hpp
  caffe/layers/reorg_layer.hpp
  caffe/layers/resample_layer.hpp
  caffe/layers/reverse_layer.hpp
  caffe/layers/roi_align_layer.hpp
  caffe/layers/roi_pooling_layer.hpp
  caffe/layers/seg_accuracy_layer.hpp
  caffe/layers/shuffle_channel_layer.hpp
  caffe/layers/smooth_L1_loss_ohem_layer.hpp
  caffe/layers/soft_truncation_layer.hpp
  caffe/layers/softmax_loss_ohem_layer.hpp
  caffe/layers/transpose_layer.hpp
  caffe/layers/triplet_loss_layer.hpp
  caffe/layers/unpooling_layer.hpp
  caffe/layers/upsample_layer.hpp
  caffe/layers/yolo_detection_output_layer.hpp
  caffe/layers/yolov3_detection_output_layer.hpp)

# What the headers above are made of: bases of layers, and parts of io.hpp, benchmark.hpp and
# others. Programs include those.
set(public_headers_parts
  caffe/cpp17.hpp
  caffe/layers/activation_layer.hpp
  caffe/layers/channel_normalization.hpp
  caffe/layers/difference_loss_layer.hpp
  caffe/layers/direct_recurrent_layer.hpp
  caffe/layers/forward_only_layer.hpp
  caffe/layers/image_list_layer.hpp
  caffe/layers/label_margin_layer.hpp
  caffe/layers/labelled_loss_layer.hpp
  caffe/layers/region_layer.hpp
  caffe/layers/resize_layer.hpp
  caffe/layers/roi_layer.hpp
  caffe/layers/roi_sum_layer.hpp
  caffe/layers/strided_layer.hpp
  caffe/layers/view_layer.hpp
  caffe/layers/yolo_output_layer.hpp
  caffe/limits.hpp
  caffe/loss_scale.hpp
  caffe/util/db_session.hpp
  caffe/util/image.hpp
  caffe/util/timer.hpp)

# Extensions. Element types, errors, and what a layer says of its type.
set(public_headers_types
  caffe/element_type.hpp
  caffe/engine.hpp
  caffe/error.hpp
  caffe/float16.hpp
  caffe/operation.hpp
  caffe/tensor.hpp
  caffe/types.hpp
  caffe/util/string_stream.hpp
  caffe/version.hpp)

# Threads' contexts, memory, devices and ranks: what programs replace or call.
set(public_headers_context
  caffe/allocator.hpp
  caffe/communicator.hpp
  caffe/context.hpp
  caffe/cuda/borrowed_stream.hpp
  caffe/device.hpp
  caffe/gpu_fallback.hpp
  caffe/ranks.hpp
  caffe/util/record_share.hpp)

# Engines: networks, builders, calibration, results.
set(public_headers_inference
  caffe/inference/builder.hpp
  caffe/inference/calibration_table.hpp
  caffe/inference/calibrator.hpp
  caffe/inference/engine.hpp
  caffe/inference/engine_batches.hpp
  caffe/inference/graph.hpp
  caffe/inference/hint.hpp
  caffe/inference/histogram.hpp
  caffe/inference/image_preprocessing.hpp
  caffe/inference/layer_candidates.hpp
  caffe/inference/net_fingerprint.hpp
  caffe/inference/network_definition.hpp
  caffe/inference/precision.hpp
  caffe/inference/quantization.hpp
  caffe/inference/results.hpp
  caffe/inference/shape_profile.hpp
  caffe/inference/timing_cache.hpp
  caffe/multiplier.hpp
  caffe/util/input_batches.hpp)

set(public_headers ${public_headers_caffe} ${public_headers_before_2016} ${public_headers_nvcaffe}
  ${public_headers_forks} ${public_headers_parts} ${public_headers_types}
  ${public_headers_context} ${public_headers_inference})
file(GLOB_RECURSE present_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/*)
foreach(header IN LISTS present_headers)
  if(NOT header IN_LIST public_headers)
    message(FATAL_ERROR "include/${header} is not in cmake/PublicHeaders.cmake. If programs are "
      "to include it, list it there, in its group; else move it to src/caffe, next to its source.")
  endif()
endforeach()
foreach(header IN LISTS public_headers)
  if(NOT header IN_LIST present_headers)
    message(FATAL_ERROR "cmake/PublicHeaders.cmake lists ${header}, which include/ lacks. "
      "Programs that include it would not compile: put it back, or, if it was never released, "
      "take it out of the list.")
  endif()
endforeach()

foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/include/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
