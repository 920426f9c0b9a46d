"""Why a model says what it says: evidence, cards, a glance at the whole, and edits."""
