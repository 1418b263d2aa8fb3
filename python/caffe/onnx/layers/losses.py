"""Losses and measures: their inference form, or nothing."""
from __future__ import annotations

from ..errors import require
from ..layer import Layer, exports

# Losses whose bottoms are what the net is there for: they leave nothing behind.
PENALTIES = {
    "CTCLoss", "CenterLoss", "ContrastiveLoss", "CtcLoss", "EuclideanLoss", "HingeLoss",
    "InfogainLoss", "L1Loss", "MultiBoxLoss", "MultinomialLogisticLoss", "SmoothL1Loss",
    "SmoothL1LossOHEM", "TripletLoss", "WarpCTCLoss",
}
EVALUATIONS = {"Accuracy", "DetectionEvaluate", "LabelsequenceAccuracy", "SegAccuracy"}
# Why a type has no ONNX form.
INEXPRESSIBLE = {
    "AnchorTarget": "it chooses examples for training",
    "BoxAnnotatorOHEM": "it chooses examples for training",
    "DetectNetTransformation": "it distorts images for training",
    "FakeQuantization": "it simulates integers while a net is trained",
    "MultiStageMeanfield": "it filters with lattices in five dimensions",
    "ProposalTarget": "it chooses examples for training",
    "Python": "what it computes is a program",
}
# Losses of probabilities, and the layers that give these.
INFERENCE_FORMS = {"FocalLoss": "Softmax", "SoftmaxWithLoss": "Softmax",
                   "SoftmaxWithLossOHEM": "Softmax", "SigmoidCrossEntropyLoss": "Sigmoid"}


@exports("FocalLoss", "SoftmaxWithLoss", "SoftmaxWithLossOHEM")
def softmax_with_loss(layer: Layer) -> None:
    """The probabilities, as the last top: the second one has them anyway."""
    focal = layer.param.focal_loss_param
    axis = focal.axis if focal.HasField("axis") else layer.param.softmax_param.axis
    axis = layer.axis(axis, "softmax_param: axis")
    layer.top(max(0, len(layer.tops) - 1), layer.op("Softmax", layer.bottom(0), axis=axis))
    layer.notes.append("is exported as Softmax: its output is the probabilities")


@exports("SigmoidCrossEntropyLoss")
def sigmoid_cross_entropy_loss(layer: Layer) -> None:
    layer.top(0, layer.op("Sigmoid", layer.bottom(0)))
    layer.notes.append("is exported as Sigmoid: its output is the probabilities")


@exports("CombinedMargin", "LabelSpecificAdd", "LabelSpecificMargin")
def label_margin(layer: Layer) -> None:
    """The scores as they are: margins are for training."""
    param = layer.param
    on_test = {"CombinedMargin": param.combined_margin_param.transform_test,
               "LabelSpecificAdd": param.label_specific_add_param.transform_test,
               "LabelSpecificMargin": param.label_specific_margin_param.margin_on_test}[layer.type]
    require(not on_test, "margins in the TEST phase have no ONNX form")
    require(len(layer.tops) == 1, "its margin, the second top, has no ONNX form")
    layer.top(0, layer.op("Identity", layer.bottom(0)))
    layer.notes.append("is left out: margins are for training")
