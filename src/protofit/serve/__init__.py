"""The page and the JSON API: `protofit serve`. Needs the extra `serve`; nothing imports it back."""
