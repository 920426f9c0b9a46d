"""Encoder + method as a `PreTrainedModel`: tokens → log P(y|x)."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from protofit.config.encoder import EncoderConfig
from protofit.config.fields import from_dict, to_dict
from protofit.encoders.load import new_encoder
from protofit.encoders.pool import mean_pool, pool
from protofit.methods.base import HeadShape, LossOutput, Method
from protofit.methods.registry import build_method
from protofit.model.configuration import ProtoFitConfig


class ProtoFitForSequenceClassification(PreTrainedModel):  # type: ignore[misc,unused-ignore]
    """The logits are log-probabilities (softmax gives them back), or values in regression.

    In training mode a forward pass with labels lets the method observe the batch, then returns
    the method's loss; `training/callback.py` does the rest of a step under the HF Trainer.
    """

    config_class = ProtoFitConfig
    config: ProtoFitConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # the Trainer then averages over accumulated batches
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_attention_backend = True

    def __init__(self, config: ProtoFitConfig, encoder: torch.nn.Module | None = None) -> None:
        super().__init__(config)
        self.settings = from_dict(EncoderConfig, config.encoder_settings)
        self.encoder = new_encoder(config.encoder_config()) if encoder is None else encoder
        self.num_labels = 1 if config.task == "regression" else config.num_labels
        size = _feature_size(self.encoder.config)
        shape = HeadShape(size, self.num_labels, cast("Any", config.task))
        self.head: Method = build_method(config.method, config.head, shape)
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Nothing: the encoder comes with its weights, the head sets its own."""

    def features(self, input_ids: Tensor, attention_mask: Tensor, **extra: Tensor) -> Tensor:
        """Tokens (B, T) → f_φ(x) (B, D)."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **extra)[0]
        pooled = pool(states, attention_mask, self.settings.pooling)
        if self.settings.skip_connection:
            words = self.encoder.get_input_embeddings()(input_ids)  # type: ignore[operator]
            pooled = pooled + mean_pool(words, attention_mask)
        return pooled

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        weights: Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """Labels are class indices, or targets in their own unit; `weights` (B,) average to 1."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        extra = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        features = self.features(input_ids, mask, **extra)
        result = self._head_pass(features, labels, weights)
        logits = result.prediction
        if self.config.task == "regression":
            logits = logits * self.config.target_scale + self.config.target_mean
        loss = None if labels is None else result.loss
        if return_dict is False:
            return (logits,) if loss is None else (loss, logits)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def _head_pass(
        self, features: Tensor, labels: Tensor | None, weights: Tensor | None
    ) -> LossOutput:
        if labels is None:
            return LossOutput(features.new_zeros(()), self.head(features))
        known = self.inner_labels(labels)
        if self.training:
            self.head.observe(features, known, weights)
        return self.head.loss(features, known, weights)

    def inner_labels(self, labels: Tensor) -> Tensor:
        """Class indices as they are; targets standardised by the training data."""
        if self.config.task != "regression":
            return labels.view(-1)
        return (labels.view(-1).float() - self.config.target_mean) / self.config.target_scale

    def sync_config(self) -> None:
        """Write what the method resolved from the data into the configuration."""
        self.config.head = to_dict(self.head.config)

    def restore_head_config(self, settings: dict[str, Any]) -> None:
        """Give the method the settings an earlier start resolved."""
        self.head.config = from_dict(type(self.head).config_class, settings)
        self.sync_config()

    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any:
        """Save config and safetensors; settings resolved in training are part of the config."""
        self.sync_config()
        return super().save_pretrained(*args, **kwargs)


def _feature_size(config: Any) -> int:
    for name in ("hidden_size", "dim", "d_model", "n_embd"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    raise ValueError(f"the encoder configuration {type(config).__name__} names no hidden size")
