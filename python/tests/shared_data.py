"""Real nets and images next to the checkout, where they are present."""
import itertools
import os
import tarfile

import pytest

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "data")


def shared(*parts):
    """The path of a file of the shared data; skips the test, saying which, where it is absent."""
    path = os.path.join(FOLDER, *parts)
    if not os.path.exists(path):
        pytest.skip(f"{os.path.join('../shared/data', *parts)} is not there")
    return os.path.normpath(path)


def cifar10_images(folder, number):
    """Unpacks the first test images of each class of CIFAR-10: pairs of a file and its class."""
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
               "truck"]
    images = []
    for label, name in enumerate(classes):
        # As a stream, which is read no further than needed.
        with tarfile.open(shared("datasets", "cifar10_jpg", "test", f"{name}_all1000.tar.gz"),
                          "r|gz") as tar:
            for member in itertools.islice(filter(tarfile.TarInfo.isfile, tar), number):
                path = os.path.join(folder, f"{name}_{os.path.basename(member.name)}")
                with open(path, "wb") as file:
                    file.write(tar.extractfile(member).read())
                images.append((path, label))
    return images
