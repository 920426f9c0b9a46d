"""The Hugging Face configuration of a ProtoFit model."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig

MODEL_TYPE = "protofit"


class ProtoFitConfig(PretrainedConfig):  # type: ignore[misc,unused-ignore]
    """Everything that is needed to rebuild the model around its weights."""

    model_type = MODEL_TYPE

    def __init__(
        self,
        *,
        encoder: dict[str, Any] | None = None,  # the encoder's own configuration
        encoder_settings: dict[str, Any] | None = None,  # EncoderConfig as a dictionary
        encoder_name: str = "",  # where the pretrained weights came from
        method: str = "pfit",  # name in the registry
        head: dict[str, Any] | None = None,  # the method's settings
        target_mean: float = 0.0,  # regression: of the training targets
        target_scale: float = 1.0,  # regression: standard deviation of the training targets
        **kwargs: Any,
    ) -> None:
        self.encoder = encoder or {}
        self.encoder_settings = encoder_settings or {}
        self.encoder_name = encoder_name
        self.method = method
        self.head = head or {}
        self.target_mean = target_mean
        self.target_scale = target_scale
        super().__init__(**kwargs)

    @property
    def task(self) -> str:
        """`classification` or `regression`."""
        return "regression" if self.problem_type == "regression" else "classification"

    def encoder_config(self) -> Any:
        """The encoder's configuration as an object."""
        from transformers import AutoConfig

        values = {key: value for key, value in self.encoder.items() if key != "model_type"}
        return AutoConfig.for_model(self.encoder["model_type"], **values)
