#ifndef CAFFE_IO_IMAGE_SIZE_HPP_
#define CAFFE_IO_IMAGE_SIZE_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace caffe {

struct ImageSize {
  uint64_t height = 0, width = 0;
};

/// What the header of an encoded image says, of the kinds PNG, JPEG, WebP, TIFF, BMP, GIF, PNM,
/// JPEG 2000, OpenEXR, Radiance HDR and Sun raster. Nothing for another kind, or if the header is
/// cut off or damaged.
std::optional<ImageSize> SizeOfEncodedImage(const uint8_t* data, size_t size);

/// True for a Radiance HDR image whose header or pixels are damaged. OpenCV 4.6 does not close the
/// file of such a one, so that it must not see it.
bool IsDamagedRadiance(const uint8_t* data, size_t size);

/// Throws Error for an encoded image of more pixels, or more bytes, than the limits allow, and for
/// DICOM: before it is decoded. `what` is where it comes from, for the message.
void CheckEncodedImage(const uint8_t* data, size_t size, const std::string& what);

}  // namespace caffe

#endif  // CAFFE_IO_IMAGE_SIZE_HPP_
