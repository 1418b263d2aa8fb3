// Records with boxes: read from a database, augmented and made a batch.
#include <filesystem>
#include <memory>

#include "caffe/util/db.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"
#include "fuzz/one_layer.hpp"

CAFFE_FUZZ_MUTATOR(caffe::AnnotatedDatum, MutateBinary)

namespace {

constexpr char kLayer[] = R"(type: "AnnotatedData" top: "data" top: "label"
    data_param { source: "records" batch_size: 1 backend: LMDB prefetch: 1 threads: 1 }
    annotated_data_param { batch_sampler { max_sample: 1 max_trials: 3
        sampler { min_scale: 0.3 max_scale: 1 min_aspect_ratio: 0.5 max_aspect_ratio: 2 }
        sample_constraint { min_jaccard_overlap: 0.1 } } }
    transform_param { mirror: true mean_value: 104 mean_value: 117 mean_value: 123
        resize_param { prob: 1 resize_mode: WARP height: 8 width: 8 }
        emit_constraint { emit_type: CENTER }
        expand_param { prob: 0.5 max_expand_ratio: 2 } })";

void WriteDatabase(const std::string& value) {
  std::filesystem::remove_all("records");
  const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB("lmdb"));
  database->Open("records", caffe::db::NEW);
  const std::unique_ptr<caffe::db::Transaction> transaction(database->NewTransaction());
  transaction->Put("0", value);
  transaction->Commit();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    WriteDatabase(caffe::fuzz::TextOf(data, size));
    caffe::fuzz::RunLayer(kLayer);
  });
}
