"""What somebody may have meant."""

from batchpact.schemas.names import closest

BATCH = ["prompts", "responses", "response_mask", "old_log_prob"]


def test_the_most_similar_name_is_found() -> None:
    assert closest("old_log_probs", BATCH) == "old_log_prob"
    assert closest("response_masks", BATCH) == "response_mask"


def test_no_name_is_offered_where_none_is_similar() -> None:
    assert closest("uid", BATCH) is None
    assert closest("uid", []) is None


def test_the_names_may_come_from_an_iterator() -> None:
    assert closest("prompt", iter(BATCH)) == "prompts"
