"""The command: one file per subcommand, each parses, calls, prints."""
