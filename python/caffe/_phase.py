"""What ``self.phase`` of a Python layer is."""
import enum


class Phase(enum.IntEnum):
    """``caffe.TRAIN`` or ``caffe.TEST``: an int whose text is its name, as layers of Faster R-CNN
    look up settings by ``str(self.phase)``."""

    TRAIN = 0
    TEST = 1

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else self.name
