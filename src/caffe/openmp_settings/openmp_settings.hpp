#ifndef CAFFE_OPENMP_SETTINGS_HPP_
#define CAFFE_OPENMP_SETTINGS_HPP_

// libcaffe_openmp_settings: how long OpenMP's threads wait for work before they sleep.
//
// libgomp, whose threads libcaffe, oneDNN and OpenBLAS share, lets them spin for some milliseconds.
// Where other work wants the cores they keep each other from running all that time: a net takes a
// hundred times as long. The length can be set by the environment alone, which libgomp reads when
// it is loaded. This library's constructor puts it there. The loader runs it before libgomp's, as
// libcaffe names this library behind libgomp (see cmake/Library.cmake) and neither needs the other.

/// Takes from the environment what this library has put there, so that child processes do not
/// inherit it. To be called when libgomp has read it.
extern "C" void caffe_restore_openmp_environment(void);

#endif  // CAFFE_OPENMP_SETTINGS_HPP_
