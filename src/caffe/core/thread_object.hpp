#ifndef CAFFE_CORE_THREAD_OBJECT_HPP_
#define CAFFE_CORE_THREAD_OBJECT_HPP_

namespace caffe {

/// An object of a thread, which Get() makes; one `make` for each. That of a `static thread_local
/// ThreadObject<T>` is deleted when the thread ends. Other objects of the thread, statics and what
/// atexit calls may run a net or an engine after that: they get another one, which stays until the
/// process ends.
template <typename T>
class ThreadObject {
 public:
  /// `make`: returns it from new.
  template <typename Make>
  T& Get(Make&& make) {
    if (object_) return *object_;
    if (!is_deleted_at_end_) {
      is_deleted_at_end_ = true;
      // This class has no destructor, so that it may be used when those of the thread have run.
      static thread_local const Deleter at_end(&object_);
    }
    object_ = make();
    return *object_;
  }

 private:
  class Deleter {
   public:
    explicit Deleter(T** object) : object_(object) {}
    ~Deleter() {
      delete *object_;
      *object_ = nullptr;
    }

   private:
    T** const object_;
  };

  T* object_ = nullptr;
  bool is_deleted_at_end_ = false;
};

}  // namespace caffe

#endif  // CAFFE_CORE_THREAD_OBJECT_HPP_
