"""Windows that may hold an object, as selective search proposes them."""
from __future__ import annotations

import numpy as np

_MISSING = ("selective search needs the Python module selective_search_ijcv_with_python (with "
            "MATLAB), or OpenCV with its contributed modules (pip install opencv-contrib-python); "
            "or name the windows yourself (Detector.detect_windows, detect.py --crop_mode list)")


def _opencv_windows(paths: list[str]) -> list[np.ndarray]:
    try:
        import cv2
        create = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation
    except (ImportError, AttributeError) as error:
        raise ImportError(_MISSING) from error
    result = []
    for path in paths:
        # Not turned by EXIF: the windows are for what caffe.io.load_image reads.
        image = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        if image is None:
            raise ValueError(f"{path} cannot be read as an image")
        search = create()
        search.setBaseImage(image)
        search.switchToSelectiveSearchFast()
        x, y, width, height = search.process().T
        result.append(np.stack([y, x, y + height, x + width], axis=1))
    return result


def windows_of(paths: list[str]) -> list[np.ndarray]:
    """For each image an array of N rows ``(ymin, xmin, ymax, xmax)``.

    Raises ImportError with the remedy when nothing that proposes windows is installed.
    """
    try:
        import selective_search_ijcv_with_python as search
    except ImportError:
        return _opencv_windows(paths)
    return search.get_windows(paths, cmd="selective_search_rcnn")
