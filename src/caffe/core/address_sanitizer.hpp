#ifndef CAFFE_CORE_ADDRESS_SANITIZER_HPP_
#define CAFFE_CORE_ADDRESS_SANITIZER_HPP_

#if defined(__has_feature)
#if __has_feature(address_sanitizer)  // Clang's word for it
#define CAFFE_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CAFFE_ADDRESS_SANITIZER
#endif

namespace caffe {

/// True in a build with AddressSanitizer, which knows the heap only, and ends the program where
/// more is asked for than there can be.
#ifdef CAFFE_ADDRESS_SANITIZER
constexpr bool kHasAddressSanitizer = true;
#undef CAFFE_ADDRESS_SANITIZER
#else
constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace caffe

#endif  // CAFFE_CORE_ADDRESS_SANITIZER_HPP_
