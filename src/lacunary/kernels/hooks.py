"""The private parts of Numba that are used, all of them, behind a check that they are there.

They make code on disk quick to load. Numba would first import all that it can compile, and compile its own
memory management: a third of a second that code which is compiled already, and makes no arrays, can spare.
Where a version of Numba lacks one of them, its public ``cache=True`` is used instead, in the same folder.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding

from lacunary.kernels import store
from lacunary.kernels.compiling import listeners, uncollected, uninterrupted

__all__ = ["PRESENT", "are_stored", "compiled_by", "is_stored"]

LIBRARY = (
    "_optimize_final_module",
    "_finalize_final_module",
    "_finalize_dynamic_globals",
    "_verify_declare_only_symbols",
    "serialize_using_bitcode",
    "serialize_using_object_code",
)

NEEDLESS = ("inline_closure_likes", "nopython_rewrites")
"""Passes over closures, and over expressions of whole arrays: bare kernels have neither."""

TUNED = hasattr(binding, "create_pipeline_tuning_options")
"""Whether LLVM can be told, by llvmlite, how to optimise."""

try:
    from numba.core import caching, codegen, compiler, options
    from numba.core.runtime import _nrt_python, rtsys

    PRESENT = (
        hasattr(compiler.CompileResult, "_reduce")
        and hasattr(compiler.CompileResult, "_rebuild")
        and hasattr(options.DefaultOptions, "_nrt")
        and isinstance(_nrt_python.c_helpers, dict)
        and callable(rtsys.initialize)
        and hasattr(caching.IndexDataCacheFile, "load")
        and hasattr(caching.IndexDataCacheFile, "save")
        and hasattr(compiler.Compiler, "define_pipelines")
        and all(hasattr(codegen.JITCodeLibrary, name) for name in LIBRARY)
    )
except (ImportError, AttributeError):
    PRESENT = False


def compiled_by(
    function: Callable[..., object], makes_arrays: bool, compact: bool, settings: dict[str, Any]
) -> Any:
    """Return the function compiled when it is called, with its code kept on disk in any case that allows it.

    ``makes_arrays`` is false where references need not be counted: Numba counts one whenever an array is
    taken out of a tuple, which on small cells is most of the time. ``compact`` leaves loops as they stand.
    """
    njit: Any = numba.njit
    if PRESENT:
        kernels, pieces = PIPELINES[not makes_arrays, compact]
        pipeline = pieces if settings.get("no_cpython_wrapper") else kernels
        made = njit(**settings, pipeline_class=pipeline, _nrt=makes_arrays)(function)
        if hasattr(made, "_cache"):
            if _is_kernel(function):
                made._cache = _Stored(function, makes_arrays)
            return _unbroken(made)
    return _unbroken(_publicly(njit, function, settings))


def _unbroken(made: Any) -> Any:
    """Return a dispatcher whose compilations no signal breaks off; a plain function as it is."""
    compile_ = getattr(made, "compile", None)
    if compile_ is not None:

        def whole(signature: Any) -> Any:
            with uninterrupted(), uncollected():
                return compile_(signature)

        made.compile = whole
    return made


def _is_kernel(function: Callable[..., object]) -> bool:
    """Whether the key of the store speaks of the file in which a function stands."""
    return Path(function.__code__.co_filename).parent == store.HERE


def _publicly(njit: Any, function: Callable[..., object], settings: dict[str, Any]) -> Any:
    place, before = store.folder() if _is_kernel(function) else None, numba.config.CACHE_DIR
    if place is None:
        return njit(**settings)(function)
    numba.config.CACHE_DIR = str(place)
    try:
        return njit(**settings, cache=True)(function)
    finally:
        numba.config.CACHE_DIR = before


def is_stored(function: Callable[..., object]) -> bool:
    """Return whether a kernel was on disk, for whatever types, when this process first looked."""
    return _name(function) in _stored()


def are_stored(functions: Iterable[Callable[..., object]]) -> bool:
    """Return whether there is code for kernels on disk by now."""
    return _listed().issuperset(map(_name, functions))


def _listed() -> frozenset[str]:
    """Return the kernels for which there is code on disk."""
    found: set[str] = set()
    for place in _shelves():
        with suppress(OSError):
            found.update(file.name.rpartition("-")[0] for file in place.iterdir())
    return frozenset(found)


_stored = cache(_listed)


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"


if PRESENT:

    class _Code(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Code that is optimised once, when all of a kernel is together.

        Numba would first optimise each function by itself.
        """

        def _optimize_functions(self, module: Any) -> None:
            if TUNED:
                module.data_layout = self._codegen._data_layout
            else:
                super()._optimize_functions(module)

    class _BareCode(_Code):
        """Code that counts no references, which need not be brought together before all else."""

        UNROLLED = True

        def _optimize_final_module(self) -> None:
            if not TUNED:
                super()._optimize_final_module()
                return
            how = binding.create_pipeline_tuning_options(int(numba.config.OPT))
            how.loop_vectorization = bool(numba.config.LOOP_VECTORIZE)
            how.loop_unrolling = how.loop_interleaving = self.UNROLLED
            builder = binding.create_pass_builder(self._codegen._tm, how)
            builder.getModulePassManager().run(self._final_module, builder)

    class _CompactCode(_BareCode):
        """Code that is half as long, as its loops are not unrolled."""

        UNROLLED = False

    class _Piece(_Code):
        """Code that only other kernels call: it is optimised, and turned into machine code, within theirs.

        Numba would do both for every piece by itself, and again in each kernel that it is a part of.
        """

        def _optimize_final_module(self) -> None:
            """Leave out pointers of this process that nothing uses: code that has any is not kept on disk."""
            names = (variable.name for variable in self._final_module.global_variables)
            if TUNED and any(name.startswith("numba.dynamic.globals") for name in names):
                passes = binding.create_new_module_pass_manager()
                passes.add_sroa_pass()
                passes.add_aggressive_dce_pass()
                passes.add_global_dead_code_eliminate_pass()
                how = binding.create_pipeline_tuning_options(0)
                passes.run(self._final_module, binding.create_pass_builder(self._codegen._tm, how))

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """Return nothing: Python cannot call a piece."""
            self._ensure_finalized()
            return 0

        def serialize_using_object_code(self) -> Any:
            """Return what is kept on disk."""
            return self.serialize_using_bitcode()

        @property
        def codegen(self) -> Any:
            """What would tell a piece where its environment is, which no kernel uses."""
            return _Nowhere

    class _Nowhere:
        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Do nothing."""

    class _Bare(compiler.Compiler):  # type: ignore[misc]
        """The compiler of what is bare."""

        def define_pipelines(self) -> Any:
            """Return the usual passes but those that are needless."""
            made = super().define_pipelines()
            for one in made:
                one.passes = [step for step in one.passes if step[0].name() not in NEEDLESS]
                one.finalize()
            return made

    class _Kernels(compiler.Compiler):  # type: ignore[misc]
        """The compiler of kernels."""

        CODE = _Code

        def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
            own = self.CODE(target.codegen(), "kernel")
            own.enable_object_caching()
            super().__init__(typing, target, own, *others)

    class _BareKernels(_Kernels, _Bare):
        """The compiler of bare kernels."""

        CODE = _BareCode

    class _CompactKernels(_BareKernels):
        """The compiler of bare kernels that are kept short."""

        CODE = _CompactCode

    class _Pieces(compiler.Compiler):  # type: ignore[misc]
        """The compiler of pieces."""

        def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
            super().__init__(typing, target, _Piece(target.codegen(), "piece"), *others)

    class _BarePieces(_Pieces, _Bare):
        """The compiler of bare pieces."""

    PIPELINES = {
        (False, False): (_Kernels, _Pieces),
        (False, True): (_Kernels, _Pieces),
        (True, False): (_BareKernels, _BarePieces),
        (True, True): (_CompactKernels, _BarePieces),
    }
    """Compilers of kernels and of pieces, by whether they are bare, and whether they are kept short."""


class _Stored:
    """Machine code on disk, looked for when it is needed; stands in for `numba.core.caching.Cache`.

    There is one file for each function and types: processes that write at the same time cannot mix theirs up.
    """

    def __init__(self, function: Callable[..., object], makes_arrays: bool) -> None:
        self._name = _name(function)
        self._makes_arrays = makes_arrays

    def _file(self, place: Path, signature: Any, target: Any) -> Any:
        """Return the file for these types in a folder."""
        told = repr((str(signature), target.codegen().magic_tuple()))
        name = f"{self._name}-{hashlib.sha256(told.encode()).hexdigest()[:24]}"
        return caching.IndexDataCacheFile(str(place), name, place.name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for these types if it is there."""
        code = None
        for place in _shelves() if store.is_current() else ():
            with suppress(Exception):  # a damaged file: whatever it raises, the code is compiled afresh
                code = self._file(place, signature, target).load(signature)
            if code is not None:
                break
        if code is None:
            for tell in listeners:
                tell(self._name)
            return None
        if self._makes_arrays:
            rtsys.initialize(target)
        else:
            _name_helpers()
        return compiler.CompileResult._rebuild(target, *code)

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code for these types."""
        place = store.folder() if store.is_current() else None
        bound = any(not lifted.can_cache for lifted in code.lifted) or code.library.has_dynamic_globals
        if place is None:
            _say_unkept()
        if place is None or bound:
            return
        file = self._file(place, signature, code.target_context)
        try:
            file.flush()  # whatever was there could not be read
            file.save(signature, code._reduce())
        except OSError:  # the disk will not have it
            return

    def flush(self) -> None:
        """Do nothing: what is on disk is right for these files and this machine."""

    @property
    def cache_path(self) -> str:
        """Where the files are; empty if nowhere."""
        return str(store.folder() or "")


@cache
def _shelves() -> list[Path]:
    return store.shelves()


@cache
def _say_unkept() -> None:
    """Tell whoever listens, once, that nothing is kept."""
    if said := store.unkept():
        logging.getLogger("lacunary").warning(said)


@cache
def _name_helpers() -> None:
    """Tell the linker where the functions are by which arrays are taken from Python."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
