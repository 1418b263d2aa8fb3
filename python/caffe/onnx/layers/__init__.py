"""One function for each type of layer; importing this package fills the table of exporters."""
from . import (activations, arithmetic, convolution, data, detection, inner_product, losses,
               normalization, pooling, priors, proposals, recurrent, regions, resizing, sequences,
               shaping, spatial, yolo)

__all__ = [
    "activations", "arithmetic", "convolution", "data", "detection", "inner_product", "losses",
    "normalization", "pooling", "priors", "proposals", "recurrent", "regions", "resizing",
    "sequences", "shaping", "spatial", "yolo"
]
