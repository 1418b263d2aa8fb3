"""Python layers for the tests."""
import caffe


class AddNumber(caffe.Layer):
    """top = bottom + param_str; passes the gradient times param_str."""

    def setup(self, bottom, top):
        self.number = float(self.param_str)
        self.calls = ["setup"]

    def reshape(self, bottom, top):
        self.calls.append("reshape")
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        self.calls.append("forward")
        top[0].data[...] = bottom[0].data + self.number

    def backward(self, top, propagate_down, bottom):
        self.calls.append("backward")
        self.propagate_down = propagate_down
        if propagate_down[0]:
            bottom[0].diff[...] = top[0].diff * self.number


class Scale(caffe.Layer):
    """top = bottom * weight, a learned number."""

    def setup(self, bottom, top):
        self.blobs.add_blob(1)
        self.blobs[0].data[...] = 3

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data * self.blobs[0].data[0]

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += (top[0].diff * bottom[0].data).sum()
        if propagate_down[0]:
            bottom[0].diff[...] = top[0].diff * self.blobs[0].data[0]


class SquareLoss(caffe.Layer):
    """Half the sum of squares of the differences, over the number of items."""

    def reshape(self, bottom, top):
        top[0].reshape()

    def forward(self, bottom, top):
        self.difference = bottom[0].data - bottom[1].data
        top[0].data[...] = (self.difference ** 2).sum() / bottom[0].num / 2

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = self.difference / bottom[0].num * top[0].diff


class KeepsViews(caffe.Layer):
    """Doubles, through arrays that were taken once."""

    def setup(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
        self.input, self.output = bottom[0].data, top[0].data

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        self.output[...] = 2 * self.input


class Raises(AddNumber):
    """Raises an error in the method that param_str names."""

    def __init__(self, param):
        super().__init__(param)
        self._fail_in("__init__", param.to_message().python_param.param_str)

    @staticmethod
    def _fail_in(method, where):
        if where == method:
            raise ZeroDivisionError(f"on purpose, in {method}")

    def setup(self, bottom, top):
        self._fail_in("setup", self.param_str)

    def reshape(self, bottom, top):
        self._fail_in("reshape", self.param_str)
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        self._fail_in("forward", self.param_str)

    def backward(self, top, propagate_down, bottom):
        self._fail_in("backward", self.param_str)


class OnlyForward(caffe.Layer):
    """Has no backward."""

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        pass


class OnlyReshape(caffe.Layer):
    """Has no forward."""

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)


class NotALayer:
    """Is not a subclass of caffe.Layer."""


class ReportsPhase(caffe.Layer):
    """top = phase."""

    def reshape(self, bottom, top):
        top[0].reshape(1)

    def forward(self, bottom, top):
        top[0].data[...] = self.phase


class ProposeRegions(caffe.Layer):
    """Regions, labels, targets of boxes and their weights, as Faster R-CNN's layers make them."""

    def reshape(self, bottom, top):
        for blob, shape in zip(top, [(2, 5), (2,), (2, 4), (2, 4), (2, 4)]):
            blob.reshape(*shape)

    def forward(self, bottom, top):
        top[0].data[...] = [[0, 0, 0, 5, 5], [0, 2, 1, 4, 4]]
        top[1].data[...] = [1, 0]
        top[2].data[...] = 0.5
        top[3].data[...] = [[1] * 4, [0] * 4]
        top[4].data[...] = [[1] * 4, [0] * 4]

    def backward(self, top, propagate_down, bottom):
        self.propagate_down = propagate_down
