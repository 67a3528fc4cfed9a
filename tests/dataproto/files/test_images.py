"""Images come back with their pixels; Pillow is there in the environment of the peers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batchpact.dataproto import DataProto
from batchpact.dataproto.files.images import PIXEL_BYTES
from tests.dataproto.files.values import trip
from tests.dataproto.support import refuses

DATA = "a file holds numbers, text, bytes, times, images, arrays, tensors, and containers of these"


@pytest.fixture
def images() -> Any:
    return pytest.importorskip("PIL.Image")


@pytest.mark.peers
class TestImages:
    @pytest.mark.parametrize("mode", PIXEL_BYTES)
    def test_they_come_back_equal(self, images: Any, mode: str) -> None:
        data = np.random.default_rng(0).integers(0, 127, 5 * 3 * PIXEL_BYTES[mode], dtype=np.uint8).tobytes()
        image = images.frombytes(mode, (5, 3), data)
        image.info = {"dpi": (72, 72), "exif": b"x", 5: None}
        found = trip([image, {"image": image}])

        assert type(found[0]) is images.Image
        assert found[0] == image == found[1]["image"]
        assert found[0].info == {"dpi": (72, 72), "exif": b"x", 5: None}
        found[0].putpixel((0, 0), 0)

    def test_an_image_in_many_rows_is_one_image(self, images: Any, tmp_path: Path) -> None:
        image = images.new("RGB", (4, 4), (1, 2, 3))
        DataProto.from_dict(None, {"x": [image] * 3}).save_to_disk(tmp_path / "x")
        cells = DataProto.load_from_disk(tmp_path / "x").non_tensor_batch["x"]

        assert cells[0] == image and cells[0] is cells[1] is cells[2]

    def test_what_is_more_than_pixels_is_named(self, images: Any, tmp_path: Path) -> None:
        images.new("RGB", (2, 2)).save(tmp_path / "image.png")
        opened = images.open(tmp_path / "image.png")
        marked = images.new("L", (1, 1))
        marked.info["comment"] = object()
        cells = [images.new("P", (4, 2)), images.new("L", (0, 3)), opened, marked]
        hint = f"{DATA}; allow_pickle=True pickles it"

        with refuses(
            "save_to_disk",
            f"BP049 unsaved  x                  PIL image of mode P, 4 by 2 in row 0; {hint}",
            f"BP049 unsaved  x                  PIL image of mode L, 0 by 3 in row 1; {hint}",
            f"BP049 unsaved  x                  PIL.PngImagePlugin.PngImageFile in row 2; {hint}",
            f"BP049 unsaved  x.info['comment']  object in row 3; {hint}",
        ):
            DataProto.from_dict(None, {"x": cells}).save_to_disk(tmp_path / "x")
        assert trip(opened.copy()) == opened.copy()

    def test_without_pillow_the_field_is_named(
        self, images: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        DataProto.from_dict(None, {"x": [images.new("L", (1, 1))], "y": [1]}).save_to_disk(tmp_path / "x")
        monkeypatch.setitem(sys.modules, "PIL", None)

        with refuses("load_from_disk", "BP048 file  x  an image, and Pillow is not installed; pip install pillow"):
            DataProto.load_from_disk(tmp_path / "x")
        assert len(DataProto.load_from_disk(tmp_path / "x", fields=["y"])) == 1


def test_something_else_that_is_called_an_image_is_none(tmp_path: Path) -> None:
    kind = type("Image", (), {"__module__": "mine"})

    with refuses("save_to_disk", f"BP049 unsaved  x  mine.Image in row 0; {DATA}; allow_pickle=True pickles it"):
        DataProto.from_dict(None, {"x": [kind()]}).save_to_disk(tmp_path / "x")
