"""One self-contained HTML page: quality, map, prototypes, growth, and what to check."""
