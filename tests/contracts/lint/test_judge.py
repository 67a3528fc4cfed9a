"""What the code does is held against what the contract declares: each kind of finding, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, unasked, unset, unused

EACH = """
    @stage(Each)
    def compute(data, scale):
        {body}
        total = data.batch["score"] * data.meta_info["gamma"] * scale
        label = data.non_tensor_batch["uid"] + data.non_tensor_batch["__turns__"]
        return DataProto.from_dict({{"total": total}}, {{"label": label}}, {{"metrics": {{}}}})
"""


class TestReads:
    def test_a_healthy_stage(self, tmp_path: Path) -> None:
        assert found(EACH.format(body="pass"), tmp_path, undecidable=True) == []

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ('data.meta_info["uid"]', "3:20 BP073 uid read from meta_info; Each.Reads declares it in non_tensor_batch; "
             "take it from there, or declare it in meta_info"),
            ('data.batch["gamma"]', "3:16 BP073 gamma read from batch; Each.Reads declares it in meta_info; "
             "take it from there, or declare it in batch"),
            ('data.pop(non_tensor_batch_keys=["score"])', "3:37 BP073 score popped from non_tensor_batch; Each.Reads "
             "declares it in batch; take it from there, or declare it in non_tensor_batch"),
            ('data.meta_info["scale"]', "3:20 BP073 scale read from meta_info; Each.Reads declares it an argument of "
             "the call; use the parameter scale"),
            ('data.batch["scroe"]', "3:16 BP071 scroe read from batch; Each.Reads does not declare it; "
             "closest name: 'score'"),
            ('data.meta_info["turns"]', "3:20 BP071 turns read from meta_info; Each.Reads does not declare it; "
             "closest name: '__turns__'"),
            ('data.batch["total"]', "3:16 BP071 total read from batch; Each.Reads does not declare it; add total to "
             "it, too: a field that is rewritten stands in both"),
        ],
    )  # fmt: skip
    def test_a_look_that_does_not_fit(self, body: str, expected: str, tmp_path: Path) -> None:
        assert found(EACH.format(body=body), tmp_path) == [expected]

    def test_an_argument_that_the_function_does_not_take_stands_in_meta(self, tmp_path: Path) -> None:
        source = EACH.format(body="scale = data.meta_info['scale']").replace("(data, scale)", "(data)")

        assert found(source, tmp_path) == []

    def test_a_field_with_two_places_may_be_in_either(self, tmp_path: Path) -> None:
        source = """
            class Two(StageSchema):
                class Reads(BatchSchema):
                    x: Meta[float] | PerRow

            @stage(Two)
            def compute(data):
                print(data.batch.get("x"), data.meta_info.get("x"), data.non_tensor_batch["x"].shape)
        """
        assert found(source, tmp_path) == []

        source = source.replace('data.batch.get("x"), data.meta_info.get("x"), ', "")
        assert found(source, tmp_path) == [
            "7:33 BP073 x read from non_tensor_batch; Two.Reads declares it in meta_info or in batch; take it from "
            "there, or declare it in non_tensor_batch"
        ]

    def test_code_that_asks_one_store_after_the_other_is_right_somewhere(self, tmp_path: Path) -> None:
        source = (
            EACH.format(body="print([find(data, key) for key in ('score', 'uid', 'gamma')])")
            + """
    def find(data, key):
        if key in data.batch:
            return data.batch[key]
        try:
            return data.non_tensor_batch[key]
        except KeyError:
            return data.meta_info[key]
"""
        )
        assert found(source, tmp_path) == []

    def test_a_schema_that_allows_more_declares_everything(self, tmp_path: Path) -> None:
        source = """
            class Open(StageSchema):
                class Reads(BatchSchema):
                    model_config = ConfigDict(extra="allow")
                class Writes(BatchSchema):
                    model_config = ConfigDict(extra="allow")

            @stage(Open)
            def compute(data):
                for key in data.meta_info:
                    print(key)
                data.batch["y"] = data.batch["x"]
                return data
        """
        assert found(source, tmp_path) == []

    def test_a_loop_over_a_store_of_which_nothing_is_declared_never_runs(self, tmp_path: Path) -> None:
        source = """
            @stage(One)
            def compute(data):
                for key, value in data.non_tensor_batch.items():
                    print(key, value)
                meta = {key: 1 for key in data.meta_info}
                copied = {**data.meta_info}
                data.meta_info["own"] = 1
                print(*data.meta_info.values())
                return DataProto.from_dict({"y": data.batch["x"]})
        """
        expected = "One.Reads declares nothing in it; declare what the code needs of it"
        assert found(source, tmp_path) == [
            f"3:23 BP071 non_tensor_batch gone through; {expected}",
            f"5:31 BP071 meta_info gone through; {expected}",
        ]

    def test_a_loop_that_does_the_same_with_every_store_is_right_for_any_batch(self, tmp_path: Path) -> None:
        source = """
            @stage(One)
            def compute(data):
                for store in (data.batch, data.non_tensor_batch, data.meta_info):
                    for key, value in store.items():
                        print(key, value)
                return DataProto.from_dict({"y": data.batch["x"]})
        """
        assert found(source, tmp_path) == []


class TestUnused:
    def test_every_field_that_nothing_uses_is_said_in_the_order_of_the_declaration(self, tmp_path: Path) -> None:
        source = """
            @stage(Each)
            def compute(data, scale):
                return Each.Writes(total=1, label=2, metrics=3)
        """
        keys = ("score", "uid", "gamma", "scale", "__turns__")
        assert found(source, tmp_path) == [unused("2:5", key, "Each") for key in keys]

    @pytest.mark.parametrize(
        "use",
        [
            'data.batch.get("mask")',
            '"mask" in data.batch',
            "data.select(batch_keys=['mask'])",
            "data.select(batch_keys=data.batch.keys())",
            "data.batch['mask'] = 1; data.batch['mask']",
            "list(data.batch.items())",
            "elsewhere(data)",
            "elsewhere(data.batch)",
            "elsewhere(**data.batch)",
            "data.batch[some_key]",
            "[elsewhere(row) for row in data]",
        ],
    )
    def test_a_field_that_is_used_in_any_way_is_used(self, use: str, tmp_path: Path) -> None:
        source = f"""
            @stage(Rewrite)
            def compute(data):
                {use}
                return DataProto.from_dict({{"x": 1}}, meta_info={{"note": ""}})
        """
        assert found(source, tmp_path) == []

    STAGE = """
        class Stage(StageSchema):
            drops = {drops}
            class Reads(BatchSchema):
                a: {declared}
                b: Int64[Tensor, "batch a"]
                {more}
            class Writes(BatchSchema):
                y: PerRow

        @stage(Stage)
        def compute(data):
            return Stage.Writes(y=data.batch["b"])
    """

    @pytest.mark.parametrize(
        ("drops", "declared", "more"),
        [
            ('("a",)', "PerRow", ""),
            ("()", "Annotated[NonTensor[str], Key()]", ""),
            ("()", "Meta[int]", ""),
            ("()", "PerRow", "positive = rule(lambda self: self.a > 0)"),
            ("()", 'Annotated[PerRow, SameAs("b")]', ""),
        ],
        ids=["dropped", "key", "dim", "rule", "twin"],
    )
    def test_a_declaration_that_means_more_than_what_the_code_reads(
        self, drops: str, declared: str, more: str, tmp_path: Path
    ) -> None:
        assert found(self.STAGE.format(drops=drops, declared=declared, more=more), tmp_path) == []

    def test_a_declaration_that_means_nothing_more(self, tmp_path: Path) -> None:
        source = self.STAGE.format(drops="()", declared="PerRow", more="")

        assert found(source, tmp_path) == [unused("11:5", "a", "Stage")]

    def test_a_field_that_is_only_written_anew_is_declared_as_a_rewrite(self, tmp_path: Path) -> None:
        source = """
            @stage(Rewrite)
            def compute(data):
                return DataProto.from_dict({"x": data.batch.get("mask")}, meta_info={"note": ""})
        """
        assert found(source, tmp_path) == []


class TestWrites:
    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            ('{"total": 1, "totl": 1}, {"label": 2}', "4:45 BP072 totl set in batch; Each.Writes does not declare it; "
             "closest name: 'total'"),
            ('{"total": 1, "label": 2}', "4:45 BP073 label set in batch; Each.Writes declares it in non_tensor_batch; "
             "set it there, or declare it in batch"),
            ('{"total": 1, "score": 2 * score}, {"label": 2}', "4:45 BP072 score set in batch to another value; the "
             "stage reads it and does not write it; declare it in Writes too, or leave it out of the result"),
        ],
    )  # fmt: skip
    def test_a_result_that_does_not_fit(self, result: str, expected: str, tmp_path: Path) -> None:
        source = f"""
            @stage(Each)
            def compute(data):
                score = elsewhere(data) + data.batch["score"]
                return DataProto.from_dict({result}, meta_info={{"metrics": {{}}}})
        """
        assert found(source, tmp_path) == [expected]

    def test_what_is_only_passed_on_is_not_written(self, tmp_path: Path) -> None:
        source = """
            @stage(One)
            def compute(data):
                return DataProto.from_dict({"x": data.batch["x"].to("cpu"), "y": data.batch["x"] + 1})
        """
        assert found(source, tmp_path) == []

    def test_a_stage_with_other_rows_returns_what_it_read_in_them(self, tmp_path: Path) -> None:
        source = """
            class Best(StageSchema):
                rows = "select"
                class Reads(BatchSchema):
                    x: PerRow
                class Writes(BatchSchema):
                    y: PerRow

            @stage(Best)
            def compute(data):
                return from_rows(DataProto.from_dict({"x": data.batch["x"][:1], "y": 1}), [0])
        """
        assert found(source, tmp_path) == []

    def test_every_place_where_an_undeclared_field_is_set_is_a_finding(self, tmp_path: Path) -> None:
        source = """
            @stage(One)
            def compute(data):
                data.batch["y"] = data.batch["x"]
                if len(data) > 1:
                    data.batch["z"] = 1
                else:
                    data.batch["z"] = 2
                return data
        """
        assert found(source, tmp_path) == [unasked("5:20", "batch"), unasked("7:20", "batch")]

    def test_names_that_are_sorted_by_the_kind_of_their_values_have_their_place_somewhere(self, tmp_path: Path) -> None:
        source = """
            @stage(One)
            def compute(data):
                return made(y=data.batch["x"])

            def made(**fields):
                tensors = {key: value for key, value in fields.items() if isinstance(value, Tensor)}
                columns = {key: value for key, value in fields.items() if isinstance(value, list)}
                return DataProto.from_dict(tensors, columns)
        """
        assert found(source, tmp_path) == []


class TestUnset:
    def test_a_declared_field_that_no_result_holds(self, tmp_path: Path) -> None:
        source = """
            @stage
            def compute(batch: Rewrite.Reads) -> Rewrite.Writes:
                if batch.mask is not None:
                    return None
                return Rewrite.Writes()
        """
        assert found(source, tmp_path) == [unset("2:5", "x", "Rewrite"), unset("2:5", "note", "Rewrite")]

    def test_a_field_that_some_result_holds_is_set(self, tmp_path: Path) -> None:
        source = """
            @stage
            def compute(batch: Rewrite.Reads) -> Rewrite.Writes:
                if batch.mask is not None:
                    return Rewrite.Writes(x=batch.x, note="masked")
                return Rewrite.Writes(x=batch.x)
        """
        assert found(source, tmp_path) == []

    def test_a_tensor_that_is_rewritten_may_have_been_changed_in_place(self, tmp_path: Path) -> None:
        source = """
            @stage(Rewrite)
            def compute(data):
                data.batch["x"].mul_(data.batch["mask"])
                data.meta_info["note"] = ""
                return data
        """
        assert found(source, tmp_path) == []

    @pytest.mark.parametrize("result", ["elsewhere()", "{'a': 1}", "[made for made in ()]", "data.batch['x']"])
    def test_of_a_result_that_cannot_be_told_nothing_is_said(self, result: str, tmp_path: Path) -> None:
        source = f"""
            @stage(One)
            def compute(data):
                data.batch["x"]
                return {result}
        """
        assert found(source, tmp_path) == []

    @pytest.mark.parametrize("body", ["...", "pass", '"""Later."""', "raise NotImplementedError"])
    def test_a_function_without_code_is_not_looked_at(self, body: str, tmp_path: Path) -> None:
        assert found(f"@stage(Each)\ndef compute(data):\n    {body}\n", tmp_path) == []


def test_what_cannot_be_told_is_said_on_request_only(tmp_path: Path) -> None:
    source = """
        @stage(Each)
        def compute(data, keys):
            for key in keys:
                data.batch[key], data.meta_info.get(key), key in data.non_tensor_batch
            data.select(batch_keys=keys)
            return elsewhere(data, data.meta_info)
    """
    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == [
        opaque("4:20", "read by a key that is computed"),
        opaque("4:45", "read by a key that is computed", "meta_info"),
        opaque("4:51", "read by a key that is computed", "non_tensor_batch"),
        opaque("5:17", "read by a key that is computed"),
        opaque("6:12", "given to a function, whose code is not read"),
        opaque("6:12", "given to a function, whose code is not read", "meta_info"),
    ]


def test_names_that_may_be_there_after_an_unknown_union_are_not_undeclared(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            data.union(elsewhere(data.batch["x"]))
            data.batch["y"] = data.batch["made_elsewhere"]
            return data
    """
    assert found(source, tmp_path) == []
