"""A configuration from a YAML or JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batchpact.contracts.config_file import load_config
from batchpact.contracts.configuration import look_up
from batchpact.schemas import SettingError


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    as_json, as_yaml = tmp_path / "config.json", tmp_path / "config.yaml"
    as_json.write_text(json.dumps({"algorithm": {"adv_estimator": "gae", "gamma": 1.0}}))
    as_yaml.write_text("algorithm:\n  adv_estimator: gae\n  gamma: 1.0\n")

    for path in (as_json, as_yaml):
        config = load_config(str(path))
        assert look_up(config, "algorithm.adv_estimator") == "gae"
        assert look_up(config, "algorithm.gamma") == 1.0


@pytest.mark.peers
def test_omegaconf_interpolates_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("omegaconf")
    path = tmp_path / "config.yaml"
    path.write_text("actor:\n  kl: true\nreference: ${actor.kl}\n")

    assert look_up(load_config(str(path)), "reference") is True


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("gone.yaml", None, "[Errno 2] No such file or directory: '{path}'; a YAML or JSON file"),
        ("list.json", "[1, 2]", "it holds a list; a mapping, as the trainer's configuration is"),
        (
            "broken.json",
            "{",
            "it cannot be read: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); "
            "YAML or JSON",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, name: str, text: str | None, line: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)

    with pytest.raises(SettingError) as caught:
        load_config(str(path))
    assert str(caught.value) == (
        f"1 problem in the configuration {path}\n\n  BP052 setting  config  {line.format(path=path)}"
    )
