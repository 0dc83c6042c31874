"""How rows are prepared before they are learned: the options, and the pipeline that they make."""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli.printing import say
from modicum.cli.rows_file import RowsFile
from modicum.cli.sources import (
    Reading,
    Sources,
    documents_in,
    has_no_types,
    is_pictures,
    is_stdin,
    is_svmlight,
    is_table,
)
from modicum.contract.learner import Learner
from modicum.contract.loading import load
from modicum.exceptions import DataError
from modicum.kernels import EditDistance
from modicum.pipeline import Pixels, StreamPipeline, TableEncoder, WordCounts, final_learner, make_pipeline
from modicum.pipeline.images import DESCRIPTORS, import_features
from modicum.pipeline.pixels import SIDE
from modicum.pipeline.vocabulary import BYTES_OF_WORD
from modicum.rules.budget import as_budget
from modicum.streams import Stream

MOST_NAMES = 1_000  # of columns that a learner is told
TEXTS = ("category", "text", "image")  # kinds of columns that are read as text: 01234 is not a number there

MOST_WORDS = 5_000  # that are counted by default
DOCUMENTS = {"line": "lines", "file": "files"}
OF_DOCUMENTS = ("document", "n_words", "vocabulary", "stop_words", "picture_size")  # options for learners of documents
PICTURES_AT_ONCE = 64  # pictures of a chunk whose pixels are learned: 20 MiB of them at most by default

Document = Annotated[
    str | None,
    typer.Option(help="A document: line or file of text, or a column whose value all its rows have."),
]
Features = Annotated[str, typer.Option(help="What describes pictures: descriptors, or module:function of one's own.")]


@dataclass(frozen=True)
class Preparing(Reading):
    """How a source is read and prepared."""

    exclude: Annotated[str | None, typer.Option(help="Columns not to learn from, such as id,name.")] = None
    types: Annotated[
        str | None,
        typer.Option(
            help="Kinds of columns, such as zip=category,when=time; also number, boolean, text, image and ignore."
        ),
    ] = None
    scale: Annotated[
        str, typer.Option(help="Which numbers are standardized: auto those of tables, standard also arrays, none.")
    ] = "auto"
    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: impute fills in, drop leaves out rows, and those without a target, error stops."
        ),
    ] = "impute"
    features: Features = DESCRIPTORS
    prepare_like: Annotated[
        Path | None,
        typer.Option(help="State file whose preparation is taken, so that results can be merged.", metavar="STATE"),
    ] = None
    image: Annotated[str | None, typer.Option(help="Rows are images of this shape, such as 28x28 or 32x32x3.")] = None
    document: Document = None
    n_words: Annotated[
        int | None, typer.Option(help="Columns of counted words. Default: 5000, or fewer in a small budget.", min=1)
    ] = None
    vocabulary: Annotated[
        str, typer.Option(help="learned: columns for the most frequent words; hashed: words share columns.")
    ] = "learned"
    stop_words: Annotated[
        str, typer.Option(help="Words not to count: auto function words of the language; none; or a list a,b,c.")
    ] = "auto"
    picture_size: Annotated[
        int, typer.Option(help="Most pixels on the longer side of pictures, as which they are learned.", min=1)
    ] = SIDE

    @classmethod
    def options(cls, *, without: tuple[str, ...] = (), documents: bool = False) -> list[inspect.Parameter]:
        """The fields as parameters of a command; those about documents only if they are asked for."""
        return super().options(without=without if documents else (*without, *OF_DOCUMENTS))

    def pipeline(self, learner: Learner, source: Sources) -> Learner:
        """The learner, with the preparation of its rows in front if there is something to prepare."""
        if learner.traits.tables or learner._is_fitted() or compares_texts(learner):
            return learner
        if learner._counts_words and self.image is None and is_table(source):
            return make_pipeline(self.word_counts(learner), learner, random_state=seed_of(learner))
        if groups_rows(learner) and is_pictures(source):
            return make_pipeline(self.pixels(), learner, random_state=seed_of(learner))
        if self.image is not None or (self.scale != "standard" and not is_table(source)):
            for name in ("exclude", "types", "prepare_like"):
                if getattr(self, name) is not None:
                    raise DataError(f"--{name.replace('_', '-')} is for tables, not for arrays or --image.")
            return learner.set_params(**{name: rows.read() for name, rows in rows_files(learner).items()})
        given = rows_files(learner)
        encoder = self.decided_encoder(source) if given else self.encoder()
        learner.set_params(**{name: rows.encoded(encoder) for name, rows in given.items()})
        return make_pipeline(encoder, learner, random_state=seed_of(learner))

    def word_counts(self, learner: Learner) -> WordCounts:
        """The preparation of texts for a learner, decided already if it is that of another state."""
        if self.prepare_like is not None:
            return preparation_in(self.prepare_like, WordCounts)
        for name in ("exclude", "types"):
            if getattr(self, name) is not None:
                raise DataError(f"--{name}: words are counted in columns of text; name them with --columns.")
        stop_words = self.stop_words if self.stop_words in ("auto", "none") else names_in(self.stop_words)
        made = WordCounts(
            self.n_words or words_within(getattr(learner, "budget", None)),
            columns=names_in(self.columns),
            vocabulary=self.vocabulary,
            stop_words=stop_words or "none",
        )
        made._check_params()
        return made

    def pixels(self) -> Pixels:
        """The preparation of pictures for a topic model."""
        if self.prepare_like is not None:
            return preparation_in(self.prepare_like, Pixels)
        return Pixels(self.picture_size, missing="drop" if self.missing == "drop" else "error")

    def encoder(self) -> TableEncoder:
        """The preparation, decided already if it is that of another state."""
        if self.prepare_like is not None:
            return preparation_in(self.prepare_like, TableEncoder)
        made = TableEncoder(
            columns=names_in(self.columns),
            exclude=names_in(self.exclude) or (),
            types=kinds_in(self.types),
            scale=self.scale,
            missing=self.missing,
            features=import_features(self.features),
        )
        made._check_params()
        return made

    def decided_encoder(self, source: Sources) -> TableEncoder:
        """The preparation, decided by rows of a source that can be read again."""
        encoder = self.encoder()
        if encoder._is_fitted():
            return encoder
        rows = self.open(source, None, unlabelled=True, **self.raw_options(source))
        if not rows.rereadable:
            raise DataError(
                f"{rows.name} can be read only once, but rows of a file are to be prepared like it. Write it to a file "
                "first, or take --prepare-like STATE."
            )
        encoder._reserve({name: "the target" for name in (rows.target, rows.weight) if name is not None})
        sample = rows.spread(encoder.n_first) if rows.table_columns is not None else None
        for rows_of_chunk in (chunk.X for chunk in rows) if sample is None else [sample]:
            if encoder.partial_fit(rows_of_chunk).is_decided_:
                break
        encoder._end_of_stream()
        return encoder

    def prepared_rows(self, source: Sources, learner: Learner) -> tuple[Stream, TableEncoder | None]:
        """Rows of a source as numbers, for what takes no pipeline; and the preparation, if there is one."""
        lack = self._may_lack_targets(learner)
        if self.image is not None or (self.scale != "standard" and not is_table(source)):
            return self.open(source, seed_of(learner), unlabelled=lack), None
        if is_stdin(source):
            encoder, names = self.encoder(), None
        else:
            encoder = self.decided_encoder(source)
            names = list(encoder.get_feature_names_out()) if encoder.n_features_out_ <= MOST_NAMES else None
        rows = self.open(source, seed_of(learner), unlabelled=lack, **self.raw_options(source))

        def encode(X: Any) -> Any:
            if not encoder._is_fitted():  # of a pipe, the first rows that come decide
                encoder._reserve({name: "the target" for name in (rows.target, rows.weight) if name is not None})
                encoder.partial_fit(X)._end_of_stream()
            return encoder.transform(X)

        return rows.mapped(encode, names), encoder

    def open_for(self, learner: Learner, source: Sources, **more: Any) -> Stream:
        """The rows of a source as a learner takes them."""
        if compares_texts(learner):
            return self._texts(self.open(source, None, **self.raw_options(source), **more))
        raw = self.raw_options(source) if learner.traits.tables else {}
        seed = seed_of(learner)
        if raw and final_learner(learner)._counts_words:
            open_rows = partial(self.open, source, seed, **raw, **more)
            return open_documents(self.document, source, open_rows, is_plain=self.columns is None)
        if groups_rows(learner):
            raw |= grouping(self.document, source, self.chunk_size)
        rows = self.open(source, seed, unlabelled=self._may_lack_targets(learner), **raw, **more)
        return rows.without_targets() if self.target is None and final_learner(learner)._takes_unlabelled else rows

    def _may_lack_targets(self, learner: Learner) -> bool | str:
        """What `stream` does about missing targets for a learner."""
        if final_learner(learner)._takes_unlabelled:
            return True
        return "drop" if self.missing == "drop" and learner.__sklearn_tags__().target_tags.required else False

    def options_for(self, learner: Learner, source: Sources) -> dict[str, Any]:
        """Options of `stream` for workers of a cluster, which read parts of a source as `open_for` reads all of it."""
        if compares_texts(learner):
            raise DataError("--dask: texts that are compared letter by letter can't be learned on a cluster yet.")
        if self.document not in (None, *DOCUMENTS):
            raise DataError(
                f"--dask: rows of one {self.document} may be in several parts. Leave out --document or --dask."
            )
        options = self.raw_options(source) if learner.traits.tables else {}
        last = final_learner(learner)
        if options and last._counts_words:
            options["documents"] = DOCUMENTS[self.document] if self.document else documents_in(source)
        elif groups_rows(learner):
            options |= grouping(None, source, self.chunk_size)
        if last._takes_unlabelled and self.target is None and is_svmlight(source):
            raise DataError(
                f"--dask: {type(last).__name__} would learn from the labels of svmlight files. Leave it out."
            )
        return options | {"unlabelled": self._may_lack_targets(learner)}

    def _texts(self, rows: Stream) -> Stream:
        """Rows of one column of texts as a list of strings."""
        names = names_in(self.columns) or [name for name in rows.table_columns or () if name != rows.target]
        if len(names) != 1 or names[0] not in (rows.table_columns or ()):
            there = ", ".join(rows.table_columns or ()) or "no names"
            raise DataError(
                f"{rows.name}: an edit distance compares one column, named by --columns; there are: {there}."
            )
        say(f"comparing the texts of {names[0]}, letter by letter")
        return rows.mapped(lambda table: ["" if text is None else str(text) for text in table[names[0]].to_pylist()])

    def raw_options(self, source: Sources) -> dict[str, Any]:
        """Options of `stream` for a pipeline, in which the preparation chooses the columns."""
        texts = [name for name, kind in (kinds_in(self.types) or {}).items() if kind in TEXTS]
        return {"raw": True, "columns": None} | ({"as_text": texts} if has_no_types(source) else {})


def rows_files(learner: Learner) -> dict[str, RowsFile]:
    """Parameters that are rows in a file."""
    return {name: value for name, value in learner.get_params(deep=False).items() if isinstance(value, RowsFile)}


def seed_of(learner: Learner) -> Any:
    return getattr(learner, "random_state", None)


def groups_rows(learner: Learner) -> bool:
    """Whether a learner is a topic model, whose rows are documents or belong to them."""
    return hasattr(final_learner(learner), "predict_items")


def grouping(document: str | None, source: Sources, chunk_size: int | None) -> dict[str, Any]:
    """Options of `stream` for rows that are items of documents, or pictures of pixels."""
    if is_pictures(source):
        return {"chunk_size": chunk_size or PICTURES_AT_ONCE}
    if document is None:
        return {}
    return {"target": document if is_table(source) or not document.isdigit() else int(document)}


def compares_texts(learner: Learner) -> bool:
    """Whether a learner compares strings letter by letter, so that they must not become numbers."""
    given = getattr(learner, "dissimilarity", None)
    return given == "edit-distance" or isinstance(given, EditDistance)


def preparation_in(path: Path, kind: type[Any]) -> Any:
    """The preparation in a state file, which must be of this kind."""
    learner = load(path)
    first = learner.preparation_ if isinstance(learner, StreamPipeline) else learner
    if not isinstance(first, kind):
        raise DataError(f"--prepare-like {path}: it is the state of {type(learner).__name__}, without a preparation.")
    return copy.deepcopy(first)


def words_within(budget: Any) -> int:
    """How many words are counted if nobody says so: in a budget of bytes, they take a quarter at most.

    >>> words_within(None), words_within("64 MiB"), words_within("1 MiB")
    (5000, 5000, 682)
    """
    limit = as_budget(budget).nbytes
    return MOST_WORDS if limit is None else max(1, min(MOST_WORDS, limit // 4 // BYTES_OF_WORD))


def open_documents(asked: str | None, source: Sources, open_rows: Callable[..., Stream], *, is_plain: bool) -> Stream:
    """Rows that are documents: lines, files, or rows joined by a column, as asked for or as the source suggests.

    `is_plain` tells that standard input may be plain text.
    """
    if asked is not None and asked not in DOCUMENTS:
        return open_rows().joined(asked)
    documents = DOCUMENTS[asked] if asked else documents_in(source) if is_plain or not is_stdin(source) else None
    if asked is None and documents == "files":
        say("every file is a document; for every line to be one, take --document line")
    return open_rows(documents=documents)


def names_in(text: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def kinds_in(text: str | None) -> dict[str, str] | None:
    """The kinds of columns in a text.

    >>> kinds_in("zip=category, when=time")
    {'zip': 'category', 'when': 'time'}
    """
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(name.strip() and kind.strip() for name, _, kind in pairs):
        raise ValueError(f"--types takes columns and kinds such as zip=category,when=time; got {text!r}.")
    return {name.strip(): kind.strip() for name, _, kind in pairs}
