from __future__ import annotations

from remand.failure import capture
from remand_app.engine.masking import masked_failure


def test_a_key_that_names_a_part_of_a_failure_masks_nothing_of_it() -> None:
    try:
        raise ConnectionError("no") from OSError("a cable is cut")
    except ConnectionError as error:
        failure = capture(error)

    masked = masked_failure(failure, ("cause", "fact", "retry", "traceback", "classification"))

    assert masked == failure
    assert masked.to_json() == failure.to_json()


def test_what_users_put_into_a_failure_is_masked() -> None:
    masked = masked_failure(capture(ValueError("password=hunter22 is wrong")), ("password",))

    assert "hunter22" not in f"{masked.message} {masked.traceback} {masked.causes} {masked.facts}"
