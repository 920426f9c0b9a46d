"""Mathematics and memory of prototypes: pure functions, a bank, one file per principle."""
