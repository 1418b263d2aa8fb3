"""Turns a net's prototxt and weights into half precision, or back, without the compiled library.

``genDefaultModel.py`` is the program; :mod:`precision_migration.migration` is where to begin
reading. ``tools/upgrade_net_fp16`` does the same in C++ and writes the same bytes.
"""


class MigrationError(Exception):
    """What a bad file or flag is answered with: the file, the layer and the remedy in one line."""
