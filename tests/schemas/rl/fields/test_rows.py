"""What a row has beside its tensors."""

from batchpact.schemas.rl.fields import rows

from ..specs import spec


def test_who_says_which_row_is_which() -> None:
    assert [spec(rows.Uid).role, spec(rows.BatchKeys).role, spec(rows.DataSource).role] == ["group", "key", None]


def test_keys_that_python_cannot_hold() -> None:
    assert spec(rows.NumTurns).key == "__num_turns__"
    assert spec(rows.DoSample).key == "__do_sample__"
