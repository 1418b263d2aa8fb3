#ifndef CAFFE_DATA_READER_HPP_
#define CAFFE_DATA_READER_HPP_

#include <memory>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/blocking_queue.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// Reads the records of data_param's database, messages of type Record, in a thread of its own,
/// again and again in the order of their keys. A data layer takes a record from full() and gives it
/// back to free() when it has done with it; prefetch times batch_size of them go round. With
/// several solvers each one's reader has its RecordShare. Record is Datum or AnnotatedDatum.
template <typename Record>
class BasicDataReader {
 public:
  /// Opens the database; the solver is that of the calling thread. Throws Error where the database
  /// cannot be opened or is empty. A record that is no message makes full() throw Error.
  explicit BasicDataReader(const LayerParameter& param);
  ~BasicDataReader();

  BlockingQueue<Record*>& free() const;
  BlockingQueue<Record*>& full() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;

  DISABLE_COPY_AND_ASSIGN(BasicDataReader);
};

// BVLC Caffe's DataReader is a class for Datum, the SSD fork's a template. A program of the latter
// defines CAFFE_SSD.
#ifdef CAFFE_SSD
template <typename Record>
using DataReader = BasicDataReader<Record>;
#else
using DataReader = BasicDataReader<Datum>;
#endif

}  // namespace caffe

#endif  // CAFFE_DATA_READER_HPP_
