"""Functions that the linter knows by name: Python's, those that make and move batches, those on a TensorDict."""

from __future__ import annotations

from collections.abc import Callable

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.machine import is_known
from batchpact.contracts.lint.methods import Holder, Methods
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Absent,
    Batch,
    Element,
    Instance,
    Items,
    Keys,
    Live,
    Store,
    Text,
    Unknown,
    Value,
    one,
    stored,
    union,
)
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import PlacementName

_ABOUT_BATCHES = ("batchpact", "tensordict", "verl")
_NEUTRAL = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "callable",
        "float",
        "format",
        "hash",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "len",
        "max",
        "min",
        "print",
        "range",
        "repr",
        "round",
        "str",
        "sum",
    ]
)
_MADE_OF: dict[str, PlacementName] = {"tensors": "tensor", "non_tensors": "non_tensor", "meta_info": "meta"}
"""The arguments of `DataProto.from_dict`, in their order."""
_STORED_IN: dict[str, PlacementName] = {"batch": "tensor", "non_tensor_batch": "non_tensor", "meta_info": "meta"}
"""The arguments of `DataProto(...)`, in their order."""


class Functions(Methods):
    """Reads calls of functions that are known by name."""

    def known(self, callee: Live | Absent, args: Arguments) -> Value | None:
        """What a known function or class gives; None for any other."""
        if isinstance(callee, Live) and isinstance(callee.thing, type):
            return self._made(callee.thing, args)
        name, module = _name_of(callee)
        if module in ("builtins", "copy", "typing", "typing_extensions"):
            if name in _NEUTRAL:
                return UNKNOWN
            handler = _PYTHON.get(name)
        elif isinstance(callee, Absent) and name in ("DataProto", "TensorDict"):
            return self._container(name, args)
        elif isinstance(callee, Live) and not is_known(module):
            return None
        else:
            in_tensordict = module.startswith("tensordict") and name in ("from_dict", "from_dict_instance")
            handler = Functions._tensor_dict if in_tensordict else _BATCHES.get(name)
        return None if handler is None else handler(self, args)

    def _made(self, kind: type, args: Arguments) -> Value | None:
        """An instance of a class."""
        if issubclass(kind, BatchSchema):
            return self.make_instance(kind, args)
        names = {base.__name__ for base in kind.__mro__ if base.__module__.partition(".")[0] in _ABOUT_BATCHES}
        for name in ("DataProto", "DataProtoItem", "TensorDictBase"):
            if name in names:
                return self._container(name, args)
        if kind.__module__ != "builtins":
            return None
        handler = _PYTHON.get(kind.__name__)
        return UNKNOWN if kind.__name__ in _NEUTRAL else None if handler is None else handler(self, args)

    def make_instance(self, schema: type[BatchSchema], args: Arguments) -> Value:
        """An instance of Reads or Writes."""
        batch = self.machine.batch(schema=schema)
        homes = schema.__batchpact__.homes
        for name, argument in args.keywords.items():
            key = homes[name][0].key if name in homes else name
            self.machine.put(batch.flat, key, argument.value, argument.site)
        batch.flat.open |= args.more is not None
        return one(batch)

    def _container(self, name: str, args: Arguments) -> Value:
        return self._data_proto(args, _STORED_IN) if name.startswith("DataProto") else self._tensor_dict(args)

    def _data_proto(self, args: Arguments, made_of: dict[str, PlacementName]) -> Value:
        batch = self.machine.batch()
        for at, (keyword, placement) in enumerate(made_of.items()):
            argument = args.get(at, keyword)
            if argument is not None:
                stores = self._as_stores(argument)
                batch.slots[placement] = stores or batch.slots[placement]
        self._note_given(batch)
        if args.more is not None:
            batch.flat.open = True
        return one(batch)

    def _note_given(self, batch: Batch) -> None:
        """A batch in which fields of the stage's batch stand is such a batch, too."""
        batch.flat.given = any(store.given for store in batch.stores)

    def _as_stores(self, argument: Argument) -> list[Store]:
        found = list(stored(argument.value))
        unknown = [atom for atom in argument.value if not isinstance(atom, (Store, Batch)) and atom not in NONE]
        return [*found, Store(open=True)] if unknown else found

    def _from_dict(self, args: Arguments) -> Value:
        return self._data_proto(args, _MADE_OF)

    def _from_single_dict(self, args: Arguments) -> Value:
        made = self._data_proto(Arguments(args.site, keywords=_only(args, meta_info=1)), _MADE_OF)
        data = args.get(0, "data") or args.get(0, "tensordict")
        for batch in made:
            if isinstance(batch, Batch):
                for store in [] if data is None else self._as_stores(data):
                    self.machine.join(batch.flat, store)
                self._note_given(batch)
        return made

    def _tensor_dict(self, args: Arguments) -> Value:
        source = args.get(0, "source") or args.get(0, "input_dict")
        made = Store()
        for store in [] if source is None else self._as_stores(source):
            self.machine.join(made, store)
        made.open |= args.more is not None
        return one(made)

    def _get_tensordict(self, args: Arguments) -> Value:
        batch = self.machine.batch()
        for at, keyword, target in ((0, "tensor_dict", batch.flat), (1, "non_tensor_dict", batch.slots["meta"][0])):
            argument = args.get(at, keyword)
            for store in [] if argument is None else self._as_stores(argument):
                self.machine.join(target, store)
        self._note_given(batch)
        return one(batch)

    # --- on a TensorDict -----------------------------------------------------------------------------------------

    def _holders(self, args: Arguments) -> list[Holder]:
        return [atom for value in args.values() for atom in value if isinstance(atom, (Store, Batch))][:1]

    def _rest(self, args: Arguments) -> Arguments:
        return Arguments(args.site, args.positional[1:], args.keywords, args.more)

    def _get_field(self, args: Arguments) -> Value:
        return self.method(self._holders(args), "get", self._rest(args))

    def _pop_field(self, args: Arguments) -> Value:
        return self.method(self._holders(args), "pop", self._rest(args))

    def _get_fields(self, args: Arguments) -> Value:
        keys = args.get(1, "keys")
        names, known = ([], True) if keys is None else self.keys(keys.value, keys.site)
        chosen = [Argument(one(Text(name)), site) for name, site in names]
        chosen += [Argument(UNKNOWN, args.site)] if not known else []
        return self.method(self._holders(args), "select", Arguments(args.site, chosen))

    def _pop_fields(self, args: Arguments) -> Value:
        holders, keys = self._holders(args), args.get(1, "keys")
        chosen = self._get_fields(args)
        for key, _ in [] if keys is None else self.keys(keys.value, keys.site)[0]:
            self.take_out(holders, key)
        return chosen

    def _set_fields(self, args: Arguments) -> Value:
        holders = self._holders(args)
        self.method(holders, "update", Arguments(args.site, [], args.keywords, args.more))
        return frozenset(holders)

    def _set_meta(self, args: Arguments) -> Value:
        return self._set_field(args, "meta")

    def _set_column(self, args: Arguments) -> Value:
        return self._set_field(args, "non_tensor")

    def _set_field(self, args: Arguments, placement: PlacementName) -> Value:
        key, value = args.get(1, "key"), args.get(2, "val")
        for holder in self._holders(args):
            store = holder.slots[placement][0] if isinstance(holder, Batch) else holder
            if key is not None and value is not None:
                self.set_names(store, key.value, value.value, key.site)
        return NONE

    # --- same names ----------------------------------------------------------------------------------------------

    def _same(self, args: Arguments) -> Value:
        return self.machine.derived(frozenset(self._holders(args))) if self._holders(args) else self._first(args)

    def _first(self, args: Arguments) -> Value:
        first = args.get(0, "result")
        return UNKNOWN if first is None else first.value

    def _second(self, args: Arguments) -> Value:
        second = args.get(1, "val")
        return UNKNOWN if second is None else second.value

    def _padded(self, args: Arguments) -> Value:
        return one(Items([Element(self._same(args)), Element(UNKNOWN)]))

    def _several(self, args: Arguments) -> Value:
        return one(Items([Element(self._same(args))], complete=False))

    def _joined(self, args: Arguments) -> Value:
        """Batches one below the other: a batch with the names of each."""
        parts = [element.value for argument in args.positional[:1] for element in self.elements(argument.value)]
        batches = [self.machine.derive(atom) for part in parts for atom in part if isinstance(atom, Batch)]
        stores = [atom for part in parts for atom in part if isinstance(atom, Store)]
        made = batches[0] if batches else self.machine.batch()
        for batch in batches[1:]:
            self.machine.merge(made, batch)
        for store in stores:
            self.machine.join(made.flat, store)
        made.flat.open |= not parts or any(isinstance(atom, Unknown) for part in parts for atom in part)
        self._note_given(made)
        return one(made)

    def _union(self, args: Arguments) -> Value:
        holders = self._holders(args)
        return self.method(holders, "union", self._rest(args))

    def _unread(self, args: Arguments) -> Value:
        return UNKNOWN

    # --- Python's ------------------------------------------------------------------------------------------------

    def _sequence(self, args: Arguments) -> Value:
        found: list[Value] = [] if args.positional else [one(Items([]))]
        for atom in args.positional[0].value if args.positional else ():
            if isinstance(atom, Items):
                found.append(one(Items(list(atom.elements), atom.complete)))
            elif isinstance(atom, Keys) or (isinstance(atom, Store) and atom.given):
                found.append(one(atom if isinstance(atom, Keys) else Keys(atom)))
            else:
                found.append(one(Items(self.elements(one(atom)), complete=isinstance(atom, Store) and not atom.open)))
        return union(found)

    def _dictionary(self, args: Arguments) -> Value:
        store = Store()
        self.method([store], "update", args)
        return one(store)

    def _numbered(self, args: Arguments) -> Value:
        return self._paired(Arguments(args.site, [Argument(UNKNOWN, args.site), *args.positional[:1]]), numbered=True)

    def _zipped(self, args: Arguments) -> Value:
        return self._paired(args)

    def _paired(self, args: Arguments, *, numbered: bool = False) -> Value:
        """`zip` and `enumerate`: tuples, one for each round where the rounds are known."""
        sides = [self.rounds(argument.value) for argument in args.positional[numbered:]]
        complete = bool(sides) and args.more is None and all(known for _, known in sides)
        length = min((len(values) for values, _ in sides), default=0) if complete else 1
        rows = []
        for at in range(length):
            cells = [values[at] if complete else union(values) for values, _ in sides]
            rows.append(Element(one(Items([Element(cell) for cell in ([UNKNOWN] if numbered else []) + cells]))))
        return one(Items(rows, complete))

    def _next(self, args: Arguments) -> Value:
        return union(element.value for argument in args.positional for element in self.elements(argument.value))

    def _get_attribute(self, args: Arguments) -> Value:
        of, name, default = args.get(0, ""), args.get(1, ""), args.get(2, "")
        found = [] if default is None else [default.value]
        for atom in UNKNOWN if of is None or name is None else name.value:
            for holder in UNKNOWN if of is None else of.value:
                found.append(self._attribute_by_name(holder, atom, args.site))
        return union(found)

    def _attribute_by_name(self, holder: object, name: object, site: Site) -> Value:
        if isinstance(holder, Batch):
            if isinstance(name, Text):
                return self.batch_attribute(holder, name.text, site)
            self.computed([holder], site)
        elif isinstance(holder, Instance) and isinstance(name, Text):
            return self.member(holder, name.text)
        elif isinstance(holder, Live) and isinstance(name, Text):
            return self.machine.attribute(holder.thing, name.text)
        return UNKNOWN

    def _has_attribute(self, args: Arguments) -> Value:
        self._get_attribute(Arguments(args.site, args.positional[:2]))
        return UNKNOWN

    def _set_attribute(self, args: Arguments) -> Value:
        of, name, value = args.get(0, ""), args.get(1, ""), args.get(2, "")
        if of is not None and name is not None and value is not None:
            for store in stored(of.value):
                self.set_names(store, name.value, value.value, name.site)
        return NONE

    def _names_and_values(self, args: Arguments) -> Value:
        holders = self._holders(args)
        for store in stored(holders):
            self.machine.use_all(store)
        return self.machine.derived(frozenset(stored(holders))) if holders else UNKNOWN

    def _kind(self, args: Arguments) -> Value:
        for atom in args.positional[0].value if args.positional else ():
            if isinstance(atom, Instance) and atom.kind is not None:
                return one(Live(atom.kind))
            if isinstance(atom, (Store, Batch)):
                kind = "tensordict.TensorDict" if isinstance(atom, Store) else "batchpact.dataproto.DataProto"
                return one(Absent(kind))
        return UNKNOWN

    def _above(self, args: Arguments) -> Value:
        for value in self.scope.outer().names.values():
            for atom in value:
                if isinstance(atom, Instance):
                    return one(Instance(atom.kind, atom.node, atom.scope, atom.source, above=True))
        return UNKNOWN


def _only(args: Arguments, **positions: int) -> dict[str, Argument]:
    found = {name: args.get(position, name) for name, position in positions.items()}
    return {name: argument for name, argument in found.items() if argument is not None}


def _name_of(callee: Live | Absent) -> tuple[str, str]:
    """The name of a function or class, and its module."""
    if isinstance(callee, Absent):
        module, _, name = callee.name.rpartition(".")
        return name, module
    return str(getattr(callee.thing, "__name__", "")), str(getattr(callee.thing, "__module__", ""))


Handler = Callable[[Functions, Arguments], Value]

_PYTHON: dict[str, Handler] = {
    "cast": Functions._second,
    "copy": Functions._same,
    "deepcopy": Functions._same,
    "dict": Functions._dictionary,
    "enumerate": Functions._numbered,
    "getattr": Functions._get_attribute,
    "hasattr": Functions._has_attribute,
    "iter": Functions._sequence,
    "next": Functions._next,
    "setattr": Functions._set_attribute,
    "super": Functions._above,
    "type": Functions._kind,
    "vars": Functions._names_and_values,
    "zip": Functions._zipped,
    **dict.fromkeys(("frozenset", "list", "reversed", "set", "sorted", "tuple"), Functions._sequence),
}
_BATCHES: dict[str, Handler] = {
    "assign_non_tensor": Functions._set_fields,
    "assign_non_tensor_data": Functions._set_meta,
    "assign_non_tensor_stack": Functions._set_column,
    "from_dict": Functions._from_dict,
    "from_rows": Functions._first,
    "from_single_dict": Functions._from_single_dict,
    "from_tensordict": Functions._from_single_dict,
    "get": Functions._get_field,
    "get_keys": Functions._get_fields,
    "get_non_tensor_data": Functions._get_field,
    "get_tensordict": Functions._get_tensordict,
    "pop": Functions._pop_field,
    "pop_keys": Functions._pop_fields,
    "union_numpy_dict": Functions._union,
    "union_tensor_dict": Functions._union,
    "unwrap_non_tensor_data": Functions._first,
    **dict.fromkeys(("concat", "concat_tensordict", "concat_tensordict_with_none_bsz", "cat"), Functions._joined),
    **dict.fromkeys(("chunk_tensordict", "make_iterator"), Functions._several),
    **dict.fromkeys(("pad_to_divisor", "pad_dataproto_to_divisor"), Functions._padded),
    **dict.fromkeys(
        ("contiguous", "fold_batch_dim", "index_select_tensor_dict", "unfold_batch_dim", "unpad", "unpad_dataproto"),
        Functions._same,
    ),
    **dict.fromkeys(
        ("all_gather_data_proto", "assert_tensordict_eq", "column", "maybe_fix_3d_position_ids"), Functions._unread
    ),
}
