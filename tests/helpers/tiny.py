"""Tiny random encoders of several architectures, saved as Hugging Face folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.tickets import read_tickets

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 130,
}
ARCHITECTURES = ("bert", "roberta", "mpnet", "distilbert", "deberta-v2", "modernbert")


def make_tokenizer() -> Any:
    """A word-level tokenizer over the words of the bundled example."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    texts, _ = read_tickets("train")
    words = sorted({word for text in texts for word in text.lower().split()})[:2000]
    vocabulary = {word: index for index, word in enumerate(special + words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=128,
    )


def make_config(architecture: str, vocabulary: int) -> Any:
    """A small configuration of the architecture."""
    import transformers

    common = {**SIZES, "vocab_size": vocabulary, "pad_token_id": 0}
    if architecture == "bert":
        return transformers.BertConfig(**common)
    if architecture == "roberta":
        return transformers.RobertaConfig(**common)
    if architecture == "mpnet":
        return transformers.MPNetConfig(**common)
    if architecture == "distilbert":
        return transformers.DistilBertConfig(
            vocab_size=vocabulary, dim=32, n_layers=2, n_heads=2, hidden_dim=64,
            max_position_embeddings=130, pad_token_id=0,
        )  # fmt: skip
    if architecture == "deberta-v2":
        return transformers.DebertaV2Config(
            **common, relative_attention=True, pos_att_type=["p2c", "c2p"]
        )
    return transformers.ModernBertConfig(
        **common, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3
    )


def make_encoder(architecture: str, folder: Path, seed: int = 0) -> Path:
    """Write a random encoder and its tokenizer to `folder`."""
    import torch
    from transformers import AutoModel

    tokenizer = make_tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModel.from_config(make_config(architecture, len(tokenizer)))
    if architecture == "distilbert":
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
