"""The Python layers of DetectNet, the detector of NVIDIA DIGITS: :mod:`.clustering` makes lists of
boxes from what the net says about each cell of a grid, :mod:`.mean_ap` compares such lists.

A list of boxes is a blob of the shape (batch, boxes, 5): the corners x1, y1, x2, y2 in pixels, and
one number more. Rows without a box are zeros.
"""
