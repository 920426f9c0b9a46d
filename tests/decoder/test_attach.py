"""A decoder on a model: made only on request, measured on other texts, kept with the folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from helpers.decoding import SMALL, WHO, fitted, sentences
from protofit.decoder import attach
from protofit.decoder.attach import FACTS_FILE, WEIGHTS_FILE, decoder_of, fit_decoder, quality_of
from protofit.decoder.quality import hold_out
from protofit.errors import InputError, ModelFolderError
from protofit.model.bundle import Bundle


@pytest.fixture(scope="module")
def with_decoder(tiny_bert: Path) -> Any:
    """A classifier with a decoder; not to be changed."""
    made = fitted(tiny_bert)
    fit_decoder(made.bundle_, sentences(), config=SMALL)
    return made


@pytest.fixture
def folder(with_decoder: Any, tmp_path: Path) -> Path:
    with_decoder.save(tmp_path / "model")
    return tmp_path / "model"


def test_decoded_prototypes_vectors_and_texts(with_decoder: Any) -> None:
    """A card's text is what the decoder says of the prototype's vector."""
    from protofit.explain.reading import Reading

    reading = Reading.of(with_decoder.bundle_)
    vectors = reading.vectors.astype(np.float32)
    cards = with_decoder.interpret()
    assert [card.decoded for card in cards] == with_decoder.decode(vectors)
    assert any(word in str(cards[0].decoded) for word in (*WHO, "my", "is", "today"))
    texts = sentences(4)
    bundle = with_decoder.bundle_
    features = bundle.features(bundle.tokens(texts)).numpy()
    assert with_decoder.decode(texts) == with_decoder.decode(features)


def test_explanations_and_glance_show_it(with_decoder: Any) -> None:
    found = with_decoder.explain("my lamp is late today")
    by_row = {card.row: card.decoded for card in with_decoder.interpret()}
    assert [item.decoded for item in found.evidence] == [
        by_row[item.row] for item in found.evidence
    ]
    assert f"decoded  “{found.evidence[0].decoded}”"[:40] in str(found)
    assert with_decoder.glance().decoder == quality_of(with_decoder.bundle_).to_dict()


def test_nothing_without_a_request(tiny_bert: Path, tmp_path: Path) -> None:
    """Training, indexing and saving make no decoder, and no file holds a word of the texts."""
    made = fitted(tiny_bert, keep_index=True)
    made.save(tmp_path / "model")
    names = {path.name for path in (tmp_path / "model").rglob("*")}
    assert not any(name.startswith("decoder") for name in names)
    loaded = Bundle.load(tmp_path / "model")
    assert loaded.attachments == {}
    assert quality_of(loaded) is None
    assert decoder_of(loaded) is None
    assert made.interpret()[0].decoded is None
    assert made.glance().decoder is None
    with pytest.raises(InputError, match="no decoder"):
        made.decode(["a text"])


def test_held_out_texts_are_never_fitted(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `fit_network` and the bag see, and what the vocabulary is made of."""
    seen: dict[str, Any] = {}
    real_fit, real_bag = attach.fit_network, attach.Bag.fit

    def spy(network: Any, features: Any, rows: Any, *rest: Any) -> None:
        seen["features"], seen["rows"] = features, rows
        real_fit(network, features, rows, *rest)

    monkeypatch.setattr(attach, "fit_network", spy)
    monkeypatch.setattr(
        attach.Bag, "fit", lambda z, texts: (seen.update(bag=texts), real_bag(z, texts))[1]
    )
    made, texts = fitted(tiny_bert), sentences()
    quality = fit_decoder(made.bundle_, [*texts, *texts[:7]], config=SMALL, seed=5)
    rows, held = hold_out(len(texts), 5)
    assert (quality.texts, quality.fitted) == (len(held), len(rows)) == (5, 25)
    bundle = made.bundle_
    wanted = bundle.features(bundle.tokens([texts[i] for i in rows]))
    np.testing.assert_allclose(seen["features"].numpy(), wanted.numpy(), atol=1e-6)
    assert seen["bag"] == [texts[i] for i in rows]
    words = decoder_of(bundle).vocabulary.read  # type: ignore[union-attr]
    assert [words(bundle.tokenizer, row.tolist(), paired=False) for row in seen["rows"]] == [
        texts[i] for i in rows
    ]


def test_similarities_are_those_of_texts_encoded_again(with_decoder: Any) -> None:
    """One held-out text at a time."""
    bundle, texts = with_decoder.bundle_, sentences()
    rows, held = hold_out(len(texts), 0)

    def vector(text: str) -> np.ndarray:
        v = bundle.features(bundle.tokens([text]))[0].double().numpy()
        return v / np.sqrt(v @ v)

    own = [vector(texts[i]) @ vector(with_decoder.decode([texts[i]])[0]) for i in held]
    near = [max(vector(texts[i]) @ vector(texts[j]) for j in rows) for i in held]
    quality = quality_of(bundle)
    assert quality is not None
    assert quality.similarity == pytest.approx(np.mean(own), abs=1e-5)
    assert quality.nearest == pytest.approx(np.mean(near), abs=1e-5)
    assert quality.margin == pytest.approx(quality.similarity - quality.bag, abs=1e-9)
    assert -1 <= quality.random < quality.nearest <= 1


def test_a_folder_keeps_it_and_checks_it(with_decoder: Any, folder: Path, tmp_path: Path) -> None:
    loaded = Bundle.load(folder)
    assert "decoder" not in loaded.cache  # it is rebuilt when it is asked for
    assert quality_of(loaded) == quality_of(with_decoder.bundle_)
    vectors = np.random.default_rng(0).normal(size=(5, 32)).astype(np.float32)
    assert attach.decode(loaded, vectors) == with_decoder.decode(vectors)
    loaded.save(tmp_path / "again")
    for name in (WEIGHTS_FILE, FACTS_FILE):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    content = bytearray((folder / WEIGHTS_FILE).read_bytes())
    content[-1] ^= 1
    (folder / WEIGHTS_FILE).write_bytes(content)
    with pytest.raises(ModelFolderError, match="damaged"):
        Bundle.load(folder)


def test_edits_keep_it(folder: Path, tmp_path: Path) -> None:
    """Added, undone and saved: new prototypes are decoded, old ones read as before."""
    from protofit import PFitClassifier

    made = PFitClassifier.load(folder)
    before = [card.decoded for card in made.interpret()]
    row = made.prototypes.add(["my refund is wrong today"], "a").rows[0]
    added = next(card for card in made.interpret() if card.row == row)
    assert added.decoded == made.decode(["my refund is wrong today"])[0]
    made.prototypes.save(tmp_path / "edited")
    assert len([card.decoded for card in PFitClassifier.load(tmp_path / "edited").interpret()]) == (
        len(before) + 1
    )
    made.prototypes.undo()
    assert [card.decoded for card in made.interpret()] == before


def test_taken_off_it_leaves_no_trace(folder: Path, tmp_path: Path) -> None:
    loaded = Bundle.load(folder)
    assert decoder_of(loaded) is not None
    assert attach.detach(loaded)
    assert not attach.detach(loaded)
    assert decoder_of(loaded) is None
    loaded.save(tmp_path / "without")
    assert not list((tmp_path / "without").glob("decoder*"))
    assert Bundle.load(tmp_path / "without").attachments == {}


@pytest.mark.parametrize("kind", ["pairs", "numbers", "raw"])
def test_every_kind_of_model(tiny_bert: Path, tmp_path: Path, kind: str) -> None:
    """Pairs decode to pairs; regression and methods without prototypes have a decoder too."""
    made, texts = fitted(tiny_bert, kind), sentences()
    inputs: Any = texts if kind != "pairs" else list(zip(texts, texts[1:] + texts[:1], strict=True))
    quality = fit_decoder(made.bundle_, inputs, config=SMALL)
    assert all(np.isfinite(value) for value in asdict(quality).values())
    made.save(tmp_path / "model")
    written = type(made).load(tmp_path / "model").decode(inputs[:2])
    assert len(written) == 2
    assert all(isinstance(text, tuple if kind == "pairs" else str) for text in written)
    if kind != "raw":
        assert isinstance(made.interpret()[0].decoded, str)


def test_the_estimator_fits_with_its_seed_and_clones(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "DEFAULT", SMALL)
    made = fitted(tiny_bert, random_state=3)
    quality = made.fit_decoder(sentences())
    first = made.bundle_.attachments[WEIGHTS_FILE]
    assert made.fit_decoder(np.array(sentences())) == quality
    assert made.bundle_.attachments[WEIGHTS_FILE] == first
    assert clone(made).get_params() == made.get_params()
    fit_decoder(made.bundle_, sentences(), seed=4)
    assert made.bundle_.attachments[WEIGHTS_FILE] != first


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["same text"] * 50, "1 different texts"),
        ([*sentences(19), "", "  "], "19 different texts"),
        ([("a", "b")] * 30, "trained on single texts"),
    ],
)
def test_refused(tiny_bert: Path, texts: Any, said: str) -> None:
    made = fitted(tiny_bert)
    with pytest.raises(InputError, match=said):
        fit_decoder(made.bundle_, texts, config=SMALL)
    assert made.bundle_.attachments == {}


def test_vectors_of_another_size_are_refused(with_decoder: Any) -> None:
    with pytest.raises(InputError, match="32 numbers"):
        with_decoder.decode(np.zeros((2, 31), np.float32))


def test_a_garbled_decoder_is_told(folder: Path, with_decoder: Any) -> None:
    """Weights of another size, in a folder whose checksums are right."""
    loaded = Bundle.load(folder)
    facts = loaded.attachments[FACTS_FILE]
    loaded.attachments[FACTS_FILE] = facts.replace(b'"hidden": 32', b'"hidden": 31')
    with pytest.raises(ModelFolderError, match="cannot be rebuilt"):
        decoder_of(loaded)


def test_a_manifest_cannot_make_other_files_attachments(folder: Path) -> None:
    from helpers.signed import edit_signed

    def change(content: Any) -> None:
        content["attachments"] = ["../secret"]

    edit_signed(folder / "protofit.json", change)
    with pytest.raises(ModelFolderError, match="attachments"):
        Bundle.load(folder)
