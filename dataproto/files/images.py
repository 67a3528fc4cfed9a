"""PIL images as data: mode, size, pixels. Pillow is imported where a file holds an image, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchpact.dataproto.files.broken import Broken, broken_by

if TYPE_CHECKING:
    from PIL.Image import Image

PIXEL_BYTES = {
    "L": 1,
    "LA": 2,
    "RGB": 3,
    "YCbCr": 3,
    "LAB": 3,
    "HSV": 3,
    "RGBA": 4,
    "RGBX": 4,
    "CMYK": 4,
    "I": 4,
    "F": 4,
    "I;16": 2,
}
"""The modes that are data: their pixels are whole bytes and need no palette."""


def is_image(value: object) -> bool:
    """Whether a value is a plain image; one that an image file stands behind has another type."""
    kind = type(value)
    return (kind.__module__, kind.__qualname__) == ("PIL.Image", "Image")


def image_of(mode: str, size: tuple[int, int], data: memoryview, info: object) -> Image:
    """The image of these pixels.

    Raises:
        Broken: if there is no such image, or Pillow is not installed.
    """
    width, height = size
    # Before Pillow is asked: it would make room for the size that is said.
    if min(size) < 1 or len(data) != width * height * PIXEL_BYTES.get(mode, 0) or not isinstance(info, dict):
        raise Broken(f"{len(data)} bytes as an image of {width} by {height}, mode {mode[:10]!r}", "its pixels")
    try:
        from PIL import Image
    except ImportError:
        raise Broken("an image, and Pillow is not installed", "pip install pillow") from None
    try:
        made = Image.frombytes(mode, size, bytes(data))
    except (ValueError, TypeError) as error:
        broken_by(error, "an image")
    made.info = info
    return made
