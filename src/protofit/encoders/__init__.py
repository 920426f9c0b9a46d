"""Any Hugging Face text encoder: found, loaded, pooled."""
